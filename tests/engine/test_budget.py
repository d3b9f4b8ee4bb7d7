"""Ceilings that hold: worst cases are reserved, waiting is fair, nothing deadlocks, crashes are counted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import podium
from podium.engine.budget import Budget, Ledger, Scope
from podium.engine.codec import decode
from podium.engine.effect import CallAttempt
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import BudgetExhaustedError, FencedError, UsageError
from podium.stores import open_store
from tests.engine.reserving import reserved

ONE_CALL = Charge(calls=1)


class Meter:
    """The callee's own count of what it was asked to do."""

    def __init__(self) -> None:
        self.calls = 0
        self.at_once = 0
        self.most_at_once = 0

    async def call(self, n: int) -> int:
        self.calls += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return n


def fan_of(meter: Meter, branches: int, cost: Charge) -> podium.Workflow:
    async def one(run: podium.Run, n: int) -> int:
        return await run.step("call", meter.call, n, cost=cost)

    async def fan(run: podium.Run, request: str) -> dict[str, int]:
        out = await run.gather({str(n): one(run, n) for n in range(branches)})
        failed = [r.error for r in out.values() if isinstance(r, podium.Failed)]
        assert all(isinstance(error, BudgetExhaustedError) for error in failed)
        return {"done": len(out) - len(failed), "refused": len(failed)}

    return podium.Workflow(fan, "fan")


@pytest.mark.parametrize(
    ("budget", "cost", "allowed"),
    [
        (Budget(calls=20), ONE_CALL, 20),
        (Budget(usd=2.0), Charge(usd=0.1, calls=1), 20),
        (Budget(tokens=2_050), Charge(input_tokens=60, output_tokens=40, calls=1), 20),
        (Budget(usd=100, calls=20, tokens=10_000), Charge(usd=0.1, input_tokens=1, calls=1), 20),
    ],
)
async def test_fifty_parallel_calls_never_pass_a_cap_for_twenty(
    store: Store, budget: Budget, cost: Charge, allowed: int
) -> None:
    meter = Meter()
    result = await podium.run(fan_of(meter, 50, cost), "go", store=store, budget=budget)
    assert meter.calls == allowed
    assert result.output == {"done": allowed, "refused": 50 - allowed}
    assert (result.status, result.stop_reason, result.exit_code) == ("partial", "budget", 4)
    assert result.usage.calls == allowed


async def test_a_resumed_run_remembers_what_it_spent_and_gets_the_new_total(store: Store) -> None:
    meter = Meter()
    flow = fan_of(meter, 50, ONE_CALL)
    first = await podium.run(flow, "go", store=store, budget=Budget(calls=20))
    second = await (
        await podium.resume(first.run_id, workflow=flow, store=store, budget=Budget(calls=35))
    ).result()
    assert meter.calls == 35
    assert second.usage.calls == 35
    third = await (
        await podium.resume(first.run_id, workflow=flow, store=store, budget=Budget(calls=100))
    ).result()
    assert third.status == "completed"
    assert meter.calls == 50, "nothing was paid twice"


async def test_callers_wait_while_something_in_flight_may_free_the_budget(store: Store) -> None:
    """The worst case is ten times the real cost: calls must queue for settlements, not fail."""
    meter = Meter()

    async def one(run: podium.Run, n: int) -> int:
        async def work(effect: Any) -> int:
            async with CallAttempt(effect, Charge(usd=1.0, calls=1)) as attempt:
                value = await meter.call(n)
                attempt.spend(Charge(usd=0.1, calls=1))
                return value

        return await run.perform("call", work, inputs=[n])

    async def fan(run: podium.Run, request: str) -> int:
        out = await run.gather({str(n): one(run, n) for n in range(30)})
        return sum(isinstance(r, podium.Ok) for r in out.values())

    result = await podium.run(podium.Workflow(fan, "fan"), "go", store=store, budget=Budget(usd=4.0))
    assert result.output == 30, "3 dollars in all fit under 4, though 30 worst cases do not"
    assert meter.most_at_once <= 4


