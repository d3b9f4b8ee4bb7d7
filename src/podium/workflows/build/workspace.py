"""The workspace port, its sandboxed implementation, and the inspection of changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec

from podium.agents.ask import Run
from podium.engine.history import OVER
from podium.engine.log import Store
from podium.engine.process import offload
from podium.errors import ChangeRefusedError, GaveUpError, UnknownRunError
from podium.tools.repository import Repository, draw_map
from podium.tools.sandbox.opening import open_sandbox
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.cases import is_test_file
from podium.tools.testing.changes import Finding
from podium.tools.testing.inspection import inspect_change
from podium.tools.testing.report import TestReport
from podium.tools.testing.running import find_command, project_of, run_tests
from podium.tools.tool import ROOM, ToolError, untrusted
from podium.tools.workspace.change import Change as PlainChange
from podium.tools.workspace.change import Edit, FileStat
from podium.tools.workspace.opening import open_workspace
from podium.tools.workspace.retention import (
    KEPT_DAYS,
    fold_up,
    remove_workspace,
    untouched_for,
    workspaces_of,
)
from podium.tools.workspace.workspace import Workspace
from podium.workflows.build.answer_checks import hard_coded_answers
from podium.workflows.build.contracts import Change, LookUp
from podium.workflows.build.policy import closes_the_gate, is_worth_telling, secrets_in
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


class Tested(msgspec.Struct, frozen=True):
    """Result of a test run, as data and as prompt text."""

    result: TestResult
    shown: str
    warnings: list[str] = []
    """Warnings for the user about files that the tests left behind."""


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

    async def files(self, snapshot: str, paths: list[str]) -> list[str]:
        """Return the texts of the files that a step names, fenced, and truncated if long."""
        ...

    async def look_up(self, snapshot: str, wanted: LookUp) -> tuple[bool, str]: ...

    async def apply(self, snapshot: str, changes: list[Change]) -> Applied: ...

    async def inspect(self, before: str, after: str, allowed: list[str]) -> Inspected: ...

    async def test(self, snapshot: str, seconds: float) -> Tested: ...

    async def commit(self, snapshot: str, message: str) -> str:
        """Commit this snapshot on the run's branch and return the commit id. Idempotent."""
        ...

    async def deliver(self, snapshot: str) -> Delivered: ...


SHOWN_DIFF = 40_000


async def inspect_between(workspace: Workspace, before: str, allowed: list[str]) -> Inspected:
    """Inspect all changes since `before`. `allowed` are the files that the step names."""
    stats = await workspace.stat(before)
    files = [stat.path for stat in stats]
    found = await inspect_change(workspace, before, named=allowed)
    contents = await _texts(workspace, workspace.state, files)
    old = await _texts(workspace, before, [stat.old_path or stat.path for stat in stats])
    earlier = {stat.path: old.get(stat.old_path or stat.path, "") for stat in stats}
    tests = {path: text for path, text in contents.items() if is_test_file(path)}
    sources = {path: text for path, text in contents.items() if path not in tests}
    closing = [one for one in found if closes_the_gate(one.kind, one.severity) and one.kind != "no_tests"]
    answers = hard_coded_answers(sources, tests, earlier)
    return Inspected(
        diff=untrusted(await workspace.diff(before), "the change", SHOWN_DIFF),
        files=files,
        tests=[path for path in files if is_test_file(path)],
        has_tests=not any(one.kind == "no_tests" for one in found),
        caught=[*map(_told, closing), *answers],
        suspected=[_told(one) for one in found if is_worth_telling(one.kind, one.severity)],
        security=secrets_in(contents, earlier),
    )


async def _texts(workspace: Workspace, sha: str, files: list[str]) -> dict[str, str]:
    found = await workspace.contents(sha, files)
    return {path: data.decode("utf-8", "replace") for path, data in found.items()}


