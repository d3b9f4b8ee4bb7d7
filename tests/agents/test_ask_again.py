"""Asking again: what is found in the log after a resume, a fork or a replay, and what is asked anew."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

import podium
from podium.engine.codec import encode
from podium.engine.events import RunCreated
from podium.engine.log import Row, RunRow, Store
from podium.models.events import ModelAsked
from podium.models.model import Call
from tests.agents.asking import asking, events
from tests.scripted_models import Scripted

NORA = podium.Agent("Nora", "critic", "Be strict.", temperature=0.2, max_tokens=500)


# ── keys and fingerprints ──


async def test_asks_are_found_by_task_occurrence_and_key(store: Store) -> None:
    model = Scripted("ok")

    async def ask(run: podium.Run, request: str) -> None:
        for key in (None, None, "a", "b"):
            await run.ask(NORA, "draft", prompt="the same", key=key)

    await podium.run(asking(ask), "x", model=model, store=store)
    assert [call.path for call in model.calls] == ["draft", "draft#2", "draft[a]", "draft[b]"]


def two_asks(
    agent: podium.Agent = NORA, prompt: Any = "Draft {{ topic }}", returns: Any = str, topic: Any = "storms"
) -> podium.Workflow:
    """A draft, and then something that fails as long as the model does."""

    async def ask(run: podium.Run, request: str) -> Any:
        draft = await run.ask(agent, "draft", prompt=prompt, returns=returns, topic=topic)
        await run.ask(NORA, "second", prompt="Go on.")
        return draft

    return asking(ask)


class Author(Scripted):
    """Drafts, and fails at everything else until it is told to work."""

    def __init__(self) -> None:
        super().__init__()
        self.works = False

    async def __call__(self, call: Call) -> str:
        self.calls.append(call)
        if call.task == "second" and not self.works:
            raise RuntimeError("not yet")
        return '"a draft"'

    @property
    def drafts(self) -> int:
        return sum(call.task == "draft" for call in self.calls)


async def failed_run(store: Store) -> tuple[str, Author]:
    author = Author()
    first = await podium.run(two_asks(), "x", model=author, store=store)
    assert first.status == "failed"
    assert author.drafts == 1
    author.works = True
    return first.run_id, author


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({}, False),
        ({"prompt": "Draft {{ topic }}!"}, True),
        ({"topic": "calms"}, True),
        ({"returns": Annotated[str, msgspec.Meta(min_length=1)]}, True),
        ({"agent": msgspec.UNSET}, True),
    ],
)
async def test_a_resume_asks_again_only_what_has_changed(
    store: Store, change: dict[str, Any], again: bool
) -> None:
    run_id, author = await failed_run(store)
    if change.get("agent") is msgspec.UNSET:
        change = {"agent": podium.Agent("Nora", "critic", "Be kind.", temperature=0.2, max_tokens=500)}
    handle = await podium.resume(run_id, workflow=two_asks(**change), model=author, store=store)
    assert (await handle.result()).status == "completed"
    assert author.drafts == 1 + again
    stale = [event.path for event in await events(store, run_id) if event.type == "step.stale"]
    assert stale == (["draft"] if again else [])


@pytest.mark.parametrize(
    ("agent", "again"),
    [
        (podium.Agent("Nora", "critic", "Be strict.", temperature=0.3, max_tokens=500), True),
        (podium.Agent("Nora", "critic", "Be strict.", temperature=0.2, max_tokens=501), True),
        (podium.Agent("Nora", "editor", "Be strict.", temperature=0.2, max_tokens=500), True),
        (podium.Agent("Nora", "critic", "Be strict.", "fast", temperature=0.2, max_tokens=500), True),
        (podium.Agent("Nora", "critic", "Be strict.", model="m", temperature=0.2, max_tokens=500), True),
        (podium.Agent("Nora", "critic", "Be strict.", temperature=0.2, max_tokens=500, timeout=9), False),
    ],
)
async def test_what_an_answer_depends_on_of_its_agent(store: Store, agent: podium.Agent, again: bool) -> None:
    run_id, author = await failed_run(store)
    handle = await podium.resume(run_id, workflow=two_asks(agent), model=author, store=store)
    assert (await handle.result()).status == "completed"
    assert author.drafts == 1 + again


async def test_finished_work_is_kept_when_a_run_is_resumed_with_another_model(store: Store) -> None:
    run_id, author = await failed_run(store)
    other = Scripted("from another model")
    handle = await podium.resume(run_id, workflow=two_asks(), model=other, store=store)
    result = await handle.result()
    assert result.output == '"a draft"'
    assert author.drafts == 1
    assert [call.task for call in other.calls] == ["second"]


async def test_an_ask_follows_its_fingerprint_though_an_earlier_one_ran_again(store: Store) -> None:
    model = Scripted("a", "b", RuntimeError("not yet"), "c", "d")

    def flow(first: str) -> podium.Workflow:
        async def ask(run: podium.Run, request: str) -> None:
            await run.ask(NORA, "one", prompt=first)
            await run.ask(NORA, "two", prompt="the same")
            await run.ask(NORA, "three", prompt="the same")

        return asking(ask)

    failed = await podium.run(flow("first"), "x", model=model, store=store)
    handle = await podium.resume(failed.run_id, workflow=flow("changed"), model=model, store=store)
    assert (await handle.result()).status == "completed"
    assert [call.task for call in model.calls] == ["one", "two", "three", "one", "three"]


async def test_a_replay_touches_no_model(store: Store) -> None:
    model = Scripted("ok")
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt=request))
    result = await podium.run(flow, "storms", model=model, store=store)
    model.answers = [AssertionError("a replay must not call")]
    assert (await podium.replay(result.run_id, workflow=flow, store=store)).output == "ok"
    assert len(model.calls) == 1


# ── forks, viewers, long prompts ──


async def test_a_fork_can_edit_the_prompt_of_one_step(store: Store) -> None:
    model = Scripted("ok")

    async def ask(run: podium.Run, request: str) -> None:
        for task in ("one", "two", "three"):
            await run.ask(NORA, task, prompt=f"Do {task}")

    first = await podium.run(asking(ask), "x", model=model, store=store)
    handle = await podium.fork(
        first.run_id, "two", prompt="Do it differently", model=model, workflow=asking(ask), store=store
    )
    assert (await handle.result()).status == "completed"
    assert [call.prompt for call in model.calls[3:]] == ["Do it differently", "Do three"]


async def test_an_override_can_name_another_model_for_one_step(store: Store) -> None:
    async def ask(run: podium.Run, request: str) -> list[str]:
        return [await run.ask(NORA, task, prompt="x") for task in ("one", "two")]

    config = {"model": "rehearsal", "overrides": {"two": {"model": f"python:{__file__}:other_model"}}}
    created = RunCreated(workflow="flow", request="x", config=config)
    await store.create(
        RunRow(run_id="overridden", workflow="flow", request="x", status="queued"),
        [Row(1, 1, "", created.type, encode(created))],
    )
    handle = await podium.resume("overridden", workflow=asking(ask), store=store)
    one, two = (await handle.result()).output
    assert one.startswith("[rehearsal]")
    assert two == "the other one"


async def other_model(call: Call) -> str:
    return "the other one"


async def test_a_long_prompt_is_kept_as_a_blob(store: Store) -> None:
    long = "word " * 10_000
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt=long))
    result = await podium.run(flow, "x", model=Scripted("ok"), store=store)
    [asked] = [event.data for event in await events(store, result.run_id) if event.type == "model.asked"]
    assert isinstance(asked, ModelAsked)
    assert asked.prompt == ""
    assert (await store.get_blob(asked.blob)).decode() == long


async def test_pieces_of_the_reply_reach_viewers_and_not_the_log(store: Store) -> None:
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt=request))
    handle = await podium.start(flow, "storms over the sea", store=store)
    pieces = [delta async for delta in handle.deltas()]
    text = (await handle.result()).output
    assert "".join(piece for _, _, _, piece in pieces) == text
    assert [offset for _, _, offset, _ in pieces][:1] == [0]
    assert {(path, attempt) for path, attempt, _, _ in pieces} == {("draft", 1)}
    assert all(text[offset : offset + len(piece)] == piece for _, _, offset, piece in pieces)
    assert "model.delta" not in {event.type for event in await events(store, handle.run_id)}