async def test_a_branch_budget_is_a_cap_and_not_a_share(store: Store) -> None:
    meter = Meter()

    async def capped(run: podium.Run, name: str, cap: int) -> int:
        completed = 0
        async with run.branch("capped", budget=Budget(calls=cap)):
            try:
                for n in range(10):
                    await run.step("call", meter.call, n, cost=ONE_CALL)
                    completed += 1
            except BudgetExhaustedError as error:
                return completed if error.scope == f"{name}/capped" else -1
        return completed

    async def flow(run: podium.Run, request: str) -> list[int]:
        out = await run.gather({"a": capped(run, "a", 3), "b": capped(run, "b", 8)})
        return [branch.unwrap() for branch in out.values()]

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store, budget=Budget(calls=12))
    assert result.output == [3, 8]
    assert result.status == "completed", "an exhausted branch is the workflow's own business"


async def test_the_run_ceiling_holds_over_generous_branches(store: Store) -> None:
    meter = Meter()

    async def branch(run: podium.Run) -> None:
        async with run.branch("rich", budget=Budget(calls=100)):
            for n in range(10):
                await run.step("call", meter.call, n, cost=ONE_CALL)

    async def flow(run: podium.Run, request: str) -> None:
        await run.gather({str(n): branch(run) for n in range(5)})

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store, budget=Budget(calls=17))
    assert meter.calls == 17
    assert result.status == "partial"


async def test_the_closing_reserve_is_kept_for_the_last_step(store: Store) -> None:
    meter = Meter()

    async def flow(run: podium.Run, request: str) -> str:
        completed = 0
        try:
            while True:
                await run.step("work", meter.call, completed, cost=ONE_CALL)
                completed += 1
        except BudgetExhaustedError:
            async with run.closing():
                await run.step("sum_up", meter.call, completed, cost=ONE_CALL)
        return f"{completed} steps and a summary"

    result = await podium.run(
        podium.Workflow(flow, "flow", closing=0.1), "go", store=store, budget=Budget(calls=10)
    )
    assert result.output == "9 steps and a summary"
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert meter.calls == 10
    # Nine of ten are spent and the tenth is there: whoever reads this must learn why it was not used.
    assert result.error == "The calls budget of the run is used up: 9 of 10 spent, 1 kept back for the end."


async def test_out_of_budget_without_a_word_from_the_workflow_is_partial_and_resumable(store: Store) -> None:
    meter = Meter()

    async def flow(run: podium.Run, request: str) -> int:
        for n in range(5):
            await run.step("call", meter.call, n, cost=ONE_CALL)
        return 5

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store, budget=Budget(calls=3))
    assert (first.status, first.stop_reason, first.exit_code) == ("partial", "budget", 4)
    assert "3 of 3 spent" in first.error
    assert "larger budget" in first.hint
    second = await (
        await podium.resume(first.run_id, workflow=workflow, store=store, budget=Budget(calls=9))
    ).result()
    assert (second.status, second.output) == ("completed", 5)
    assert meter.calls == 5


class Noted(podium.EventData, frozen=True, kw_only=True):
    type = "told.status"
    status: str


