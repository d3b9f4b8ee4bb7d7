"""Plan execution and worker dispatch of `research`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from podium.engine.branch import Failed
from podium.errors import BudgetExhaustedError, StepFailedError, was_cut
from podium.report.words import count
from podium.workflows.research import events, quality, search, writer
from podium.workflows.research.context import Study, Task, WorkerOutput
from podium.workflows.research.contracts import PlanStep
from podium.workflows.research.policy import ATTEMPTS, FALLBACKS, SEARCHES, WAITS, WORKERS
from podium.workflows.research.search import Hits, Texts, shelve, take_texts


class Asking(Protocol):
    """Signature of a worker that asks a model."""

    def __call__(self, study: Study, worker: str, *, cheaper: bool) -> Awaitable[WorkerOutput]: ...


PROGRAMS: Mapping[str, Callable[[Study, str], Awaitable[WorkerOutput]]] = {
    **dict.fromkeys(SEARCHES, search.search),
    "web_scraper": search.scrape,
    "citation_formatter": quality.format_citations,
    "seo_optimizer": quality.optimize_seo,
    "readability_checker": quality.check_readability,
    "plagiarism_checker": quality.check_plagiarism,
}
ASKING: Mapping[str, Asking] = {
    "content_synthesizer": writer.synthesize,
    "summarization": writer.summarize,
    "insight_extractor": writer.extract_insights,
    "introduction_writer": writer.write_introduction,
    "article_writer": writer.write_article,
    "conclusion_writer": writer.write_conclusion,
    "fact_checker": quality.check_facts,
    "editor": quality.edit,
}


async def do(study: Study, worker: str) -> WorkerOutput:
    """Make one attempt of a worker."""
    if worker in PROGRAMS:
        return await PROGRAMS[worker](study, worker)
    cheaper = study.plan is not None and worker in study.plan.cheaper
    return await ASKING[worker](study, worker, cheaper=cheaper)


INSTEAD = {
    "web_scraper": "Full texts unavailable, snippets are used instead",
    "fact_checker": "Fact checking unavailable, no claim was checked",
}
"""Warnings in the result if a fallback replaces a worker."""


@dataclass(frozen=True)
class Lost:
    """A worker that has finally failed."""

    worker: str
    attempts: int
    error: StepFailedError
    warning: str
    causes: list[StepFailedError] = field(default_factory=list[StepFailedError])


class WorkerExecutionError(Exception):
    """Raised when the run cannot continue: a critical worker failed, or no source was found."""

    def __init__(self, message: str, causes: list[StepFailedError]) -> None:
        super().__init__(message)
        self.causes = causes


async def execute(study: Study) -> None:
    """Run the plan. Results that are kept from an earlier iteration are not produced again."""
    plan = study.plan
    if plan is None:
        raise AssertionError("there is no plan to execute")
    for worker in set(study.made) - study.kept:
        del study.made[worker]
    for index, step in enumerate(plan.steps):
        await _run_step(study, index, step)


async def _run_step(study: Study, index: int, step: PlanStep) -> None:
    """Run a step in parallel or in order. All results are stored before failures are judged."""
    tasks = [Task(f"task_{study.iteration}_{worker}", worker, index) for worker in step.workers]
    study.tasks += tasks
    working = [task for task in tasks if task.worker not in study.kept]
    for task in tasks:
        if task.worker in study.kept:
            task.status = "kept"
            _emit_completed(study, task, study.made[task.worker], kept=True)
    lost: list[Lost] = []
    for group in [working] if step.mode == "parallel" else [[task] for task in working]:
        lost += await _run_group(study, index, group)
    _judge_losses(study, step, lost)


async def _run_group(study: Study, index: int, tasks: list[Task]) -> list[Lost]:
    outcomes = await study.run.gather({task.worker: _work(study, task) for task in tasks})
    lost: list[Lost] = []
    stopped: Exception | None = None
    for task, outcome in zip(tasks, outcomes.values(), strict=True):
        if isinstance(outcome, Failed):
            if not isinstance(outcome.error, BudgetExhaustedError):
                raise outcome.error
            stopped = outcome.error
        elif isinstance(outcome.value, Lost):
            lost.append(outcome.value)
            task.status, task.retries = "skipped", outcome.value.attempts - 1
            if WORKERS[task.worker].criticality == "critical":
                task.status = "failed"
        else:
            study.made[task.worker] = outcome.value
            task.status, task.retries = "completed", outcome.value.attempts - 1
    await _take(study, index, tasks)
    if stopped is not None:
        raise stopped
    return lost


async def _take(study: Study, index: int, tasks: list[Task]) -> None:
    """Store sources and texts in the shared state as soon as they are available."""
    made = [study.made[task.worker].value for task in tasks if task.worker in study.made]
    searches = [value for value in made if isinstance(value, Hits)]
    for hits in searches:
        for trouble in hits.troubles:
            study.warn(trouble)
    if searches:
        await shelve(study, [hit for hits in searches for hit in hits.found], index)
    for value in made:
        if isinstance(value, Texts):
            await take_texts(study, value)
    for task in tasks:
        done = study.made.get(task.worker)
        if done is not None and done.fallback and task.worker in INSTEAD:
            study.warn(f"{INSTEAD[task.worker]}.")
        elif done is not None and done.fallback:
            label = WORKERS[task.worker].label
            study.warn(f"{label} unavailable, {done.fallback} is used instead.")


def _judge_losses(study: Study, step: PlanStep, lost: list[Lost]) -> None:
    for loss in lost:
        if WORKERS[loss.worker].criticality == "critical":
            raise WorkerExecutionError(
                f"{loss.worker} failed after {count(loss.attempts, 'attempt')}: {loss.error.reason}",
                loss.causes,
            )
        study.warn(loss.warning)
    if set(step.workers) & set(SEARCHES) and not study.sources:
        causes = [cause for loss in lost for cause in loss.causes]
        why = "; ".join(dict.fromkeys(loss.error.reason for loss in lost)) or "the searches found nothing"
        raise WorkerExecutionError(f"no research worker found a source: {why}", causes)


# ── one worker ───────────────────────────────────────────────────────────────────────────────────


async def _work(study: Study, task: Task) -> WorkerOutput | Lost:
    """Run a worker: three attempts, then the fallback, then it has failed. Events are emitted along the
    way."""
    worker, row = task.worker, WORKERS[task.worker]
    fields = _task_fields(study, task)
    study.run.emit(events.WorkerStarted(**fields, category=row.category, priority=row.priority))
    errors: list[StepFailedError] = []
    made = await _attempts(study, worker, errors)
    if made is None:
        made = await _stand_in(study, worker, errors)
    if made is None:
        return _lose(study, task, errors)
    done = WorkerOutput(worker, made.value, max(len(errors), made.attempts), made.fallback, made.result)
    _emit_completed(study, task, done)
    return done


async def _attempts(study: Study, worker: str, errors: list[StepFailedError]) -> WorkerOutput | None:
    for attempt in range(1, ATTEMPTS + 1):
        if attempt > 1:
            wait = WAITS[attempt - 2]
            study.run.emit(
                events.WorkerRetried(
                    iteration=study.iteration,
                    worker=worker,
                    attempt=attempt,
                    most=ATTEMPTS,
                    wait_s=wait,
                    error=errors[-1].reason,
                )
            )
            await study.clock.wait(study.run, wait)
        try:
            async with study.run.branch("attempt", key=str(attempt)):
                made = await do(study, worker)
        except StepFailedError as error:
            errors.append(error)
            if was_cut(error):  # a truncated reply was already retried three times
                return None
        else:
            return WorkerOutput(worker, made.value, attempt, made.fallback, made.result)
    return None


async def _stand_in(study: Study, worker: str, errors: list[StepFailedError]) -> WorkerOutput | None:
    """Return the fallback result of a worker, or None if it has none."""
    if worker == "web_scraper":
        return WorkerOutput(worker, Texts({}), ATTEMPTS, FALLBACKS[worker], {"read": 0})
    if worker != "academic_search":
        return None
    try:
        async with study.run.branch("fallback"):
            output = await search.search_as(study, worker, FALLBACKS[worker])
    except StepFailedError as error:
        errors.append(error)
        return None
    return WorkerOutput(worker, output.value, ATTEMPTS, FALLBACKS[worker], output.result)


def _lose(study: Study, task: Task, errors: list[StepFailedError]) -> Lost:
    attempts = min(len(errors), ATTEMPTS)
    row, error = WORKERS[task.worker], errors[attempts - 1]  # its own error, not that of its fallback
    fields: dict[str, Any] = {**_task_fields(study, task), "attempts": attempts, "error": error.reason}
    if row.criticality == "critical":
        study.run.emit(events.WorkerFailed(**fields, error_type=error.error_type))
        warning = ""
    else:
        warning = f"{INSTEAD.get(task.worker, f'{row.label} unavailable')}: {error.reason}"
        study.run.emit(events.WorkerSkipped(**fields, warning=warning))
    return Lost(task.worker, attempts, error, warning, errors)


def _task_fields(study: Study, task: Task) -> dict[str, Any]:
    """Return the fields that all events of a task have."""
    return {"iteration": study.iteration, "worker": task.worker, "task_id": task.task_id, "step": task.step}


def _emit_completed(study: Study, task: Task, made: WorkerOutput, *, kept: bool = False) -> None:
    study.run.emit(
        events.WorkerCompleted(
            **_task_fields(study, task),
            category=WORKERS[task.worker].category,
            attempts=made.attempts,
            result=made.result,
            kept=kept,
            fallback=made.fallback,
        )
    )
