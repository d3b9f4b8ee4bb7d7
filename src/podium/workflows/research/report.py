"""What a person sees of a research run: its lines, the strip of phases with workers and sources, the article
first, and how it came about."""

from __future__ import annotations

from typing import Any, cast

from podium.engine.events import ArtifactCreated, Event, RunWarned
from podium.engine.state import RunState
from podium.report.lines import Line
from podium.report.presentation import Presentation, Section
from podium.report.words import count
from podium.workflows.research import events, markdown
from podium.workflows.research.drawing import draw
from podium.workflows.research.folding import AgentState
from podium.workflows.research.tellers import line_of
from podium.workflows.research.telling import (
    SIGNS,
    VERDICTS,
    Data,
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

PACKAGE = "podium.workflows.research"
STYLE = "research.css"
FILES = ("article.html", "article.md", "record.html")
"""What to open first."""


class ResearchPresentation(Presentation):
    """Shows one research run."""

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

    def quiets(self, event: Event) -> bool:
        data = event.data
        if isinstance(data, RunWarned):  # the line of the worker has told it
            return data.message in self._told
        if isinstance(data, events.ResearchEvent):
            return line_of(event, self.state) is None
        return event.type in ("step.completed", "step.failed", "artifact.created")

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.state, self._used, most, alive=alive)

    @property
    def _used(self) -> int:
        """Sources that the article cites; before there is one, those that were found."""
        merged = self.state.merged
        return len(self._sources) if merged is None else merged.sources

    def summary(self) -> str:
        """`8 sources · 2 iterations · 1 worker skipped`; of an article, the sources that it cites."""
        if self.state.current_phase is None:
            return ""
        told = [count(self._used, "source"), count(self.state.iteration_count, "iteration")]
        lost = sum(one.status == "skipped" for one in self.state.all_tasks)
        told += [f"{count(lost, 'worker')} skipped"] if lost else []
        return " · ".join(told)

    def deliverable(self, output: Any) -> str | None:
        """A run that failed has at most a draft; without one, its sources and workers tell what there is."""
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
        """The last evaluation, where there is no output yet."""
        if not self.state.evaluations:
            return {}
        last = self.state.evaluations[-1]
        return quality_of(last.quality, last.threshold, last.components, last.parts)


def _section(name: str, title: str, data: Any, **context: Any) -> Section | None:
    if not data:
        return None
    return Section(
        name=name, title=title, data=data, markdown=lambda: markdown.of(name, data), package=PACKAGE,
        template=f"{name}.html", context=context, style=STYLE,
    )  # fmt: skip


PRESENTATION = ResearchPresentation
