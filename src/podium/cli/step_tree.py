"""The steps of a run as a tree of their paths."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console

from podium.cli.card import say_line
from podium.cli.cells import one_row, pad
from podium.cli.status import sign
from podium.engine.state import RunState, StepState
from podium.report.words import count, duration, money, one_line

MANY = 60
"""More lines than this are shown only on demand."""


class Node(NamedTuple):
    """One line of the tree: a branch, or a step."""

    depth: int
    name: str
    step: StepState | None


def tree_of(steps: dict[str, StepState]) -> list[Node]:
    """Branches and steps in the order in which they began, children below their branch."""
    children: dict[str, dict[str, None]] = {"": {}}
    for path in steps:
        parts = path.split("/")
        for depth in range(len(parts)):
            parent, child = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            children.setdefault(parent, {})[child] = None
            children.setdefault(child, {})
    nodes: list[Node] = []
    waiting = [(0, path) for path in reversed(children[""])]
    while waiting:
        depth, path = waiting.pop()
        nodes.append(Node(depth, path.rpartition("/")[2], steps.get(path)))
        waiting += [(depth + 1, child) for child in reversed(children[path])]
    return nodes


def print_steps(console: Console, state: RunState, *, everything: bool, command: str) -> None:
    """The tree with status, agent, time, cost and retries."""
    nodes = tree_of(state.steps)
    if not nodes:
        return
    shown = nodes if everything or len(nodes) <= MANY else nodes[:MANY]
    say_line(console)
    width = max(len(node.name) + 2 * node.depth for node in shown)
    width = min(width, max(console.width // 2, 16)) if console.is_terminal else width
    for node in shown:
        _print_node(console, node, width)
    if len(shown) < len(nodes):
        say_line(console, (f"… {count(len(nodes) - len(shown), 'more line')}: {command}", "dim"))


def _print_node(console: Console, node: Node, width: int) -> None:
    indent = "  " * node.depth
    name = one_row(node.name, max(width - len(indent), 4))
    if node.step is None:
        say_line(console, f"  {indent}", (f"{name}/", "dim"))
        return
    step = node.step
    mark = sign(step.status, console)
    say_line(console, f"{indent}", mark, " ", pad(name, width - len(indent)), "  ", (_told(step), "dim"))
    if step.error:
        say_line(console, f"{indent}    ", (one_row(step.error, max(console.width - 8, 40)), "red"))


def _told(step: StepState) -> str:
    """Who, how long, for how much, how often; only what there is to tell."""
    parts = [
        one_line(str(step.about.get("agent", ""))),
        step.status if step.status != "completed" else "",
        duration(step.duration_s) if step.duration_s is not None else "",
        money(step.charge.usd) if step.charge.usd else "",
        f"retried {step.retries}×" if step.retries else "",
        "inherited" if step.inherited else "",
        "edited" if step.edited else "",
    ]
    return "  ".join(part for part in parts if part)
