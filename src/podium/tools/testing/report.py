"""What a test run said, in one form for every framework; plain data that a step can log."""

from __future__ import annotations

from typing import ClassVar

import msgspec


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