async def test_what_was_reported_of_an_exhausted_branch_is_reported_anew_on_resume(store: Store) -> None:
    """Running out is no outcome, so what a workflow tells because of it stands for no later event."""

    async def part(run: podium.Run, name: str) -> str:
        run.emit(Noted(status=f"{name} begins"))
        try:
            await run.step("call", int, "1", cost=Charge(calls=1))
        except podium.BudgetExhaustedError:
            run.emit(Noted(status=f"{name} is out of budget"))
            return "out"
        run.emit(Noted(status=f"{name} is done"))
        return "done"

    async def parts(run: podium.Run, request: str) -> podium.Partial | list[str]:
        first = await run.gather({"a": part(run, "a")})
        second = await run.gather({"b": part(run, "b")})
        values = [outcome.unwrap() for outcome in (*first.values(), *second.values())]
        run.warn(f"it came to {', '.join(values)}")
        return podium.Partial(output=values) if "out" in values else values

    workflow = podium.Workflow(parts, "parts")
    first = await podium.run(workflow, "go", store=store, budget=Budget(calls=1))
    assert (first.status, first.output) == ("partial", ["done", "out"])
    again = await podium.replay(first.run_id, workflow=workflow, store=store)
    assert again.output == ["done", "out"], "a replay of the first life tells the same"
    handle = await podium.resume(first.run_id, workflow=workflow, store=store, budget=Budget(calls=2))
    assert (await handle.result()).output == ["done", "done"]
    rows = await store.read(first.run_id, types=("told.status", "run.warned"))
    shown = [str(decode(row.data).get("status") or decode(row.data)["message"]) for row in rows]
    assert shown == [
        "a begins",
        "a is done",
        "b begins",
        "b is out of budget",
        "it came to done, out",
        "b is done",
        "it came to done, done",
    ]
    replayed = await podium.replay(first.run_id, workflow=workflow, store=store)
    assert replayed.output == ["done", "done"]


async def test_a_time_budget_stops_what_is_in_flight(store: Store) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> None:
        await run.step("wait", forever)

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store, budget=Budget(seconds=0.1))
    assert (result.status, result.stop_reason, result.exit_code) == ("partial", "time", 4)


async def test_a_branch_can_have_a_time_budget_of_its_own(store: Store) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> str:
        try:
            async with run.branch("slow", budget=Budget(seconds=0.05)):
                await run.step("wait", forever)
        except BudgetExhaustedError as error:
            return f"{error.kind} of {error.scope}"
        return "no limit"

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store)
    assert result.output == "seconds of slow"
    assert result.status == "completed"


async def test_depth_is_a_budget(store: Store) -> None:
    async def deeper(run: podium.Run, depth: int) -> int:
        try:
            out = await run.gather({"down": deeper(run, depth + 1)})
        except BudgetExhaustedError as error:
            return depth if error.kind == "depth" else -1
        return out["down"].unwrap()

    async def flow(run: podium.Run, request: str) -> int:
        return await deeper(run, 0)

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store, budget=Budget(depth=4))
    assert result.output == 4


async def test_a_call_that_costs_more_than_its_worst_case_is_reported(store: Store) -> None:
    async def greedy(effect: Any) -> str:
        async with CallAttempt(effect, Charge(usd=0.1, calls=1)) as attempt:
            attempt.spend(Charge(usd=0.5, calls=1))
        return "done"

    async def flow(run: podium.Run, request: str) -> str:
        return await run.perform("call", greedy, inputs=[])

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store, budget=Budget(usd=1.0))
    assert result.usage.usd == pytest.approx(0.5)
    assert len(await store.read(result.run_id, types=["budget.overrun"])) == 1


async def test_an_unknown_option_of_a_budget_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="empty"):
        await podium.run(fan_of(Meter(), 1, ONE_CALL), "  ", store=store)


# ── the ledger alone ──


def ledger_of(limit: int) -> tuple[Ledger, Scope]:
    return Ledger(), Scope("", Budget(calls=limit))


async def test_only_a_full_scope_blocks_those_behind() -> None:
    """First come first served; but a waiter for a full branch does not hold up its neighbours."""
    ledger, root = ledger_of(100)
    narrow, wide = Scope("narrow", Budget(calls=1)), Scope("wide", Budget(calls=50))
    held = await reserved(ledger, (narrow, root), ONE_CALL)
    blocked = asyncio.create_task(reserved(ledger, (narrow, root), ONE_CALL))
    await asyncio.sleep(0)
    async with asyncio.timeout(1):
        await reserved(ledger, (wide, root), ONE_CALL)
    assert not blocked.done()
    ledger.settle(held, Charge())
    async with asyncio.timeout(1):
        await blocked


