"""Endings of a research run: finished, out of budget, rejected, or failed."""

from __future__ import annotations

from typing import Any, NoReturn

from podium.engine.codec import fingerprint
from podium.engine.workflow import Outcome, Partial
from podium.errors import BudgetExhaustedError, GaveUpError, StepFailedError
from podium.workflows.delivery.flow import DRAFT_FILE
from podium.workflows.research.context import Study
from podium.workflows.research.contracts import FinalOutput, PlanEntry
from podium.workflows.research.desk import decide_version, hand_over
from podium.workflows.research.merger import best_version, keep_files, merge
from podium.workflows.research.orchestrator import WorkerExecutionError
from podium.workflows.research.policy import LEAST_COVERAGE, MAX_ITERATIONS, WORKERS, Decision, Phase
from podium.workflows.research.supervisor import evaluate
from podium.workflows.research.workers.writing import write_article

BELOW, OUT, REJECTED = "quality below target", "out of budget", "plan rejected"
RETRY = "`podium resume` tries again what failed."
WAY = (Phase.PLANNING, Phase.STRATEGY, Phase.EXECUTING, Phase.EVALUATING, Phase.MERGING)
"""The phases from any point to the result."""


async def finish(study: Study, decision: Decision) -> Outcome | Partial:
    """End regularly: the quality is sufficient, or no further iteration is allowed."""
    await study.enter(Phase.MERGING)
    feedback = list(study.feedback)
    await hand_over(study)
    if study.final is not None and decide_version(study, study.final) == "complete":
        decision = "complete"
    notes: list[str] = []
    if decision == "force_complete":
        _warn_below(study)
        notes.append("A lower --min-quality or a larger budget would let it be completed.")
    output = await merge(study, "partial" if decision == "force_complete" else "completed", notes)
    await keep_files(study, output)
    details = output.article.content if output.article else ""
    accepted = await study.run.approved("result", "Is this the result?", details=details)
    await study.enter(Phase.COMPLETED)
    shown, quality = _shown(study, output)
    if not accepted:
        return Partial(output=shown, reason="result rejected", quality=quality)
    if decision == "force_complete":
        return Partial(output=shown, reason=BELOW, quality=quality, missing=feedback)
    return Outcome(output=shown, quality=quality)


async def close(study: Study) -> Partial:
    """End out of budget: deliver the best article, or one written from the sources found, paid from the
    closing reserve."""
    study.closing = fingerprint(study.run.budget.to_dict())[:8]
    async with study.run.closing():
        if not study.versions and study.sources and "article_writer" not in study.made:
            await _write_last(study)
        if study.plan is not None and all(one.plan != study.plan for one in study.plan_history):
            unfinished = bool(study.versions) or "article_writer" not in study.made
            study.plan_history += [PlanEntry(plan=study.plan, quality=None)] if unfinished else []
        new = "article_writer" in study.made and not study.versions
        await _hurry(study, OUT, measured=new)
        notes = ["The budget ended before everything was done; `podium resume` goes on with a larger one."]
        if study.draft is not None:
            notes.append(f"{DRAFT_FILE} holds a direct draft without sources; nothing was compared with it.")
        output = await merge(study, "partial", notes)
        await keep_files(study, output)
        await study.enter(Phase.COMPLETED, OUT)
    shown, quality = _shown(study, output)
    return Partial(output=shown, reason="budget", quality=quality, missing=_missing(study))


async def reject(study: Study) -> Partial:
    """End because the plan was rejected. Without an earlier version there is nothing to deliver."""
    if not study.versions:
        return Partial(output=None, reason=REJECTED)
    await _hurry(study, REJECTED, measured=False)
    _warn_below(study)
    output = await merge(study, "partial", ["The plan for another iteration was rejected."])
    await keep_files(study, output)
    await study.enter(Phase.COMPLETED, REJECTED)
    shown, quality = _shown(study, output)
    return Partial(output=shown, reason=REJECTED, quality=quality)


