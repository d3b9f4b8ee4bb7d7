"""One step in full: who was asked what, what came back, what went wrong on the way."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.cli.card import say_line
from podium.cli.status import badge
from podium.cli.terminal import out, print_json
from podium.engine.codec import decode
from podium.engine.events import Event
from podium.engine.log import Store
from podium.engine.state import RunState, StepState
from podium.errors import UsageError
from podium.models.events import ModelAsked, ModelAttempted
from podium.report.tellers import line_of
from podium.report.words import duration, model_name, pretty, safe
from podium.settings import nearest


def find_step(state: RunState, path: str) -> StepState:
    """The step of a path."""
    if path in state.steps:
        return state.steps[path]
    meant = nearest(path, list(state.steps))
    known = f"Its steps: {', '.join(list(state.steps)[:12]) or 'none'}."
    raise UsageError(f"The run has no step {path}.", hint=f"Did you mean {meant}?" if meant else known)


async def print_step(store: Store, step: StepState, events: list[Event], *, as_json: bool) -> None:
    """Prompt, events and result of one step."""
    result: Any = None
    if step.blob:
        result = decode(await store.get_blob(step.blob))
    elif step.result is not None:
        result = decode(step.result)
    own = [event for event in events if event.path == step.path]
    asked = next((event.data for event in reversed(own) if isinstance(event.data, ModelAsked)), None)
    if asked is not None and asked.blob:
        prompt = (await store.get_blob(asked.blob)).decode("utf-8", "replace")
        asked = msgspec.structs.replace(asked, prompt=prompt, blob="")
    if as_json:
        print_json(_as_data(step, asked, result, _limits(own)))
        return
    console = out()
    about = [str(step.about.get("agent", "")), model_name(str(step.about.get("model", "")))]
    told = safe("  ".join(part for part in about if part))
    say_line(console, (step.path, "bold"), "  ", badge(step.status, console), "  ", (told, "dim"))
    state = RunState()
    for event in events:
        state.apply(event)
        if event.path == step.path:
            line = line_of(event, state)
            if event.type not in ("step.completed", "model.asked"):
                say_line(console, ("  ".join((f"  {line.mark} {line.what}", *line.notes)), "dim"))
    if (limits := _limits(own)) is not None:
        seconds, tokens = limits["timeout_s"], limits["max_tokens"]
        say_line(console, (f"  limits of the reply: {duration(seconds)}, {tokens:,} tokens", "dim"))
    for title, text in (("system", asked.system), ("prompt", asked.prompt)) if asked is not None else ():
        if text:
            say_line(console, (f"\n{title}", "bold"))
            say_line(console, safe(text))
    if step.status == "completed":
        say_line(console, ("\nresult", "bold"))
        say_line(console, safe(pretty(result)))


def _limits(events: list[Event]) -> dict[str, Any] | None:
    """Return the limits of the step's last call; `None` if it made none, or its version recorded none."""
    for event in reversed(events):
        if isinstance(event.data, ModelAttempted) and event.data.max_tokens:
            return {"timeout_s": event.data.timeout_s, "max_tokens": event.data.max_tokens}
    return None


def _as_data(
    step: StepState, asked: ModelAsked | None, result: Any, limits: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "path": step.path,
        "status": step.status,
        "kind": step.kind,
        "about": step.about,
        "system": asked.system if asked else None,
        "prompt": asked.prompt if asked else None,
        "reply_limits": limits,
        "result": result,
        "error": step.error or None,
        "duration_s": step.duration_s,
        "cost_usd": round(step.charge.usd, 9),
        "cached_calls": step.saved.calls,
        "saved_usd": round(step.saved.usd, 9),
    }
