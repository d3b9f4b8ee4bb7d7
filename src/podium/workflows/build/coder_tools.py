"""The coder's tools: read, search, edit and run, in the run's workspace.

A call that changes files ends with a snapshot of the workspace, which is recorded with its result. The next
call starts from that snapshot, so a resume continues with the same files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from podium.agents.tools import Tool, tool
from podium.models.messages import ToolCall, ToolOutcome
from podium.tools.tool import ToolError
from podium.workflows.build.clock import Share
from podium.workflows.build.context import Build
from podium.workflows.build.contracts import Change, Edit
from podium.workflows.build.workspace import Applied, against_baseline

COMMAND_S = 120.0
"""Default time limit of a command."""
LONGEST_COMMAND_S = 900.0

Path = Annotated[str, Field(description="Path relative to the project, such as `src/calc.py`.")]


class CoderTools:
    """The tools of one ask of the coder, and the snapshot that they have led to."""

    def __init__(self, build: Build, before: str, snapshot: str, shares: tuple[Share, ...]) -> None:
        self._build = build
        self._port = build.workspace
        self._before = before
        """Snapshot at the start of the step, for the diff."""
        self._shares = shares
        self.snapshot = snapshot

    def on_tool(self, call: ToolCall, outcome: ToolOutcome | None) -> None:
        """Take over the snapshot of a finished call; also after a resume, when the call is not repeated."""
        if outcome is not None and isinstance(outcome.data, str):
            self.snapshot = self._build.latest = outcome.data

    @property
    def tools(self) -> list[Tool]:
        functions = (
            self.list_files,
            self.search,
            self.read_file,
            self.edit_file,
            self.write_file,
            self.delete_file,
            self.move_file,
            self.run,
            self.run_tests,
            self.git_diff,
            self.git_log,
        )
        return [self._tool(function) for function in functions]

    def _tool(self, function: Callable[..., Any]) -> Tool:
        """Make a tool of a method. Its calls depend on the snapshot. A rehearsal may execute it: everything
        happens in the run's own workspace and sandbox."""
        made = tool(safe=True)(function)
        return Tool(
            made.name,
            made.description,
            made.schema,
            made.function,
            safe=True,
            arguments=made.arguments,
            version=lambda: self.snapshot,
        )

    # ── reading ──

    async def list_files(
        self,
        folder: Annotated[str, Field(description="A folder, or a pattern such as `*.py`; empty: all.")] = "",
        offset: Annotated[int, Field(ge=0, description="Entries to skip.")] = 0,
    ) -> ToolOutcome:
        """List the files of the project with their sizes."""
        return await _text(self._port.list_files(self.snapshot, folder, offset))

    async def search(
        self,
        text: Annotated[str, Field(description="A text, or a regular expression with `regex`.")],
        files: Annotated[str, Field(description="Pattern of file names, such as `*.py`.")] = "*",
        regex: bool = False,
        context: Annotated[int, Field(ge=0, le=10, description="Lines before and after each match.")] = 0,
        offset: Annotated[int, Field(ge=0, description="Matches to skip.")] = 0,
    ) -> ToolOutcome:
        """Search the files of the project."""
        return await _text(self._port.search(self.snapshot, text, files, regex, context, offset))

    async def read_file(
        self,
        path: Path,
        first: Annotated[int, Field(ge=1, description="First line.")] = 1,
        last: Annotated[int, Field(ge=0, description="Last line; 0: as many as fit.")] = 0,
    ) -> ToolOutcome:
        """Read a file, or a range of its lines, with line numbers."""
        return await _text(self._port.read(self.snapshot, path, first, last))

    async def git_diff(self) -> ToolOutcome:
        """Show everything that was changed since the step began."""
        return await _text(self._port.diff(self._before, self.snapshot))

    async def git_log(
        self,
        path: Annotated[str, Field(description="A file whose history is wanted; empty: the project's.")] = "",
        count: Annotated[int, Field(ge=1, le=100)] = 20,
        commit: Annotated[str, Field(description="Show this commit instead.")] = "",
    ) -> ToolOutcome:
        """Show the history of the project or of a file, or one commit."""
        return await _text(self._port.log(self.snapshot, path, count, commit))

    # ── changing ──

    async def edit_file(
        self,
        path: Path,
        search: Annotated[
            str, Field(description="Text that occurs exactly once in the file, to the letter.")
        ],
        replace: Annotated[str, Field(description="The text in its place.")],
    ) -> ToolOutcome:
        """Replace a text in a file."""
        change = Change(path=path, action="modify", edits=[Edit(search=search, replace=replace)])
        edited = await self._apply(change, f"Edited {path}.")
        if edited.failed or not isinstance(edited.data, str):
            return edited
        around = await self._port.around(edited.data, path, replace)
        return ToolOutcome(f"{edited.text}\n{around}".rstrip(), data=edited.data)

    async def write_file(
        self, path: Path, content: Annotated[str, Field(description="The whole content.")]
    ) -> ToolOutcome:
        """Write a whole file, new or existing."""
        action = "modify" if await self._port.exists(self.snapshot, path) else "create"
        return await self._apply(Change(path=path, action=action, content=content), f"Wrote {path}.")

    async def delete_file(self, path: Path) -> ToolOutcome:
        """Delete a file."""
        return await self._apply(Change(path=path, action="delete"), f"Deleted {path}.")

    async def move_file(self, path: Path, to: Path) -> ToolOutcome:
        """Move or rename a file."""
        return await self._apply(Change(path=path, action="rename", new_path=to), f"Moved {path} to {to}.")

    async def _apply(self, change: Change, done: str) -> ToolOutcome:
        applied: Applied = await self._port.apply(self.snapshot, [change])
        if applied.refused:
            return ToolOutcome("Nothing was changed. " + " ".join(applied.refused), failed=True)
        return ToolOutcome(done, data=applied.snapshot)

    # ── running ──

    async def run(
        self,
        command: Annotated[str, Field(description="A command for `sh`, run in the project's folder.")],
        seconds: Annotated[float, Field(gt=0, le=LONGEST_COMMAND_S, description="Time limit.")] = COMMAND_S,
    ) -> ToolOutcome:
        """Run a command in the sandbox: no network, limited time, memory and output. Files that it changes
        are kept, unless .gitignore leaves them out."""
        try:
            done = await self._port.command(self.snapshot, command, min(seconds, self._time_left()))
        except ToolError as error:
            return ToolOutcome(str(error), failed=True)
        return ToolOutcome(done.shown, failed=done.exit_code != 0, data=done.snapshot)

    async def run_tests(
        self,
        selector: Annotated[
            str, Field(description="A test or file as the results name it, or `-k NAME`; empty: all tests.")
        ] = "",
    ) -> ToolOutcome:
        """Run the project's tests. The files stay as they were before the run."""
        try:
            tested = await self._port.test(self.snapshot, self._time_left(), selector)
        except ToolError as error:
            return ToolOutcome(str(error), failed=True)
        if not selector.strip():
            tested = against_baseline(self._build.baseline, tested)
        return ToolOutcome("\n".join([tested.shown, *tested.warnings]), failed=not tested.result.ok)

    def _time_left(self) -> float:
        now = self._build.run.driven_s
        return max(min([LONGEST_COMMAND_S, *(share.left(now) for share in self._shares)]), 1.0)


async def _text(work: Any) -> ToolOutcome:
    """Return a text for the model, or the reason why there is none."""
    try:
        return ToolOutcome(await work)
    except ToolError as error:
        return ToolOutcome(str(error), failed=True)
