"""The steps of a run as a tree of their paths."""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.console import Console

from podium.cli.card import say_line
from podium.cli.cells import one_row, pad
from podium.cli.layout import drawn
from podium.cli.status import sign
from podium.engine.state import RunState, StepState
from podium.report.lines import Line
from podium.report.words import count, duration, money, one_line

MANY = 60
"""More lines than this are shown only on demand."""


class Node(NamedTuple):
    """One line of the tree: a branch, a step, or (`more`) a row of steps that went well."""

    depth: int
    name: str
    step: StepState | None
    more: int = 0


def tree_of(steps: dict[str, StepState]) -> list[Node]:
    """Branches and steps in the order in which they began, children below their branch. A branch that
    holds just one thing shares its line."""
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
        begin = path.rfind("/") + 1
        while path not in steps and len(children[path]) == 1:
            path = next(iter(children[path]))
        nodes.append(Node(depth, path[begin:], steps.get(path)))
        waiting += [(depth + 1, child) for child in reversed(children[path])]
    return nodes


def folded(nodes: list[Node]) -> list[Node]:
    """Rows of steps of one name that went well become one line each: what did not stands out."""
    shown: list[Node] = []
    for node in nodes:
        last = shown[-1] if shown else None
        if last is not None and _alike(last, node):
            shown[-1] = last._replace(more=last.more + 1)
        else:
            shown.append(node)
    return shown


def _alike(one: Node, other: Node) -> bool:
    """Two finished steps that differ in their number or key alone."""
    steps = (one.step, other.step)
    if not all(step and step.status == "completed" and not step.edited and not step.cut for step in steps):
        return False
    return one.depth == other.depth and _bare(one.name) == _bare(other.name)


def _bare(name: str) -> str:
    return re.sub(r"#\d+|\[[^\]]*\]", "", name)


def print_steps(console: Console, state: RunState, *, everything: bool, command: str) -> None:
    """The tree with status, agent, time, cost and retries."""
    nodes = tree_of(state.steps)
    if not nodes:
        return
    shown = nodes if everything or len(nodes) <= MANY else folded(nodes)[:MANY]
    hidden = len(nodes) - sum(1 + node.more for node in shown)
    say_line(console)
    width = max(len(node.name) + 2 * node.depth for node in shown)
    width = min(width, max(console.width // 2, 16)) if console.is_terminal else width
    for node in shown:
        _print_node(console, node, width)
    if len(shown) < len(nodes):
        rest = f"… {count(hidden, 'more line')}" if hidden else "All of them"
        say_line(console, (f"{rest}: {command}", "dim"))


def print_drawing(console: Console, drawing: list[Line], command: str) -> None:
    """A workflow's own picture of its run, and the command that lists the steps behind it."""
    say_line(console)
    for text in drawn(drawing, console):
        say_line(console, text)
    say_line(console, (f"  Every step: {command}", "dim"))


def _print_node(console: Console, node: Node, width: int) -> None:
    indent = "  " * node.depth
    name = one_row(node.name, max(width - len(indent), 4))
    if node.step is None:
        say_line(console, f"  {indent}", (f"{name}/", "dim"))
        return
    step = node.step
    mark = sign(step.status, console)
    told = _told(step) if not node.more else f"and {node.more} more like it"
    say_line(console, f"{indent}", mark, " ", pad(name, width - len(indent)), "  ", (told, "dim"))
    if step.error:
        say_line(console, f"{indent}    ", (one_row(step.error, max(console.width - 8, 40)), "red"))


def _told(step: StepState) -> str:
    """Who, how long, for how much, how often; only what there is to tell."""
    parts = [
        one_line(str(step.about.get("agent", ""))),
        step.status if step.status != "completed" else "",
        duration(step.duration_s) if step.duration_s is not None else "",
        money(step.charge.usd) if step.charge.usd else "",
        "cached" if step.saved.calls else "",
        f"retried {step.retries}×" if step.retries else "",
        "inherited" if step.inherited else "",
        "edited" if step.edited else "",
        "cut off" if step.cut else "",
    ]
    return "  ".join(part for part in parts if part)
