"""Orchestration of `research`: plan, execute and evaluate until the article is good enough; its endings."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, NoReturn

from msgspec import Meta

from podium.agents.ask import Run
from podium.engine.codec import fingerprint
from podium.engine.workflow import Outcome, Partial, Prepared, Workflow
from podium.errors import BudgetExhaustedError, GaveUpError, StepFailedError
from podium.workflows.delivery.flow import DRAFT_FILE, UseEditor, UseFloor, direct_draft
from podium.workflows.research import rehearsal
from podium.workflows.research.brief import BriefError, read_brief, recorded_brief
from podium.workflows.research.context import Clock, Study, WallClock
from podium.workflows.research.contracts import FinalOutput, PlanEntry
from podium.workflows.research.desk import decide_version, desk_of, hand_over
from podium.workflows.research.library import OpenLibrary, Shelf, Sources
from podium.workflows.research.merger import best_version, keep_files, merge
from podium.workflows.research.orchestrator import WorkerExecutionError, execute
from podium.workflows.research.planner import draw_plan, estimate, optimize_plan, total
from podium.workflows.research.policy import LEAST_COVERAGE, MAX_ITERATIONS, WORKERS, Decision, Phase
from podium.workflows.research.supervisor import evaluate
from podium.workflows.research.writer import write_article

__all__ = ["WORKFLOW", "rehearsal", "research_with"]

CLOSING = 0.1
"""Share of every budget ceiling that is reserved for an article if the budget ends before there is one."""
CONCURRENCY = 6


def research_with(open_library: OpenLibrary = Sources, clock: Clock | None = None) -> Workflow:
    """Return the workflow with this library and clock. Fields of the brief are read from `run.options`, where
    `prepare` has recorded them."""

    async def research(
        run: Run,
        request: Any = "",
        *,
        brief: Annotated[str, Meta(description="File with the whole brief: TOML, YAML or JSON.")] = "",
        corpus: Annotated[str, Meta(description="Folder of documents to use as sources.")] = "",
        content_type: Annotated[
            Any, Meta(description="article (default), blog_post or research_report.")
        ] = "",
        length: Annotated[Any, Meta(description="Words, 500 to 10,000 (1500).")] = "",
        tone: Annotated[Any, Meta(description="Tone, e.g. neutral (default), casual or academic.")] = "",
        depth: Annotated[Any, Meta(description="light, standard (default) or deep.")] = "",
        min_sources: Annotated[Any, Meta(description="Minimum number of sources (10).")] = "",
        preferred_sources: Annotated[Any, Meta(description="Such as academic,news.")] = "",
        min_quality: Annotated[Any, Meta(description="Target quality, 0 to 1 (0.80).")] = "",
        citation_style: Annotated[Any, Meta(description="numeric (default), apa, mla or chicago.")] = "",
        online: Annotated[
            bool | None, Meta(description="Search the web, also with a corpus (default: only without one).")
        ] = None,
        max_usd: float | None = None,
        time_limit: float | None = None,
        floor: UseFloor = True,
        editor: UseEditor = True,
        sources_only: Annotated[
            bool, Meta(description="State only what the sources say; no general knowledge.")
        ] = False,
    ) -> Outcome | Partial:
        """Write a cited article from sources that were really read.

        A planner chooses workers that search, read, write and check; a supervisor measures the article. Below
        --min-quality, Podium plans again, at most twice. A direct draft is written first: its points are
        searched for in the sources, and the article is compared with it. Default limits: $5 (0.50 to 50) and
        20 minutes (60 s to 2 h).
        """
        wanted = recorded_brief(request, run.options)
        library = open_library(run.settings, corpus, bool(online))
        seal = await run.step("seal", _draw_seal)
        study = Study(run, wanted, library, clock or WallClock(), seal)
        study.sources_only = sources_only
        study.desk = desk_of(study, floor=floor, editor=editor)
        return await _pursue(study)

    return Workflow(
        research,
        "research",
        closing=CLOSING,
        gates=("plan", "result"),
        concurrency=CONCURRENCY,
        prepare=prepare,
        estimate=estimate,
        ref="research",
    )


async def _draw_seal() -> str:
    return secrets.token_hex(16)


async def _pursue(study: Study) -> Outcome | Partial:
    """Run the phases in order, and handle their early ends."""
    try:
        await study.enter(Phase.INITIALIZED)
        await _look(study)
        study.draft = None if study.desk is None else await direct_draft(study.desk)
        while True:
            async with study.run.branch("iteration", key=str(study.iteration)):
                if not await _prepare_execution(study):
                    return await reject(study)
                await study.enter(Phase.EXECUTING)
                await execute(study)
                await study.enter(Phase.EVALUATING)
                decision = await evaluate(study)
            if decision != "continue":
                return await finish(study, decision)
            await study.enter(Phase.RE_PLANNING)
            study.iteration += 1
    except BudgetExhaustedError:
        return await close(study)
    except WorkerExecutionError as error:
        return await fail(study, error)


async def _look(study: Study) -> None:
    """Update the corpus index, and warn about files that cannot be read."""
    try:
        shelf = await study.run.step("corpus", study.library.look, study.started_at, returns=Shelf)
    except StepFailedError as error:
        raise WorkerExecutionError(error.reason, [error]) from error
    for trouble in shelf.troubles[:10]:
        study.warn(f"Corpus: {trouble}")
    if len(shelf.troubles) > 10:
        study.warn(f"Corpus: {len(shelf.troubles) - 10} more files cannot be read.")


async def _prepare_execution(study: Study) -> bool:
    """Plan and optimize, and ask for approval of the plan. Return False if it is rejected."""
    await study.enter(Phase.PLANNING)
    await draw_plan(study)
    await study.enter(Phase.STRATEGY)
    plan = await optimize_plan(study)
    question = f"Run this plan ({len(plan.workers)} workers, {total(plan)})?"
    return await study.run.approved("plan", question, details=plan.shown())


def prepare(request: Any, options: dict[str, Any]) -> Prepared:
    """Validate the brief before anything starts. The whole brief is recorded, so that later changes of a file
    have no effect."""
    wanted, places = read_brief(request, options)
    if not isinstance(options.get("brief") or "", str):
        raise BriefError(["brief must be the name of a file"])
    fields = wanted.shown()
    topic = fields.pop("topic")
    del fields["sources"]
    return Prepared(topic, {**fields, **places})


BELOW, OUT, REJECTED = "quality below target", "out of budget", "plan rejected"
RETRY = "`podium resume` retries what failed."
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
        if study.plan is not None and all(entry.plan != study.plan for entry in study.plan_history):
            unfinished = bool(study.versions) or "article_writer" not in study.made
            study.plan_history += [PlanEntry(plan=study.plan, quality=None)] if unfinished else []
        new = "article_writer" in study.made and not study.versions
        await _hurry(study, OUT, measured=new)
        notes = ["The budget ran out before the article was finished. `podium resume` continues with more."]
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
        return "Check the network connection, or use --corpus DIR, which needs none. "
    if len(study.brief.sources) > 1:
        return "Neither the corpus nor the web contains the topic's words. "
    return "The corpus does not contain the topic's words; --online also searches the web. "


# ── shared steps ─────────────────────────────────────────────────────────────────────────────────


def _shown(study: Study, output: FinalOutput) -> tuple[dict[str, Any], float | None]:
    """Return the result as JSON data with all its phases, and its quality."""
    whole = output.model_copy(update={"phase_history": list(study.phase_history)})
    return whole.shown(), output.quality.overall if output.quality else None


async def _hurry(study: Study, reason: str, *, measured: bool) -> None:
    """Pass through the remaining phases without working in them. New results are measured by program."""
    remaining = WAY[WAY.index(study.phase) + 1 :] if study.phase in WAY else WAY
    if study.phase is Phase.EVALUATING and measured:
        await evaluate(study, closing=True)
    for phase in remaining:
        await study.enter(phase, reason)
        if phase is Phase.EVALUATING and measured:
            await evaluate(study, closing=True)


async def _write_last(study: Study) -> None:
    """Write an article from the sources found so far, if the reserve can pay for it."""
    warning = "No article could be written from the reserve"
    async with study.run.until_exhausted(warning, warn=study.warn, or_failed=True), study.run.branch("last"):
        study.made["article_writer"] = await write_article(study, "article_writer", cheaper=True, alone=True)


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
    return [
        WORKERS[worker].label if worker in WORKERS else worker for worker in planned if worker not in done
    ]


def _failure(study: Study, error: WorkerExecutionError, phase: str) -> dict[str, Any]:
    """Return the output of a failed run: the error and all partial results."""
    results: dict[str, list[dict[str, Any]]] = {}
    for worker, made in study.made.items():
        kind = f"{WORKERS[worker].category}_results"
        results.setdefault(kind, []).append({"worker": worker, **made.result})
    sources = [source.shown() for source in study.sources]
    last = study.versions[-1].article if study.versions else None
    return {
        "status": "failed",
        "error": {
            "type": type(error).__name__,
            "message": str(error),
            "phase": phase,
            "execution_id": study.execution_id,
        },
        "partial_results": {
            "research_results": results.pop("research_results", []),
            **results,
            "sources": sources,
            "article": last,
            "cost_incurred": round(study.run.spent.usd, 9),
        },
        "phase_history": [entry.shown() for entry in study.phase_history],
        "plan_history": [entry.shown() for entry in study.plan_history],
        "warnings": list(study.warnings),
    }


WORKFLOW = research_with()
