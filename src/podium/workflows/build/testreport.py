"""The test report: every run of tests that counted, and what failed in it, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from podium.report.markdown import cell
from podium.report.words import duration
from podium.workflows.build.folding import BuildState
from podium.workflows.build.state import TestResult

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
