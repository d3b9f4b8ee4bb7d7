"""The contract: making runs, finding them, listing them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from podium.engine.budget import Budget
from podium.engine.events import Charge
from podium.engine.log import RunRow, RunUpdate, Store
from podium.errors import FencedError, StoreError, UnknownRunError
from tests.stores.samples import a_row, a_run, commit, driven, run_id, seqs_of


async def test_a_created_run_is_read_back_as_it_was_given(store: Store, other: Store) -> None:
    run = RunRow(
        run_id="run-000001",
        workflow="demo",
        request="Gib mir fünf 🎬",
        status="waiting",
        stop_reason="because",
        created_us=5,
        updated_us=6,
        model="python:x.py:f",
        rehearsal=True,
        parent="run-000000",
        usage=Charge(0.25, 10, 20, 3, 1),
        driven_s=1.5,
    )
    rows = [a_row(1, "run.created", b'{"a":1}'), a_row(2)]
    await store.create(run, rows)
    for view in (store, other):
        assert await view.get("run-000001") == run
        assert await view.read("run-000001") == rows


async def test_blobs_of_a_new_run_are_there_with_it(store: Store, other: Store) -> None:
    await store.create(a_run(), [a_row(1)], [b"one", b"two", b"one"])
    digest = store.put_blob(b"two")
    assert await other.get_blob(digest) == b"two"


async def test_an_id_is_given_once(store: Store) -> None:
    await store.create(a_run(1), [a_row(1)])
    made = await asyncio.gather(
        store.create(a_run(1), [a_row(1), a_row(2)]),
        store.create(a_run(2), [a_row(1)]),
        return_exceptions=True,
    )
    assert isinstance(made[0], StoreError)
    assert made[1] is None, "the other one must not suffer"
    assert await seqs_of(store, 1) == [1]
    assert await seqs_of(store, 2) == [1]


async def test_many_runs_at_once(store: Store) -> None:
    numbers = range(1, 701)
    await asyncio.gather(*(store.create(a_run(n), [a_row(1), a_row(2)]) for n in numbers))
    leases = await asyncio.gather(*(store.acquire(run_id(n)) for n in numbers))
    assert {(lease.run_id, lease.epoch, lease.last_seq) for lease in leases} == {
        (run_id(n), 1, 2) for n in numbers
    }
    for lease in leases:
        store.append(lease, a_row(3, "run.completed"))
        store.update(lease, RunUpdate(updated_us=9, status="completed"))
    await asyncio.gather(*(store.release(lease) for lease in leases))
    assert {run.status for run in await store.list_runs(limit=1000)} == {"completed"}
    assert [await seqs_of(store, n) for n in (1, 350, 700)] == [[1, 2, 3]] * 3


@pytest.mark.parametrize("beginning", ["run-", "run-00", "run-0000", "run-000001"])
async def test_the_beginning_of_an_id_is_enough(store: Store, beginning: str) -> None:
    await store.create(a_run(1), [])
    assert (await store.get(beginning)).run_id == "run-000001"


async def test_who_gives_too_little_of_an_id_is_reported_how_much_is_enough(store: Store) -> None:
    await store.create(a_run(1), [])
    with pytest.raises(UnknownRunError, match="There is no run run in this store") as caught:
        await store.get("run")
    assert caught.value.hint == "Give at least 4 characters of an id; `podium runs` lists them."


async def test_a_beginning_that_fits_several_runs_finds_none(store: Store) -> None:
    await store.create(a_run(11), [])
    await store.create(a_run(12), [])
    with pytest.raises(
        UnknownRunError, match=r"More than one run begins with run-00001: run-000011, run-000012"
    ):
        await store.get("run-00001")
    assert (await store.get("run-000012")).run_id == "run-000012"


async def test_a_whole_id_that_others_begin_with_is_found(store: Store) -> None:
    for name in ("run-00", "run-000001"):
        run = RunRow(run_id=name, workflow="demo", request="", status="queued")
        await store.create(run, [])
    assert (await store.get("run-00")).run_id == "run-00"


@pytest.mark.parametrize("name", ["", "run", "run-000002", "Run-000001", "run-000001x", "run-0000_1", "%"])
async def test_an_unknown_run(store: Store, name: str) -> None:
    await store.create(a_run(1), [a_row(1)])
    with pytest.raises(UnknownRunError) as caught:
        await store.get(name)
    assert caught.value.hint


async def test_everything_else_wants_the_whole_id(store: Store) -> None:
    await store.create(a_run(1), [a_row(1)])
    part = "run-00000"
    for attempt in (store.acquire(part), store.read(part), store.post(part, "cancel"), store.inbox(part)):
        with pytest.raises(UnknownRunError):
            await attempt
    with pytest.raises(UnknownRunError):
        await store.fence(part, [], RunUpdate(updated_us=1))
    with pytest.raises(UnknownRunError):
        await anext(store.tail(part))
    with pytest.raises(UnknownRunError):
        store.subscribe(part, print)


async def test_runs_are_listed_newest_first_page_by_page(store: Store) -> None:
    """Newest is what was created last; ids are random."""
    for number in (3, 1, 5, 2, 4):
        await store.create(a_run(number), [])
    assert [run.run_id for run in await store.list_runs()] == [run_id(n) for n in (4, 2, 5, 1, 3)]
    pages: list[list[str]] = []
    before = ""
    while page := await store.list_runs(limit=2, before=before):
        pages.append([run.run_id for run in page])
        before = page[-1].run_id
    assert pages == [[run_id(4), run_id(2)], [run_id(5), run_id(1)], [run_id(3)]]


async def test_runs_are_listed_by_status_and_workflow(store: Store) -> None:
    for number, (status, workflow) in enumerate(
        [("queued", "a"), ("completed", "a"), ("completed", "b"), ("failed", "b"), ("completed", "a")]
    ):
        await store.create(a_run(number, status=status, workflow=workflow), [])

    async def found(**wanted: object) -> list[int]:
        runs = await store.list_runs(**wanted)  # pyright: ignore[reportArgumentType]
        return [int(run.run_id[4:]) for run in runs]

    assert await found(status=["completed"]) == [4, 2, 1]
    assert await found(status=("queued", "failed")) == [3, 0]
    assert await found(workflow="b") == [3, 2]
    assert await found(workflow="a", status={"completed"}) == [4, 1]
    assert await found(workflow="a", status={"completed"}, limit=1) == [4]
    assert await found(workflow="a", status={"completed"}, before=run_id(4)) == [1]
    assert await found(status=["cancelled"]) == []


async def test_a_running_run_that_nobody_drives_is_paused(store: Store, other: Store) -> None:
    lease = await driven(store, 1, status="running")
    await store.create(a_run(2, status="running"), [])
    await store.create(a_run(3, status="waiting"), [])
    for view in (store, other):
        assert (await view.get(run_id(1))).status == "running"
        assert (await view.get(run_id(1))).holder.startswith("pid ")
        assert (await view.get(run_id(2))).status == "paused"
        assert (await view.get(run_id(2))).holder == ""
        assert (await view.get(run_id(3))).status == "waiting"
        assert [run.run_id for run in await view.list_runs(status=["running"])] == [run_id(1)]
        assert [run.run_id for run in await view.list_runs(status=["paused"])] == [run_id(2)]
    await store.release(lease)
    assert (await other.get(run_id(1))).status == "paused"


async def test_pages_are_full_when_a_status_is_known_only_after_a_look(store: Store) -> None:
    await store.create(a_run(0, status="paused"), [])
    for number in range(1, 21):
        await driven(store, number, status="running")
    for number in range(21, 24):
        await store.create(a_run(number, status="running"), [])
    paused = await store.list_runs(status=["paused"], limit=4)
    assert [run.run_id for run in paused] == [run_id(n) for n in (23, 22, 21, 0)]


async def test_an_update_changes_what_it_names_and_nothing_else(store: Store, other: Store) -> None:
    lease = await driven(store)
    before = await other.get(run_id(1))
    store.update(lease, RunUpdate(updated_us=50, status="running", model="m"))
    store.update(lease, RunUpdate(updated_us=51, usage=Charge(0.5, 1, 2, 3, 4)))
    await commit(store, lease)
    assert await other.get(run_id(1)) == RunRow(
        run_id=before.run_id,
        workflow=before.workflow,
        request=before.request,
        created_us=before.created_us,
        updated_us=51,
        status="running",
        model="m",
        usage=Charge(0.5, 1, 2, 3, 4),
        holder=before.holder,
    )
    store.update(lease, RunUpdate(updated_us=52, status="partial", stop_reason="budget", rehearsal=True))
    await commit(store, lease)
    store.update(lease, RunUpdate(updated_us=53, driven_s=2.5))
    await store.release(lease)
    assert await other.get(run_id(1)) == RunRow(
        run_id=before.run_id,
        workflow=before.workflow,
        request=before.request,
        created_us=before.created_us,
        updated_us=53,
        status="partial",
        stop_reason="budget",
        rehearsal=True,
        driven_s=2.5,
        model="m",
        usage=Charge(0.5, 1, 2, 3, 4),
    )


async def test_ceilings_stand_in_the_summary_and_those_that_are_named_are_replaced(
    store: Store, other: Store
) -> None:
    first = Budget(usd=1.5, tokens=1000, calls=10, seconds=60.5, depth=3)
    await store.create(msgspec.structs.replace(a_run(), budget=first), [a_row(1, "run.created")])
    assert (await other.get(run_id(1))).budget == first
    lease = await store.acquire(run_id(1))
    store.update(lease, RunUpdate(updated_us=50, budget=Budget(usd=3.0)))
    store.update(lease, RunUpdate(updated_us=51, budget=Budget(calls=20), status="running"))
    await commit(store, lease)
    store.update(lease, RunUpdate(updated_us=52, driven_s=1.0))
    await store.release(lease)
    (listed,) = await other.list_runs()
    assert listed.budget == Budget(usd=3.0, tokens=1000, calls=20, seconds=60.5, depth=3)


async def test_a_ceiling_that_nobody_meets_can_be_as_large_as_one_likes(store: Store) -> None:
    await store.create(msgspec.structs.replace(a_run(), budget=Budget(tokens=10**30)), [])
    assert (await store.get(run_id(1))).budget == Budget(tokens=2**63 - 1)


async def test_ceilings_of_a_driver_that_was_fenced_off_change_nothing(store: Store, other: Store) -> None:
    lease = await driven(store)
    await other.acquire(run_id(1), take_over=True)
    store.update(lease, RunUpdate(updated_us=50, budget=Budget(usd=9.0)))
    with pytest.raises(FencedError):
        await commit(store, lease)
    assert (await other.get(run_id(1))).budget == Budget()


async def test_an_owner_has_one_run_of_a_name(store: Store, other: Store) -> None:
    def named(number: int, owner: str, key: str) -> RunRow:
        return msgspec.structs.replace(a_run(number), owner=owner, start_key=key)

    await store.create(named(1, "alice", "wish"), [a_row(1)])
    await store.create(named(2, "bob", "wish"), [])
    await store.create(named(3, "alice", ""), [])
    await store.create(named(4, "alice", ""), [])
    results = await asyncio.gather(
        store.create(named(5, "alice", "wish"), [a_row(1)]),
        store.create(named(6, "alice", "more"), []),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [StoreError, type(None)], "it fails alone"
    run = await other.find_start("alice", "wish")
    assert run is not None
    assert run.run_id == run_id(1)
    assert await other.find_start("carol", "wish") is None
    assert await other.find_start("alice", "") is None


# ── whose they are ───────────────────────────────────────────────────────────────────────────────


async def owned(store: Store, owners: Sequence[str]) -> None:
    for number, owner in enumerate(owners, 1):
        run = msgspec.structs.replace(a_run(number, status="completed"), owner=owner)
        await store.create(msgspec.structs.replace(run, usage=Charge(usd=number, calls=1)), [])


async def test_runs_are_listed_by_owner_and_nobody_s_are_their_own_kind(store: Store) -> None:
    await owned(store, ["alice", "", "bob", "alice"])
    assert [run.run_id for run in await store.list_runs(owner="alice")] == [run_id(4), run_id(1)]
    assert [run.run_id for run in await store.list_runs(owner="")] == [run_id(2)]
    assert len(await store.list_runs()) == 4
    page = await store.list_runs(owner="alice", limit=1)
    assert (await store.list_runs(owner="alice", limit=1, before=page[0].run_id))[0].run_id == run_id(1)
    assert (await store.get(run_id(3))).owner == "bob"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("REQUEST 2", [2]),
        ("request", [3, 2, 1]),
        (run_id(3), [3]),
        ("run-", [3, 2, 1]),
        ("%", []),
        ("_", []),
        ("2'", []),
    ],
)
async def test_runs_are_found_by_their_request_and_the_beginning_of_their_id(
    store: Store, text: str, expected: list[int]
) -> None:
    await owned(store, ["", "", ""])
    assert [run.run_id for run in await store.list_runs(text=text)] == [run_id(number) for number in expected]


async def test_what_changed_since_a_moment_is_reported_in_its_order(store: Store) -> None:
    await owned(store, ["alice", "bob", "alice"])
    assert [run.run_id for run in await store.list_changed(2)] == [run_id(2), run_id(3)]
    assert [run.run_id for run in await store.list_changed(0, owner="alice")] == [run_id(1), run_id(3)]
    lease = await store.acquire(run_id(1))
    store.update(lease, RunUpdate(updated_us=9, status="running"))
    await store.release(lease)
    assert [run.run_id for run in await store.list_changed(2)] == [run_id(2), run_id(3), run_id(1)]
    assert await store.list_changed(10) == []


async def test_what_runs_come_to_is_summed_by_workflow_and_status(store: Store) -> None:
    await owned(store, ["alice", "bob", "alice"])
    await store.create(a_run(4, workflow="other"), [])
    totals = {
        (total.workflow, total.status): (total.runs, total.usage.usd) for total in await store.run_totals()
    }
    assert totals == {("demo", "completed"): (3, 6.0), ("other", "queued"): (1, 0.0)}
    (hers,) = await store.run_totals("alice")
    assert (hers.runs, hers.usage.usd, hers.usage.calls) == (2, 4.0, 2)
    assert await store.run_totals("nobody") == []
