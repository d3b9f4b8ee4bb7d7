"""Report of a research run: presentation and sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from podium.engine.events import ArtifactCreated, Event, RunWarned
from podium.engine.state import RunState
from podium.report.markdown import cell
from podium.report.presentation import Line, Presentation, Section
from podium.report.words import count, money
from podium.workflows.research import events
from podium.workflows.research.fold import AgentState
from podium.workflows.research.report_data import (
    SCORED,
    SIGNS,
    VERDICTS,
    Data,
    against,
    checks_of,
    comparison_of,
    contradictions_of,
    iterations_of,
    kinds_of,
    missing_of,
    output_quality,
    part,
    quality_of,
    sources_of,
    workers_of,
)
from podium.workflows.research.view import draw, line_of


def of(name: str, data: Any) -> str:
    """Render a section's text without its title."""
    return "\n".join(_WRITERS[name](data))


def _quality(data: Data) -> Iterator[str]:
    word = "meets" if data["met"] else "below"
    reached, asked = against(data["overall"], data["threshold"])
    yield f"**{reached}**, {word} the {asked} asked for.\n"
    yield "| component | weight | score | parts |"
    yield "|---|--:|--:|---|"
    for one in data["components"]:
        score = "not measured" if one["score"] is None else f"{one['score']:.2f}"
        parts = ", ".join(f"{cell(name, 40)} {value:.2f}" for name, value in one["parts"].items())
        yield f"| {one['name']} | {one['weight']:.2f} | {score} | {parts or one['meaning']} |"


def _contradictions(data: list[Data]) -> Iterator[str]:
    for one in data:
        yield f"- **{cell(one['about'], 300)}**"
        for side in one["sides"]:
            source = side["source"]
            yield f"  - {_name(source)}: “{cell(side['quote'], 600)}”"


def _name(source: Data) -> str:
    number = f"[{source['number']}] " if source.get("number") else ""
    return f"{number}{cell(str(source.get('title') or 'an unknown source'), 160)}"


def _doubts(data: Data) -> Iterator[str]:
    yield f"{data['verdicts'].get('verified', 0)} of {count(data['claims'], 'claim')} verified.\n"
    for one in data["doubtful"]:
        reason = f" ({cell(one['reason'], 300)})" if one["reason"] else ""
        nobody = "" if one["cites"] else "; it cites nobody"
        told = f"{SIGNS.get(one['verdict'], '·')} {VERDICTS.get(one['verdict'], 'not checked')}{nobody}"
        yield f"- {told}: {cell(one['text'], 400)}{reason}"


def _sources(data: list[Data]) -> Iterator[str]:
    yield "| # | title | kind | date | where | found by |"
    yield "|--:|---|---|---|---|---|"
    for one in data:
        where = f"<{one['link']}>" if one["link"] else cell(one["place"], 160)
        cells = [str(one["number"] or "–"), cell(one["title"] or "Untitled", 200)]
        cells += [cell(one["kind"], 20), cell(one["published"] or "no date", 40), where]
        yield "| " + " | ".join([*cells, cell(one["provider"], 40)]) + " |"


def _iterations(data: list[Data]) -> Iterator[str]:
    for lap in data:
        quality = "not evaluated" if lap["quality"] is None else f"quality {lap['quality']:.2f}"
        yield f"{lap['number']}. {quality} of {lap['threshold']:.2f}, {count(len(lap['workers']), 'worker')}"
        for step in lap["steps"]:
            yield f"   - {cell(str(step['name']), 40)}: {cell(', '.join(step['workers']), 300)}"
        if lap["added"]:
            yield f"   - added: {cell(', '.join(lap['added']), 300)}"
        yield from (f"   - {cell(line, 400)}" for line in lap["feedback"])


def _workers(data: list[Data]) -> Iterator[str]:
    yield "| iteration | worker | status | attempts | cost | |"
    yield "|--:|---|---|--:|--:|---|"
    for one in data:
        cost = money(one["cost"]) if one["cost"] else ""
        told = cell(one["error"] or one["fallback"], 300)
        row = (one["iteration"], one["name"], f"{one['sign']} {one['status']}", one["attempts"], cost, told)
        yield "| " + " | ".join(map(str, row)) + " |"


def _missing(data: Data) -> Iterator[str]:
    if data["coverage"] is not None:
        yield f"The article was judged to cover {data['coverage']:.0%} of the request.\n"
    yield from (f"- {cell(line, 400)}" for line in data["missing"])
    if data["unsupported"]:
        yield "\nNot covered by the sources:\n"
        yield from (f"- {cell(line, 400)}" for line in data["unsupported"])
    if data["unsourced"]:
        yield "\nGeneral knowledge in the article, which nobody has checked:\n"
        yield from (f"- {cell(line, 400)}" for line in data["unsourced"])


