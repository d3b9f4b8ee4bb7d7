"""One union of declared events, read by type, and readers that survive what they do not know."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, get_args

import msgspec
import pytest

import podium
from podium.engine.events import (
    EVENT_TYPES,
    Charge,
    EngineData,
    EventData,
    RunCreated,
    StepCompleted,
    UnknownData,
    decode_data,
    decode_event,
)
from podium.engine.log import Store
from podium.stores import open_store

SPECIFIED = [
    "run.created",
    "run.started",
    "run.resumed",
    "run.waiting",
    "run.answered",
    "run.paused",
    "run.completed",
    "run.partial",
    "run.failed",
    "run.cancelled",
    "run.forked",
    "step.started",
    "step.completed",
    "step.failed",
    "step.stale",
    "model.attempted",
    "model.repaired",
    "model.cached",
    "model.fell_back",
    "budget.exhausted",
    "budget.overrun",
]


def test_every_engine_event_of_the_specification_is_declared() -> None:
    assert podium.Run, "loading the agents declares the events of models"
    assert set(SPECIFIED) <= set(EVENT_TYPES)


def test_the_union_holds_every_event_that_the_engine_declares() -> None:
    engine = {cls for cls in EVENT_TYPES.values() if cls.__module__ == "podium.engine.events"}
    assert engine == set(get_args(EngineData)) - {UnknownData}


def test_types_are_namespaced_and_in_the_past_tense_of_something() -> None:
    for name in EVENT_TYPES:
        namespace, _, what = name.partition(".")
        assert namespace, name
        assert what, name
        assert name == name.lower()


def test_an_unknown_type_is_read_as_it_is() -> None:
    event = decode_event("r", 7, 1_700_000_000_000_000, "a/b", "future.thing", b'{"x":[1,2]}')
    assert isinstance(event.data, UnknownData)
    assert event.data.fields == {"x": [1, 2]}
    shown = json.loads(event.to_json())
    assert shown == {
        "seq": 7,
        "run_id": "r",
        "time": "2023-11-14T22:13:20.000000Z",
        "path": "a/b",
        "type": "future.thing",
        "data": {"x": [1, 2]},
    }


@pytest.mark.parametrize("data", [b'{"question":5}', b"[1]", b'"text"', b'{"unheard":true}'])
def test_a_known_type_in_another_shape_is_no_error_either(data: bytes) -> None:
    assert isinstance(decode_data("run.waiting", data), (UnknownData, EventData))


def test_a_newer_field_is_ignored_by_an_older_reader() -> None:
    data = decode_data("run.created", b'{"workflow":"w","request":"r","invented_later":1}')
    assert isinstance(data, RunCreated)
    assert data.workflow == "w"


def test_results_are_shown_as_json_and_not_as_text() -> None:
    stored = msgspec.json.encode(StepCompleted(fingerprint="f", result=msgspec.Raw(b'{"a":1}')))
    event = decode_event("r", 1, 0, "p", "step.completed", stored)
    assert json.loads(event.to_json())["data"] == {"fingerprint": "f", "result": {"a": 1}}


def test_a_workflows_event_shows_all_its_fields() -> None:
    class Moved(EventData, frozen=True, kw_only=True):
        type: ClassVar[str] = "test.moved"
        to: str | None = None
        far: bool = False

    assert msgspec.json.encode(Moved()) == b'{"to":null,"far":false}'
    del EVENT_TYPES["test.moved"]


def test_charges_add_up() -> None:
    total = Charge(0.5, 10, 5, 1) + Charge(0.25, 1, 2, 1, 1)
    assert (total.usd, total.tokens, total.calls, total.unpriced_calls) == (0.75, 18, 2, 1)


async def test_the_iterator_gives_typed_events_in_order(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> str:
        return await run.step("a", str.upper, request)

    handle = await podium.start(podium.Workflow(flow, "flow"), "hello", store=store)
    events: list[podium.Event] = [event async for event in handle.events()]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.type for event in events] == [
        "run.created",
        "run.started",
        "step.started",
        "step.completed",
        "run.completed",
    ]
    assert isinstance(events[0].data, RunCreated)
    assert events[0].data.request == "hello"
    times: list[Any] = [event.time for event in events]
    assert times == sorted(times)
    assert all(isinstance(time, datetime) and time.tzinfo is UTC for time in times)
    late = [event.seq async for event in handle.events(after=3)]
    assert late == [4, 5], "a viewer who comes late, or again, gets the same log"


async def shout(run: podium.Run, request: str) -> str:
    return await run.step("shout", str.upper, request)


async def test_any_number_of_iterators_also_after_the_end(tmp_path: Path) -> None:
    """The store was opened for the run and closed with it; each iterator opens and closes its own."""
    store = f"sqlite:///{tmp_path}/podium.sqlite"
    handle = await podium.start(podium.Workflow(shout, "shout"), "go", store=store)

    async def types() -> list[str]:
        return [event.type async for event in handle.events()]

    live = await asyncio.gather(types(), types())
    await handle.result()
    threads = threading.active_count()
    late = await asyncio.gather(types(), types())
    assert live[0] == live[1] == late[0] == late[1]
    assert late[0][-1] == "run.completed"
    assert threading.active_count() == threads


async def test_an_iterator_ends_when_the_store_is_closed_under_it(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> None:
        await run.step("forever", forever)

    store = await open_store(f"sqlite:///{tmp_path}/podium.sqlite")
    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    started = asyncio.Event()

    async def watch() -> None:
        async for event in handle.events():
            if event.type == "run.started":
                started.set()

    watching = asyncio.create_task(watch())
    await begun.wait()
    await started.wait()
    await store.close()
    await watching
    assert (await handle.pause(at_once=True)).status == "paused"
