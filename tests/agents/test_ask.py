"""Asking agents in a real run: what the model is sent, what the workflow gets, what the log keeps."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec
import pydantic
import pytest

import podium
from podium.agents.prompts import Prompts
from podium.engine.codec import schema
from podium.engine.events import StepStarted
from podium.engine.log import Store
from podium.errors import InvalidReplyError, ModelFailedError, StepTimeoutError
from podium.models.events import ModelAsked, ModelAttempted, ModelRepaired
from podium.models.model import Call, OnDelta, Price, Reply, Usage, worst_case
from tests.agents.asking import asking, events
from tests.scripted_models import Scripted

NORA = podium.Agent("Nora", "critic", "Be strict.", temperature=0.2, max_tokens=500)


class Grade(msgspec.Struct):
    score: int


class Person(pydantic.BaseModel):
    first_name: str = pydantic.Field(alias="firstName")


async def data_of(store: Store, run_id: str, kind: type[Any]) -> list[Any]:
    return [event.data for event in await events(store, run_id) if isinstance(event.data, kind)]


# ── what is sent, what comes back ──


async def test_the_model_is_sent_the_whole_call(store: Store) -> None:
    model = Scripted("a text")
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt=f"About {request}"))
    result = await podium.run(flow, "storms", model=model, store=store)
    assert result.output == "a text"
    assert model.calls == [
        Call(
            run_id=result.run_id,
            workflow="flow",
            path="draft",
            agent="Nora",
            role="critic",
            task="draft",
            system="You are Nora. Your role: critic.\n\nBe strict.",
            prompt="About storms",
            schema=None,
            attempt=1,
            temperature=0.2,
            max_tokens=500,
        )
    ]


@pytest.mark.parametrize(
    ("returns", "answer", "output"),
    [
        (Grade, {"score": 3}, {"score": 3}),
        (Grade, 'Sure!\n```json\n{"score": 3}\n```', {"score": 3}),
        (list[Grade], '[{"score": 1}]', [{"score": 1}]),
        (Literal["yes", "no"], "yes", "yes"),
        (Any, '{"free": [1]}', {"free": [1]}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (int, "42", 42),
    ],
)
async def test_a_type_gives_a_schema_and_a_checked_value(
    store: Store, returns: Any, answer: Any, output: Any
) -> None:
    model = Scripted(answer)
    flow = asking(lambda run, request: run.ask(NORA, "grade", prompt=request, returns=returns))
    result = await podium.run(flow, "x", model=model, store=store)
    assert result.output == output
    assert model.calls[0].schema == schema(returns)


async def test_aliases_survive_the_log(store: Store) -> None:
    async def ask(run: podium.Run, request: str) -> str:
        person = await run.ask(NORA, "name", prompt=request, returns=Person)
        return person.first_name

    model = Scripted({"firstName": "Ada"})
    result = await podium.run(asking(ask), "x", model=model, store=store)
    assert result.output == "Ada"
    assert (await podium.replay(result.run_id, workflow=asking(ask), store=store)).output == "Ada"
    assert len(model.calls) == 1


async def test_a_string_with_variables_is_a_template_and_without_them_is_not(store: Store) -> None:
    async def ask(run: podium.Run, request: str) -> None:
        await run.ask(NORA, "a", prompt="{{ topic | upper }}!", topic=request)
        await run.ask(NORA, "b", prompt="{{ topic }}")
        await run.ask(NORA, "c", topic=request, task="named like a parameter")

    model = Scripted("ok")
    await podium.run(asking(ask), "storms", model=model, store=store)
    assert [call.prompt for call in model.calls] == [
        "STORMS!",
        "{{ topic }}",
        "## Topic\n\nstorms\n\n## Task\n\nnamed like a parameter",
    ]


async def test_prompts_of_the_agent_are_found_by_the_task(store: Store, tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text("Draft {{ topic }}.")
    prompts = Prompts.load(tmp_path)
    agent = podium.Agent("Otto", prompts=prompts)
    model = Scripted("ok")
    flow = asking(lambda run, request: run.ask(agent, "draft", topic=request))
    result = await podium.run(flow, "storms", model=model, store=store)
    assert model.calls[0].prompt == "Draft storms."
    [started] = await data_of(store, result.run_id, StepStarted)
    assert started.about == {
        "agent": "Otto",
        "task": "draft",
        "model": result.model,
        "prompt": "draft.md",
        "prompt_hash": prompts["draft"].hash,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "neither a prompt nor variables"),
        ({"prompt": "{{ gone }}", "other": 1}, "'gone' is undefined"),
        ({"prompt": "x", "value": object()}, "cannot be fingerprinted"),
    ],
)
async def test_a_mistake_in_an_ask_fails_the_run_before_any_call(
    store: Store, given: dict[str, Any], said: str
) -> None:
    model = Scripted("ok")
    flow = asking(lambda run, request: run.ask(NORA, "draft", **given))
    result = await podium.run(flow, "x", model=model, store=store)
    assert result.status == "failed"
    assert said in result.error
    assert model.calls == []


async def test_keys_in_a_prompt_do_not_reach_the_model_or_the_log(store: Store) -> None:
    key = "sk-" + "a1B2" * 8
    model = Scripted("ok")
    agent = podium.Agent("Nora", instructions=f"Remember {key}.")
    flow = asking(lambda run, request: run.ask(agent, "draft", prompt=f"Use {key} now"))
    result = await podium.run(flow, "x", model=model, store=store)
    assert model.calls[0].prompt == "Use [redacted] now"
    assert model.calls[0].system == "You are Nora.\n\nRemember [redacted]."
    assert not any(key.encode() in row.data for row in await store.read(result.run_id))


# ── repairs ──


async def test_a_reply_that_does_not_fit_is_sent_back_with_its_error(store: Store) -> None:
    model = Scripted("no idea", {"score": "high"}, {"score": 3})
    flow = asking(lambda run, request: run.ask(NORA, "grade", prompt="Grade it.", returns=Grade))
    result = await podium.run(flow, "x", model=model, store=store)
    assert result.output == {"score": 3}
    assert [call.attempt for call in model.calls] == [1, 2, 3]
    assert {call.path for call in model.calls} == {"grade"}
    first, second, third = (call.prompt for call in model.calls)
    assert first == "Grade it."
    assert second.startswith("Grade it.")
    assert "no idea" in second
    assert '{"score":"high"}' in third
    assert "`score` must be a whole number" in third
    assert "no idea" not in third
    assert result.usage.calls == 3


async def test_the_log_shows_attempts_and_repairs(store: Store) -> None:
    model = Scripted("no idea", {"score": 3})
    flow = asking(lambda run, request: run.ask(NORA, "grade", prompt="Grade it.", returns=Grade))
    result = await podium.run(flow, "x", model=model, store=store)
    at_step = [event for event in await events(store, result.run_id) if event.path == "grade"]
    assert [event.type for event in at_step] == [
        "step.started",
        "model.asked",
        "budget.reserved",
        "model.attempted",
        "model.repaired",
        "budget.reserved",
        "model.attempted",
        "step.completed",
    ]
    asked, first, repaired, second = (at_step[number].data for number in (1, 3, 4, 6))
    assert isinstance(asked, ModelAsked)
    assert (asked.system, asked.prompt) == (NORA.system, "Grade it.")
    assert isinstance(first, ModelAttempted)
    assert isinstance(second, ModelAttempted)
    assert (first.attempt, first.ok, second.attempt, second.ok) == (1, True, 2, True)
    assert first.charge.calls == second.charge.calls == 1
    assert isinstance(repaired, ModelRepaired)
    assert (repaired.attempt, repaired.raw) == (1, "no idea")


async def test_after_two_repairs_the_step_fails_with_the_raw_reply(store: Store) -> None:
    model = Scripted("one", "two", "three", {"score": 3})
    caught: list[InvalidReplyError] = []

    async def ask(run: podium.Run, request: str) -> str:
        try:
            await run.ask(NORA, "grade", prompt="Grade it.", returns=Grade)
        except InvalidReplyError as error:
            caught.append(error)
            return error.raw
        return "fitted"

    result = await podium.run(asking(ask), "x", model=model, store=store)
    assert result.output == "three"
    assert len(model.calls) == 3
    assert (await podium.replay(result.run_id, workflow=asking(ask), store=store)).output == "three"
    live, replayed = caught
    assert (live.path, live.raw, live.reason) == (replayed.path, replayed.raw, replayed.reason)
    assert live.details["attempts"] == 3
    assert "no JSON" in live.reason
    assert len(model.calls) == 3


async def test_repairs_are_paid_from_the_budget(store: Store) -> None:
    model = Scripted("never fits")
    flow = asking(lambda run, request: run.ask(NORA, "grade", prompt="Grade it.", returns=Grade))
    result = await podium.run(flow, "x", model=model, store=store, budget=podium.Budget(calls=2))
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert len(model.calls) == 2


# ── failures ──


async def test_an_exception_of_the_model_is_a_failed_call_and_not_retried(store: Store) -> None:
    model = Scripted(RuntimeError("the provider is down"))
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt="x"))
    result = await podium.run(flow, "x", model=model, store=store)
    assert result.status == "failed"
    assert "RuntimeError: the provider is down" in result.error
    assert len(model.calls) == 1
    assert (result.usage.calls, result.usage.tokens) == (1, 0)
    [attempted] = await data_of(store, result.run_id, ModelAttempted)
    assert (attempted.ok, attempted.error) == (False, "RuntimeError: the provider is down")


async def test_one_failed_ask_is_data_for_its_siblings(store: Store) -> None:
    async def model(call: Call) -> str:
        if call.path.startswith("bad/"):
            raise ValueError("no")
        return call.path

    async def ask(run: podium.Run, request: str) -> dict[str, Any]:
        found = await run.gather(
            {name: run.ask(NORA, "draft", prompt=name) for name in ("good", "bad", "also")}
        )
        failed = found["bad"]
        assert isinstance(failed, podium.Failed)
        assert isinstance(failed.error, ModelFailedError)
        assert failed.error.path == "bad/draft"
        return {name: branch.value for name, branch in found.items() if isinstance(branch, podium.Ok)}

    result = await podium.run(asking(ask), "x", model=model, store=store)
    assert result.output == {"good": "good/draft", "also": "also/draft"}


async def test_a_call_that_takes_too_long_counts_in_full(store: Store) -> None:
    agent = podium.Agent("Nora", timeout=0.05, max_tokens=500)

    async def model(call: Call) -> str:
        await asyncio.Event().wait()
        return ""

    async def ask(run: podium.Run, request: str) -> str:
        with pytest.raises(StepTimeoutError, match=r"no answer within 0\.05 s"):
            await run.ask(agent, "draft", prompt="12345")
        return "handled"

    result = await podium.run(asking(ask), "x", model=model, store=store)
    assert result.output == "handled"
    [attempted] = await data_of(store, result.run_id, ModelAttempted)
    assert attempted.estimated
    assert attempted.charge.output_tokens == 500
    assert attempted.charge.input_tokens == len("You are Nora.12345")


async def test_waiting_for_a_slot_is_not_the_models_time(store: Store) -> None:
    quick = podium.Agent("quick", timeout=0.25)

    async def model(call: Call) -> str:
        if call.agent == "Nora":
            await asyncio.sleep(0.6)
        return call.agent

    async def ask(run: podium.Run, request: str) -> list[Any]:
        both = await run.gather(
            {"slow": run.ask(NORA, "a", prompt="x"), "quick": run.ask(quick, "b", prompt="x")}
        )
        return [branch.unwrap() for branch in both.values()]

    result = await podium.run(asking(ask), "x", model=model, store=store, concurrency=1)
    assert result.output == ["Nora", "quick"]


async def test_a_model_that_cannot_be_opened_fails_the_ask_with_its_hint(store: Store) -> None:
    agent = podium.Agent("Nora", model="openai:gpt-5")
    flow = asking(lambda run, request: run.ask(agent, "draft", prompt="x"))
    result = await podium.run(flow, "x", store=store)
    assert result.status == "failed"
    assert "openai:gpt-5 needs a key in OPENAI_API_KEY" in result.error


# ── what a call costs ──


class Priced:
    """A model as a provider's adapter will be: with a price, and with or without usage."""

    name = "priced"
    rehearsal = False
    price = Price("known", 1.0, 10.0)

    def __init__(self, usage: Usage | None) -> None:
        self.usage = usage

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        return Reply("ok", self.usage, "priced-2024", "content_filter")

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


