"""Department execution: dependency graph, specialists in waves, and batch grading."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from podium.engine.branch import Failed, Ok
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.studio import agents as roles
from podium.workflows.studio import events
from podium.workflows.studio.context import Department, Studio, assignments_of, for_chosen, in_waves, names_of
from podium.workflows.studio.contracts import (
    DepartmentReport,
    DepartmentStatus,
    FoundContradiction,
    Grades,
    NamedGrade,
    ReportMetadata,
    SpecialistResult,
)
from podium.workflows.studio.head import HeadFailedError, HeadResult, brief, synthesize, write_alone
from podium.workflows.studio.history import choose_specialists
from podium.workflows.studio.policy import (
    department_score,
    formula_score,
    parts_of_decision,
    specialists_wanted,
    stand_in_score,
)
from podium.workflows.studio.routing import find_key
from podium.workflows.studio.specialist import SpecialistRun, execute, run_specialist, score_of_grade


async def run_batch(
    studio: Studio, department: Department, keys: list[str], done: Mapping[str, SpecialistResult]
) -> list[SpecialistRun]:
    """Run specialists in rounds: each active one makes an attempt, then the head grades all of them in one
    call."""
    all_specialists = {key: SpecialistRun.begin(studio, department, key, done) for key in keys}
    began = await studio.clock()
    while going := {
        key: specialist for key, specialist in all_specialists.items() if specialist.may_continue
    }:
        for specialist in going.values():
            specialist.announce()
        async with studio.run.branch("round"):
            outcomes = await studio.run.gather(
                {key: execute(specialist) for key, specialist in going.items()}
            )
            for key, outcome in outcomes.items():
                if not isinstance(outcome, Ok):
                    all_specialists[key].error = str(outcome.error)
            texts = {
                key: outcome.value
                for key, outcome in outcomes.items()
                if isinstance(outcome, Ok) and outcome.value is not None
            }
            await _grade(studio, department, going, texts)
        took = await studio.clock() - began
        for specialist in going.values():
            specialist.took = took
    return list(all_specialists.values())


async def _grade(
    studio: Studio, department: Department, going: Mapping[str, SpecialistRun], texts: Mapping[str, str]
) -> None:
    for key in [key for key, text in texts.items() if not text]:
        going[key].take("", None, 0.0)
    written = {key: text for key, text in texts.items() if text}
    if not written:
        return

    names = names_of({key: going[key].spec for key in written})

    def check(answer: Grades) -> str:
        missing = sorted(set(written) - {find_key(grade.specialist, names) for grade in answer.grades})
        return f"there is no grade for {', '.join(missing)}" if missing else ""

    grades: dict[str, NamedGrade] = {}
    try:
        reply = await studio.run.ask(
            roles.grader_of(department.spec.head),
            "grade",
            prompt=roles.PROMPTS["grade_batch"],
            returns=Grades,
            check=check,
            request=studio.request,
            context=department.context(),
            approach=department.approach,
            outputs=[{**going[key].part, "output": text} for key, text in written.items()],
        )
        grades = {find_key(named.specialist, names): named for named in reversed(reply.grades)}
    except StepFailedError as error:
        studio.run.warn(f"{department.spec.name}: the specialists could not be graded: {error.reason}")
    except BudgetExhaustedError as error:
        for key in written:
            going[key].exhausted = error
    for key, text in written.items():
        grade = grades.get(key)
        going[key].take(text, grade, None if grade is None else score_of_grade(grade))


@dataclass(frozen=True)
class Finished:
    """A department's report, and the error that stopped it."""

    report: DepartmentReport
    error: Exception | None = None


async def run_department(studio: Studio, department: Department) -> Finished:
    """Run a department and return its report, even if it fails."""
    made = HeadResult(studio.complexity)
    active = sum(spec.active for spec in department.spec.specialists.values())
    wanted = min(specialists_wanted(studio.complexity, studio.choices.specialists), active)
    studio.run.emit(
        events.DepartmentStarted(
            department=department.key,
            name=department.spec.name,
            complexity=studio.complexity,
            specialists=wanted,
            missing=list(department.missing),
        )
    )
    began = await studio.clock()
    error: Exception | None = None
    try:
        await _work(studio, department, made, wanted, began)
    except (HeadFailedError, BudgetExhaustedError) as problem:
        error = problem
    report = _report(studio, department, made, error, await studio.clock() - began)
    _emit_end(studio, report, error)
    return Finished(report, error)


