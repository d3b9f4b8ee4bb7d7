"""The view of a run over HTTP and on its stream, shared by all readers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Raw

from podium.engine.codec import encode
from podium.engine.events import EventData, RunCompleted, RunCreated, RunStarted, StepCompleted, StepStarted
from podium.engine.log import Row, RunRow, Store
from podium.engine.state import RunState
from podium.report.event_lines import line_of
from podium.server import views
from podium.server.sse import Broadcast
from podium.server.views import PATCHES, TURN, SharedFold, SharedFolds
from podium.stores import open_store
from podium.workflows import SHIPPED, presentation_of
from tests.report.test_view import merged
from tests.server.serving import Served, done, events_of, flow, started
from tests.server.test_streams import messages

LONG = 50_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(str(tmp_path / "podium.sqlite")) as opened:
        yield opened


def rows_of(*entries: tuple[str, EventData]) -> list[Row]:
    return [
        Row(seq, seq * 1_000_000, path, data.type, encode(data))
        for seq, (path, data) in enumerate(entries, 1)
    ]


async def stored(
    store: Store, rows: list[Row], *, workflow: str = "x", run_id: str = "run0run0run0"
) -> RunRow:
    row = RunRow(run_id=run_id, workflow=workflow, request="x", status="completed")
    await store.create(row, rows)
    return row


def view_of(client: httpx2.Client, run_id: str) -> dict[str, Any]:
    answer = client.get(f"/api/runs/{run_id}/view")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def follow(client: httpx2.AsyncClient, run_id: str, query: str = "") -> tuple[list[Any], Any, int]:
    """The events of a stream until the run rests, the view built from its frames, and its number."""
    events: list[Any] = []
    view: Any = None
    seq = 0
    path = f"/api/runs/{run_id}/events/stream?view=true{query}"
    async with client.stream("GET", path) as answer:
        async for message in messages(answer):
            if message.event == "message":
                assert view is not None, "the complete view comes first"
                events.append(message.data)
            elif message.event == "view":
                assert message.id is None, "a client that comes again must not take it for an event"
                view = message.data["view"] if "view" in message.data else merged(view, message.data["patch"])
                assert message.data["seq"] >= seq
                seq = message.data["seq"]
            elif message.event == "status" and message.data["at_rest"]:
                assert seq >= events[-1]["seq"], "the view holds the last event"
                return events, view, seq
    return events, view, seq


@pytest.mark.parametrize("name", SHIPPED)
async def test_a_view_that_was_followed_is_the_view_of_the_finished_run(server: Served, name: str) -> None:
    options = {"workspace": str(server.folder)} if name == "build" else {}
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx2.AsyncClient(base_url=server.base, headers=headers, timeout=120) as client:
        body = {"workflow": name, "request": "Write slugify", "options": options}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        events, view, seq = await follow(client, run_id)
        finished = (await client.get(f"/api/runs/{run_id}/view")).json()
        pages = (await client.get(f"/api/runs/{run_id}/events", params={"limit": 5000})).json()["events"]
        few, again, _ = await follow(client, run_id, "&last=3")
    assert (seq, view) == (finished["seq"], finished["view"])
    assert events == pages
    assert (few, again) == (pages[-3:], view)
    async with open_store(str(server.folder / "podium.sqlite")) as store:
        shown, state, lines = presentation_of(name), RunState(), list[Any]()
        for row in await store.read(run_id):
            event = row.to_event(run_id)
            state.apply(event)
            shown.apply(event)
            lines.append(line_of(event, state, shown))
    assert [event["line"] for event in pages] == [
        {
            "text": line.what,
            "weight": line.weight,
            "mark": line.mark,
            "indent": line.indent,
            "notes": list(line.notes),
        }
        for line in lines
    ]


def test_a_workflow_of_one_s_own_has_the_common_part_and_generic_lines(client: httpx2.Client) -> None:
    run_id = started(client, flow("quick"), "one")
    done(client, run_id)
    view = view_of(client, run_id)["view"]
    assert "detail" not in view
    assert (view["status"], view["request"], view["delivered"]) == ("completed", "one", True)
    assert view["steps_total"] == len(view["steps"]) > 0
    assert all(event["line"]["text"] for event in events_of(client, run_id))
    some = client.get(f"/api/runs/{run_id}/events", params={"type": "run.completed"}).json()["events"]
    assert [event["line"]["text"] for event in some] == ["completed"]


def test_a_run_has_its_deliverable_and_a_step_its_prompt_and_result(client: httpx2.Client) -> None:
    run_id = started(client, "tree", "a garden")
    run = done(client, run_id)
    assert run["deliverable"] == run["output"]["document"]
    view = view_of(client, run_id)["view"]
    path = next(path for path, step in view["steps"].items() if step["agent"])
    step = client.get(f"/api/runs/{run_id}/step", params={"path": path}).json()
    events = [event for event in events_of(client, run_id) if event["path"] == path]
    assert step["events"] == [event["seq"] for event in events]
    assert view["steps"][path]["asked_seq"] in step["events"]
    assert step["prompt"]
    assert step["result"] == next(event["data"]["result"] for event in events if "result" in event["data"])


async def test_an_old_log_and_foreign_events_have_lines_and_a_view(store: Store) -> None:
    """Fields that came later are missing, a shape is unknown, and a workflow's own data makes no sense."""
    old = [
        Row(1, 1, "", "run.created", encode({"workflow": "council", "request": "x"})),
        Row(2, 2, "", "council.phase", encode({"phase": "exploration", "round": 1})),
        Row(
            3,
            3,
            "",
            "council.idea_added",
            encode({"id": "I1", "title": "A", "description": "B", "refines": "I0"}),
        ),
        Row(4, 4, "", "council.idea_scored", encode({"id": 7})),
        Row(5, 5, "s", "step.completed", encode({"result": 1, "fingerprint": ""})),
        Row(6, 6, "", "tests.unknown", encode({"score": 3})),
    ]
    fold = SharedFolds(store).of(await stored(store, old, workflow="council"))
    await fold.extend()
    lines = [json.loads(fold.line(seq)) for seq in range(1, 7)]
    assert lines[2]["text"] == "I1 A (refines I0)"
    assert lines[5]["text"] == "tests.unknown: score 3"
    view = json.loads(fold.complete()[1])["view"]
    assert view["detail"]["ideas"]["I1"]["refines"] == ["I0"]
    assert view["steps"]["s"]["status"] == "completed"
    research = [
        old[0]._replace(data=encode({"workflow": "research", "request": "x"})),
        Row(
            2, 2, "", "research.plan_created", encode({"iteration": 1, "plan": {}, "answers": [], "kept": []})
        ),
        Row(3, 3, "", "run.started", b"{}"),
    ]
    other = SharedFolds(store).of(await stored(store, research, workflow="research", run_id="run1run1run1"))
    await other.extend()
    assert other.line(2) == b"null", "a plan without steps cannot be shown"
    assert json.loads(other.complete()[1])["view"]["status"] == "running"


