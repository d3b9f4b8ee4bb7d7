"""The same schemas through every way of asking for structured data, over every wire format."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from podium.engine.codec import reader
from podium.engine.codec import schema as schema_of
from podium.engine.events import StepFailed
from podium.engine.log import Store
from podium.models.providers.formats import best_mode, ordered
from tests.models.wire.answers import Say
from tests.models.wire.asking import MODELS, ask, settings_for
from tests.models.wire.server import Wire


class Flat(msgspec.Struct):
    title: str
    score: float
    done: bool


class Idea(pydantic.BaseModel):
    name: str
    tags: list[str]


class Ideas(pydantic.BaseModel):
    ideas: list[Idea]


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Verdict(pydantic.BaseModel):
    level: Level
    mark: int = pydantic.Field(ge=0, le=10)
    kind: Literal["pass", "fail"]


class Maybe(msgspec.Struct):
    """Optional fields and unions."""

    value: int | str
    note: str | None = None
    more: Flat | Annotated[list[str], msgspec.Meta(max_length=3)] | None = None


class Node(msgspec.Struct):
    """A tree."""

    name: str
    children: list[Node] = []


SCHEMAS: dict[str, tuple[Any, Any]] = {
    "flat": (Flat, {"title": "A", "score": 0.5, "done": True}),
    "lists of objects": (Ideas, {"ideas": [{"name": "a", "tags": ["x", "y"]}, {"name": "b", "tags": []}]}),
    "enums and ranges": (Verdict, {"level": "high", "mark": 7, "kind": "pass"}),
    "optional and union": (Maybe, {"value": "seven", "note": None, "more": ["a", "b"]}),
    "recursive": (Node, {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}),
}
MODES = ("native", "tool", "prompted")
PLACES = {"openai": ("text", "format"), "openai-chat": ("response_format",), "anthropic": ("output_config",)}
"""Where each format holds a native schema."""


def plain(value: Any) -> Any:
    return json.loads(
        value.model_dump_json() if isinstance(value, pydantic.BaseModel) else msgspec.json.encode(value)
    )


def native(body: dict[str, Any], provider: str) -> str:
    """What a request says about the format of its answer."""
    first, *rest = PLACES[provider]
    return json.dumps(body.get(first, {}).get(rest[0]) if rest else body.get(first))


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize(("kind", "answer"), SCHEMAS.values(), ids=SCHEMAS.keys())
async def test_a_schema_through_a_mode(
    kind: Any, answer: Any, provider: str, mode: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(json.dumps(answer)))
    settings = settings_for(wire, tmp_path, limits={"output": mode})
    shown = await ask(store, settings, MODELS[provider], returns=kind, watch=watch)
    if (provider, mode, kind) == ("anthropic", "native", Node):
        mode = "tool"  # its strict mode takes no recursive schema: its client refuses it before it is sent
    assert shown.result.output == plain(reader(kind)(json.dumps(answer).encode()))
    assert [(attempt.ok, attempt.mode) for attempt in shown.attempts] == [(True, mode)]
    (seen,) = wire.requests
    assert ("tools" in seen.body) is (mode == "tool")
    assert ("json_schema" in native(seen.body, provider)) is (mode == "native")
    first = next(iter(schema_fields(kind)))
    assert f'"{first}"' in json.dumps(seen.body).replace('\\"', '"'), "the schema went out"


def schema_fields(kind: Any) -> list[str]:
    return list(ordered(schema_of(kind)).schema["properties"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("provider", MODELS)
async def test_a_list_is_wrapped_for_the_provider_and_unwrapped_for_the_workflow(
    provider: str, mode: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say('{"value": [1, 2, 3]}'))
    settings = settings_for(wire, tmp_path, limits={"output": mode})
    shown = await ask(store, settings, MODELS[provider], returns=list[int])
    assert shown.result.output == [1, 2, 3]
    assert len(wire.requests) == 1


@pytest.mark.parametrize("provider", MODELS)
async def test_the_best_mode_is_chosen_and_recorded(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say('{"title": "A", "score": 1, "done": false}'))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], returns=Flat)
    assert [attempt.mode for attempt in shown.attempts] == ["native"]


def test_a_mode_fits_the_model_and_the_schema() -> None:
    flat, free = schema_of(Flat), schema_of(dict[str, int])
    assert best_mode({"supports_json_schema_output": True}, flat, "openai") == "native"
    assert best_mode({"supports_json_schema_output": True}, flat, "anthropic") == "native"
    assert best_mode({"supports_json_schema_output": True}, free, "anthropic") == "tool"
    assert best_mode({"supports_json_schema_output": False}, flat, "openai") == "tool"
    assert best_mode({"supports_tools": False}, flat, "openai") == "prompted"


async def test_free_keys_survive(wire: Wire, store: Store, tmp_path: Path) -> None:
    """A strict mode would only ever let an empty object through."""
    wire.answer_with(Say('{"a": 1, "b": 2}'))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["anthropic"], returns=dict[str, int])
    assert shown.result.output == {"a": 1, "b": 2}
    assert [attempt.mode for attempt in shown.attempts] == ["tool"]


@pytest.mark.parametrize(
    "text",
    ["```json\n{}\n```", "Here you are: {} Anything else?", "{},", "{}\n\n// done"],
    ids=["fence", "prose", "comma", "comment"],
)
@pytest.mark.parametrize("broken", [False, True], ids=["proper", "slightly broken"])
async def test_decoration_costs_no_repair(
    text: str, broken: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    data = "{'title': 'A', 'score': 1, 'done': false,}" if broken else '{"title":"A","score":1,"done":false}'
    wire.answer_with(Say(text.replace("{}", data)))
    settings = settings_for(wire, tmp_path, limits={"output": "prompted"})
    shown = await ask(store, settings, MODELS["openai-chat"], returns=Flat)
    assert shown.result.output == {"title": "A", "score": 1.0, "done": False}
    assert (len(wire.requests), shown.repaired) == (1, [])


async def test_a_reply_cut_at_its_longest_is_repaired_and_never_guessed(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    cut = '{"name": "a", "children": [{"name": "b"}'
    wire.answer_with(Say(cut, finish="length"), Say('{"name": "a"}'))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["openai"], returns=Node)
    assert shown.result.output == {"name": "a", "children": []}
    assert [(attempt.attempt, attempt.finish) for attempt in shown.attempts] == [(1, "length"), (2, "stop")]
    (repaired,) = shown.repaired
    assert repaired.raw == cut


@pytest.mark.parametrize("provider", MODELS)
async def test_a_reply_that_never_fits_is_asked_for_three_times(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say('{"title": 3}'))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], returns=Flat)
    assert shown.result.status == "failed"
    assert "did not fit after 2 repairs" in shown.result.error
    assert len(wire.requests) == 3
    assert [attempt.attempt for attempt in shown.attempts] == [1, 2, 3]
    assert shown.result.usage.calls == 3
    (failed,) = [event.data for event in shown.events if isinstance(event.data, StepFailed)]
    assert (failed.kind, failed.details["raw"]) == ("invalid_reply", '{"title": 3}')
