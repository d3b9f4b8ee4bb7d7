"""The part of a run's view that is research's own: phases, workers, evaluations and sources."""

from __future__ import annotations

from podium.engine.events import Event
from podium.report.presentation import Detail, View, ViewGrade
from podium.report.words import needs, one_line
from podium.workflows.research import events
from podium.workflows.research.fold import AgentState, Evaluation, TaskState
from podium.workflows.research.report_data import PHASES, against, label_of
from podium.workflows.research.view import gist_of, sources_text


class ResearchViewPhase(View, frozen=True, kw_only=True):
    """A phase of the state machine."""

    lap: int
    phase: str
    text: str
    reason: str = ""
    current: bool = False


class ResearchViewWorker(View, frozen=True, kw_only=True):
    """A worker in one iteration."""

    order: int
    lap: int
    name: str
    path: str
    status: str
    """`running`, `completed`, `partial`, `failed` or `paused`."""
    label: str
    attempts: int
    text: str
    """The error, or the result in short, or the category."""
    error: str = ""


class ResearchViewEvaluation(View, frozen=True, kw_only=True):
    """The evaluation of one iteration."""

    text: str
    passed: bool
    quality: float
    threshold: float
    decision: str
    feedback: list[str]
    components: dict[str, float]


class ResearchViewSource(View, frozen=True, kw_only=True):
    """A source that a worker found."""

    order: int
    title: str
    kind: str


class ResearchView(Detail, frozen=True, kw_only=True, tag="research"):
    """The iterations of a research run."""

    phases: dict[str, ResearchViewPhase]
    """By number, from 1."""
    workers: dict[str, ResearchViewWorker]
    """By iteration and worker: `1:web_search`."""
    evaluations: dict[str, ResearchViewEvaluation]
    """By iteration."""
    sources: dict[str, ResearchViewSource]
    """By URL."""
    sources_count: int
    """Sources that the article cites or, before there is one, that were found."""
    sources_wanted: int
    sources_text: str
    words: int = 0


GENERAL = {"kept": "completed", "skipped": "partial", "pending": "queued"}
"""Names of statuses that all workflows share; the others are the same."""


def detail_of(state: AgentState, sources: int, *, alive: bool) -> ResearchView:
    """Return the research run's part of the view. `sources` is the number of sources to show."""
    last = len(state.phases)
    return ResearchView(
        phases={
            str(number): ResearchViewPhase(
                lap=data.iteration,
                phase=data.to,
                text=PHASES.get(data.to, data.to),
                reason=one_line(data.reason),
                current=number == last,
            )
            for number, data in enumerate(state.phases, start=1)
        },
        workers={
            f"{task.iteration}:{task.worker}": _worker(state, task, order, alive)
            for order, task in enumerate(state.all_tasks)
        },
        evaluations={str(evaluation.iteration): _evaluation(evaluation) for evaluation in state.evaluations},
        sources={
            url: ResearchViewSource(
                order=order, title=str(fields.get("title") or url), kind=str(fields.get("kind") or "")
            )
            for order, (url, fields) in enumerate(state.sources.items())
        },
        sources_count=sources,
        sources_wanted=state.wanted_sources,
        sources_text=sources_text(state, sources),
        words=state.merged.word_count if state.merged else 0,
    )


def _worker(state: AgentState, task: TaskState, order: int, alive: bool) -> ResearchViewWorker:
    label = "kept" if task.kept else task.status
    label = "stopped" if label == "running" and not alive else label
    return ResearchViewWorker(
        order=order,
        lap=task.iteration,
        name=label_of(task.worker),
        path=state.paths.get((task.iteration, task.worker), ""),
        status="paused" if label == "stopped" else GENERAL.get(label, label),
        label=label,
        attempts=task.attempts,
        text=one_line(task.error, 200) or ", ".join(gist_of(task.result)) or task.category,
        error=task.error,
    )


def _evaluation(evaluation: Evaluation) -> ResearchViewEvaluation:
    decision = evaluation.decision.replace("_", " ")
    return ResearchViewEvaluation(
        text=f"Quality {needs(*against(evaluation.quality, evaluation.threshold))}: {decision}",
        passed=evaluation.quality >= evaluation.threshold,
        quality=evaluation.quality,
        threshold=evaluation.threshold,
        decision=decision,
        feedback=evaluation.feedback,
        components=evaluation.components,
    )


def grade_of(event: Event) -> ViewGrade | None:
    """Return the evaluation of an iteration."""
    data = event.data
    if not isinstance(data, events.Evaluated):
        return None
    return ViewGrade(
        what="Quality",
        passed=data.quality >= data.threshold,
        decision=data.decision.replace("_", " "),
        feedback=data.feedback,
        score=data.quality,
        threshold=data.threshold,
        text=needs(*against(data.quality, data.threshold)),
    )
