"""The workspace of a run in its sandbox: files, commands and tests."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from podium.agents.ask import Run
from podium.engine.history import OVER
from podium.engine.log import Store
from podium.engine.process import offload
from podium.errors import ChangeRefusedError, GaveUpError, UnknownRunError
from podium.tools.repository import Repository, draw_map, find_declarations
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox
from podium.tools.testing.answers import find_answers
from podium.tools.testing.diagnosis import command_trouble
from podium.tools.testing.execution import find_command, project_of, run_tests
from podium.tools.testing.report import TestCommand
from podium.tools.tool import ROOM, ToolError, untrusted
from podium.tools.workspace.change import Change as PlainChange
from podium.tools.workspace.change import Edit, FileStat
from podium.tools.workspace.commands import CommandResult, run_command
from podium.tools.workspace.lifecycle import (
    KEPT_DAYS,
    fold_up,
    open_workspace,
    remove_workspace,
    untouched_for,
    workspaces_of,
)
from podium.tools.workspace.workspace import Workspace
from podium.workflows.build.contracts import Change
from podium.workflows.build.policy import closes_the_gate
from podium.workflows.build.workspace import (
    Answers,
    Applied,
    CommandRun,
    Delivered,
    Inspected,
    Started,
    Tested,
    finding_line,
    inspect_between,
    result_of,
    shown_to_models,
)

MAP_TOKENS = 6_000
MOST_AROUND = 30
"""Maximum lines of an edit that are shown with its result."""
SHOWN_FILE, SHOWN_FILES = 24_000, 80_000
"""Maximum characters of one file that a step names, and of all of them together."""
NOTHING_YET = "none found yet (pytest, npm, go, cargo, make)"


@asynccontextmanager
async def open_sandbox_workspace(
    run: Run, workspace: str, test_command: str, allow_unsandboxed: bool
) -> AsyncGenerator[SandboxWorkspace]:
    """Open a run's workspace. When the run ends, in any way, its work tree is folded up; an interrupted run
    leaves it in place."""
    workspace_port = SandboxWorkspace(run, workspace, test_command, allow_unsandboxed)
    try:
        yield workspace_port
    except GaveUpError:
        await workspace_port.fold_up()
        raise
    await workspace_port.fold_up()


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
        command = await find_command(project, sandbox, self._test_command)
        warnings = list(workspace.warnings) if self._folder else []  # a new folder has no warnings
        return Started(
            branch=workspace.branch,
            base=workspace.base,
            snapshot=workspace.state,
            origin="fresh" if not self._folder else "repository" if workspace.is_published else "copy",
            tests=command.shown_as if command is not None else NOTHING_YET,
            sandbox=sandbox.tier,
            sandbox_reason=sandbox.reason,
            warnings=[*warnings, *_lacking(command), *([sandbox.warning] if sandbox.warning else [])],
            has_tests=command is not None,
        )

    async def apply(self, snapshot: str, changes: list[Change]) -> Applied:
        workspace = await self._at(snapshot)
        if not changes:
            return Applied(snapshot)
        try:
            applied = await workspace.apply([plain(change) for change in changes])
        except ChangeRefusedError as error:
            refused = [f"{refusal.action} {refusal.path}: {refusal.reason}" for refusal in error.refusals]
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

    async def declarations(self, snapshot: str, text: str) -> str:
        found = await find_declarations(Repository(await self._at(snapshot)), text)
        return untrusted(found, "the workspace") if found else ""

    async def files(self, snapshot: str, paths: list[str]) -> list[str]:
        """Return the files that exist. A step may name files that it is to create."""
        repository = Repository(await self._at(snapshot))
        known = set(repository.paths())
        texts: list[str] = []
        for path in (path for path in dict.fromkeys(paths) if path in known):
            room = min(SHOWN_FILE, SHOWN_FILES - sum(map(len, texts)))
            if room > ROOM * 2:
                texts.append(untrusted(beginning(read_text(repository, path), path, room - ROOM), path))
        return texts

    async def list_files(self, snapshot: str, folder: str, offset: int) -> str:
        repository = Repository(await self._at(snapshot))
        return untrusted(repository.list_files(folder, offset=offset), "the list of files")

    async def search(
        self, snapshot: str, text: str, files: str, regex: bool, context: int, offset: int
    ) -> str:
        repository = Repository(await self._at(snapshot))
        matches = await repository.search(text, regex=regex, pattern=files, context=context, offset=offset)
        return untrusted(matches, f"a search for {text[:100]}")

    async def read(self, snapshot: str, path: str, first: int, last: int) -> str:
        repository = Repository(await self._at(snapshot))
        return untrusted(repository.lines(path.removeprefix("./"), first, last), path[:200])

    async def around(self, snapshot: str, path: str, text: str) -> str:
        repository = Repository(await self._at(snapshot))
        whole = read_text(repository, path)
        if not text.strip() or text not in whole:
            return ""
        first = whole.count("\n", 0, whole.index(text)) + 1
        last = min(first + text.count("\n"), first + MOST_AROUND)
        return untrusted(repository.lines(path, max(1, first - 2), last + 2), path[:200])

    async def exists(self, snapshot: str, path: str) -> bool:
        return path in (await self._at(snapshot)).files

    async def diff(self, before: str, snapshot: str) -> str:
        text = await (await self._at(snapshot)).diff(before)
        return untrusted(text, "the change") if text else "Nothing was changed."

    async def log(self, snapshot: str, path: str, count: int, commit: str) -> str:
        workspace = await self._at(snapshot)
        text = await (workspace.show(commit, path) if commit else workspace.log(path, count))
        return untrusted(text, "the history")

    async def inspect(self, before: str, after: str, allowed: list[str]) -> Inspected:
        return await inspect_between(await self._at(after), before, allowed)

    # ── programs ───────

    async def command(self, snapshot: str, command: str, seconds: float) -> CommandRun:
        workspace = await self._at(snapshot)
        _, sandbox = await self._opened()
        done = await run_command(workspace, sandbox, command, seconds=seconds)
        return CommandRun(command_shown(done), done.exit_code, done.snapshot)

    async def test(self, snapshot: str, seconds: float, selector: str = "") -> Tested:
        workspace = await self._at(snapshot)
        _, sandbox = await self._opened()
        report = await run_tests(
            workspace, sandbox, command=self._test_command, seconds=seconds, selector=selector
        )
        trouble = command_trouble(report, project_of(workspace))
        return Tested(
            result_of(report),
            untrusted(shown_to_models(report), "the tests"),
            report.warnings,
            msgspec.structs.replace(report, failures=[], output="", warnings=[]),
            trouble=trouble[0] if trouble else "",
            hint=trouble[1] if trouble else "",
        )

    async def find_answers(self, before: str, after: str, seconds: float) -> Answers:
        workspace = await self._at(after)
        _, sandbox = await self._opened()
        found = await find_answers(workspace, sandbox, before, command=self._test_command, seconds=seconds)
        closing = [finding for finding in found if closes_the_gate(finding.kind, finding.severity)]
        return Answers(
            [finding_line(finding) for finding in closing],
            [finding_line(finding) for finding in found if finding not in closing],
        )


def _lacking(command: TestCommand | None) -> list[str]:
    """Return what the project lacks to run its tests as it would elsewhere."""
    if command is None or command.framework != "pytest" or command.argv[0] != sys.executable:
        return []
    return [
        "The project has no .venv with pytest, so its tests run with the Python of Podium. Packages that it "
        "needs may be missing there: create a .venv in the project and install them."
    ]


def command_shown(done: CommandResult) -> str:
    """Return a command's result for the model: exit code, what it changed, and its output."""
    ended = f"stopped by the limit of {done.stopped_by}" if done.stopped_by else f"exit code {done.exit_code}"
    changed = f", changed {', '.join(file.path for file in done.files[:20])}" if done.files else ""
    head = f"{ended}, {done.seconds:.1f} s{changed}"
    output = untrusted(done.output, "the command") if done.output.strip() else "(no output)"
    return "\n".join([head, *done.warnings, output])


def read_text(repository: Repository, path: str) -> str:
    try:
        return repository.text(path)
    except ToolError as error:
        return f"[{error}]"


def beginning(text: str, path: str, most: int) -> str:
    """Return a text, or as many of its first lines as fit, with how to read on."""
    if len(text) <= most:
        return text
    head = text[: most - 100].rpartition("\n")[0]
    next_line, total = head.count("\n") + 2, text.count("\n") + 1
    return f"{head}\n[{total - next_line + 1} lines follow: read_file {path} from line {next_line}]"


def stat_data(stats: list[FileStat]) -> dict[str, Any]:
    return {
        "files": msgspec.to_builtins(stats),
        "added": sum(stat.added for stat in stats),
        "removed": sum(stat.removed for stat in stats),
    }


def plain(change: Change) -> PlainChange:
    edits = [Edit(edit.search, edit.replace) for edit in change.edits]
    return PlainChange(
        path=change.path,
        action=change.action,
        content=change.content,
        edits=edits,
        new_path=change.new_path or "",
    )


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
