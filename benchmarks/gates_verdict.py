"""Verdicts of the gates of `build` when every model approves.

Many cases are judged in one project at once. Each case changes its own files, and its tests have their own
names, so that every finding and every test belongs to one case.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from podium.engine.process import offload
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.answers import find_answers
from podium.tools.testing.comparison import compare
from podium.tools.testing.execution import run_tests
from podium.tools.testing.findings import ChangedFile, Finding, changed_tests, removed_tests
from podium.tools.testing.inspection import findings
from podium.tools.testing.report import TestReport
from podium.tools.workspace.change import Caps, Change
from podium.tools.workspace.lifecycle import open_workspace
from podium.tools.workspace.workspace import Workspace
from podium.workflows.build.policy import closes_the_gate

SECONDS = 600.0


class Case(msgspec.Struct, frozen=True):
    """One change that the gates must accept or refuse."""

    name: str
    files: Mapping[str, str | None]
    """New texts by path; None deletes the file."""
    tests: Sequence[str]
    """Test files of the case."""


class Verdict(msgspec.Struct, frozen=True):
    """The reasons to refuse a change; none: it is accepted."""

    inspection: list[str]
    tests: list[str]
    answers: list[str]
    passes_tests: bool = False
    """True if the case's own tests pass, as the framework says."""

    @property
    def refused(self) -> bool:
        return bool(self.inspection or self.tests or self.answers)


class Project(msgspec.Struct, frozen=True):
    """A project in a workspace, with its test run before any change."""

    workspace: Workspace
    sandbox: Sandbox
    files: dict[str, str]
    before: TestReport


async def open_project(
    folder: Path, files: dict[str, str], sandbox: Sandbox, environment: Path | None = None
) -> Project:
    """Create a repository with these files, and run its tests, with a virtual environment if given."""
    user = folder / "user"
    await offload(_make_repository, user, files, environment)
    caps = Caps(changes=1_000, file_bytes=5_000_000, change_bytes=100_000_000)
    workspace = await open_workspace(user, "gates", sandbox, home=folder / "run", caps=caps)
    before = await run_tests(workspace, sandbox, seconds=SECONDS)
    return Project(workspace, sandbox, files, before)


def _make_repository(user: Path, files: dict[str, str], environment: Path | None) -> None:
    for path, text in files.items():
        place = user / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    if environment is not None:
        (user / ".venv").symlink_to(environment)
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "-A"],
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "Start"],
    ):
        subprocess.run(command, cwd=user, check=True, capture_output=True)


async def verdicts(
    project: Project, cases: Sequence[Case], *, shared: Mapping[str, str] | None = None, answers: bool = True
) -> dict[str, Verdict]:
    """Apply all cases at once, judge each, and take the changes back. `shared` has the texts of files that
    all cases change."""
    if not any(case.files for case in cases):
        return {case.name: _verdict(project, case, project.before, {}) for case in cases}
    after, known = await _run_changed(project, cases, shared, answers)
    return {case.name: _verdict(project, case, after, known) for case in cases}


async def fix_and_reversal(project: Project, fix: Case) -> tuple[Verdict, Verdict]:
    """Judge a fix, and the change that takes it back: its test run before is that of the fixed project, and
    its test run after is that of the unchanged one."""
    after, known = await _run_changed(project, [fix], None, answers=True)
    texts = {path: text for path, text in fix.files.items() if text is not None}
    fixed = msgspec.structs.replace(project, files=project.files | texts, before=after)
    back = Case(f"{fix.name}, reversed", {path: project.files[path] for path in texts}, fix.tests)
    return _verdict(project, fix, after, known), _verdict(fixed, back, project.before, {})


async def _run_changed(
    project: Project, cases: Sequence[Case], shared: Mapping[str, str] | None, answers: bool
) -> tuple[TestReport, Mapping[str, Sequence[Finding]]]:
    """Run the tests with all changes; return their report, and the answers found, by path."""
    workspace, since = project.workspace, project.workspace.state
    merged = {path: text for case in cases for path, text in case.files.items()} | dict(shared or {})
    await workspace.apply([_change(project, path, text) for path, text in merged.items()])
    try:
        after = await run_tests(workspace, project.sandbox, seconds=SECONDS)
        known = await find_answers(workspace, project.sandbox, since, seconds=SECONDS * 3) if answers else []
    finally:
        await workspace.restore(since)
    by_path = defaultdict[str, list[Finding]](list)
    for finding in known:
        by_path[finding.path].append(finding)
    return after, by_path


def inspected(project: Project, case: Case) -> Verdict:
    """Judge a change by static inspection alone, without running anything."""
    verdict = _verdict(project, case, project.before, {})
    return Verdict(verdict.inspection, [], [])


def _change(project: Project, path: str, text: str | None) -> Change:
    if text is None:
        return Change(path=path, action="delete")
    return Change(path=path, action="modify" if path in project.files else "create", content=text)


def _verdict(
    project: Project, case: Case, after: TestReport, answers: Mapping[str, Sequence[Finding]]
) -> Verdict:
    changed = [ChangedFile(path, project.files.get(path), text) for path, text in case.files.items()]
    comparison = compare(_of(project.before, case), _of(after, case), removed=removed_tests(changed))
    edited = changed_tests(changed)
    fixed = [name for name in comparison.fixed if name.rpartition("::")[2] not in edited]
    texts = {path: case.files.get(path, project.files.get(path)) for path in case.tests}
    static = findings(changed, [(path, text) for path, text in texts.items() if text])
    inspection = [
        f"{finding.kind}: {finding.message}"
        for finding in static
        if closes(finding) and finding.kind != "no_tests"  # the tests say that, too: none turned green
    ]
    if not changed or all(file.before == file.after for file in changed):
        inspection.append("nothing was changed")
    tests = comparison.problems()
    if comparison.still_failing:
        tests.append(f"{len(comparison.still_failing)} tests of the goal still fail")
    elif not fixed:
        tests.append("no test that failed before passes now")
    return Verdict(
        inspection,
        tests,
        [finding.message for path in case.files for finding in answers.get(path, ()) if closes(finding)],
        comparison.ok and bool(comparison.fixed) and not comparison.still_failing,
    )


def closes(finding: Finding) -> bool:
    """Return True if a finding closes the gate, whoever approves."""
    if finding.kind == "hard_coded":
        return finding.severity == "critical"
    return closes_the_gate(finding.kind, finding.severity)


def _of(report: TestReport, case: Case) -> TestReport:
    """Return the part of a report about the tests of one case."""

    def own(names: Sequence[str]) -> list[str]:
        files = {Path(path).stem for path in case.tests}
        return [name for name in names if Path(name.partition("::")[0]).stem in files]

    ran, failed, skipped = own(report.tests), own(report.failed_tests), own(report.skipped_tests)
    passed = len(set(ran) - set(failed))
    return msgspec.structs.replace(
        report,
        tests=ran,
        failed_tests=failed,
        skipped_tests=skipped,
        passed=passed,
        failed=len(failed),
        errors=0,
        skipped=len(skipped),
        total=passed + len(failed) + len(skipped),
        ok=bool(passed) and not failed,
        reason="" if passed and not failed else "Tests failed." if failed else "No test was run.",
    )
