"""Orchestration of `studio`: routing, departments, cross-validation, aggregation and delivery."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated, Any, Literal, NoReturn

from msgspec import Meta

from podium.agents.ask import Run
from podium.brain.brain import checked_project
from podium.engine.workflow import Outcome, Partial, Workflow
from podium.errors import GaveUpError, StepFailedError, UsageError
from podium.workflows.delivery.flow import DRAFT_FILE, Desk, UseEditor, UseFloor, deliver, direct_draft
from podium.workflows.studio import agents as roles
from podium.workflows.studio import events, rehearsal
from podium.workflows.studio.context import (
    CanonPort,
    Choices,
    CrossValidation,
    OpenCanon,
    Studio,
    conflict_lines,
)
from podium.workflows.studio.department import needs_of, run_departments
from podium.workflows.studio.history import Learnt, learn, read_past
from podium.workflows.studio.memory import open_brain, propose_facts, recall
from podium.workflows.studio.policy import CONCURRENCY, complexity_of
from podium.workflows.studio.result import (
    Result,
    emit_aggregated,
    hand_over,
    scores_shown,
    team_text,
    write_deliverable,
)
from podium.workflows.studio.routing import UNABLE, checked_departments, choose_route
from podium.workflows.studio.similarity import Meanings
from podium.workflows.studio.team import TeamSpec, find_team, load_team
from podium.workflows.studio.validation import validate_across

__all__ = ["WORKFLOW", "rehearsal", "studio_with"]

CLOSING = 0.1
"""Share of every budget ceiling that is reserved for the master's final steps."""

FORM = (
    "The finished work itself, ready to use: not a description of how it could be made. Each line of "
    "dialogue or verse stands on a line of its own."
)
RULE = (
    "Keep the team's names, decisions, figures and best lines. Where one part relies on something that "
    "another lacks, put it in, in the same voice. Do not contradict settled facts of the project, where the "
    "material lists any, and call an estimate an estimate."
)
"""Constraints for the editor."""
JUDGED = (
    "Where the work is creative, count in `usable` how well it is made: a voice, concrete detail, everything "
    "of one piece."
)
SETTLED = "Settled facts of this project, which cannot change"

Specialists = Literal["never", "auto", "always"]
Router = Literal["auto", "keywords", "model"]


def studio_with(open_canon: OpenCanon) -> Workflow:
    """Return the workflow with this project memory."""

    async def studio(
        run: Run,
        request: str,
        *,
        team: Annotated[str, Meta(description="film, software, or a YAML file of your own.")] = "",
        departments: Annotated[
            str, Meta(description="Departments that work on it, e.g. story,audio; skips routing.")
        ] = "",
        router: Annotated[
            Router,
            Meta(description="How departments are chosen; auto asks a model if keywords are in doubt."),
        ] = "auto",
        specialists: Annotated[Specialists, Meta(description="Use of specialists.")] = "auto",
        synthesis_rounds: Annotated[int, Meta(ge=1, le=5, description="Number of drafts of a head.")] = 1,
        batch_grading: Annotated[
            bool, Meta(description="Grade specialists that finish together in one call.")
        ] = False,
        adaptive: Annotated[bool, Meta(description="Use thresholds learnt from earlier runs.")] = False,
        project: Annotated[str, Meta(description="Project whose facts are used and extended.")] = "",
        floor: UseFloor = True,
        editor: UseEditor = True,
    ) -> Outcome | Partial:
        """Let departments with heads and specialists work on one request.

        A master routes the request to departments. Each head briefs specialists, grades and retries their
        work, and writes one result from what passes. The master checks the departments against each other and
        merges their results. An editor finishes the text, which is compared with a direct draft.
        """
        choices = Choices(specialists, adaptive, synthesis_rounds, batch_grading)
        fixed = [key for key in departments.split(",") if key]
        canon = await open_canon(run, project) if project else None
        try:
            opened = await _open(run, request, team, fixed, router, choices, canon)
            if opened is None:
                return Partial(output=None, reason="route rejected")
            desk = Desk(run, request, form=FORM, rule=RULE, judged_by=JUDGED, floor=floor, editor=editor)
            draft = await direct_draft(desk, _settled(opened))
            return await _produce(replace(opened, draft=draft), desk)
        finally:
            if canon is not None:
                await canon.close()

    return Workflow(
        studio,
        "studio",
        closing=CLOSING,
        gates=("route", "result"),
        concurrency=CONCURRENCY,
        prepare=prepare,
        ref="studio",
    )


async def _produce(studio: Studio, desk: Desk) -> Outcome | Partial:
    """Run the departments, validate across them, aggregate, and let the editor finish the deliverable."""
    finished = await run_departments(studio)
    reports = [department.report for department in finished]
    if all(report.status == "failed" for report in reports):
        causes = [department.error for department in finished if department.error is not None]
        everything = ExceptionGroup("departments", causes) if causes else None
        _give_up(Result(studio, reports, []), "every department failed", reports[0].error, everything)
    crossing = await validate_across(studio, reports)
    result = Result(studio, list(crossing.reports.values()), crossing.conflicts)
    await _aggregate(result)
    emit_aggregated(result)
    await _deliver(result, desk, crossing)
    await hand_over(result)
    if not await studio.run.approved("result", "Is this the result?", details=result.deliverable):
        return Partial(output=result.shown(), reason="result rejected", quality=result.quality)
    if result.gaps:
        failed = any(report.status != "completed" for report in result.reports)
        reason = "department failed" if failed else "synthesis failed"
        return Partial(output=result.shown(), reason=reason, quality=result.quality, missing=result.missing)
    if result.missing:
        return Partial(
            output=result.shown(), reason="not met", quality=result.quality, missing=result.missing
        )
    return Outcome(output=result.shown(), quality=result.quality)


