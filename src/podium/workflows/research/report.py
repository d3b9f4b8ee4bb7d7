"""Report of a research run: presentation and sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from podium.engine.events import Event
from podium.report.markdown import cell
from podium.report.presentation import Line, Section, ViewGrade, WorkflowPresentation
from podium.report.words import count, money, needs
from podium.workflows.research import events
from podium.workflows.research.detail import ResearchView, detail_of, grade_of
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
from podium.workflows.research.view import LINES, draw


def of(name: str, data: Any) -> str:
    """Render a section's text without its title."""
    return "\n".join(_WRITERS[name](data))


def _quality(data: Data) -> Iterator[str]:
    word = "meets" if data["met"] else "below"
    reached, asked = against(data["overall"], data["threshold"])
    yield f"**{reached}**, {word} the {asked} asked for.\n"
    yield "| component | weight | score | parts |"
    yield "|---|--:|--:|---|"
    for component in data["components"]:
        score = "not measured" if component["score"] is None else f"{component['score']:.2f}"
        parts = ", ".join(f"{cell(name, 40)} {value:.2f}" for name, value in component["parts"].items())
        meaning = parts or component["meaning"]
        yield f"| {component['name']} | {component['weight']:.2f} | {score} | {meaning} |"


def _contradictions(data: list[Data]) -> Iterator[str]:
    for entry in data:
        yield f"- **{cell(entry['about'], 300)}**"
        for side in entry["sides"]:
            source = side["source"]
            yield f"  - {_name(source)}: “{cell(side['quote'], 600)}”"


def _name(source: Data) -> str:
    number = f"[{source['number']}] " if source.get("number") else ""
    return f"{number}{cell(str(source.get('title') or 'an unknown source'), 160)}"


def _doubts(data: Data) -> Iterator[str]:
    yield f"{data['verdicts'].get('verified', 0)} of {count(data['claims'], 'claim')} verified.\n"
    for claim in data["doubtful"]:
        reason = f" ({cell(claim['reason'], 300)})" if claim["reason"] else ""
        uncited = "" if claim["cites"] else "; it cites no source"
        verdict = (
            f"{SIGNS.get(claim['verdict'], '·')} {VERDICTS.get(claim['verdict'], 'not checked')}{uncited}"
        )
        yield f"- {verdict}: {cell(claim['text'], 400)}{reason}"


def _sources(data: list[Data]) -> Iterator[str]:
    yield "| # | title | kind | date | where | found by |"
    yield "|--:|---|---|---|---|---|"
    for source in data:
        where = f"<{source['link']}>" if source["link"] else cell(source["place"], 160)
        cells = [str(source["number"] or "–"), cell(source["title"] or "Untitled", 200)]
        cells += [cell(source["kind"], 20), cell(source["published"] or "no date", 40), where]
        yield "| " + " | ".join([*cells, cell(source["provider"], 40)]) + " |"


def _iterations(data: list[Data]) -> Iterator[str]:
    for lap in data:
        quality = "not evaluated" if lap["quality"] is None else f"quality {lap['quality']:.2f}"
        quality = needs(quality, f"{lap['threshold']:.2f}")
        yield f"{lap['number']}. {quality}, {count(len(lap['workers']), 'worker')}"
        for step in lap["steps"]:
            yield f"   - {cell(str(step['name']), 40)}: {cell(', '.join(step['workers']), 300)}"
        if lap["added"]:
            yield f"   - added: {cell(', '.join(lap['added']), 300)}"
        yield from (f"   - {cell(line, 400)}" for line in lap["feedback"])


def _workers(data: list[Data]) -> Iterator[str]:
    yield "| iteration | worker | status | attempts | cost | |"
    yield "|--:|---|---|--:|--:|---|"
    for task in data:
        cost = money(task["cost"]) if task["cost"] else ""
        problem = cell(task["error"] or task["fallback"], 300)
        row = (
            task["iteration"],
            task["name"],
            f"{task['sign']} {task['status']}",
            task["attempts"],
            cost,
            problem,
        )
        yield "| " + " | ".join(map(str, row)) + " |"