async def _work(studio: Studio, department: Department, made: HeadResult, wanted: int, began: int) -> None:
    """With specialists: brief, work, synthesis. Without any, or if none passed, the head writes alone."""
    if wanted:
        wish = await brief(studio, department, wanted)
        assigned = assignments_of(department.spec, wish)
        chosen = choose_specialists(
            department.key,
            department.spec,
            studio.request,
            wish.required_skills,
            wanted,
            studio.meanings,
            studio.learnt,
            assigned,
        )
        department = replace(
            department, approach=wish.approach, assignments=for_chosen(department.spec, chosen, assigned)
        )
        made.analysis_time = await studio.clock() - began
        made.results, exhausted = await _specialists(studio, department, chosen)
        if exhausted is not None:
            raise exhausted
    if made.accepted:
        await synthesize(studio, department, made)
    else:
        await write_alone(studio, department, made)


# ── specialists ──────────────────────────────────────────────────────────────────────────────────


async def _specialists(
    studio: Studio, department: Department, chosen: list[str]
) -> tuple[list[SpecialistResult], BudgetExhaustedError | None]:
    """Run specialists in parallel, or one after the other if the team file says so. A specialist that needs
    the work of others starts after them."""
    at_once = department.spec.allow_parallel_execution
    results: dict[str, SpecialistResult] = {}
    for wave in in_waves(department.assignments, at_once=at_once):
        if studio.choices.batch_grading and at_once:
            specialists = await run_batch(studio, department, wave, results)
            results |= {specialist.key: specialist.reviewed() for specialist in specialists}
        else:
            specialists = [SpecialistRun.begin(studio, department, key, results) for key in wave]
            results |= await _graded_one_by_one(
                studio, {specialist.key: specialist for specialist in specialists}
            )
        stopped = [specialist.exhausted for specialist in specialists if specialist.exhausted is not None]
        if stopped:
            return [results[key] for key in chosen if key in results], stopped[0]
    return [results[key] for key in chosen], None


async def _graded_one_by_one(
    studio: Studio, specialists: dict[str, SpecialistRun]
) -> dict[str, SpecialistResult]:
    outcomes = await studio.run.gather(
        {key: run_specialist(specialist) for key, specialist in specialists.items()}
    )
    return {key: _result_of(specialists[key], outcome) for key, outcome in outcomes.items()}


def _result_of(specialist: SpecialistRun, outcome: Ok[SpecialistResult] | Failed) -> SpecialistResult:
    """Return the result of a branch. A specialist with an unexpected exception counts as rejected."""
    if isinstance(outcome, Ok):
        return outcome.value
    if isinstance(outcome.error, BudgetExhaustedError):
        specialist.exhausted = outcome.error
    else:
        specialist.error = f"{type(outcome.error).__name__}: {outcome.error}"
    return specialist.reviewed()


# ── report ───────────────────────────────────────────────────────────────────────────────────────


def _report(
    studio: Studio, department: Department, made: HeadResult, error: Exception | None, took: int
) -> DepartmentReport:
    scores = [result.quality_score for result in made.results]
    statuses = [result.review_status for result in made.results]
    score = department_score(statuses, scores) if error is None else 0.0
    if made.stands_in is not None and error is None:
        score = stand_in_score([result is made.stands_in for result in made.results], scores)
    if isinstance(error, BudgetExhaustedError) and made.best is not None:
        made.output, made.made_by = made.output or made.best.output, made.made_by or made.best.agent_id
        score = formula_score(statuses, scores)
    accepted = sum(result.is_accepted for result in made.results)
    return DepartmentReport(
        department_id=f"dept-{department.key}",
        department_name=department.spec.name,
        head_execution_id=f"{studio.run.id}:{made.made_by}" if made.made_by else "",
        output=made.output,
        quality_score=score,
        specialist_results=made.results,
        metadata=ReportMetadata(
            analysis_time=made.analysis_time,
            specialists_used=len(made.results),
            total_execution_time=took,
            successful_specialists=accepted,
            failed_specialists=len(made.results) - accepted,
        ),
        complexity=made.complexity,
        status=_status(error),
        formula_score=formula_score(statuses, scores) if made.results else None,
        flags=made.flags,
        stand_in=made.stands_in.agent_id if made.stands_in is not None else "",
        contradictions=made.contradictions,
        decisions=made.decisions,
        found_contradictions=[_contradiction(line) for line in made.decisions],
        error=str(error or ""),
        missing=list(department.missing),
    )