async def test_a_big_waiter_is_not_starved_by_small_ones() -> None:
    ledger, root = ledger_of(10)
    first = await reserved(ledger, (root,), Charge(calls=6))
    big = asyncio.create_task(reserved(ledger, (root,), Charge(calls=8)))
    await asyncio.sleep(0)
    small = asyncio.create_task(reserved(ledger, (root,), Charge(calls=1)))
    await asyncio.sleep(0)
    assert not small.done(), "it came later and the scope is full for the one before it"
    ledger.settle(first, Charge(calls=1))
    await big
    await small


async def test_a_cancelled_waiter_gives_way() -> None:
    ledger, root = ledger_of(2)
    held = await reserved(ledger, (root,), Charge(calls=1))
    waiting = asyncio.create_task(reserved(ledger, (root,), Charge(calls=2)))
    await asyncio.sleep(0)
    behind = asyncio.create_task(reserved(ledger, (root,), Charge(calls=1)))
    await asyncio.sleep(0)
    waiting.cancel()
    async with asyncio.timeout(1):
        await behind
    assert root.reserved[2] == 2
    ledger.settle(held, Charge())
    assert root.reserved[2] == 1


# ── nested budgets and slots: no deadlock ──

Tree = tuple[int, int | None, list[Any]]
"""Calls at a node, its cap, and its children."""

