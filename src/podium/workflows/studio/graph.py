"""Departments as a graph: each starts the moment that the ones it needs are done."""

from __future__ import annotations

import asyncio
from typing import Literal

from podium.engine.branch import Failed
from podium.errors import BudgetExhaustedError
from podium.workflows.studio.contracts import DepartmentReport
from podium.workflows.studio.department import Finished, run_department, told_missing
from podium.workflows.studio.working import Department, Studio


def needs_of(studio: Studio, key: str) -> list[str]:
    """The chosen departments that one waits for."""
    return [one for one in studio.route.needs.get(key, ()) if one in studio.route.chosen]


async def run_departments(studio: Studio) -> list[Finished]:
    """All chosen departments, each from the moment on that the ones it needs are done."""
    loop, chosen = asyncio.get_running_loop(), studio.route.chosen
    done: dict[str, asyncio.Future[Finished]] = {key: loop.create_future() for key in chosen}

    async def work(key: str) -> None:
        try:
            given = [(await asyncio.shield(done[needed])).report for needed in needs_of(studio, key)]
            done[key].set_result(await _department(studio, key, given))
        except Exception as error:
            done[key].set_result(_broken(studio, key, error))
            raise

    outcomes = await studio.run.gather({key: work(key) for key in chosen})
    for key, outcome in outcomes.items():
        if isinstance(outcome, Failed):
            studio.run.warn(f"{key}: {outcome.error}")
    return [done[key].result() for key in chosen]


async def _department(studio: Studio, key: str, given: list[DepartmentReport]) -> Finished:
    """One department with what it needs. Where a budget has ended, those who wait do not begin."""
    spec = studio.team.departments[key]
    if any(one.status == "unfinished" for one in given):
        return Finished(_blank(studio, key, "unfinished", "not started: out of budget"))
    inputs = tuple(one for one in given if one.output)
    department = Department(
        key, spec, inputs, tuple(told_missing(given)), studio.settled, team=studio.departments_at_work(),
        part=studio.route.parts.get(key, ""),
    )  # fmt: skip
    return await run_department(studio, department)


def _broken(studio: Studio, key: str, error: Exception) -> Finished:
    status = "unfinished" if isinstance(error, BudgetExhaustedError) else "failed"
    return Finished(_blank(studio, key, status, f"{type(error).__name__}: {error}"), error)


def _blank(studio: Studio, key: str, status: Literal["failed", "unfinished"], error: str) -> DepartmentReport:
    return DepartmentReport(
        department_id=f"dept-{key}", department_name=studio.team.departments[key].name, head_execution_id="",
        output="", quality_score=0.0, complexity=studio.complexity, status=status, error=error,
    )  # fmt: skip
