"""A run of tests as the state tells it, and as the roles read it."""

from __future__ import annotations

from podium.tools.testing.report import TestReport
from podium.workflows.build.state import Failure, TestResult

SHOWN_OUTPUT = 8_000
SHOWN_FAILURES = 20


def result_of(report: TestReport) -> TestResult:
    return TestResult(
        ok=report.ok, command=report.command, framework=report.framework, exit_code=report.exit_code,
        passed=report.passed, failed=report.failed, errors=report.errors, skipped=report.skipped,
        total=report.total, seconds=report.seconds, timed_out=report.timed_out, coverage=report.coverage,
        note=report.reason,
        failures=[
            Failure(one.name, one.message, one.file, one.line or None, one.output) for one in report.failures
        ],
    )  # fmt: skip


def shown_to_models(report: TestReport) -> str:
    """The result, what failed, and the end of what was printed."""
    counted = result_of(report).counted()
    lines = [f"{'PASS' if report.ok else 'FAIL'}: {counted}"]
    if report.reason and report.reason != counted:
        lines.append(report.reason)
    if report.command:
        lines.append(f"Command: {report.command}, exit code {report.exit_code}, {report.seconds:.1f} s")
    if report.coverage is not None:
        lines.append(f"Coverage: {report.coverage:g} % of lines")
    for one in report.failures[:SHOWN_FAILURES]:
        place = f" ({one.file}:{one.line})" if one.file else ""
        lines += ["", f"{'BROKE' if one.is_error else 'FAILED'} {one.name}{place}: {one.message}", one.output]
    left = len(report.failures) - SHOWN_FAILURES
    lines += [f"[{left} more failures]"] if left > 0 else []
    if not report.failures and report.output and not report.ok:
        lines += ["", report.output[-SHOWN_OUTPUT:]]
    return "\n".join(lines).rstrip()