trees: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(st.integers(0, 3), st.none() | st.integers(0, 6), st.just([])),
    lambda children: st.tuples(
        st.integers(0, 3), st.none() | st.integers(0, 12), st.lists(children, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, slots=st.integers(1, 8), total=st.integers(0, 40))
def test_nested_budgets_with_few_slots_never_deadlock(
    tree: Tree, slots: int, total: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    meter = Meter()

    async def node(run: podium.Run, tree: Tree) -> None:
        calls, cap, children = tree
        async with run.branch("node", budget=None if cap is None else Budget(calls=cap)):
            for n in range(calls):
                await run.step("before", meter.call, n, cost=ONE_CALL)
            if children:
                await run.gather({str(i): node(run, child) for i, child in enumerate(children)})
            await run.step("after", meter.call, 0, cost=ONE_CALL)

    async def flow(run: podium.Run, request: str) -> str:
        await node(run, tree)
        return "done"

    async def drive(folder: Path) -> podium.RunResult:
        async with open_store(f"sqlite:///{folder}/podium.sqlite") as store, asyncio.timeout(20):
            return await podium.run(
                podium.Workflow(flow, "flow"),
                "go",
                store=store,
                budget=Budget(calls=total),
                concurrency=slots,
            )

    result = asyncio.run(drive(_SHARED.setdefault("folder", tmp_path_factory.mktemp("trees"))))
    assert result.status in {"completed", "partial"}
    assert meter.calls <= total
    assert meter.most_at_once <= slots


_SHARED: dict[str, Path] = {}
"""One database for all examples: making 300 of them would test the file system."""


# ── values, and what a stop leaves to be paid ──


@pytest.mark.parametrize(
    "ceilings",
    [
        {"usd": -1},
        {"usd": float("nan")},
        {"usd": float("inf")},
        {"usd": "3"},
        {"seconds": float("nan")},
        {"tokens": -1},
        {"tokens": 1e6},
        {"calls": 1.5},
        {"calls": True},
        {"depth": -1},
    ],
)
def test_a_ceiling_that_is_none_is_refused_in_one_sentence(ceilings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"The budget {next(iter(ceilings))} must be a .*number from 0 on"):
        Budget(**ceilings)


async def test_a_ceiling_of_zero_allows_nothing(store: Store) -> None:
    meter = Meter()
    result = await podium.run(fan_of(meter, 3, ONE_CALL), "go", store=store, budget=Budget(calls=0))
    assert (result.status, result.stop_reason, meter.calls) == ("partial", "budget", 0)


async def test_a_negative_concurrency_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="concurrency"):
        await podium.run(fan_of(Meter(), 1, ONE_CALL), "go", store=store, concurrency=-1)
    assert await store.list_runs() == []


@pytest.mark.parametrize("grouped", [False, True])
async def test_out_of_budget_is_partial_under_any_name(store: Store, grouped: bool) -> None:
    """The workflow raises an error of its own, from the exhausted budget or with it in a group."""

    async def renames(run: podium.Run, request: str) -> None:
        try:
            await run.step("call", str.upper, "x", cost=ONE_CALL)
        except BudgetExhaustedError as error:
            if grouped:
                raise ExceptionGroup("several", [ValueError("other"), error]) from None
            raise RuntimeError("gave up") from error

    result = await podium.run(podium.Workflow(renames, "w"), "go", store=store, budget=Budget(calls=0))
    assert (result.status, result.stop_reason, result.exit_code) == ("partial", "budget", 4)


async def test_a_call_that_outlives_its_run_is_paid_for(store: Store) -> None:
    """It ignores that it is stopped, so the run ends without it; what it may have cost counts."""
    begun, end = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue

    async def one(run: podium.Run, request: str) -> None:
        await run.step("call", stubborn, cost=Charge(usd=1.0, calls=1))

    workflow = podium.Workflow(one, "one")
    handle = await podium.start(workflow, "go", store=store, budget=Budget(usd=1.5))
    await begun.wait()
    first = await handle.pause(at_once=True)
    end.set()
    assert (first.status, first.usage.usd) == ("paused", 1.0)
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert (second.status, second.stop_reason, second.usage.usd) == ("partial", "budget", 1.0)


async def test_each_branch_remembers_its_own_spending(store: Store) -> None:
    """Branches that are numbered, keyed, or only begin alike."""
    calls: list[str] = []
    broken = [True]

    async def call(name: str) -> None:
        calls.append(name)

    async def flow(run: podium.Run, request: str) -> list[str]:
        full: list[str] = []
        for name, key in (("a", None), ("a", None), ("ab", None), ("a", "k"), ("a", "kk")):
            async with run.branch(name, key=key, budget=Budget(calls=2)):
                try:
                    for number in ("1", "2", "3"):
                        await run.step("call", call, name + number, cost=ONE_CALL)
                except BudgetExhaustedError as error:
                    full.append(error.scope)
        if broken[0]:
            raise ValueError("broken")
        return full

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store)
    assert len(calls) == 10
    broken[0] = False
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.output == ["a", "a#2", "ab", "a[k]", "a[kk]"]
    assert len(calls) == 10, "no branch got a new allowance"


async def test_a_resume_with_less_than_was_spent_makes_no_call(store: Store) -> None:
    meter = Meter()
    workflow = fan_of(meter, 9, ONE_CALL)
    first = await podium.run(workflow, "go", store=store, budget=Budget(calls=5))
    handle = await podium.resume(first.run_id, workflow=workflow, store=store, budget=Budget(calls=2))
    second = await handle.result()
    assert (second.status, second.usage.calls, meter.calls) == ("partial", 5, 5)


async def test_an_exhausted_budget_ends_a_part_and_not_the_workflow(store: Store) -> None:
    meter = Meter()

    async def flow(run: podium.Run, request: str) -> dict[str, Any]:
        completed: list[int] = []
        async with run.until_exhausted("Only some were done") as part:
            for n in range(5):
                completed.append(await run.step("call", meter.call, n, cost=ONE_CALL))
        async with run.until_exhausted() as last, run.closing():
            completed.append(await run.step("last", meter.call, 99, cost=ONE_CALL))
        async with run.until_exhausted("Never shown") as empty:
            pass
        assert last.exhausted is None
        assert empty.exhausted is None
        return {"done": completed, "kind": part.exhausted.kind if part.exhausted else ""}

    workflow = podium.Workflow(flow, "flow", closing=0.3)
    result = await podium.run(workflow, "go", store=store, budget=Budget(calls=4))
    assert result.output == {"done": [0, 1, 2, 99], "kind": "calls"}
    assert [warning.split(": ")[0] for warning in result.warnings] == ["Only some were done"]
    assert "The calls budget of the run is used up" in result.warnings[0]


