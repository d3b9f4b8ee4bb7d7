"""Test of a model with one small structured question, asked exactly as an agent of a run asks it.

The test is a run in a temporary store, so its calls are reserved, retried, settled and priced like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.api.launch import start
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.events import NOTHING, Charge, Event, StepFailed
from podium.engine.result import RunResult
from podium.engine.workflow import Workflow
from podium.errors import UsageError
from podium.models.catalogue import PROFILES, PROVIDERS, behind, choose, models_of
from podium.models.events import ModelAttempted, ModelFellBack, ModelRepaired
from podium.models.registry import DEFAULT
from podium.report.data import price_word
from podium.report.words import count, sentence
from podium.settings import Settings
from podium.stores import open_store

ASKER = Agent("tester", instructions="You answer exactly what is asked.", max_tokens=2048, timeout=60.0)
PROMPT = "What is 17 + 25? Answer with the sum, and with one short friendly sentence."
MOST_CALLS = 12
"""Call budget per model, for all attempts and repairs. It also allows testing a model of unknown price."""


HINTS = {
    "unreachable": "Is the address right, and is there a way to it from here?",
    "limited": "The provider wants fewer calls: try later, or look at your account's limits.",
    "unavailable": "The provider is in trouble itself: try later.",
    "timeout": "The provider took too long: try later, raise `reply_timeout`, or take another model.",
    "dropped": "Something closed the connection: the provider, a proxy or the network.",
    "garbled": "Is the address that of a provider's API?",
    "InvalidReplyError": "The model cannot keep to a schema; try `output` in [providers] or another model.",
}
"""Hint by kind of fault, or else by type of error."""


class Greeting(msgspec.Struct, frozen=True):
    """A small reply with two field types."""

    sum: int
    sentence: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a test."""

    asked: str
    """The given name, of a model or a profile."""
    result: RunResult
    attempts: list[ModelAttempted]
    repairs: int
    fell_back: list[ModelFellBack]
    failure: StepFailed | None = None

    @property
    def ok(self) -> bool:
        return self.result.status == "completed"

    @property
    def last(self) -> ModelAttempted | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def usage(self) -> Charge:
        return sum((attempt.charge for attempt in self.attempts), NOTHING)


def _names(name: str, settings: Settings) -> list[str]:
    """Return the models to ask: the named one, or those of the profile."""
    profiles = behind(settings, choose())
    if name in PROFILES or name in profiles:
        return models_of(name, profiles) or [DEFAULT]
    if name.startswith("replay:"):
        raise UsageError(
            f"{name} only repeats a run; there is nothing to test.", hint="Try `podium replay RUN`."
        )
    return [name]


async def try_model(
    name: str, settings: Settings, *, asking: Callable[[str], object] = lambda model: None
) -> Trial:
    """Ask a model, or those of a profile. `asking` is called with the first model's name when the call
    begins."""
    names = _names(name, settings)
    mine = msgspec.structs.replace(settings, model="", profiles={ASKER.profile: names})
    with TemporaryDirectory(prefix="podium-test-") as folder:
        async with open_store(str(Path(folder) / "test.sqlite")) as store:
            handle = await start(
                Workflow(_ask, "models-test"),
                PROMPT,
                store=store,
                settings=mine,
                budget=Budget(calls=MOST_CALLS * len(names)),
            )
            asking(names[0])
            result = await handle.result()
            events = [row.to_event(handle.run_id) for row in await store.read(handle.run_id)]
    return Trial(
        asked=name,
        result=result,
        attempts=_of(events, ModelAttempted),
        repairs=len(_of(events, ModelRepaired)),
        fell_back=_of(events, ModelFellBack),
        failure=next(iter(_of(events, StepFailed)), None),
    )


async def _ask(run: Run, request: str) -> Greeting:
    return await run.ask(ASKER, "test", prompt=request, returns=Greeting)


def _of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event.data for event in events if isinstance(event.data, kind)]


def problem_of(trial: Trial) -> str:
    """Return the error message."""
    return trial.result.error.removeprefix("test: ") or f"The test ended as {trial.result.status}"


def hint_of(trial: Trial) -> str:
    """Return a hint for the fault, as far as it is known; otherwise calls and cost."""
    details = trial.failure.details if trial.failure else {}
    if details.get("hint"):
        return str(details["hint"])
    status, fault = details.get("status", 0), details.get("fault", "")
    provider = PROVIDERS.get(str(details.get("model", "")).partition(":")[0])
    if provider is not None and status in (401, 403):
        return f"Is the key in {' or '.join(provider.keys)} the right one?"
    if provider is not None and status == 404:
        return f"Is the name right? `podium models {provider.name}` lists those with a known price."
    hint = HINTS.get(fault, "") or HINTS.get(trial.failure.error_type if trial.failure else "", "")
    return hint or f"{count(trial.usage.calls, 'call')} made, {price_word(trial.usage)}."


def trial_data(trial: Trial) -> dict[str, Any]:
    """Return the outcome as data for JSON output."""
    last = trial.last
    return {
        "ok": trial.ok,
        "asked": trial.asked,
        "model": last.model if last else None,
        "rehearsal": bool(last and last.rehearsal),
        "latency_ms": last.latency_ms if last else None,
        "mode": (last.mode if last else "") or None,
        "attempts": len(trial.attempts),
        "repairs": trial.repairs,
        "fell_back_from": [fallback.from_model for fallback in trial.fell_back],
        "usage": trial.usage.to_dict(),
        "reply": msgspec.json.decode(encode(trial.result.output)),
        "error": None if trial.ok else sentence(problem_of(trial)),
        "hint": None if trial.ok else hint_of(trial),
    }