def _missing(data: Data) -> Iterator[str]:
    if data["coverage"] is not None:
        yield f"The article was judged to cover {data['coverage']:.0%} of the request.\n"
    yield from (f"- {cell(line, 400)}" for line in data["missing"])
    if data["unsupported"]:
        yield "\nNot covered by the sources:\n"
        yield from (f"- {cell(line, 400)}" for line in data["unsupported"])
    if data["unsourced"]:
        yield "\nGeneral knowledge in the article, which was not checked:\n"
        yield from (f"- {cell(line, 400)}" for line in data["unsourced"])


def _comparison(data: Data) -> Iterator[str]:
    yield f"{cell(data['verdict'], 200)}.\n"
    yield from (f"- {cell(line, 1000)}" for line in data["why"])


def _answer(data: Data) -> Iterator[str]:
    yield ""


_WRITERS: dict[str, Callable[[Any], Iterable[str]]] = {
    "quality": _quality,
    "contradictions": _contradictions,
    "doubts": _doubts,
    "sources": _sources,
    "iterations": _iterations,
    "workers": _workers,
    "answer": _answer,
    "missing": _missing,
    "comparison": _comparison,
}


PACKAGE = "podium.workflows.research"
STYLE = "research.css"
FILES = ("article.html", "article.md", "record.html")
"""Files to open first."""


class ResearchPresentation(WorkflowPresentation[AgentState]):
    """Presentation of a research run."""

    detail_type = ResearchView
    lines = LINES
    own_events = events.ResearchEvent
    leading_files = FILES

    def __init__(self) -> None:
        super().__init__(AgentState())
        self._skipped: set[str] = set()
        self._output: Any = None

    def apply(self, event: Event) -> None:
        super().apply(event)
        if isinstance(event.data, events.WorkerSkipped):
            self._skipped.add(event.data.warning)

    def is_shown(self, warning: str) -> bool:
        return warning in self._skipped

    def detail(self, *, alive: bool) -> ResearchView:
        return detail_of(self.fold, self._used, alive=alive)

    def grade(self, event: Event) -> ViewGrade | None:
        return grade_of(event)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.fold, self._used, most, alive=alive)

    @property
    def _used(self) -> int:
        """Number of sources that the article cites or, before there is one, that were found."""
        merged = self.fold.merged
        sources = sum(name[:1] == "s" and name.endswith(".txt") for name in self.files)
        return sources if merged is None else merged.sources

    def summary(self) -> str:
        """`8 sources · 2 iterations · 1 worker skipped`. For an article, only cited sources count."""
        if self.fold.current_phase is None:
            return ""
        parts = [count(self._used, "source"), count(self.fold.iteration_count, "iteration")]
        lost = sum(task.status == "skipped" for task in self.fold.all_tasks)
        parts += [f"{count(lost, 'worker')} skipped"] if lost else []
        return " · ".join(parts)

    def deliverable(self, output: Any) -> str | None:
        """Return the article. A failed run has at most a draft; without one, the sections show its sources
        and workers."""
        self._output = output
        text = part(output, "article").get("content")
        if text is None and (partial := part(output, "partial_results")):
            text = partial.get("article") or ""
        elif text is None and isinstance(output, dict) and "article" in output:
            text = "No article was written."
        return text if isinstance(text, str) else None

    def answer(self, output: Any) -> Section | None:
        html = part(output, "article").get("html")
        if not isinstance(html, str) or not html:
            return None
        return _section("answer", "", {"html": html})

    def sections(self, *, alive: bool) -> list[Section]:
        state, output = self.fold, self._output
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
            _section(
                "doubts",
                "What was not confirmed",
                checks if checks["doubtful"] else None,
                signs=SIGNS,
                verdicts=VERDICTS,
            ),
            _section("sources", "Sources", sources, kinds=kinds_of(sources)),
            _section("iterations", "Iterations", iterations_of(state.plan_history, threshold)),
            _section("workers", "Workers", workers_of(state, alive=alive)),
        ]
        return [section for section in parts if section is not None]

    def _measured(self) -> Data:
        """Return the last evaluation, if there is no output yet."""
        if not self.fold.evaluations:
            return {}
        last = self.fold.evaluations[-1]
        return quality_of(last.quality, last.threshold, last.components, last.parts)


def _section(name: str, title: str, data: Any, **context: Any) -> Section | None:
    if not data:
        return None
    return Section(
        name=name,
        title=title,
        data=data,
        markdown=lambda: of(name, data),
        package=PACKAGE,
        template=f"{name}.html",
        context=context,
        style=STYLE,
        scored=name in SCORED,
    )


PRESENTATION = ResearchPresentation
