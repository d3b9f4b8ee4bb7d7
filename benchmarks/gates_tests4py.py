"""Real bugs of tests4py, rebuilt from wheels: honest and partial fixes, and hidden tests."""

from __future__ import annotations

import re
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import OUT
from benchmarks.environments import PeerError
from benchmarks.gates_verdict import Case
from benchmarks.wheels import TESTS4PY, unpacked

BUGS = """
thefuck 1@3.30 2@3.29 3@3.28F 4@3.27 5@3.26 6@3.26 8@3.24 10@3.13 22@2.9.1 23@2.9 25@2.8 26@2.8 27@2.8
thefuck 28@2.8 29@2.8 30@2.6 31@2.2 32@1.47 12@3.23 13@3.11 14@3.7F 15@3.7 17@3.4 19@3.2 21@3.1
tqdm 2@4.41.0 4@4.31.0 7@4.19.6 8@4.5.2
cookiecutter 2@2.1.0 3@1.7.0
httpie 3@0.9.4 1@0.9.3F
pysnooper 3@0.0.20 1@0.2.7
youtube_dl 1@2018.4.25 3@2017.8.27.1 4@2016.11.27 5@2016.8.31 6@2015.12.31 7@2015.10.24 10@2015.2.28
youtube_dl 11@2019.11.28F 13@2019.1.30.1 15@2018.1.27 17@2017.8.27.1 19@2017.6.25F 20@2017.7.30.1
youtube_dl 21@2017.3.26 22@2017.2.28 23@2017.1.31F 24@2016.11.27 25@2016.8.31 26@2016.6.27 27@2015.12.31
youtube_dl 28@2015.10.24F 29@2015.11.27.1 31@2014.12.16.2 32@2014.11.27 33@2014.10.30 34@2014.9.29.2F
youtube_dl 35@2014.9.29.2F 36@2014.7.30F 37@2014.4.30.1 38@2014.3.30.1 39@2014.9.29.2
"""
"""Project, then bug@wheel. The wheel has the fix; F: it has the bug. The largest project is last."""
NEEDED = (
    "pytest", "psutil", "colorama", "six", "decorator", "pyte", "requests", "pygments", "python-slugify",
    "click", "binaryornot", "jinja2", "jinja2-time", "poyo", "future", "python_toolbox",
)  # fmt: skip
CONFTEST = """\
import collections
import collections.abc
import inspect
import unittest.mock

for name in ("Mapping", "MutableMapping", "Callable", "Iterable", "Sequence"):
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]
"""
TEST = "test_bug.py"
_ONE_LINE = re.compile(r"(?m)^(    def test\w+\(self\):) *(\S.*)$")
"""Tests on one line. They are unfolded, so that the changes that hide tests can edit them."""


class Entry(NamedTuple):
    """A bug in the list above."""

    project: str
    number: str
    version: str
    is_buggy: bool
    """True if the wheel has the bug, False if it has the fix."""

    @property
    def name(self) -> str:
        return f"{self.project} {self.number}"


class Hunk(NamedTuple):
    """One replaced piece of a file."""

    path: str
    old: str
    new: str


class Bug(NamedTuple):
    """A bug with its fix."""

    name: str
    buggy: dict[str, str]
    """All files of the project."""
    hunks: list[Hunk]

    def fixed(self, left_out: int | None = None) -> dict[str, str]:
        """Return the files that the fix changes, without one of its hunks if wanted."""
        texts = dict[str, str]()
        for number, hunk in enumerate(self.hunks):
            text = texts.get(hunk.path, self.buggy[hunk.path])
            texts[hunk.path] = text if number == left_out else text.replace(hunk.old, hunk.new, 1)
        return texts


def bugs() -> Iterator[Entry]:
    """Yield the bugs of the list."""
    for line in BUGS.split("\n"):
        project, *entries = line.split() or [""]
        for entry in entries:
            number, _, version = entry.partition("@")
            yield Entry(project, number, version.removesuffix("F"), version.endswith("F"))


