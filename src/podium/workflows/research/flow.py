"""Orchestration of `research`: plan, execute and evaluate until the article is good enough."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from msgspec import Meta

from podium.agents.ask import Run
from podium.engine.workflow import Outcome, Partial, Prepared, Workflow
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.delivery.flow import UseEditor, UseFloor, direct_draft
from podium.workflows.research import rehearsal
from podium.workflows.research.brief import BriefError, read_brief, recorded_brief
from podium.workflows.research.context import Clock, Study, WallClock
from podium.workflows.research.desk import desk_of
from podium.workflows.research.ending import close, fail, finish, reject
from podium.workflows.research.library import OpenLibrary, Shelf, Sources
from podium.workflows.research.orchestrator import WorkerExecutionError, execute
from podium.workflows.research.planner import draw_plan, estimate, optimize_plan, total
from podium.workflows.research.policy import Phase
from podium.workflows.research.supervisor import evaluate

__all__ = ["WORKFLOW", "rehearsal", "research_with"]

CLOSING = 0.1
"""Share of every budget ceiling that is reserved for an article if the budget ends before there is one."""
CONCURRENCY = 6


def research_with(open_library: OpenLibrary = Sources, clock: Clock | None = None) -> Workflow:
    """Return the workflow with this library and clock."""

    async def research(
        run: Run,
        request: Any = "",
        *,
        brief: Annotated[str, Meta(description="All of this in a file: TOML, YAML or JSON.")] = "",
        corpus: Annotated[str, Meta(description="A folder of documents to use as sources.")] = "",
        content_type: Annotated[
            Any, Meta(description="article (default), blog_post or research_report.")
        ] = "",
        length: Annotated[Any, Meta(description="Words, 500 to 10,000 (1500).")] = "",
        tone: Annotated[Any, Meta(description="Such as neutral (default), casual or academic.")] = "",
        depth: Annotated[Any, Meta(description="light, standard (default) or deep.")] = "",
        min_sources: Annotated[Any, Meta(description="At least so many sources (10).")] = "",
        preferred_sources: Annotated[Any, Meta(description="Such as academic,news.")] = "",
        min_quality: Annotated[Any, Meta(description="Good enough, 0 to 1 (0.80).")] = "",
        citation_style: Annotated[Any, Meta(description="numeric (default), apa, mla or chicago.")] = "",
        online: Annotated[
            bool | None, Meta(description="Search the web; with a corpus, besides it (default: without one).")
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

        A planner chooses workers for the brief, they search, read, write and check, and a supervisor measures
        the article. Below --min-quality it is planned anew, at most twice. A direct draft is made first: its
        points are looked for in the sources, and the article is compared with it. Money and time have
        defaults here: $5 (0.50 to 50) and 20 minutes (60 s to 2 h).
        """
        wanted = recorded_brief(
            request,
            {
                "content_type": content_type, "length": length, "tone": tone, "depth": depth,
                "min_sources": min_sources, "preferred_sources": preferred_sources,
                "min_quality": min_quality, "citation_style": citation_style, "corpus": corpus,
                "online": online, "max_usd": max_usd, "time_limit": time_limit,
            },
        )  # fmt: skip
        library = open_library(run.settings, corpus, bool(online))
        seal = await run.step("seal", _draw_seal)
        study = Study(run, wanted, library, clock or WallClock(), seal)
        study.sources_only = sources_only
        study.desk = desk_of(study, floor=floor, editor=editor)
        return await _pursue(study)

    return Workflow(
        research, "research", closing=CLOSING, gates=("plan", "result"), concurrency=CONCURRENCY,
        prepare=prepare, estimate=estimate, ref="research",
    )  # fmt: skip


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
    asked = f"Run this plan ({len(plan.workers)} workers, {total(plan)})?"
    return await study.run.approved("plan", asked, details=plan.shown())


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


WORKFLOW = research_with()
