"""Which model answers for whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import podium
from podium.agents.agent import Agent
from podium.agents.models import Models
from podium.errors import ModelUnavailableError, UnknownRunError
from podium.models.local import FunctionModel
from podium.models.model import Call
from podium.stores import open_store

AGENT = Agent("Nora", "critic", profile="powerful", model="python:own.py:answer")
PLAIN = Agent("Otto", profile="powerful")
MODELS = Models({"powerful": "python:profile.py:answer"})


@pytest.mark.parametrize(
    ("agent", "config", "name"),
    [
        (AGENT, {"model_for": {"Nora": "a", "critic": "b"}, "model": "c"}, "a"),
        (AGENT, {"model_for": {"critic": "b"}, "model": "c"}, "b"),
        (AGENT, {"model_for": {"editor": "b"}, "model": "c"}, "c"),
        (AGENT, {"model": "c"}, "c"),
        (AGENT, {}, "python:own.py:answer"),
        (PLAIN, {}, "python:profile.py:answer"),
        (Agent("Ida", profile="fast"), {}, "rehearsal"),
        (Agent("Ida"), {"model_for": None, "model": None}, "rehearsal"),
    ],
)
def test_the_strongest_choice_wins(agent: Agent, config: dict[str, Any], name: str) -> None:
    assert MODELS.name_for(agent, config) == name


def test_a_run_keeps_the_profiles_that_it_was_started_with() -> None:
    begun = {"profiles": {"balanced": ["x:1", "y:2"], "fast": "z:3"}}
    assert MODELS.names_for(PLAIN, begun) == ["x:1", "y:2"]
    assert MODELS.names_for(Agent("Ida", profile="fast"), begun) == ["z:3"]
    assert MODELS.names_for(PLAIN, {"profiles": {}}) == ["rehearsal"]
    assert MODELS.names_for(PLAIN, {**begun, "model": "c"}) == ["c"]


async def answer(call: Call) -> str:
    return "mine"


def test_a_model_is_opened_once_under_both_its_names() -> None:
    models = Models()
    short = f"python:{Path(__file__).parent}/../agents/{Path(__file__).name}:answer"
    opened = models.open(short)
    assert models.open(short) is opened
    assert opened.name != short
    assert models.for_agent(PLAIN, {"model": opened.name}) is opened


def test_a_model_that_is_handed_in_is_used() -> None:
    mine = FunctionModel(answer, "mine")
    assert Models(opened={"mine": mine}).for_agent(PLAIN, {"model": "mine"}) is mine


async def test_wrong_names_are_refused_before_anything_starts(tmp_path: Path) -> None:
    async with open_store(str(tmp_path / "store.sqlite")) as store:
        models = Models(store=store)
        assert [model.name for model in await models.prepare({})] == ["rehearsal"]
        with pytest.raises(ModelUnavailableError):
            await models.prepare({"model": "nonsense"})
        with pytest.raises(ModelUnavailableError):
            await models.prepare({"model_for": {"critic": "openai:gpt-5"}})
        with pytest.raises(UnknownRunError):
            await models.prepare({"model": "replay:zzzzzzzzzzzz"})


def test_the_main_model_stands_for_the_run() -> None:
    assert Models().main({}).rehearsal
    assert Models({"balanced": f"python:{__file__}:answer"}).main({}).name.endswith(":answer")
    assert Models({"balanced": "openai:x"}).main({"model": "rehearsal"}).rehearsal


async def test_an_agent_that_rehearses_makes_the_run_a_rehearsal(tmp_path: Path) -> None:
    """Even when the run's own model is a real one: nothing made up may pass for a model's work."""

    async def real(call: Any) -> str:
        return "real"

    async def flow(run: podium.Run, request: str) -> str:
        await run.ask(podium.Agent("understudy", role="extra"), "improvise", prompt=request)
        return await run.ask(podium.Agent("lead"), "perform", prompt=request)

    async with podium.open_store(f"{tmp_path}/s.sqlite") as store:
        result = await podium.run(
            podium.Workflow(flow, "flow"), "go", store=store, model=real, model_for={"extra": "rehearsal"}
        )
        assert result.rehearsal
        assert (await store.get(result.run_id)).rehearsal


async def test_a_rehearsal_stays_one_whoever_answers_later(tmp_path: Path) -> None:
    """Taken up with a real model, replayed or forked: what was made up is still in there."""
    broken = [True]

    async def real(call: Any) -> str:
        return "real"

    async def flow(run: podium.Run, request: str) -> str:
        first = await run.ask(podium.Agent("lead"), "improvise", prompt=request)
        if broken[0]:
            raise ValueError("broken")
        return await run.ask(podium.Agent("lead"), "perform", prompt=first)

    workflow = podium.Workflow(flow, "flow")
    async with podium.open_store(f"{tmp_path}/s.sqlite") as store:
        first = await podium.run(workflow, "go", store=store, model="rehearsal")
        broken[0] = False
        handle = await podium.resume(first.run_id, workflow=workflow, store=store, model=real)
        second = await handle.result()
        assert second.output == "real"
        assert second.rehearsal
        assert (await podium.replay(first.run_id, workflow=workflow, store=store)).rehearsal
        kept = await podium.fork(first.run_id, "perform", workflow=workflow, store=store, model=real)
        assert (await kept.result()).rehearsal
        assert (await store.get(kept.run_id)).rehearsal
        anew = await podium.fork(first.run_id, "improvise", workflow=workflow, store=store, model=real)
        assert not (await anew.result()).rehearsal


async def _pair(run: podium.Run, request: str) -> str:
    await run.ask(podium.Agent("Ida", role="author"), "draft", prompt=request)
    return await run.ask(podium.Agent("Otto", role="critic"), "grade", prompt=request)


PAIR = podium.Workflow(_pair, "pair")


async def test_a_model_for_a_role_that_nobody_has_is_reported_at_the_end(tmp_path: Path) -> None:
    chosen = {"critic": "rehearsal", "Ida": "rehearsal", "editr": "rehearsal"}
    async with podium.open_store(f"{tmp_path}/s.sqlite") as store:
        result = await podium.run(PAIR, "go", store=store, model="rehearsal", model_for=chosen)
        [warning] = result.warnings
        assert "no agent has the role editr" in warning
        assert "Asked in this run: author, critic." in warning
        replayed = await podium.replay(result.run_id, workflow=PAIR, store=store)
        assert replayed.warnings == result.warnings


async def test_a_run_that_its_budget_cut_short_says_nothing_of_those_who_did_not_speak(
    tmp_path: Path,
) -> None:
    async def careful(run: podium.Run, request: str) -> str:
        try:
            return await _pair(run, request)
        except podium.BudgetExhaustedError:
            return "half"

    flow = podium.Workflow(careful, "careful")
    async with podium.open_store(f"{tmp_path}/s.sqlite") as store:
        first = await podium.run(
            flow,
            "go",
            store=store,
            model="rehearsal",
            model_for={"critic": "rehearsal"},
            budget=podium.Budget(calls=1),
        )
        assert (first.status, first.warnings) == ("partial", [])
        more = podium.Budget(calls=9)
        handle = await podium.resume(first.run_id, workflow=flow, store=store, budget=more)
        second = await handle.result()
        assert (second.status, second.warnings) == ("completed", [])
