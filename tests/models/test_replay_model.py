"""`replay:RUN`: an earlier run's answers, found by path."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

import podium
from podium.engine.log import Store
from podium.errors import ModelFailedError, UnknownRunError
from podium.models.local import ReplayModel
from podium.models.model import Call
from podium.stores import open_store

WRITER = podium.Agent("Nora")


class Grade(msgspec.Struct):
    score: int


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(str(tmp_path / "store.sqlite")) as opened:
        yield opened


@podium.workflow
async def story(run: podium.Run, request: str, *, endings: int = 1) -> list[object]:
    draft = await run.ask(WRITER, "draft", prompt=f"Draft {request}")
    grade = await run.ask(WRITER, "grade", prompt="Grade it", returns=Grade)
    choice = await run.ask(WRITER, "choose", prompt="Choose", returns=list[str])
    ends = [await run.ask(WRITER, "end", prompt="End it") for _ in range(endings)]
    return [draft, grade.score, choice, *ends]


class Author:
    """A model that never says the same thing twice."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, call: Call) -> str:
        self.calls += 1
        answers = {"grade": f'{{"score": {self.calls}}}', "choose": f'["a{self.calls}"]'}
        return answers.get(call.task, f"text {self.calls} " + "x" * (40_000 if call.task == "end" else 0))


async def test_the_answers_of_the_earlier_run_are_given_again(store: Store) -> None:
    author = Author()
    first = await podium.run(story, "a storm", model=author, store=store)
    assert first.status == "completed"
    assert author.calls == 4
    again = await podium.run(story, "another request", model=f"replay:{first.run_id}", store=store)
    assert again.output == first.output
    assert author.calls == 4
    assert again.usage.calls == 4
    assert again.usage.usd == 0


async def test_a_path_that_the_earlier_run_lacks_is_a_failed_call(store: Store) -> None:
    first = await podium.run(story, "a storm", model=Author(), store=store)
    more = await podium.run(
        story, "a storm", model=f"replay:{first.run_id}", store=store, options={"endings": 2}
    )
    assert more.status == "failed"
    assert f"the run {first.run_id} holds no answer for end#2" in more.error


async def test_an_unknown_run_starts_nothing(store: Store) -> None:
    with pytest.raises(UnknownRunError):
        await podium.run(story, "a storm", model="replay:zzzzzzzzzzzz", store=store)
    assert await store.list_runs() == []


async def test_what_a_rehearsal_said_is_a_rehearsal_again(store: Store) -> None:
    first = await podium.run(story, "a storm", model="rehearsal", store=store)
    again = await podium.run(story, "a storm", model=f"replay:{first.run_id}", store=store)
    assert again.output == first.output
    assert again.rehearsal


async def test_a_model_that_was_not_prepared_reads_its_run_with_the_first_call(store: Store) -> None:
    first = await podium.run(story, "a storm", model=Author(), store=store)
    call = Call(
        run_id="r", workflow="story", path="draft", agent="Nora", role="", task="draft", system="", prompt=""
    )
    model = ReplayModel(first.run_id[:8], store)
    assert (await model.complete(call)).text == first.output[0]
    assert model.name == f"replay:{first.run_id}"
    with pytest.raises(ModelFailedError, match="holds no answer for elsewhere"):
        await model.complete(msgspec.structs.replace(call, path="elsewhere"))


# ── turns of an agent with tools ──


@podium.tool
async def add(a: int, b: int = 0) -> int:
    """Add."""
    return a + b


@podium.workflow
async def sums(run: podium.Run, request: str) -> list[object]:
    agent = podium.Agent("Ida", tools=[add])
    grade = await run.ask(agent, "grade", prompt=request, returns=Grade)
    return [grade.score, await run.ask(agent, "say", prompt=request)]


async def test_each_turn_of_an_agent_with_tools_is_given_again(store: Store) -> None:
    """The tools run again, with the calls that were recorded."""
    seen: list[list[str]] = []

    async def model(call: Call) -> object:
        seen.append([message.text for message in call.messages if message.role == "tool"])
        if len(call.messages) == 1:
            return [podium.ToolCall("add", {"a": 1, "b": 2}), podium.ToolCall("add", {"a": 40})]
        if len(call.messages) == 4:
            return podium.ToolCall("add", {"a": 5})
        return {"score": 7} if call.task == "grade" else "all added"

    first = await podium.run(sums, "go", model=model, store=store)
    assert first.output == [7, "all added"]
    assert seen[2] == ["3", "40", "5"]
    again = await podium.run(sums, "go", model=f"replay:{first.run_id}", store=store)
    assert (again.output, again.usage.calls) == (first.output, 6)

    async def paths(run_id: str) -> list[str]:
        return [row.path for row in await store.read(run_id) if row.type == "step.completed"]

    assert await paths(again.run_id) == await paths(first.run_id)


async def test_an_answer_from_before_the_agent_had_tools_is_given_again(store: Store) -> None:
    @podium.workflow
    async def plain(run: podium.Run, request: str) -> list[object]:
        agent = podium.Agent("Ida")
        grade = await run.ask(agent, "grade", prompt=request, returns=Grade)
        return [grade.score, await run.ask(agent, "say", prompt=request)]

    first = await podium.run(plain, "go", model=Author(), store=store)
    again = await podium.run(sums, "go", model=f"replay:{first.run_id}", store=store)
    assert again.output == first.output
