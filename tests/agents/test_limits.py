"""Limits of one reply: which setting holds, and that a call keeps to it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.agents.models import CallLimits, limits_for, rules, without_effect
from podium.engine.log import Store
from podium.errors import UsageError
from podium.models.events import ModelAttempted
from podium.models.model import ModelFault
from podium.models.registry import open_model
from podium.settings import ProviderOptions, ReplyLimits, Settings
from tests.models.wire.answers import Drop, Hang, Say
from tests.models.wire.asking import MODELS, ask, settings_for
from tests.models.wire.server import Wire, serving

WRITER = podium.Agent("Ada", "writer", timeout=10.0, max_tokens=100)
MODEL = "openai-compatible:qwen3@http://10.0.0.7:8000/v1"


def limits(timeout: float | None = None, tokens: int | None = None) -> ReplyLimits:
    return ReplyLimits(reply_timeout=timeout, reply_tokens=tokens)


def test_the_most_specific_setting_holds() -> None:
    given: dict[str, Any] = {}

    def now(model: str = MODEL, **more: Any) -> CallLimits:
        return limits_for(WRITER, model, Settings(**given), **more)

    assert now() == (10.0, 100)
    given["reply_timeout"], given["reply_tokens"] = 20.0, 200
    assert now() == (20.0, 200)
    given["providers"] = {"openai-compatible": ProviderOptions(reply_timeout=30.0, reply_tokens=300)}
    assert now() == (30.0, 300)
    assert now("ollama:qwen3") == (20.0, 200)
    given["models"] = {"openai-compatible:*@http://10.0.0.7:8000/v1": limits(40.0)}
    assert now() == (40.0, 300)
    given["models"] |= {MODEL: limits(45.0, 450)}
    assert now() == (45.0, 450)
    given["agents"] = {"writer": limits(50.0, 500)}
    assert now() == (50.0, 500)
    given["agents"] |= {"Ada": limits(None, 600)}
    assert now() == (50.0, 600)
    given["agents"] |= {"tale/writer": limits(70.0)}
    assert now(workflow="tale") == (70.0, 600)
    assert now(workflow="other") == (50.0, 600)
    assert now(workflow="tale", config={"reply_tokens": 900}) == (70.0, 900)


def test_the_rules_in_force_are_listed_strongest_first() -> None:
    settings = Settings(
        agents={"writer": limits(50.0)},
        models={"opnai:x": limits(None, 5), "openai:*": limits()},
        providers={"ollama": ProviderOptions(reply_timeout=9.0), "groq": ProviderOptions()},
        reply_tokens=200,
    )
    assert [tuple(rule) for rule in rules(settings)] == [
        ("agents", "writer", 50.0, None),
        ("models", "opnai:x", None, 5),
        ("providers", "ollama", 9.0, None),
        ("settings", "", None, 200),
        ("code", "", 300.0, 4096),
    ]
    assert without_effect(settings) == ['[models."opnai:x"]']
    assert without_effect(Settings()) == []


async def asked(
    store: Store, settings: Settings, model: Any, **started: Any
) -> tuple[podium.RunResult, list[ModelAttempted]]:
    @podium.workflow
    async def tale(run: podium.Run, request: str) -> str:
        return await run.ask(WRITER, "write", prompt="a tale")

    result = await podium.run(tale, "x", model=model, store=store, settings=settings, **started)
    events = [row.to_event(result.run_id).data for row in await store.read(result.run_id)]
    return result, [event for event in events if isinstance(event, ModelAttempted)]


async def test_a_model_is_called_with_the_limits_and_the_log_holds_them(store: Store) -> None:
    calls: list[podium.Call] = []

    async def answer(call: podium.Call) -> str:
        calls.append(call)
        return "done"

    settings = Settings(providers={"python": ProviderOptions(reply_timeout=33.0, reply_tokens=44)})
    _, attempts = await asked(store, settings, answer)
    assert [(call.timeout, call.max_tokens) for call in calls] == [(33.0, 44)]
    assert [(one.timeout_s, one.max_tokens) for one in attempts] == [(33.0, 44)]
    _, attempts = await asked(store, settings, answer, reply_timeout=55.5, reply_tokens=66)
    assert [(one.timeout_s, one.max_tokens) for one in attempts] == [(55.5, 66)]


async def test_a_time_out_of_the_settings_ends_a_call(store: Store) -> None:
    async def never(call: podium.Call) -> Any:
        await asyncio.Event().wait()

    result, attempts = await asked(store, Settings(agents={"writer": limits(0.05)}), never)
    assert result.status == "failed"
    assert "gave no answer within 0.05 s" in result.error
    assert [one.ok for one in attempts] == [False]


@pytest.mark.parametrize(
    "wrong",
    [{"reply_timeout": value} for value in (0, -1, float("inf"), float("nan"), "soon", True)]
    + [{"reply_tokens": value} for value in (0, -1, 1.5, "many", True, 10**30)],
)
async def test_a_program_is_reported_of_a_limit_that_is_none(store: Store, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"The reply's (time-out|tokens) must be a "):
        await asked(store, Settings(), "rehearsal", **wrong)
    assert await store.list_runs() == []


async def test_other_limits_leave_finished_steps_as_they_are(store: Store) -> None:
    calls: list[podium.Call] = []

    async def answer(call: podium.Call) -> str:
        calls.append(call)
        if len(calls) == 2:
            raise RuntimeError("not now")
        return "done"

    @podium.workflow
    async def twice(run: podium.Run, request: str) -> str:
        first = await run.ask(WRITER, "write", prompt="one")
        return first + await run.ask(WRITER, "write", prompt="two")

    failed = await podium.run(twice, "x", model=answer, store=store, settings=Settings())
    assert failed.status == "failed"
    other = Settings(reply_timeout=77.0, reply_tokens=88)
    handle = await podium.resume(
        failed.run_id, workflow=twice, model=answer, store=store, settings=other, reply_tokens=99
    )
    assert (await handle.result()).output == "donedone"
    assert [(call.path, call.timeout, call.max_tokens) for call in calls] == [
        ("write", 10.0, 100),
        ("write#2", 10.0, 100),
        ("write#2", 77.0, 99),
    ]


async def test_the_model_that_takes_over_has_limits_of_its_own(store: Store, tmp_path: Path) -> None:
    async with serving() as wire:
        wire.answer_with(Drop(), Say("fine"))
        settings = settings_for(
            wire,
            tmp_path,
            profiles={"balanced": [MODELS["openai"], MODELS["openai-chat"]]},
            models={MODELS["openai"]: limits(20.0, 200), MODELS["openai-chat"]: limits(30.0, 300)},
        )
        once = podium.Agent("Ada", attempts=1)
        shown = await ask(store, settings, None, agent=once)
    assert shown.result.output == "fine"
    assert [(one.timeout_s, one.max_tokens) for one in shown.attempts] == [(20.0, 200), (30.0, 300)]


def test_a_hosted_model_knows_its_longest_reply() -> None:
    settings = Settings(
        providers={name: ProviderOptions(base_url="http://127.0.0.1:9") for name in ("anthropic", "openai")}
    )

    def longest(name: str) -> int | None:
        return getattr(open_model(name, settings=settings, env={}), "longest_reply", None)

    assert longest("anthropic:claude-haiku-4-5") == 64_000
    assert longest("openai:gpt-4o") == 128_000
    assert longest("openai:a-model-of-tomorrow") is None


async def test_no_more_is_asked_for_than_a_model_can_write(store: Store, tmp_path: Path) -> None:
    async with serving() as wire:
        wire.answer_with(Say("fine"))
        settings = settings_for(wire, tmp_path, reply_tokens=1_000_000)
        shown = await ask(store, settings, MODELS["anthropic"])
        assert wire.requests[0].body["max_tokens"] == 64_000
    assert [one.max_tokens for one in shown.attempts] == [64_000]


@pytest.fixture
async def silent() -> Any:
    async with serving() as wire:
        wire.answer_with(Hang())
        yield wire


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", list(MODELS))
async def test_the_clients_own_time_out_follows_the_call(
    provider: str, watch: bool, silent: Wire, tmp_path: Path
) -> None:
    """Nothing but the client ends this call: were its time-out fixed, it would wait for ten minutes."""
    model = open_model(MODELS[provider], settings=settings_for(silent, tmp_path), env={})
    call = podium.Call(
        run_id="", workflow="", path="", agent="", role="", task="", system="", prompt="x", timeout=0.2
    )
    with pytest.raises(ModelFault) as caught:
        await model.complete(call, (lambda text: None) if watch else None)
    assert caught.value.kind == "timeout"