def _told(finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    return f"{finding.path}{line}: {finding.message}"


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
    """Return the test result for prompts: counts, failures, and the end of the output."""
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


MAP_TOKENS = 6_000
SHOWN_FILE, SHOWN_FILES = 24_000, 80_000
"""Maximum characters of one file that a step names, and of all of them together."""
SHOWN_LOOK_UP = 12_000
NOTHING_YET = "none found yet (pytest, npm, go, cargo, make)"


@asynccontextmanager
async def open_site(
    run: Run, workspace: str, test_command: str, allow_unsandboxed: bool
) -> AsyncGenerator[SandboxWorkspace]:
    """Open a run's workspace. When the run ends, in any way, its work tree is folded up; an interrupted run
    leaves it in place."""
    site = SandboxWorkspace(run, workspace, test_command, allow_unsandboxed)
    try:
        yield site
    except GaveUpError:
        await site.fold_up()
        raise
    await site.fold_up()


class SandboxWorkspace:
    """Workspace of one run. It is opened on first use, because a replay never needs it."""

    def __init__(self, run: Run, folder: str, test_command: str, allow_unsandboxed: bool) -> None:
        self._run = run
        self._folder = folder
        self._test_command = test_command
        self._allow_unsandboxed = allow_unsandboxed
        self._home = workspaces_of(run.store.url) / run.id
        self._sandbox: Sandbox | None = None
        self._workspace: Workspace | None = None

    async def _opened(self) -> tuple[Workspace, Sandbox]:
        if self._workspace is None or self._sandbox is None:
            allowed = self._allow_unsandboxed
            self._sandbox = await open_sandbox(self._run.settings, allow_unsandboxed=allowed)
            await clear_old(self._run.store, self._home.parent)
            with ExitStack() as stack:
                empty = "" if self._folder else stack.enter_context(TemporaryDirectory(prefix="podium-"))
                folder = self._folder or empty
                self._workspace = await open_workspace(folder, self._run.id, self._sandbox, home=self._home)
        return self._workspace, self._sandbox

    async def fold_up(self) -> None:
        """Fold up the work tree. This also applies if another process did all the work."""
        self._workspace = None
        if not self._run.replaying:
            await offload(fold_up, self._home)

    async def _at(self, snapshot: str) -> Workspace:
        """Return the workspace, restored to this snapshot."""
        workspace, _ = await self._opened()
        if workspace.state != snapshot:
            await workspace.restore(snapshot)
        return workspace

    # ── workspace ──────

    async def start(self) -> Started:
        workspace, sandbox = await self._opened()
        results = workspace.home / "results"
        results.mkdir(mode=0o700, exist_ok=True)
        project = project_of(workspace, results)
        found = await find_command(project, sandbox, self._test_command)
        warnings = list(workspace.warnings) if self._folder else []  # a new folder has no warnings
        return Started(
            branch=workspace.branch,
            base=workspace.base,
            snapshot=workspace.state,
            origin="fresh" if not self._folder else "repository" if workspace.is_published else "copy",
            tests=found.told_as if found is not None else NOTHING_YET,
            sandbox=sandbox.tier,
            sandbox_reason=sandbox.reason,
            warnings=[*warnings, *([sandbox.warning] if sandbox.warning else [])],
        )

    async def apply(self, snapshot: str, changes: list[Change]) -> Applied:
        workspace = await self._at(snapshot)
        if not changes:
            return Applied(snapshot)
        try:
            applied = await workspace.apply([plain(change) for change in changes])
        except ChangeRefusedError as error:
            refused = [f"{one.action} {one.path}: {one.reason}" for one in error.refusals]
            return Applied(snapshot, refused=refused)
        return Applied(applied.snapshot, [stat.path for stat in applied.files])

    async def commit(self, snapshot: str, message: str) -> str:
        workspace = await self._at(snapshot)
        return await workspace.commit(message)

    async def deliver(self, snapshot: str) -> Delivered:
        workspace = await self._at(snapshot)
        stats = await workspace.stat()
        patch = await workspace.patch()
        return Delivered(
            branch=workspace.branch,
            head=workspace.head,
            commits=await workspace.commits(),
            stat=stat_data(stats),
            patch=patch,
            where=str(workspace.origin) if workspace.is_published else "",
            warnings=list(workspace.warnings) if self._folder else [],
        )

    # ── views for prompts ─────────

    async def map(self, snapshot: str) -> str:
        repository = Repository(await self._at(snapshot))
        return untrusted(await draw_map(repository, MAP_TOKENS), "the workspace")

    async def files(self, snapshot: str, paths: list[str]) -> list[str]:
        """Return the files that exist. A step may name files that it is to create."""
        repository = Repository(await self._at(snapshot))
        known = set(repository.paths())
        found: list[str] = []
        for path in (path for path in dict.fromkeys(paths) if path in known):
            room = min(SHOWN_FILE, SHOWN_FILES - sum(map(len, found)))
            if room > ROOM * 2:
                found.append(untrusted(read_text(repository, path), path, room))
        return found

    async def look_up(self, snapshot: str, wanted: LookUp) -> tuple[bool, str]:
        repository = Repository(await self._at(snapshot))
        try:
            if wanted.kind == "read":
                path, first, last = place_of(wanted.target)
                found = repository.lines(path, first, last)
            else:
                found = await repository.search(wanted.target)
        except ToolError as error:
            return False, f"{wanted.kind} {wanted.target[:200]}: {error}"
        return True, untrusted(found, f"{wanted.kind} {wanted.target[:200]}", SHOWN_LOOK_UP)

    async def inspect(self, before: str, after: str, allowed: list[str]) -> Inspected:
        return await inspect_between(await self._at(after), before, allowed)

    async def test(self, snapshot: str, seconds: float) -> Tested:
        workspace = await self._at(snapshot)
        _, sandbox = await self._opened()
        report = await run_tests(workspace, sandbox, command=self._test_command, seconds=seconds)
        result = result_of(report)
        return Tested(result, untrusted(shown_to_models(report), "the tests"), report.warnings)


def read_text(repository: Repository, path: str) -> str:
    try:
        return repository.text(path)
    except ToolError as error:
        return f"[{error}]"


def place_of(target: str) -> tuple[str, int, int]:
    """Parse `path`, `path:120` or `path:120-180` to path, first and last line; 0 stands for no last line."""
    path, colon, lines = target.strip().removeprefix("./").rpartition(":")
    first, _, last = lines.partition("-")
    if not colon or not first.isdigit() or (last and not last.isdigit()):
        return target.strip().removeprefix("./"), 1, 0
    return path, int(first), int(last or 0)


def stat_data(stats: list[FileStat]) -> dict[str, Any]:
    return {
        "files": [msgspec.to_builtins(one) for one in stats],
        "added": sum(one.added for one in stats),
        "removed": sum(one.removed for one in stats),
    }


def plain(change: Change) -> PlainChange:
    edits = [Edit(edit.search, edit.replace) for edit in change.edits]
    return PlainChange(
        path=change.path, action=change.action, content=change.content, edits=edits,
        new_path=change.new_path or "",
    )  # fmt: skip


async def clear_old(store: Store, root: Path) -> None:
    """Remove workspaces of finished runs that were not touched for `KEPT_DAYS` days. Others may be needed
    again."""
    for run_id in untouched_for(KEPT_DAYS * 86_400, root):
        try:
            row = await store.get(run_id)
        except UnknownRunError:  # belongs to another store with the same workspace root
            continue
        if row.status in OVER:
            await offload(remove_workspace, root / run_id)