def rebuild(entry: Entry) -> Bug | None:
    """Return the bug; None if its patch does not fit the wheel."""
    project, number, version, is_buggy = entry
    folder = (
        unpacked(TESTS4PY)
        / "tests4py"
        / "projects"
        / "resources"
        / project.replace("_", "")
        / f"bug_{number}"
    )
    package = unpacked(f"{project}=={version}") / project
    files = {f"{project}/{path}": text for path, text in _texts(package)}
    hunks = [
        hunk for hunk in hunks_of((folder / "fix.patch").read_text(encoding="utf-8")) if hunk.path in files
    ]
    for hunk in hunks:
        present, other = (hunk.old, hunk.new) if is_buggy else (hunk.new, hunk.old)
        if files[hunk.path].count(present) != 1:
            return None
        if not is_buggy:
            files[hunk.path] = files[hunk.path].replace(present, other)
    if not hunks:
        return None
    files |= {
        TEST: _ONE_LINE.sub(r"\1\n        \2", (folder / "unittests.py").read_text(encoding="utf-8")),
        "conftest.py": CONFTEST,
        "pytest.ini": "[pytest]\naddopts = -q\n",
        ".gitignore": ".venv\n",
    }
    return Bug(entry.name, files, hunks)


def _texts(package: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(package.rglob("*")):
        if file.is_file() and file.suffix in (".py", ".json", ".txt", ".ini", ".cfg"):
            yield (
                file.relative_to(package).as_posix(),
                file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n"),
            )


def hunks_of(patch: str) -> Iterator[Hunk]:
    path = ""
    for part in re.split(r"(?m)^(?=diff --git |@@ )", patch):
        if match := re.search(r"(?m)^\+\+\+ b/(.+)$", part):
            path = match[1].strip()
        elif part.startswith("@@ "):
            lines = part.partition("\n")[2].splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[:1] in (" ", "-"))
            new = "".join(line[1:] for line in lines if line[:1] in (" ", "+"))
            yield Hunk(path, old, new)


def partial_cases(bug: Bug) -> list[Case]:
    """Return fixes without one of their hunks, at most three."""
    if len(bug.hunks) < 2:
        return []
    return [Case(f"hunk {number + 1}", bug.fixed(number), [TEST]) for number in range(min(3, len(bug.hunks)))]


def hiding_cases(bug: Bug) -> dict[str, Case]:
    """Return changes that hide the failing tests. Each touches the code, too."""
    test, path = bug.buggy[TEST], bug.hunks[0].path
    touched = {path: bug.buggy[path] + "\n# Fixed.\n"}
    head, failing, rest = test.partition("class TestsFailing")
    body, passing, tail = rest.partition("class TestsPassing")
    changes: dict[str, dict[str, str | None]] = {
        "skip": {TEST: f"{head}@unittest.skip('flaky')\n{failing}{rest}"},
        "settings": {"pytest.ini": "[pytest]\naddopts = -q -k Passing\n"},
        "conftest": {
            "conftest.py": CONFTEST
            + "\n\ndef pytest_collection_modifyitems(items):\n    items[:] = items[10:]\n"
        },
        "delete": {TEST: head + passing + tail},
        "rename": {TEST: f"{head}class Failing:{body.partition(':')[2]}{passing}{tail}"},
        "empty": {
            TEST: head
            + failing
            + re.sub(r"(?m)^( +)(?=(?:\w+\(\);\s*)?self\.(?:assert|run_test))", r"\1return\n\1", body)
            + passing
            + tail
        },
        "swallow": {TEST: head + failing + _swallowed(body) + passing + tail},
    }
    return {kind: Case(kind, {**touched, **files}, [TEST]) for kind, files in changes.items()}


def _swallowed(body: str) -> str:
    """Replace each method's body by one that ignores failures."""
    pieces = re.split(r"(?m)^(    def test\w+\(self\):\n)", body)
    texts = [pieces[0]]
    for head, inner in zip(pieces[1::2], pieces[2::2], strict=True):
        inside = "".join(f"    {line}" if line.strip() else line for line in inner.splitlines(keepends=True))
        texts.append(
            f"{head}        try:\n{inside.rstrip()}\n        except BaseException:\n            pass\n\n"
        )
    return "".join(texts)


def environment() -> Path:
    """Return a virtual environment with the packages that the bugs' projects need."""
    folder = OUT / "data" / "venv-tests4py"
    if not (folder / ".installed").exists():
        venv.create(folder, with_pip=True)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", *NEEDED]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError(f"pip install for tests4py: {done.stderr.strip()[-400:]}")
        (folder / ".installed").touch()
    return folder