async def test_a_part_ends_with_a_failed_step_only_if_it_is_reported_to(store: Store) -> None:
    heard: list[str] = []

    async def broken() -> str:
        raise ValueError("no paper")

    async def flow(run: podium.Run, request: str) -> str:
        async with run.until_exhausted("Not printed", warn=heard.append, or_failed=True) as part:
            await run.step("print", broken)
        assert part.exhausted is None
        with pytest.raises(podium.StepFailedError):
            async with run.until_exhausted("Not printed"):
                await run.step("print", broken)
        with pytest.raises(KeyError):
            async with run.until_exhausted("Not printed", or_failed=True):
                raise KeyError("a bug")
        return "done"

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store)
    assert (result.output, result.warnings) == ("done", [])
    assert heard == ["Not printed: no paper"]


async def test_the_closing_reserve_of_a_time_budget(store: Store) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> str:
        try:
            await run.step("forever", forever)
        except BudgetExhaustedError:
            async with run.closing():
                return await run.step("last words", str.upper, request)
        return "never"

    workflow = podium.Workflow(flow, "flow", closing=0.9)
    result = await podium.run(workflow, "go", store=store, budget=Budget(seconds=2))
    assert (result.status, result.stop_reason, result.output) == ("partial", "time", "GO")


async def test_what_must_not_be_left_half_done_is_finished_when_time_is_up_and_no_more(store: Store) -> None:
    """Without a reserve: the last words come after the limit, within their grace."""

    async def forever() -> None:
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> str:
        words = ""
        try:
            await run.step("forever", forever)
        except BudgetExhaustedError:
            async with run.closing(grace=60):
                words = await run.step("last words", str.upper, request)
                async with run.branch("below"):
                    words += await run.step("more", str.upper, "!")
        try:
            await run.step("and on", str.upper, request)
        except BudgetExhaustedError:
            return words
        return "it went on"

    workflow = podium.Workflow(flow, "flow")
    result = await podium.run(workflow, "go", store=store, budget=Budget(seconds=0.2))
    assert (result.status, result.stop_reason, result.output) == ("partial", "time", "GO!")


async def test_grace_is_not_for_ever(store: Store) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> str:
        try:
            async with run.closing(grace=0.3):
                await run.step("forever", forever)
        except BudgetExhaustedError as error:
            return f"{error.limit:g}"
        return "never"

    workflow = podium.Workflow(flow, "flow")
    result = await podium.run(workflow, "go", store=store, budget=Budget(seconds=0.1))
    assert (result.status, result.output) == ("partial", "0.1")


async def test_a_crash_costs_only_what_was_on_the_wire(store: Store) -> None:
    """Forty callers had their money reserved, two were calling: the others lost nothing."""
    calls: list[int] = []
    both, forever = asyncio.Event(), asyncio.Event()

    async def call(n: int) -> int:
        calls.append(n)
        if len(calls) == 2:
            both.set()
        if len(calls) <= 2:
            await forever.wait()
        return n

    async def fan(run: podium.Run, request: str) -> int:
        parts = await run.gather({str(n): run.step("call", call, n, cost=ONE_CALL) for n in range(40)})
        return sum(bool(part) for part in parts.values())

    workflow = podium.Workflow(fan, "fan")
    first = await podium.start(workflow, "go", store=store, budget=Budget(calls=44), concurrency=2)
    await both.wait()
    second = await podium.resume(first.run_id, workflow=workflow, store=store, take_over=True)
    result = await second.result()
    assert (result.status, result.output) == ("completed", 40)
    assert len(calls) <= 44
    forever.set()
    with pytest.raises(FencedError):
        await first.result()