async def test_a_long_log_is_folded_once_and_in_turns(store: Store) -> None:
    steps = (f"s{n}" for n in range(LONG // 2))
    entries = [
        (path, data)
        for path in steps
        for data in (StepStarted(fingerprint=""), StepCompleted(result=Raw(b"1")))
    ]
    created = RunCreated(workflow="x", request="x")
    row = await stored(store, rows_of(("", created), ("", RunStarted()), *entries))
    folds, turns = SharedFolds(store), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await asyncio.gather(*(folds.of(row).extend() for _ in range(5)))
    task.cancel()
    fold = folds.of(row)
    assert fold.seq == LONG + 2
    assert turns > LONG / TURN / 2
    assert json.loads(fold.line(LONG))["text"] == "1"
    whole = fold.complete()[1]
    fold.follow(self := object(), lambda: None)
    before = fold.seq
    for data in (StepStarted(fingerprint=""), RunCompleted(output="x")):
        fold.apply(Row(fold.seq + 1, 1, "last", data.type, encode(data)))
    fold.publish()
    (patch,) = fold.patches(before, fold.seq) or []
    assert len(patch.json) < len(whole) / 1000
    fold.unfollow(self)


async def test_a_reader_that_missed_patches_gets_a_complete_view_again(store: Store) -> None:
    row = await stored(store, rows_of(("", RunCreated(workflow="x", request="x")), ("", RunStarted())))
    fold = SharedFolds(store).of(row)
    broadcast = Broadcast(store, fold)
    pieces = broadcast.follow(0, view=True)
    first = await anext(pieces)
    assert first.startswith(b'event: view\ndata: {"seq":2,"view":')
    await anext(pieces)
    for n in range(PATCHES + 5):
        fold.apply(Row(fold.seq + 1, 1, f"s{n}", "step.started", encode(StepStarted(fingerprint=""))))
        fold.publish()
    later = b""
    while b"event: view" not in later:
        later = await anext(pieces)
    frame = json.loads(later.split(b"event: view\ndata: ")[1].split(b"\n")[0])
    assert frame["seq"] == fold.seq
    assert len(frame["view"]["steps"]) == PATCHES + 5
    await pieces.aclose()
    broadcast.close()
    assert not fold.in_use


async def test_folds_are_bounded_and_those_of_open_streams_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_FOLDS", 2)
    created = rows_of(("", RunCreated(workflow="x", request="x")))
    rows = [await stored(store, created, run_id=f"run{n}run{n}run{n}") for n in range(4)]
    folds = SharedFolds(store)
    first: SharedFold = folds.of(rows[0])
    broadcast = Broadcast(store, first)
    second = folds.of(rows[1])
    folds.of(rows[2])
    folds.of(rows[3])
    assert folds.of(rows[0]) is first
    broadcast.close()
    assert not first.in_use
    assert folds.of(rows[1]) is not second