async def test_what_the_model_reports_is_settled(store: Store) -> None:
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt="x"))
    result = await podium.run(flow, "x", model=Priced(Usage(100, 50)), store=store)
    assert result.usage.usd == pytest.approx(600 / 1e6)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (100, 50)
    [attempted] = await data_of(store, result.run_id, ModelAttempted)
    assert (attempted.model, attempted.finish, attempted.estimated) == (
        "priced-2024",
        "content_filter",
        False,
    )


async def test_a_model_that_reports_nothing_costs_its_worst_case(store: Store) -> None:
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt="x"))
    result = await podium.run(flow, "x", model=Priced(None), store=store)
    assert result.usage.output_tokens == 500
    [attempted] = await data_of(store, result.run_id, ModelAttempted)
    assert attempted.estimated


async def test_a_rehearsal_says_so_with_each_call(store: Store) -> None:
    flow = asking(lambda run, request: run.ask(NORA, "draft", prompt=request))
    result = await podium.run(flow, "storms", store=store)
    assert result.rehearsal
    assert result.output.startswith("[rehearsal]")
    [attempted] = await data_of(store, result.run_id, ModelAttempted)
    assert attempted.rehearsal


# ── rules that no type can tell ──


async def test_what_a_check_says_is_repaired_like_any_other_mistake(store: Store) -> None:
    model = Scripted({"score": 7}, {"score": 9})

    def fair(grade: Grade) -> str:
        return "a score of 7 is too round" if grade.score == 7 else ""

    flow = asking(lambda run, _: run.ask(NORA, "grade", returns=Grade, check=fair, text="x"))
    result = await podium.run(flow, "go", model=model, store=store)
    assert result.output == {"score": 9}
    assert "What is wrong with it: a score of 7 is too round" in model.calls[1].prompt
    (repaired,) = await data_of(store, result.run_id, ModelRepaired)
    assert repaired.error == "a score of 7 is too round"


async def test_a_check_that_is_never_satisfied_fails_the_step_with_its_words(store: Store) -> None:
    model = Scripted({"score": 7})
    flow = asking(lambda run, _: run.ask(NORA, "grade", returns=Grade, check=lambda _: "no", text="x"))
    result = await podium.run(flow, "go", model=model, store=store)
    assert (result.status, len(model.calls)) == ("failed", 3)
    assert "did not fit after 2 repairs: no" in result.error
