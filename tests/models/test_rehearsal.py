"""The rehearsal: request-aware, labelled, valid, and always the same."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from pydantic import Field

import podium
from podium.engine import codec
from podium.models.messages import Message, ToolCall
from podium.models.model import Call, worst_case
from podium.models.rehearsal import Rehearsal, rehearse, rehearses
from podium.models.repair import ParsedReply, find

CALL = Call(
    run_id="r1",
    workflow="studio",
    path="story/draft",
    agent="Nora",
    role="screenwriter",
    task="draft",
    system="You are Nora.",
    prompt="Write a scene in which Maya finds a letter in the lighthouse.",
)


class Idea(msgspec.Struct):
    title: str
    details: str


class Ledger(pydantic.BaseModel):
    by_year: dict[int, float]


async def text_of(**changes: Any) -> str:
    return (await Rehearsal().complete(msgspec.structs.replace(CALL, **changes))).text


async def test_text_names_the_request_the_agent_the_role_and_the_task() -> None:
    text = await text_of()
    assert text.startswith("[rehearsal] ")
    assert "Nora (screenwriter)" in text
    assert "draft" in text
    assert sum(word in text for word in ("Maya", "letter", "lighthouse", "scene", "finds")) >= 3


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "story/draft#2"},
        {"agent": "Otto"},
        {"role": "editor"},
        {"task": "revise"},
        {"prompt": "Tidal power."},
    ],
)
async def test_text_differs_where_the_call_differs(changes: dict[str, Any]) -> None:
    assert await text_of(**changes) != await text_of()


async def test_the_run_makes_no_difference() -> None:
    assert await text_of(run_id="another") == await text_of()


async def test_another_process_gives_the_same_answer() -> None:
    program = (
        "import asyncio, msgspec\n"
        "from podium.models.model import Call\n"
        "from podium.models.rehearsal import Rehearsal\n"
        f"call = msgspec.json.decode({msgspec.json.encode(CALL)!r}, type=Call)\n"
        "print(asyncio.run(Rehearsal().complete(call)).text)\n"
    )
    printed = {_printed_by(program, hash_seed) for hash_seed in ("1", "2")}
    assert printed == {await text_of()}


def _printed_by(program: str, hash_seed: str) -> str:
    completed = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return completed.stdout.strip()


async def test_data_fits_its_schema_and_says_what_it_is() -> None:
    text = await text_of(schema=codec.schema(list[Idea]))
    ideas = codec.reader(list[Idea])(text.encode())
    assert len({idea.details for idea in ideas}) == len(ideas) >= 2
    assert all(idea.details.startswith("[rehearsal]") for idea in ideas)


async def test_a_repair_is_answered_more_cautiously() -> None:
    schema = codec.schema(Ledger)
    assert not isinstance(find(await text_of(schema=schema), Ledger), ParsedReply)
    assert isinstance(find(await text_of(schema=schema, attempt=2), Ledger), ParsedReply)


async def test_usage_is_estimated_and_free() -> None:
    model = Rehearsal()
    reply = await model.complete(CALL)
    assert model.rehearsal
    assert model.price.kind == "free"
    assert reply.usage is not None
    assert reply.usage.output_tokens == -(-len(reply.text.encode()) // 4)
    assert model.worst_case(CALL) == worst_case(CALL, model.price)


async def test_deltas_make_up_the_text() -> None:
    pieces: list[str] = []
    reply = await Rehearsal().complete(CALL, pieces.append)
    assert "".join(pieces) == reply.text
    assert len(pieces) > 5


async def test_a_workflow_brings_its_own_answers() -> None:
    @rehearses("own-answers", "draft")
    def draft(call: Call) -> str:
        return f"A draft for {call.agent}."

    @rehearses("own-answers", "grade")
    def grade(call: Call) -> dict[str, Any]:
        return {**rehearse(call), "title": "Ninety"}

    assert await text_of(workflow="own-answers") == "[rehearsal] A draft for Nora."
    graded = await text_of(workflow="own-answers", task="grade", schema=codec.schema(Idea))
    idea = codec.reader(Idea)(graded.encode())
    assert idea.title == "Ninety"
    assert idea.details.startswith("[rehearsal]")
    assert draft(CALL) in await text_of(workflow="own-answers")
    assert "Nora (screenwriter)" in await text_of(workflow="other")
    assert grade


async def test_an_answer_for_every_workflow_comes_second_and_may_decline() -> None:
    @rehearses("*", "greet")
    def everywhere(call: Call) -> str | None:
        return None if call.agent == "Nora" else "Hello from anywhere."

    @rehearses("greeting", "greet")
    def here(call: Call) -> str:
        return "Hello from here."

    assert await text_of(task="greet", workflow="greeting") == "[rehearsal] Hello from here."
    assert await text_of(task="greet", agent="Otto") == "[rehearsal] Hello from anywhere."
    assert "Nora (screenwriter)" in await text_of(task="greet")
    assert everywhere
    assert here


async def test_a_title_stays_a_title_before_the_label() -> None:
    @rehearses("headed", "draft")
    def draft(call: Call) -> str:
        return "# A title\n\n## A part\n\nSome text."

    assert await text_of(workflow="headed") == "# A title\n\n## A part\n\n[rehearsal] Some text."
    assert draft


async def test_own_text_that_says_it_already_is_not_labelled_twice() -> None:
    @rehearses("labelled", "draft")
    def draft(call: Call) -> str:
        return "This is a [rehearsal]."

    assert await text_of(workflow="labelled") == draft(CALL)


# ── tools ──


class Seat(pydantic.BaseModel):
    row: int
    window: bool


@podium.tool
async def book(flight: Annotated[str, Field(pattern=r"^[A-Z]{2}[0-9]{3}$")], seats: list[Seat]) -> str:
    """Book seats on a flight."""
    return "booked"


@podium.tool
async def weather(city: str, days: Annotated[int, Field(ge=1, le=7)] = 1) -> str:
    """Tell the weather."""
    return "sun"


@podium.tool
async def clock() -> str:
    """Tell the time."""
    return "noon"


def acting(*messages: Message, **fields: Any) -> Call:
    tools = tuple(tool.definition for tool in (book, weather, clock))
    begun = (Message("user", "Fly to Rome"), *messages)
    return msgspec.structs.replace(CALL, messages=begun, tools=tools, **fields)


@pytest.mark.parametrize("path", [f"plan#{number}" for number in range(6)])
async def test_the_first_turn_calls_one_or_two_tools_with_valid_arguments(path: str) -> None:
    known = {tool.name: tool for tool in (book, weather, clock)}
    reply = await Rehearsal().complete(acting(path=path))
    assert 1 <= len(reply.tool_calls) <= 2
    assert len({wanted.name for wanted in reply.tool_calls}) == len(reply.tool_calls)
    for wanted in reply.tool_calls:
        assert known[wanted.name].validate(wanted.arguments).error == ""
    assert reply == await Rehearsal().complete(acting(path=path))


async def test_after_the_results_it_answers() -> None:
    wanted = (ToolCall("clock"),)
    later = acting(Message("assistant", calls=wanted), Message("tool", "noon", tool="clock"))
    for answering in (later, acting(must_answer=True), acting(attempt=2)):
        reply = await Rehearsal().complete(answering)
        assert reply.tool_calls == ()
        assert reply.text.startswith("[rehearsal]")


async def test_a_scripted_answer_can_call_tools() -> None:
    @rehearses("tools-of-a-test", "plan")
    def plan(call: Call) -> Any:
        return [ToolCall("clock")] if len(call.messages) < 4 else None

    call = acting(workflow="tools-of-a-test", task="plan")
    reply = await Rehearsal().complete(call)
    assert reply.tool_calls == (ToolCall("clock"),)
