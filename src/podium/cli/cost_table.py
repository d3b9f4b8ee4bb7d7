"""What a run cost, by agent and model, for `podium show`."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from podium.cli.card import say_line
from podium.cli.table import print_table
from podium.report.costs import Cost, price_word
from podium.report.words import amount, count

SHOWN = 12
"""Rows that are shown of a large team; the dearest first."""
TITLES = ("agent", "model", "calls", "tokens in", "tokens out", "cost")
FIGURES = ("calls", "tokens in", "tokens out", "cost")


def print_costs(console: Console, costs: list[Cost], whole: str) -> None:
    """The table, if anything was spent at all; `whole` is the command that shows all of a long one."""
    if not costs:
        return
    dearest = sorted(costs, key=lambda cost: (-cost.usage.usd, -cost.usage.tokens))
    shown = costs if len(costs) <= SHOWN else dearest[:SHOWN]
    say_line(console)
    print_table(
        console, TITLES, [_row(cost) for cost in shown], figures=FIGURES, spare=("tokens in", "tokens out")
    )
    if len(shown) < len(costs):
        say_line(console, (f"… {count(len(costs) - len(shown), 'more row')}: {whole}", "dim"))


def _row(cost: Cost) -> tuple[str, ...]:
    used = cost.usage
    return (
        cost.agent,
        cost.model or "none",
        str(used.calls),
        amount(used.input_tokens),
        amount(used.output_tokens),
        price_word(used),
    )


def cost_data(cost: Cost) -> dict[str, Any]:
    """One entry of `show --json`."""
    return {"agent": cost.agent, "model": cost.model or None, **cost.usage.to_dict()}
