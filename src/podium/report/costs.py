"""Who spent what, on which model: a fold over the events that carry a charge."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.engine.events import NOTHING, Charge, ChargedData, Event
from podium.engine.state import RunState
from podium.models.events import ModelAttempted
from podium.report.words import model_name, money, one_line

NOBODY = "steps"
"""Who spends what no agent does: a workflow's own steps."""


class Cost(msgspec.Struct, frozen=True):
    """What one agent spent on one model."""

    agent: str
    model: str
    """Empty where no model was asked."""
    usage: Charge


def costs_of(events: Iterable[Event], state: RunState) -> list[Cost]:
    """By agent and model, in the order in which they first spoke. Another run paid for inherited calls."""
    spent: dict[tuple[str, str], Charge] = {}
    for event in events:
        data = event.data
        if not isinstance(data, ChargedData) or data.inherited or data.charge == NOTHING:
            continue
        step = state.steps.get(event.path)
        about = step.about if step else {}
        # A call that was cut off tells no model: then it is the one that the step was to ask.
        named = data.model if isinstance(data, ModelAttempted) else str(about.get("model", ""))
        pair = (one_line(str(about.get("agent", ""))) or NOBODY, one_line(model_name(named)))
        spent[pair] = spent.get(pair, NOTHING) + data.charge
    return [Cost(agent, model, usage) for (agent, model), usage in spent.items()]


def summed(pairs: Iterable[tuple[str, Charge]]) -> dict[str, Charge]:
    """Charges of one name together."""
    found: dict[str, Charge] = {}
    for name, usage in pairs:
        found[name] = found.get(name, NOTHING) + usage
    return found


def price_word(usage: Charge) -> str:
    """What it cost. Free is not unknown, and neither is a call that failed and cost nothing."""
    known = money(usage.usd)
    if usage.unpriced_calls:
        return f"{known} + price unknown" if usage.usd else "price unknown"
    return "free" if usage.tokens and not usage.usd else known
