"""Test commands and reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import msgspec

from podium.errors import WorkspaceError
from podium.tools.workspace.tree import WorkTree


class Failure(msgspec.Struct, frozen=True):
    """One test that failed, or broke before it could."""

    name: str
    """As the framework names it: `tests/test_a.py::test_b`."""
    message: str
    """The first line of what went wrong."""
    file: str = ""
    """From the root of the workspace, where that is known."""
    line: int = 0
    output: str = ""
    """What the framework printed about it, cut to what matters."""
    is_error: bool = False
    """It broke (an import, a fixture) rather than failed."""


class Counts(msgspec.Struct, frozen=True):
    """What a parser read out of a framework's results."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failures: list[Failure] = []
    tests: list[str] = []
    """Names of the tests that really ran, passed or failed."""

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped


class TestReport(msgspec.Struct, frozen=True, kw_only=True):
    """A test run. `ok` is decided by the real exit code and the framework's own results, never by a claim."""

    __test__: ClassVar[bool] = False  # its name makes pytest take it for a test

    command: str
    """As a person would type it."""
    framework: str
    """`pytest`, `jest`, `vitest`, `npm`, `go`, `cargo`, `make`, `command`, or empty: none was found."""
    exit_code: int | None
    """`None`: nothing was run."""
    ok: bool
    """Exit code 0, in time, at least one test ran and none failed."""
    reason: str = ""
    """Why it is not ok, in a sentence."""
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    total: int = 0
    """0 with `counted` false: this framework does not tell."""
    counted: bool = False
    """Whether the numbers were read from results; `make` gives none."""
    failures: list[Failure] = []
    """The first of them; `failed` and `errors` count all."""
    tests: list[str] = []
    """Names of the tests that ran."""
    seconds: float = 0.0
    timed_out: bool = False
    coverage: float | None = None
    """Percent of lines, where the project measures it."""
    output: str = ""
    """What was printed, failures first, cut to what matters."""
    tier: str = ""
    """The tier of the sandbox it ran in."""
    warnings: list[str] = []
    """Sentences about dangerous files that the tests left, which were made safe."""


MAX_READ = 1_000_000


class TestCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and what it needs around it."""

    __test__ = False  # its name makes pytest take it for a test

    argv: list[str]
    framework: str
    """`pytest`, `jest`, `vitest`, `npm`, `go`, `cargo`, `make` or `command`: how its results are read."""
    told_as: str
    """As a person would type it."""
    why: str
    """What it was told by: a file of the project, or the user."""
    env: dict[str, str] = {}
    readable: list[str] = []
    """Folders outside that it needs, such as an interpreter's; they cannot be written."""
    links: dict[str, str] = {}
    """Names in the project's folder that lead to such a folder while the tests run."""


class Project(msgspec.Struct, frozen=True):
    """What tests are looked for in."""

    tree: Path
    """The work tree."""
    files: frozenset[str]
    """Every file of it that git knows."""
    origin: Path
    """The user's folder, for what is installed there: `.venv`, `node_modules`."""
    results: Path
    """The folder that frameworks write their results to."""
    below: str = ""
    """Where in the tree the project lies."""

    def has(self, name: str) -> bool:
        return self._at(name) in self.files

    def text(self, name: str) -> str:
        """What a file of the project says; empty if there is none."""
        if not self.has(name):
            return ""
        try:
            return WorkTree(self.tree).read(self._at(name), MAX_READ).decode("utf-8", "replace")
        except (OSError, WorkspaceError):  # a link or something huge tells nothing about tests
            return ""

    def installed(self, name: str) -> Path | None:
        """A folder beside the user's files that git does not know, such as `.venv`."""
        for folder in dict.fromkeys((self.below, "")):
            path = f"{folder}/{name}" if folder else name
            place = self.origin / path
            if place.is_dir() and not any(file == path or file.startswith(path + "/") for file in self.files):
                return place
        return None

    def own_files(self) -> list[str]:
        """The project's files, from its own folder."""
        prefix = f"{self.below}/" if self.below else ""
        return [file[len(prefix) :] for file in self.files if file.startswith(prefix)]

    def _at(self, name: str) -> str:
        return f"{self.below}/{name}" if self.below else name


MAX_OUTPUT = 8_000
MAX_FAILURE = 3_000
MAX_FAILURES = 20
MAX_NAMES = 5_000

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def plain(text: str, tree: Path | None = None) -> str:
    """Without colours and control characters, and with paths as the project has them."""
    text = _CONTROL.sub("", _ESCAPE.sub("", text)).replace("\r\n", "\n")
    text = "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))  # a progress bar's last state
    return text.replace(f"{tree}/", "").replace(str(tree), ".") if tree else text


def ends_of(text: str, limit: int) -> str:
    """The beginning and, mostly, the end of a long text, with a mark of what is missing between."""
    text = text.strip("\n")
    if len(text) <= limit:
        return text
    head, tail = limit // 4, limit - limit // 4
    start, end = text[:head].rpartition("\n")[0], text[-tail:].partition("\n")[2]
    start, end = start or text[:head], end or text[-tail:]
    return f"{start}\n[… {len(text) - len(start) - len(end):,} characters …]\n{end}"


def first_line(text: str, limit: int = 300) -> str:
    """The first line that says something."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"
