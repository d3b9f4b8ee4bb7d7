"""What people read about replies that do not fit: plain words, and nothing of Python or its libraries."""

from __future__ import annotations

import enum
import re
from pathlib import Path
from typing import Any, Literal

import msgspec
import pydantic
import pytest

import podium
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.models.repair import Mismatch, find
from podium.report.event_lines import line_of
from podium.settings import Settings
from tests.models.test_wire_faults import GARBLED
from tests.models.wire.answers import Drop, Hang, Refuse, Say
from tests.models.wire.asking import MODELS, ask, settings_for
from tests.models.wire.server import Wire, serving

FORBIDDEN = re.compile(
    r"""\bb'|\bb"|<class|Traceback|ModelFault|object at 0x|errors\.pydantic\.dev|validation error|NoneType"""
    r"""|Field required|Input should|Expected `|\[type="""
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Strict(pydantic.BaseModel):
    model_config = {"extra": "forbid"}
    count: int = pydantic.Field(ge=1)
    name: str = pydantic.Field(pattern="^a+$")
    colour: Colour
    choice: Literal["x", "y"]


class Struct(msgspec.Struct, forbid_unknown_fields=True):
    count: int
    name: str
    colour: Colour


REPLIES = {
    "not JSON": "I would rather not.",
    "empty": "",
    "broken": '{"count": 1, "name": oops}',
    "cut off": '{"count": 1, "name": "a',
    "wrong type": '{"count": "one", "name": 3, "colour": [], "choice": null}',
    "missing fields": '{"count": 1}',
    "extra text": 'Here you are: {"count": "one"} - is that right?',
    "extra field": '{"count": 1, "name": "a", "colour": "red", "choice": "x", "more": {"b": 1}}',
    "wrong choice": '{"count": 1, "name": "a", "colour": "green", "choice": "z"}',
    "another shape": "[1, 2, 3]",
    "nothing": "null",
    "too large a number": '{"count": 1e400}',
    "bytes": "\x00\x01\x02",
}


async def texts_of(store: Store, result: podium.RunResult) -> str:
    """All that people may read of a run: its error, its events, and their lines."""
    state, texts = RunState(), [result.error, *result.warnings]
    for row in await store.read(result.run_id):
        event = row.to_event(result.run_id)
        state.apply(event)
        texts.append(line_of(event, state).what)
        if event.type in ("step.failed", "run.failed", "model.attempted", "model.repaired"):
            texts += [event.data.error, str(getattr(event.data, "error_type", ""))]  # type: ignore[attr-defined]
    return "\n".join(texts)


@pytest.mark.parametrize("kind", [Strict, Struct, int, Literal["yes", "no"], list[Strict]], ids=str)
@pytest.mark.parametrize("name", REPLIES)
async def test_a_reply_that_does_not_fit_is_reported_in_plain_words(
    store: Store, name: str, kind: Any
) -> None:
    async def answer(call: podium.Call) -> str:
        return REPLIES[name]

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        return await run.ask(podium.Agent("critic"), "grade", prompt="Grade it.", returns=kind)

    result = await podium.run(flow, "x", model=answer, store=store, settings=Settings())
    assert result.status == "failed"
    assert "did not fit after 2 repairs" in result.error
    found = FORBIDDEN.search(await texts_of(store, result))
    assert found is None, found


@pytest.mark.parametrize(
    ("kind", "reply", "said"),
    [
        (Strict, '{"count": 1, "name": oops}', "It is not valid JSON: expected value"),
        (Strict, REPLIES["wrong choice"], "`colour` must be 'red' or 'blue', not \"green\""),
        (Strict, REPLIES["missing fields"], "`name` is missing; `colour` is missing; `choice` is missing"),
        (Strict, REPLIES["extra field"], "`more` is not a known field"),
        (Strict, "", "The reply is empty."),
        (Struct, REPLIES["wrong type"], "`count` must be a whole number, not text"),
        (Struct, REPLIES["missing fields"], "`name` is missing"),
        (Struct, REPLIES["wrong choice"], "`colour` must be one of its choices, not 'green'"),
        (int, "[1, 2, 3]", "It must be a whole number, not a list"),
        (int, "no", "The reply holds no JSON. It must be a whole number, not text"),
    ],
)
def test_what_is_said_names_the_field_and_what_it_must_be(kind: Any, reply: str, said: str) -> None:
    found = find(reply, kind)
    assert isinstance(found, Mismatch)
    assert said in found.error


FAULTS = {"silent": Hang(), "dropped": Drop(), "overloaded": Refuse(503), "in mid-stream": Say(drop_after=1)}


@pytest.mark.parametrize("provider", list(MODELS))
@pytest.mark.parametrize("name", [*FAULTS, *GARBLED])
async def test_a_fault_of_a_provider_is_reported_in_plain_words(
    store: Store, wire: Wire, tmp_path: Path, provider: str, name: str
) -> None:
    answer = {**FAULTS, **GARBLED}[name]
    wire.answer_with(*[answer] * 3)
    agent = podium.Agent("Nora", attempts=1, timeout=0.5 if name == "silent" else 60.0)
    shown = await ask(
        store, settings_for(wire, tmp_path), MODELS[provider], agent=agent, watch=name == "in mid-stream"
    )
    assert shown.result.status == "failed"
    found = FORBIDDEN.search(await texts_of(store, shown.result))
    assert found is None, found
    hints = {
        "silent": "no answer within 0.5 s. For a slow model raise `reply_timeout`",
        "dropped": "the connection broke off before the answer was complete. Check the network",
        "in mid-stream": "the connection broke off before the answer was complete. Check the network",
        "overloaded": "HTTP 503",
    }
    assert hints.get(name, "Check the provider's address") in shown.result.error


@pytest.fixture
async def wire() -> Any:
    async with serving() as opened:
        yield opened