async def fail(study: Study, error: WorkerExecutionError) -> NoReturn:
    """Fail the run. Results that were found and paid for are part of the output."""
    phase = str(study.phase or Phase.INITIALIZED)
    async with study.run.branch("failed"):
        await study.enter(Phase.FAILED, str(error))
    causes = ExceptionGroup("workers", list(error.causes)) if error.causes else None
    raise GaveUpError(
        f"Research failed: {error}",
        hint=f"{_advice(study)}{RETRY}",
        output=_failure(study, error, phase),
    ) from causes


def _advice(study: Study) -> str:
    """Return a hint for a run without sources, depending on where it searched."""
    if study.sources:
        return ""
    if "corpus" not in study.brief.sources:
        return "Is there a way to the network? --corpus DIR needs none. "
    if len(study.brief.sources) > 1:
        return "Neither the corpus nor the web has the topic's words. "
    return "The corpus does not hold the topic's words; --online asks the web as well. "


# ── shared steps ─────────────────────────────────────────────────────────────────────────────────


def _shown(study: Study, output: FinalOutput) -> tuple[dict[str, Any], float | None]:
    """Return the result as JSON data with all its phases, and its quality."""
    whole = output.model_copy(update={"phase_history": list(study.phase_history)})
    return whole.shown(), output.quality.overall if output.quality else None


async def _hurry(study: Study, reason: str, *, measured: bool) -> None:
    """Pass through the remaining phases without working in them. New results are measured by program."""
    left = WAY[WAY.index(study.phase) + 1 :] if study.phase in WAY else WAY
    if study.phase is Phase.EVALUATING and measured:
        await evaluate(study, closing=True)
    for phase in left:
        await study.enter(phase, reason)
        if phase is Phase.EVALUATING and measured:
            await evaluate(study, closing=True)


async def _write_last(study: Study) -> None:
    """Write an article from the sources found so far, if the reserve can pay for it."""
    try:
        async with study.run.branch("last"):
            made = await write_article(study, "article_writer", cheaper=True, alone=True)
            study.made["article_writer"] = made
    except (StepFailedError, BudgetExhaustedError) as error:
        study.warn(f"No article could be written from the reserve: {error}")


def _warn_below(study: Study) -> None:
    version = best_version(study)
    best = version.quality.overall if version else 0.0
    coverage = version.quality.coverage if version else None
    if coverage is not None and coverage < LEAST_COVERAGE:
        study.warn(f"Coverage {coverage:.2f} is below the {LEAST_COVERAGE:.2f} that an article needs.")
    if best >= study.brief.min_quality:
        return
    study.warn(
        f"Quality {best:.2f} is below the target of {study.brief.min_quality:.2f} after "
        f"{len(study.versions)} of {MAX_ITERATIONS} iterations."
    )


def _missing(study: Study) -> list[str]:
    done = {*study.made}
    planned = study.plan.workers if study.plan else ["plan"]
    return [WORKERS[one].label if one in WORKERS else one for one in planned if one not in done]


def _failure(study: Study, error: WorkerExecutionError, phase: str) -> dict[str, Any]:
    """Return the output of a failed run: the error and all partial results."""
    results: dict[str, list[dict[str, Any]]] = {}
    for worker, made in study.made.items():
        kind = f"{WORKERS[worker].category}_results"
        results.setdefault(kind, []).append({"worker": worker, **made.result})
    sources = [one.shown() for one in study.sources]
    last = study.versions[-1].article if study.versions else None
    return {
        "status": "failed",
        "error": {
            "type": type(error).__name__, "message": str(error), "phase": phase,
            "execution_id": study.execution_id,
        },
        "partial_results": {
            "research_results": results.pop("research_results", []), **results, "sources": sources,
            "article": last, "cost_incurred": round(study.run.spent.usd, 9),
        },
        "phase_history": [one.shown() for one in study.phase_history],
        "plan_history": [one.shown() for one in study.plan_history],
        "warnings": list(study.warnings),
    }  # fmt: skip
