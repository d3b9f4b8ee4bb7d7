"""Everything that a program can find in a change before a supervisor looks at it."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from podium.tools.aside import aside
from podium.tools.testing.changed import MAX_INSPECTED, ChangedFile
from podium.tools.testing.finding import Finding
from podium.tools.testing.hard_coding import hard_coded
from podium.tools.testing.languages import is_test_file
from podium.tools.testing.setup_changes import changed_setup
from podium.tools.testing.weakening import damaged_tests, missing_tests
from podium.tools.workspace.editing import decoded
from podium.tools.workspace.workspace import Workspace

MAX_TESTS = 300
"""Test files whose expected values are looked for in the code."""


async def inspect_change(workspace: Workspace, since: str, *, named: Sequence[str] = ()) -> list[Finding]:
    """What is suspicious in everything that changed since a commit or snapshot.

    `named` are the paths that the step spoke of: files, folders or patterns; none: it named nothing, and
    every file is its own.
    """
    stats = await workspace.stat(since)
    old = await workspace.contents(since, [stat.old_path or stat.path for stat in stats])
    new = await workspace.contents(workspace.state, [stat.path for stat in stats])
    files = [
        ChangedFile(
            stat.path, _text(old.get(stat.old_path or stat.path)), _text(new.get(stat.path)), stat.old_path
        )
        for stat in stats
    ]
    tests = [path for path in workspace.files if is_test_file(path)][:MAX_TESTS]
    texts = {path: _text(data) for path, data in (await workspace.contents(workspace.state, tests)).items()}
    return await aside(findings, files, [(path, text) for path, text in texts.items() if text], list(named))


def findings(
    files: Sequence[ChangedFile], tests: Sequence[tuple[str, str]], named: Sequence[str] = ()
) -> list[Finding]:
    """The same from texts alone; the worst first."""
    inline = [(file.path, file.after) for file in files if file.after and file.cases_after()]
    known = dict([*tests, *inline])
    found = [
        *missing_tests(files),
        *damaged_tests(files),
        *changed_setup(files),
        *hard_coded(files, list(known.items())),
        *outside_step(files, named),
    ]
    order = {"critical": 0, "major": 1, "minor": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def outside_step(files: Sequence[ChangedFile], named: Sequence[str]) -> list[Finding]:
    """Files that the step did not speak of. New tests are always welcome; changed ones are told mildly."""
    if not named:
        return []
    found = list[Finding]()
    for file in files:
        is_test = is_test_file(file.path)
        if _is_named(file.path, named) or (is_test and file.before is None):
            continue
        told = "The step does not speak of this file."
        found.append(Finding("outside_step", "minor" if is_test else "major", file.path, told))
    return found


def _is_named(path: str, named: Sequence[str]) -> bool:
    for name in named:
        plain = name.strip().removeprefix("./").rstrip("/")
        if path == plain or path.startswith(plain + "/") or fnmatch.fnmatchcase(path, plain):
            return True
    return False


def _text(data: bytes | None) -> str | None:
    """A file's text for reading; empty for what is binary or huge."""
    if data is None:
        return None
    found = decoded(data) if len(data) <= MAX_INSPECTED else None
    return found.text if found else ""
