"""Common parts of the probes of all languages: recorded calls, arguments, observations and findings."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from podium.errors import ResultRefusedError
from podium.tools.sandbox.sandbox import read_result
from podium.tools.testing.cases import is_test_file
from podium.tools.testing.findings import ChangedFile, Finding
from podium.tools.testing.fresh_inputs import Arguments, Opaque
from podium.tools.testing.verdicts import Example, Observation, Outcome, judge
from podium.tools.workspace.edits import decoded
from podium.tools.workspace.workspace import Workspace

MAX_FUNCTIONS = 200
MAX_EXAMPLES = 40
MAX_CALLS_FILE, MAX_CALLS_FILES = 20_000_000, 1_000
MAX_OBSERVATION = 5_000_000
SECONDS_EACH = 10.0
"""Maximum seconds for one function."""


class Literals(NamedTuple):
    """Notation of values as text in a language."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


class Target(msgspec.Struct, frozen=True):
    """A new or changed function."""

    path: str
    name: str
    """Qualified name: `Class.method`."""
    line: int


class Call(msgspec.Struct):
    """A line of the recorder. `again` is the result of the repeated call."""

    file: str
    name: str
    args: list[list[str]]
    kwargs: dict[str, list[str]]
    module: str = ""
    path: list[str] = []
    argv: list[str] = []
    result: Outcome | None = None
    again: Outcome | None = None


class Recorded(msgspec.Struct):
    """The recorded calls of a function, by their arguments."""

    literals: Literals
    module: str
    path: list[str]
    argv: list[str]
    calls: dict[str, Call] = {}

    def add(self, call: Call) -> None:
        key = repr((call.args, call.kwargs))
        if call.again is not None:
            if key in self.calls:
                self.calls[key].again = call.again
        elif call.result is not None and self._arguments(call) is not None and len(self.calls) < MAX_EXAMPLES:
            self.calls.setdefault(key, call)

    def _arguments(self, call: Call) -> Arguments | None:
        """Return the arguments as values; None if they are not as the recorder writes them."""

        def value(item: list[str]) -> Any:
            return self.literals.read(item[1]) if item[0] == "value" else Opaque(item)

        try:
            return [value(item) for item in call.args], {
                key: value(item) for key, item in call.kwargs.items()
            }
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, IndexError):
            return None

    def inputs(self) -> list[Arguments]:
        every = [self._arguments(call) for call in self.calls.values()]
        return [arguments for arguments in every if arguments is not None]

    def examples(self) -> list[Example]:
        unknown: Outcome = ("time", "")
        return [
            Example(self._shown(call), call.result or unknown, call.again or unknown)
            for call in self.calls.values()
        ]

    def _shown(self, call: Call) -> str:
        def text(item: list[str]) -> str:
            return repr(self.literals.read(item[1])) if item[0] == "value" else item[-1]

        texts = [text(item) for item in call.args]
        texts += [f"{key}={text(item)}" for key, item in call.kwargs.items()]
        return re.sub(r"\s+", " ", ", ".join(texts))[:300]

    def items(self, arguments: Arguments) -> dict[str, Any]:
        """Return arguments as the replay reads them."""

        def item(value: Any) -> list[str]:
            return value.item if isinstance(value, Opaque) else ["value", self.literals.write(value)]

        return {
            "args": [item(value) for value in arguments[0]],
            "kwargs": {key: item(value) for key, value in arguments[1].items()},
        }


Functions = dict[tuple[str, str], Recorded]
"""Recorded calls by path and function."""


def read_calls(results: Path, paths: Collection[str], literals: Literals, tree: Path) -> Functions:
    """Return the recorded calls. Lines that are no calls are left out."""
    recorded: Functions = {}
    for file in sorted(results.glob("calls-*.jsonl"))[:MAX_CALLS_FILES]:  # one a process, or a test file
        try:
            data = read_result(results, file.name, max_bytes=MAX_CALLS_FILE)
        except (OSError, ResultRefusedError):
            continue
        for line in data.splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                call = msgspec.json.decode(line, type=Call)
                path = call.file.removeprefix(f"{tree}/")
                if path in paths:
                    first = Recorded(literals, call.module, call.path, call.argv)
                    recorded.setdefault((path, call.name), first).add(call)
    return recorded


def read_observation(results: Path, number: int) -> Observation | None:
    """Return what a replay wrote; None if the function hung or ended the process."""
    try:
        data = read_result(results, f"{number}.json", max_bytes=MAX_OBSERVATION)
        return msgspec.json.decode(data, type=Observation)
    except (OSError, ResultRefusedError, msgspec.MsgspecError):
        return None


def read_observations(results: Path, count: int) -> dict[int, Observation]:
    """Return the observations of a replay by the number of the function."""
    observations = [read_observation(results, number) for number in range(count)]
    return {number: seen for number, seen in enumerate(observations) if seen is not None}


def findings_of(target: Target, recorded: Recorded, seen: Observation, *, encoded: bool) -> list[Finding]:
    """Judge one function."""
    verdict = judge(target.name, recorded.examples(), seen, encoded=encoded)
    if verdict is None:
        return []
    line = verdict.line or target.line
    return [Finding("hard_coded", verdict.severity, target.path, verdict.message, line, verdict.evidence)]


async def changed_files(workspace: Workspace, since: str, endings: tuple[str, ...]) -> list[ChangedFile]:
    """Return the changed files with these endings that are no tests."""
    stats = [
        stat
        for stat in await workspace.stat(since)
        if stat.path.endswith(endings) and not is_test_file(stat.path) and stat.status != "deleted"
    ]
    old = await workspace.contents(since, [stat.old_path or stat.path for stat in stats])
    new = await workspace.contents(workspace.state, [stat.path for stat in stats])
    return [
        ChangedFile(stat.path, _text(old.get(stat.old_path or stat.path)), _text(new[stat.path]))
        for stat in stats
        if stat.path in new
    ]


def _text(data: bytes | None) -> str | None:
    file = decoded(data) if data is not None else None
    return file.text if file else None


def is_encoded(value: Any) -> bool:
    """Return True for a long text without spaces: base64, hexadecimal digits or bytes."""
    if not isinstance(value, str | bytes) or len(value) < 60:
        return False
    return isinstance(value, bytes) or not re.search(r"\s", value)