def _contradiction(line: str) -> FoundContradiction:
    what, statements, decision = parts_of_decision(line)
    return FoundContradiction(what=what, said=statements, decision=decision)


def _status(error: Exception | None) -> DepartmentStatus:
    if error is None:
        return "completed"
    return "unfinished" if isinstance(error, BudgetExhaustedError) else "failed"


def _emit_end(studio: Studio, report: DepartmentReport, error: Exception | None) -> None:
    if error is not None:
        reason = "budget" if report.status == "unfinished" else "error"
        studio.run.emit(
            events.DepartmentFailed(
                department=report.key, name=report.department_name, error=report.error, reason=reason
            )
        )
        return
    studio.run.emit(
        events.DepartmentCompleted(
            department=report.key,
            name=report.department_name,
            score=report.quality_score,
            formula_score=report.formula_score,
            accepted=report.metadata.successful_specialists,
            specialists=report.metadata.specialists_used,
            flags=report.flags,
        )
    )


def missing_lines(reports: Sequence[DepartmentReport]) -> list[str]:
    """Return a line for each department that delivered nothing, for its dependents."""
    return [
        f"{report.department_name}: {report.error or 'it delivered nothing'}"
        for report in reports
        if not report.output
    ]


def needs_of(studio: Studio, key: str) -> list[str]:
    """Return the chosen departments that this one waits for."""
    return [needed for needed in studio.route.needs.get(key, ()) if needed in studio.route.chosen]


async def run_departments(studio: Studio) -> list[Finished]:
    """Run all chosen departments. Each starts as soon as its dependencies are done."""
    loop, chosen = asyncio.get_running_loop(), studio.route.chosen
    done: dict[str, asyncio.Future[Finished]] = {key: loop.create_future() for key in chosen}

    async def work(key: str) -> None:
        try:
            inputs = [(await asyncio.shield(done[needed])).report for needed in needs_of(studio, key)]
            done[key].set_result(await _department(studio, key, inputs))
        except Exception as error:
            done[key].set_result(_broken(studio, key, error))
            raise

    outcomes = await studio.run.gather({key: work(key) for key in chosen})
    for key, outcome in outcomes.items():
        if isinstance(outcome, Failed):
            studio.run.warn(f"{key}: {outcome.error}")
    return [done[key].result() for key in chosen]


async def _department(studio: Studio, key: str, needed: list[DepartmentReport]) -> Finished:
    """Run one department with its inputs. If a dependency is unfinished for lack of budget, it does not
    start."""
    spec = studio.team.departments[key]
    if any(report.status == "unfinished" for report in needed):
        return Finished(_blank(studio, key, "unfinished", "not started: out of budget"))
    inputs = tuple(report for report in needed if report.output)
    department = Department(
        key,
        spec,
        inputs,
        tuple(missing_lines(needed)),
        studio.settled,
        team=studio.departments_at_work(),
        part=studio.route.parts.get(key, ""),
    )
    return await run_department(studio, department)


def _broken(studio: Studio, key: str, error: Exception) -> Finished:
    status = "unfinished" if isinstance(error, BudgetExhaustedError) else "failed"
    return Finished(_blank(studio, key, status, f"{type(error).__name__}: {error}"), error)


def _blank(studio: Studio, key: str, status: Literal["failed", "unfinished"], error: str) -> DepartmentReport:
    return DepartmentReport(
        department_id=f"dept-{key}",
        department_name=studio.team.departments[key].name,
        head_execution_id="",
        output="",
        quality_score=0.0,
        complexity=studio.complexity,
        status=status,
        error=error,
    )
