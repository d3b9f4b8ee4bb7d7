"""Test commands and reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import msgspec

from podium.errors import WorkspaceError
from podium.tools.workspace.tree import WorkTree


class Failure(msgspec.Struct, frozen=True):
    """One test that failed, or that broke before it ran."""

    name: str
    """Name as the framework prints it: `tests/test_a.py::test_b`."""
    message: str
    """First line of the failure."""
    file: str = ""
    """Relative to the root of the workspace; empty if unknown."""
    line: int = 0
    output: str = ""
    """Output of the framework about it, truncated."""
    is_error: bool = False
    """True if it broke (an import, a fixture) rather than failed."""


class Counts(msgspec.Struct, frozen=True):
    """The parsed results of a framework."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failures: list[Failure] = []
    tests: list[str] = []
    """Names of the tests that ran, passed or failed."""
    skipped_tests: list[str] = []
    """Names of the skipped tests."""

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped


class TestReport(msgspec.Struct, frozen=True, kw_only=True):
    """A test run. `ok` depends on the real exit code and the framework's own results, never on a claim."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting it

    command: str
    """The command as a user would type it."""
    framework: str
    """`pytest`, `jest`, `vitest`, `mocha`, `node`, `npm`, `go`, `cargo`, `make` or `command`; empty
    if none was found."""
    exit_code: int | None
    """None if nothing was run."""
    ok: bool
    """Exit code 0, within the time limit, at least one test ran and none failed."""
    reason: str = ""
    """Why it is not ok, in one sentence."""
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    total: int = 0
    """0 with `counted` false if this framework reports no numbers."""
    counted: bool = False
    """True if the numbers come from parsed results; `make` has none."""
    failures: list[Failure] = []
    """The first failures; `failed` and `errors` count all."""
    tests: list[str] = []
    """Names of the tests that ran: passed or failed."""
    failed_tests: list[str] = []
    """Names of all tests that failed, and of files or packages that broke."""
    skipped_tests: list[str] = []
    seconds: float = 0.0
    timed_out: bool = False
    coverage: float | None = None
    """Line coverage in percent; None if the project does not measure it."""
    output: str = ""
    """Printed output, beginning and end if it is long."""
    tier: str = ""
    """The tier of the sandbox it ran in."""
    warnings: list[str] = []
    """Sentences about dangerous files that the tests left and that were neutralized."""


MAX_READ = 1_000_000


class TestCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A test command and its environment."""

    __test__ = False  # keeps pytest from collecting it

    argv: list[str]
    framework: str
    """`pytest`, `jest`, `vitest`, `mocha`, `node`, `npm`, `go`, `cargo`, `make` or `command`;
    selects the results parser."""
    shown_as: str
    """The command as a user would type it."""
    why: str
    """Why this command was chosen: a file of the project, or the user's request."""
    env: dict[str, str] = {}
    readable: list[str] = []
    """Folders outside that it needs read-only, such as an interpreter's."""
    links: dict[str, str] = {}
    """Symlinks in the project's folder to such folders, made for the test run."""
    script: str = ""
    """The script `test` of package.json; empty for other commands."""


class Project(msgspec.Struct, frozen=True):
    """The project in which tests are detected."""

    tree: Path
    """The work tree."""
    files: frozenset[str]
    """Every file of it that git tracks."""
    origin: Path
    """The user's folder, for installed dependencies: `.venv`, `node_modules`."""
    results: Path
    """Folder for the frameworks' result files."""
    below: str = ""
    """Path of the project inside the tree; empty for its root."""

    def has(self, name: str) -> bool:
        return self._at(name) in self.files

    def text(self, name: str) -> str:
        """Return the text of a project file; empty if it does not exist."""
        if not self.has(name):
            return ""
        try:
            return WorkTree(self.tree).read(self._at(name), MAX_READ).decode("utf-8", "replace")
        except (OSError, WorkspaceError):  # a link or a huge file says nothing about tests
            return ""

    def installed(self, name: str) -> Path | None:
        """Return an untracked folder beside the user's files, such as `.venv`."""
        for folder in dict.fromkeys((self.below, "")):
            path = f"{folder}/{name}" if folder else name
            place = self.origin / path
            if place.is_dir() and not any(file == path or file.startswith(path + "/") for file in self.files):
                return place
        return None

    def own_files(self) -> list[str]:
        """Return the project's files, relative to its folder."""
        prefix = f"{self.below}/" if self.below else ""
        return [file[len(prefix) :] for file in self.files if file.startswith(prefix)]

    def _at(self, name: str) -> str:
        return f"{self.below}/{name}" if self.below else name


MAX_OUTPUT = 8_000
MAX_FAILURE = 3_000
MAX_FAILURES = 20
MAX_NAMES = 20_000

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def plain(text: str, tree: Path | None = None) -> str:
    """Remove colours and control characters, and make paths relative to the tree."""
    text = _CONTROL.sub("", _ESCAPE.sub("", text)).replace("\r\n", "\n")
    text = "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))  # progress bars: last state
    return text.replace(f"{tree}/", "").replace(str(tree), ".") if tree else text


def ends_of(text: str, limit: int) -> str:
    """Return the first quarter and the end of a long text, with a mark for the omitted part."""
    text = text.strip("\n")
    if len(text) <= limit:
        return text
    head, tail = limit // 4, limit - limit // 4
    start, end = text[:head].rpartition("\n")[0], text[-tail:].partition("\n")[2]
    start, end = start or text[:head], end or text[-tail:]
    return f"{start}\n[… {len(text) - len(start) - len(end):,} characters …]\n{end}"


def first_line(text: str, limit: int = 300) -> str:
    """Return the first non-empty line, at most `limit` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"
