"""What a person sees of a tree: its lines, its drawing, its document first, and the tree in the reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from podium.engine.events import ArtifactCreated, Event
from podium.engine.state import RunState
from podium.report.lines import Line
from podium.report.markdown import cell
from podium.report.presentation import Presentation, Section
from podium.report.words import count, duration, money
from podium.workflows.tree.drawing import draw
from podium.workflows.tree.folding import TreeState
from podium.workflows.tree.nesting import nested
from podium.workflows.tree.overview import overview
from podium.workflows.tree.tellers import is_noise, line_of

OPEN_NODES = 40
"""How many nodes a page shows opened; the levels below are a click away."""


class TreePresentation(Presentation):
    """Shows one tree."""

    def __init__(self) -> None:
        self.tree = TreeState()
        self._exhausted = 0
        self._last_file = ""
        """What the root left behind last, besides its notes."""

    def apply(self, event: Event) -> None:
        self.tree.apply(event)
        if event.type == "budget.exhausted":
            self._exhausted += 1
        elif event.type == "run.resumed":
            self._exhausted = 0
        elif isinstance(event.data, ArtifactCreated) and not is_noise(event, self.tree):
            self._last_file = event.data.id

    def line(self, event: Event, state: RunState) -> Line | None:
        return line_of(event, self.tree)

    def quiets(self, event: Event) -> bool:
        if event.type == "budget.exhausted":
            return self._exhausted > 1  # every branch meets the same ceiling
        return is_noise(event, self.tree)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.tree, most, alive=alive)

    def summary(self) -> str:
        """`7 nodes · 2 levels · 1 failed`: levels below the root, as `--max-depth` counts them."""
        root = self.tree.root
        if root is None:
            return ""
        below = root.below
        told = [count(below.nodes, "node")]
        told += [count(self.tree.depth, "level")] if self.tree.depth else []
        told += [f"{below.failed} failed"] if below.failed else []
        unfinished = below.nodes - below.ended + below.blocked
        told += [f"{unfinished} unfinished"] if unfinished else []
        return " · ".join(told)

    def deliverable(self, output: Any) -> str | None:
        """The synthesis document; a tree that was stopped before it had one has nothing to read."""
        document = _part(output, "document")
        return document if isinstance(document, str) else None

    def leading(self, output: Any) -> list[str]:
        """The document itself: the root's, or the one that was made where no aggregator could be paid."""
        result = _part(output, "result")
        primary = _part(result, "primaryArtifactId")
        return [str(primary or self._last_file)]

    def sections(self, *, alive: bool) -> list[Section]:
        if self.tree.root is None:
            return []
        data = nested(self.tree, alive=alive)
        return [
            Section(
                name="tree",
                title="The tree",
                data=data,
                markdown=lambda: "\n".join(_bullets(data["root"], 0)),
                package="podium.workflows.tree",
                template="tree.html",
                context={"overview": overview(self.tree, alive=alive), "open_below": open_levels(self.tree)},
                style="tree.css",
            )
        ]


def open_levels(tree: TreeState, most: int = OPEN_NODES) -> int:
    """How many levels are open when the page is opened: as many as are not too much to read."""
    sizes = [0] * (tree.depth + 1)
    for node in tree.nodes.values():
        sizes[node.depth] += 1
    opened, shown = 0, 0
    for size in sizes:
        shown += size
        if shown > most:
            break
        opened += 1
    return max(opened, 1)


def _part(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────


def _bullets(node: dict[str, Any], indent: int) -> Iterator[str]:
    """A node and those below it as a nested list."""
    pad = "  " * indent
    yield f"{pad}- {node['sign']} **{cell(node['title'], 200)}**: {cell(_told(node), 400)}"
    if node["error"]:
        yield f"{pad}  - failed: {cell(node['error'], 500)}"
    if node["criteria"]:
        met = {True: "criteria met", False: "criteria not met"}.get(node["met"], "criteria not assessed")
        notes = f" ({cell(node['notes'], 300)})" if node["notes"] else ""
        yield f"{pad}  - {met}{notes}: {'; '.join(cell(one, 200) for one in node['criteria'])}"
    for gap in node["gaps"]:
        yield f"{pad}  - missing: {cell(gap, 300)}"
    for plan in node["plans"]:
        yield from _planned(node, plan, indent + 1)


def _planned(node: dict[str, Any], plan: dict[str, Any], indent: int) -> Iterator[str]:
    pad = "  " * indent
    several = f"plan {plan['version']}, " if len(node["plans"]) > 1 else ""
    for number, band in enumerate(plan["bands"], 1):
        yield f"{pad}- {several}band {number} of {len(plan['bands'])}: {cell(band['goal'], 200)}"
        for step in band["steps"]:
            if step["node"] is not None:
                yield from _bullets(step["node"], indent + 1)
            else:
                yield f"{pad}  - {cell(step['title'], 200)}: {step['status']}"


def _told(node: dict[str, Any]) -> str:
    """How a node stands, what it decided and what it took, on one line."""
    subtree = node["subtree"]
    parts = [node["state"], node["decision_reason"], count(subtree["calls"], "call")]
    parts += [money(subtree["cost_usd"])] if subtree["cost_usd"] else []
    parts += [duration(subtree["duration_s"])] if subtree["duration_s"] is not None else []
    return " · ".join(parts)


PRESENTATION = TreePresentation