async def _deliver(result: Result, desk: Desk, crossing: CrossValidation) -> None:
    """Let the editor finish the text and compare it with the direct draft. Propose the facts of the delivered
    text to the project."""
    studio, before = result.studio, team_text(result)
    texts = [(report.department_name, report.output) for report in result.reports if report.output]
    result.delivered = await deliver(
        desk, before, studio.draft, material=[*_settled(studio), *texts], gaps=result.known_gaps
    )
    changed = result.delivered.document.strip() != before.strip()
    async with studio.run.until_exhausted("No facts were proposed to the project"):
        await propose_facts(crossing, result.delivered.document if changed else "")


def _settled(studio: Studio) -> list[tuple[str, str]]:
    """Return the settled facts of the project as material for drafter and editor."""
    return [(SETTLED, "\n".join(f"- {line}" for line in studio.settled))] if studio.settled else []


# ── routing ──────────────────────────────────────────────────────────────────────────────────────


async def _open(
    run: Run,
    request: str,
    team_name: str,
    fixed: list[str],
    router: Router,
    choices: Choices,
    canon: CanonPort | None,
) -> Studio | None:
    """Load the team, its history and the project, and choose the route. All of it is recorded. Return None if
    the route is rejected."""

    async def read_team() -> TeamSpec:
        return load_team(team_name)

    async def look_back() -> dict[str, Learnt]:
        past = await read_past(run.store, team.name, rehearsals=bool(run.config.get("rehearsal")), but=run.id)
        return learn(team, past, request)

    team = await run.step("team", read_team, returns=TeamSpec)
    learnt = await run.step("history", look_back, returns=dict[str, Learnt])
    names = await run.step("names", canon.names, returns=list[str]) if canon is not None else []
    settled = await recall(run, canon, request) if canon is not None else []
    route = await choose_route(run, team, request, fixed, router, names)
    studio = Studio(
        run,
        request,
        team,
        route,
        complexity_of(request, len(route.chosen)),
        choices,
        learnt,
        Meanings(team.meanings),
        canon,
        tuple(settled),
    )
    _emit_route(studio)
    question = f"Let {', '.join(route.chosen)} work on it?"
    return studio if await run.approved("route", question, details=scores_shown(route)) else None


def _emit_route(studio: Studio) -> None:
    route, run = studio.route, studio.run
    for warning in route.warnings:
        run.warn(warning)
    run.emit(
        events.Routed(
            team=studio.team.name,
            primary=route.primary,
            supporting=list(route.supporting),
            mode=route.mode,
            complexity=studio.complexity,
            scores=scores_shown(route),
            names={key: studio.team.departments[key].name for key in route.chosen},
            needs={key: needs_of(studio, key) for key in route.chosen},
            router=route.router,
            doubt=route.doubt,
        )
    )


# ── aggregation ──────────────────────────────────────────────────────────────────────────────────


async def _aggregate(result: Result) -> None:
    """Let the master write the deliverable; the text of a single department is delivered unchanged. Out of
    budget, the closing reserve pays for the master; if that is not enough, the departments' texts are used.
    If the master fails, the run fails, and the reports are kept."""
    run = result.studio.run
    if result.sole_text:
        result.integrated = result.sole_text
        return
    stopped = any(report.status == "unfinished" for report in result.reports)
    try:
        async with run.until_exhausted() as part, run.closing() if stopped else nullcontext():
            result.integrated = await _integrate(result)
        if part.exhausted is not None:
            warning = "The departments' texts were not brought together"
            async with run.until_exhausted(warning), run.closing():
                result.integrated = await _integrate(result)
    except StepFailedError as error:
        _give_up(result, "aggregation failed", error.reason, error)
    if part.exhausted is None and not result.integrated:
        run.warn("The master's text was empty; the departments' texts are used instead.")


async def _integrate(result: Result) -> str:
    written = [report for report in result.reports if report.output]
    missing = [
        f"{report.department_name}: {report.error or 'nothing was delivered'}"
        for report in result.reports
        if report.status != "completed" or not report.output
    ]
    text = await result.studio.run.ask(
        roles.INTEGRATOR,
        "aggregate",
        request=result.studio.request,
        missing=missing,
        conflicts=conflict_lines(result.conflicts),
        canon=list(result.studio.settled),
        draft=result.studio.draft,
        outputs=[{"name": report.department_name, "output": report.output} for report in written],
    )
    return result.studio.run.marked(text)


def _give_up(result: Result, why: str, reason: str, cause: Exception | None = None) -> NoReturn:
    """Fail the run, because the master has no second attempt. Finished work is part of the output."""
    if result.studio.draft is not None:
        result.studio.run.warn(f"The direct draft is in {DRAFT_FILE}.")
    result.deliverable = write_deliverable(result)
    raise GaveUpError(f"{UNABLE}: {why}: {reason}", output=result.shown()) from cause


# ── option checks ────────────────────────────────────────────────────────────────────────────────


def prepare(request: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Reject an empty request, an unusable team and unknown departments."""
    if not isinstance(request, str):
        raise UsageError("The request must be text.", hint="Say what the studio should make.")
    if not request.strip():
        raise UsageError("The request is empty.", hint="Say what the studio should make.")
    if options.get("project"):
        options = {**options, "project": checked_project(options["project"])}
    path = find_team(options.get("team", ""))
    team = load_team(str(path))
    prepared = {**options, "team": options["team"] if options.get("team") in TEAM_NAMES else str(path)}
    if not options.get("team"):
        prepared.pop("team")
    named = checked_departments(options.get("departments", ""), team)
    return {**prepared, "departments": ",".join(named)} if named else prepared


TEAM_NAMES = ("default", "film", "software")

WORKFLOW = studio_with(open_brain)
