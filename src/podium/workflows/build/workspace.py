"""The workspace port, the inspection of changes, and test results for models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from podium.tools.testing.cases import is_test_file
from podium.tools.testing.comparison import compare
from podium.tools.testing.failure_text import shortened
from podium.tools.testing.findings import Finding, changed_tests, removed_tests
from podium.tools.testing.inspection import changed_files, inspect_change
from podium.tools.testing.report import TestReport
from podium.tools.tool import untrusted
from podium.tools.workspace.workspace import Workspace
from podium.workflows.build.answer_checks import hard_coded_answers
from podium.workflows.build.contracts import Change
from podium.workflows.build.policy import closes_the_gate, is_shown, secrets_in
from podium.workflows.build.state import Failure, TestResult


class Started(msgspec.Struct, frozen=True):
    """A workspace that is ready for work."""

    branch: str
    base: str
    snapshot: str
    origin: str
    tests: str
    sandbox: str
    sandbox_reason: str = ""
    warnings: list[str] = []
    has_tests: bool = False
    """There is a command that runs tests."""


class Applied(msgspec.Struct, frozen=True):
    """Applied changes or, with `refused`, the reasons why nothing was changed."""

    snapshot: str
    files: list[str] = []
    refused: list[str] = []


class Inspected(msgspec.Struct, frozen=True):
    """Inspection of the difference between two snapshots."""

    diff: str
    """The diff for prompts: truncated and fenced."""
    files: list[str]
    tests: list[str]
    has_tests: bool
    caught: list[str]
    """Findings that close the code gate."""
    suspected: list[str] = []
    """Findings that are shown to the supervisor."""
    security: list[str] = []
    removed_tests: list[str] = []
    """Tests that were renamed, or removed together with what they tested."""
    changed_tests: list[str] = []
    """Tests that were edited. They prove nothing when they turn green."""


class Tested(msgspec.Struct, frozen=True):
    """Result of a test run, as data and as prompt text."""

    result: TestResult
    shown: str
    warnings: list[str] = []
    """Warnings for the user about files that the tests left behind."""
    report: TestReport | None = None
    """The names of the tests by outcome, to compare runs with each other."""
    newly_skipped: list[str] = []
    """Tests that ran before any change and are skipped now."""
    trouble: str = ""
    """Why the command itself does not work here, in one sentence. Empty if it ran tests."""
    hint: str = ""
    """What to do about it."""


class Answers(msgspec.Struct, frozen=True):
    """New functions that hold the answers of their tests, one sentence each."""

    caught: list[str] = []
    """Findings that close the code gate."""
    suspected: list[str] = []


class CommandRun(msgspec.Struct, frozen=True):
    """A command of the coder, as the model sees it."""

    shown: str
    exit_code: int | None
    snapshot: str
    """The workspace after it."""


class Delivered(msgspec.Struct, frozen=True):
    """Final state of the branch."""

    branch: str
    head: str
    commits: list[str]
    """Commit ids, the oldest first."""
    stat: dict[str, Any]
    patch: bytes
    """The whole diff from the base; never truncated."""
    where: str = ""
    """The repository that holds the branch. Empty if there is only the patch."""
    warnings: list[str] = []
    """All warnings about the workspace so far."""


class WorkspacePort(Protocol):
    """The workspace of a run."""

    async def start(self) -> Started: ...

    async def map(self, snapshot: str) -> str:
        """Return the file tree and symbols, within a size limit, fenced."""
        ...

    async def declarations(self, snapshot: str, text: str) -> str:
        """Return the declarations that a text names, with their places, fenced; empty if there are none."""
        ...

    async def files(self, snapshot: str, paths: list[str]) -> list[str]:
        """Return the texts of the files that a step names, fenced, and truncated if long."""
        ...

    async def list_files(self, snapshot: str, folder: str, offset: int) -> str: ...

    async def search(
        self, snapshot: str, text: str, files: str, regex: bool, context: int, offset: int
    ) -> str: ...

    async def read(self, snapshot: str, path: str, first: int, last: int) -> str: ...

    async def around(self, snapshot: str, path: str, text: str) -> str:
        """Return the lines of a text in a file, with some before and after; empty if it is not there."""
        ...

    async def exists(self, snapshot: str, path: str) -> bool: ...

    async def diff(self, before: str, snapshot: str) -> str: ...

    async def log(self, snapshot: str, path: str, count: int, commit: str) -> str: ...

    async def command(self, snapshot: str, command: str, seconds: float) -> CommandRun:
        """Run a command in the sandbox. Files that it changes are in the new snapshot."""
        ...

    async def apply(self, snapshot: str, changes: list[Change]) -> Applied: ...

    async def inspect(self, before: str, after: str, allowed: list[str]) -> Inspected: ...

    async def test(self, snapshot: str, seconds: float, selector: str = "") -> Tested: ...

    async def find_answers(self, before: str, after: str, seconds: float) -> Answers: ...

    async def commit(self, snapshot: str, message: str) -> str:
        """Commit this snapshot on the run's branch and return the commit id. Idempotent."""
        ...

    async def deliver(self, snapshot: str) -> Delivered: ...


SHOWN_DIFF = 40_000


