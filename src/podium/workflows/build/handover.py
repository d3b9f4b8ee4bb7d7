"""Artifacts and output of `build`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from podium.engine.events import Charge
from podium.report.data import ReportData
from podium.report.html import to_html
from podium.report.markdown import cell
from podium.report.words import duration
from podium.workflows.build import events
from podium.workflows.build.agents import AGENTS
from podium.workflows.build.context import Build
from podium.workflows.build.fold import BuildState, as_data, done_steps, escalation_data, gate_data, time_used
from podium.workflows.build.policy import FINISHING_S
from podium.workflows.build.report import deliverable_of, sections_of, summary_of
from podium.workflows.build.state import Status, TestResult
from podium.workflows.build.workspace import Delivered

MOST_FAILURES = 50


def to_markdown(build: BuildState) -> str:
    return "\n".join(_lines(build)) + "\n"


def _lines(build: BuildState) -> Iterator[str]:
    yield "# Test report\n"
    if build.suite is not None:
        yield "## The whole suite\n"
        yield from _result(build.suite)
    for step in build.all_steps():
        if step.test_results is not None:
            yield f"## Step {step.label}: {cell(step.description, 200)}\n"
            yield from _result(step.test_results)
    if build.tests is None:
        yield "No tests were run."


def _result(result: TestResult) -> Iterator[str]:
    sign = "✓" if result.ok else "✗"
    yield f"{sign} {cell(result.counted(), 300)}, {duration(result.seconds)}, exit code {result.exit_code}\n"
    if result.command:
        yield f"Command: {cell(result.command, 300)}\n"
    if result.coverage is not None:
        yield f"Coverage: {result.coverage:g} %\n"
    for failure in result.failures[:MOST_FAILURES]:
        yield f"- {cell(failure.name, 300)}: {cell(failure.message, 500)}"
    for finding in result.findings:
        yield f"- {finding.severity}: {cell(finding.description, 500)}"
    if result.failures or result.findings:
        yield ""


PATCH, TESTS, REPORT = "changes.patch", "test-report.md", "report.html"
SHOWN_DIFF = 60_000
"""Maximum characters of the patch in the log."""


class Spent(msgspec.Struct, frozen=True):
    """Usage of the run at the time of its report. Recorded, so that a replay produces the same report."""

    usage: Charge
    seconds: float
    models: list[str]
    rehearsal: bool
    budget: dict[str, Any]


async def hand_over(build: Build, status: Status, reason: str = "", *, at: str = "") -> dict[str, Any]:
    """End the orchestration with this status, save all artifacts and return the output. `at` is the snapshot
    to deliver, by default the last committed one. The closing reserve may be used."""
    async with build.run.closing(grace=FINISHING_S):
        return await _handed_over(build, status, reason, at or build.snapshot)


async def _handed_over(build: Build, status: Status, reason: str, at: str) -> dict[str, Any]:
    run = build.run
    if status != build.state.state.status:
        await build.phase(status, reason or status)
    delivered = await run.step("deliver", build.workspace.deliver, at, returns=Delivered)
    build.warn_once(delivered.warnings)
    patch = await run.artifact(PATCH, delivered.patch, "text/x-diff")
    tests = await run.artifact(TESTS, to_markdown(build.state), "text/markdown")
    finished = events.Finished(
        branch=delivered.branch,
        head=delivered.head,
        diff_stat=delivered.stat,
        patch=patch.id,
        tests=tests.id,
        where=delivered.where,
        diff=text_of(delivered)[:SHOWN_DIFF],
    )
    build.state.tell(finished)
    report = await run.artifact(REPORT, await _page(build, status, reason, delivered), "text/html")
    run.emit(msgspec.structs.replace(finished, report=report.id))
    return output_of(build, delivered)


def output_of(build: Build, delivered: Delivered | None) -> dict[str, Any]:
    """Return the run's output. Without a delivery, for lack of time, the commits come from the log."""
    state, opened = build.state, build.state.opened
    tests = state.suite or state.tests
    messages = {commit.sha: commit.message for commit in state.commits}
    shas = list(messages) if delivered is None else delivered.commits
    return {
        "state": state.state.shown(),
        "branch": delivered.branch if delivered is not None else opened.branch if opened else "",
        "commits": [{"sha": sha, "message": messages.get(sha, "")} for sha in shas],
        "diff_stat": {} if delivered is None else delivered.stat,
        "changes": done_steps(state),
        "tests": None if tests is None else tests.shown(),
        "baseline": None if state.baseline is None else state.baseline.shown(),
        "gates": [gate_data(gate) for gate in state.gates],
        "escalations": [escalation_data(escalation) for escalation in state.escalations],
        "caught": state.caught,
        "time_used": time_used(state),
    }


def text_of(delivered: Delivered) -> str:
    """Return the patch as readable text. The artifact holds the exact bytes."""
    return delivered.patch.decode("utf-8", "replace")


async def _page(build: Build, status: str, reason: str, delivered: Delivered) -> str:
    run = build.run

    async def look() -> Spent:
        names = dict.fromkeys(run.models.name_for(agent, run.config) for agent in AGENTS.values())
        made_up = bool(run.config.get("rehearsal"))
        return Spent(run.spent, round(run.driven_s, 3), list(names), made_up, run.budget.to_dict())

    spent = await run.step("spent", look, returns=Spent)
    data = as_data(build.state)
    facts = ReportData(
        run_id=run.id,
        workflow=run.workflow,
        request=build.goal,
        status="completed" if status == "completed" else "failed" if status == "aborted" else "partial",
        stop_reason="" if status == "completed" else reason or status,
        duration_s=spent.seconds,
        models=spent.models,
        rehearsal=spent.rehearsal,
        deliverable=deliverable_of(data),
        summary=summary_of(build.state),
        warnings=list(build.warnings),
        usage=spent.usage,
        budget=spent.budget,
        options=run.options,
    )
    return to_html(facts, sections_of(build.state, patch=text_of(delivered)))
