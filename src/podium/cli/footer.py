"""The footer of the live view: where the run is, and what it has spent of every ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rich.cells import cell_len

from podium.cli.cells import one_row, shorten, shorten_path, tail
from podium.cli.layout import NARROW, meter
from podium.engine.state import RunState
from podium.report.words import amount, clock, count, money, one_line, unknown_calls

ROOM_FOR_WORDS = 16
"""Fewer cells are not worth words of a reply."""
NOTHING_HEARD: Mapping[str, str] = MappingProxyType({})


def footer_of(
    state: RunState,
    elapsed: float,
    width: int,
    heard: Mapping[str, str] = NOTHING_HEARD,
    *,
    pausing: bool = False,
) -> tuple[str, str]:
    """The two lines at the bottom: status and place, with the last words of a reply that is being
    written (`heard`, by path); spend against every ceiling."""
    doing = "? waiting" if state.questions and not state.in_flight else "● running"
    head = f"{'■ pausing' if pausing else doing} {clock(elapsed)}"
    if state.budget.seconds is not None:
        head += f" of {clock(state.budget.seconds)}"
    places = _places(state, width - len(head) - 2, heard)
    return shorten(f"{head}  {places}", width), shorten(_spend(state, width), width)


def _places(state: RunState, width: int, heard: Mapping[str, str]) -> str:
    """The newest step under way, how many others there are, and what is being written."""
    if state.questions and not state.in_flight:
        return one_row(next(iter(state.questions.values())).question, width)
    flying = state.in_flight
    if not flying:
        return ""
    newest = max(flying, key=lambda step: step.started_seq).path
    shown = shorten_path(one_line(newest), max(width - 6, 8))
    shown += f" +{len(flying) - 1}" if len(flying) > 1 else ""
    room = width - cell_len(shown) - 3
    words = one_line(heard.get(newest, ""))
    return f"{shown}  …{tail(words, room)}" if words and room >= ROOM_FOR_WORDS else shown


def _spend(state: RunState, width: int) -> str:
    """Spend against every ceiling; what does not fit is left out, the least important first."""
    usage, budget = state.usage, state.budget
    spent = money(usage.usd)
    if budget.usd is not None:
        bar = meter(usage.usd, budget.usd, 6 if width < NARROW else 10)
        spent = f"{money(usage.usd)} of {money(budget.usd)} {bar}"
    calls = count(usage.calls, "call")
    if budget.calls is not None:
        calls = f"{usage.calls + state.forfeited.calls} of {budget.calls} calls"
    parts = [spent, calls, f"{len(state.in_flight)} in flight"]
    if budget.tokens is not None:
        parts.insert(2, f"{amount(usage.tokens)} of {amount(budget.tokens)} tokens")
    elif usage.tokens:
        parts.append(count(usage.tokens, "token"))
    if usage.unpriced_calls:
        parts.append(count(usage.unpriced_calls, "unpriced call"))
    if usage.unknown_calls:
        parts.append(unknown_calls(usage))
    if state.saved.calls:
        parts.append(f"{amount(state.saved.calls)} from the cache")
    while len(parts) > 1 and len("  ".join(parts)) + 2 > width:
        parts.pop()
    return "  " + "  ".join(parts)