async def inspect_between(workspace: Workspace, before: str, allowed: list[str]) -> Inspected:
    """Inspect all changes since `before`. `allowed` are the files that the step names."""
    stats = await workspace.stat(before)
    files = [stat.path for stat in stats]
    findings = await inspect_change(workspace, before, named=allowed)
    changed = await changed_files(workspace, before)
    contents = await _texts(workspace, workspace.state, files)
    old = await _texts(workspace, before, [stat.old_path or stat.path for stat in stats])
    earlier = {stat.path: old.get(stat.old_path or stat.path, "") for stat in stats}
    closing = [
        finding
        for finding in findings
        if closes_the_gate(finding.kind, finding.severity) and finding.kind != "no_tests"
    ]
    tests = {path: text for path, text in contents.items() if is_test_file(path)}
    sources = {path: text for path, text in contents.items() if path not in tests}
    return Inspected(
        diff=untrusted(await workspace.diff(before), "the change", SHOWN_DIFF),
        files=files,
        tests=[path for path in files if is_test_file(path)],
        has_tests=not any(finding.kind == "no_tests" for finding in findings),
        caught=[*map(finding_line, closing), *hard_coded_answers(sources, tests, earlier)],
        suspected=[finding_line(finding) for finding in findings if is_shown(finding.kind, finding.severity)],
        security=secrets_in(contents, earlier),
        removed_tests=sorted(removed_tests(changed)),
        changed_tests=sorted(changed_tests(changed)),
    )


async def _texts(workspace: Workspace, sha: str, files: list[str]) -> dict[str, str]:
    contents = await workspace.contents(sha, files)
    return {path: data.decode("utf-8", "replace") for path, data in contents.items()}


def finding_line(finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    return f"{finding.path}{line}: {finding.message}"


SHOWN_OUTPUT = 8_000
SHOWN_FAILURES = 20
SHOWN_NAMES = 50


def result_of(report: TestReport) -> TestResult:
    return TestResult(
        ok=report.ok,
        command=report.command,
        framework=report.framework,
        exit_code=report.exit_code,
        passed=report.passed,
        failed=report.failed,
        errors=report.errors,
        skipped=report.skipped,
        total=report.total,
        seconds=report.seconds,
        timed_out=report.timed_out,
        coverage=report.coverage,
        note=report.reason,
        failures=[
            Failure(failure.name, failure.message, failure.file, failure.line or None, failure.output)
            for failure in report.failures
        ],
    )


def against_baseline(baseline: Tested | None, tested: Tested, removed: Sequence[str] = ()) -> Tested:
    """Return a test run, compared with the one before any change: failures that were there before are not
    blamed on it. `removed` are tests that the change removes together with what they tested."""
    if baseline is None or baseline.report is None or tested.report is None or not baseline.report.counted:
        return tested
    compared = compare(baseline.report, tested.report, removed=removed)
    broken = [compared.broken] if compared.broken else []
    ok = tested.result.ok or (bool(compared.still_failing) and not compared.new_failures and not broken)
    fewer = [f"{compared.fewer} more, whose names are not known"] if compared.fewer else []
    result = msgspec.structs.replace(
        tested.result,
        ok=ok,
        known_failures=compared.still_failing[:SHOWN_NAMES],
        new_failures=compared.new_failures[:SHOWN_NAMES],
        fixed=compared.fixed[:SHOWN_NAMES],
        missing=[*compared.missing, *fewer][:SHOWN_NAMES],
    )
    notes = [
        f"{title}: {', '.join(names)}"
        for title, names in (
            ("Failed before the change, too, and is not blamed on it", result.known_failures),
            ("Failed before the change and passes now", result.fixed),
            ("Ran before the change and does not run now", result.missing),
            ("New", sorted(set(tested.report.tests) - set(baseline.report.tests))[:SHOWN_NAMES]),
        )
        if names
    ]
    shown = untrusted("\n".join(notes), "a comparison with the run before the change") if notes else ""
    return msgspec.structs.replace(
        tested,
        result=result,
        shown=f"{tested.shown}\n\n{shown}".rstrip(),
        newly_skipped=compared.newly_skipped[:SHOWN_NAMES],
    )


def shown_to_models(report: TestReport) -> str:
    """Return the test result for prompts: counts, failures, and the end of the output."""
    counted = result_of(report).counted()
    lines = [f"{'PASS' if report.ok else 'FAIL'}: {counted}"]
    if report.reason and report.reason != counted:
        lines.append(report.reason)
    if report.command:
        lines.append(f"Command: {report.command}, exit code {report.exit_code}, {report.seconds:.1f} s")
    if report.coverage is not None:
        lines.append(f"Coverage: {report.coverage:g} % of lines")
    for failure in report.failures[:SHOWN_FAILURES]:
        place = f" ({failure.file}:{failure.line})" if failure.file else ""
        kind = "BROKE" if failure.is_error else "FAILED"
        lines += [
            "",
            f"{kind} {failure.name}{place}: {failure.message.partition(chr(10))[0]}",
            shortened(failure) if report.framework == "pytest" else failure.output,
        ]
    not_shown = len(report.failures) - SHOWN_FAILURES
    lines += [f"[{not_shown} more failures]"] if not_shown > 0 else []
    if not report.failures and report.output and not report.ok:
        lines += ["", report.output[-SHOWN_OUTPUT:]]
    return "\n".join(lines).rstrip()