def _comparison(data: Data) -> Iterator[str]:
    yield f"{cell(data['verdict'], 200)}.\n"
    yield from (f"- {cell(line, 1000)}" for line in data["why"])


def _answer(data: Data) -> Iterator[str]:
    yield ""


_WRITERS: dict[str, Callable[[Any], Iterable[str]]] = {
    "quality": _quality, "contradictions": _contradictions, "doubts": _doubts, "sources": _sources,
    "iterations": _iterations, "workers": _workers, "answer": _answer, "missing": _missing,
    "comparison": _comparison,
}  # fmt: skip


PACKAGE = "podium.workflows.research"
STYLE = "research.css"
FILES = ("article.html", "article.md", "record.html")
"""Files to open first."""


class ResearchPresentation(Presentation):
    """Presentation of a research run."""

    def __init__(self) -> None:
        self.state = AgentState()
        self._sources: set[str] = set()
        self._files: dict[str, str] = {}
        self._told: set[str] = set()
        self._output: Any = None

    def apply(self, event: Event) -> None:
        self.state.apply(event)
        data = event.data
        if isinstance(data, ArtifactCreated):
            self._files[data.name] = data.id
            if data.name[:1] == "s" and data.name.endswith(".txt"):
                self._sources.add(data.name)
        elif isinstance(data, events.WorkerSkipped):
            self._told.add(data.warning)

    def line(self, event: Event, state: RunState) -> Line | None:
        return line_of(event, self.state)

    def is_hidden(self, event: Event) -> bool:
        data = event.data
        if isinstance(data, RunWarned):  # the worker's line already shows it
            return data.message in self._told
        if isinstance(data, events.ResearchEvent):
            return line_of(event, self.state) is None
        return event.type in ("step.completed", "step.failed", "artifact.created")

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.state, self._used, most, alive=alive)

    @property
    def _used(self) -> int:
        """Number of sources that the article cites or, before there is one, that were found."""
        merged = self.state.merged
        return len(self._sources) if merged is None else merged.sources

    def summary(self) -> str:
        """`8 sources · 2 iterations · 1 worker skipped`. For an article, only cited sources count."""
        if self.state.current_phase is None:
            return ""
        told = [count(self._used, "source"), count(self.state.iteration_count, "iteration")]
        lost = sum(one.status == "skipped" for one in self.state.all_tasks)
        told += [f"{count(lost, 'worker')} skipped"] if lost else []
        return " · ".join(told)

    def deliverable(self, output: Any) -> str | None:
        """Return the article. A failed run has at most a draft; without one, the sections show its sources
        and workers."""
        self._output = output
        text = part(output, "article").get("content")
        if text is None and (found := part(output, "partial_results")):
            text = found.get("article") or ""
        elif text is None and isinstance(output, dict) and "article" in output:
            text = "No article was written."
        return text if isinstance(text, str) else None

    def answer(self, output: Any) -> Section | None:
        html = part(output, "article").get("html")
        if not isinstance(html, str) or not html:
            return None
        return _section("answer", "", {"html": html})

    def leading(self, output: Any) -> list[str]:
        return [self._files[name] for name in FILES if name in self._files]

    def sections(self, *, alive: bool) -> list[Section]:
        state, output = self.state, self._output
        if state.current_phase is None:
            return []
        quality = output_quality(output) or self._measured()
        checks, sources = checks_of(output), sources_of(output)
        threshold = cast("float", quality.get("threshold") or state.brief.get("min_quality") or 0.0)
        parts = [
            _section("missing", "What is missing", missing_of(output)),
            _section("comparison", "Beside a direct draft", comparison_of(output)),
            _section("quality", "Quality", quality),
            _section("contradictions", "Where the sources disagree", contradictions_of(output)),
            _section("doubts", "What was not confirmed", checks if checks["doubtful"] else None,
                     signs=SIGNS, verdicts=VERDICTS),
            _section("sources", "Sources", sources, kinds=kinds_of(sources)),
            _section("iterations", "Iterations", iterations_of(state.plan_history, threshold)),
            _section("workers", "Workers", workers_of(state, alive=alive)),
        ]  # fmt: skip
        return [one for one in parts if one is not None]

    def _measured(self) -> Data:
        """Return the last evaluation, if there is no output yet."""
        if not self.state.evaluations:
            return {}
        last = self.state.evaluations[-1]
        return quality_of(last.quality, last.threshold, last.components, last.parts)


def _section(name: str, title: str, data: Any, **context: Any) -> Section | None:
    if not data:
        return None
    return Section(
        name=name, title=title, data=data, markdown=lambda: of(name, data), package=PACKAGE,
        template=f"{name}.html", context=context, style=STYLE, scored=name in SCORED,
    )  # fmt: skip


PRESENTATION = ResearchPresentation
