"""Replay of recorded calls outside the tests: on the same inputs, on fresh ones, with changed constants.

Usage: `python -m podium_inside.replaying JOB RESULTS`. Each function has a process of its own, which writes
what it observed; a function that hangs or ends the process has no observations, or incomplete ones.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

from podium.tools.testing.inside.calls import (
    Clock,
    Outcome,
    call,
    call_as_test,
    capture,
    decode,
    functions,
    mark,
    quiet,
)
from podium.tools.testing.inside.outside import LookUps, texts_in

Call = Callable[[Any, list[Any], dict[str, Any], float], Outcome]

SECONDS_A_CALL = 0.5
MAX_CONSTANTS = 250
MAX_TIMEOUTS = 6
"""Timeouts with one changed constant, after which its other calls are left out."""


def main() -> None:
    job_path, results = sys.argv[1:3]
    with open(job_path, encoding="utf-8") as file:
        job = json.load(file)
    quiet()
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    hidden = Hidden(job["hidden"])
    if job["as_test"]:
        hidden.restore()
        pretend_test(job["argv"])
    clock = Clock(job["seconds"])
    for number, function in enumerate(job["functions"]):
        if clock.is_over:
            break
        replay = Replay(function, f"{results}/{number}.json", hidden, job["seconds_each"])
        run_apart(replay.run_as_test if job["as_test"] else replay.run, replay.path, job["seconds_each"])


def pretend_test(argv: list[str]) -> None:
    """Make this process look as if it ran tests."""
    for name in ("unittest", "pytest"):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    os.environ["PYTEST_CURRENT_TEST"] = "tests/test_again.py::test_again (call)"
    os.environ["PYTEST_VERSION"] = str(getattr(sys.modules.get("pytest"), "__version__", ""))
    sys.argv[:] = argv


def run_apart(work: Callable[[], None], path: str, seconds: float) -> None:
    """Observe one function in a child process, and kill that when its time is over."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:  # noqa: BLE001 - whatever the project's code raises
            write(path + ".error", {"error": traceback.format_exc()[-2000:]})
        os._exit(0)
    end = time.monotonic() + seconds * 1.5 + 2
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return
        time.sleep(0.005)


def write(path: str, data: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)


class Hidden:
    """Test files that are moved aside."""

    def __init__(self, paths: list[str]) -> None:
        self._places = dict[str, str]()
        folder = tempfile.mkdtemp()
        for number, path in enumerate(paths):
            place = f"{folder}/{number}"
            shutil.move(path, place)
            self._places[path] = place

    def restore(self) -> None:
        for path, place in self._places.items():
            shutil.copy(place, path)

    def hide(self) -> None:
        for path in self._places:
            os.unlink(path)


class Replay:
    """Observations of one function."""

    def __init__(self, job: dict[str, Any], path: str, hidden: Hidden, seconds: float) -> None:
        self._job, self.path, self._hidden = job, path, hidden
        self._clock = Clock(seconds)
        self._captured = dict[str, Any]()
        self._limits = dict[int, float]()
        self._outside = set[int]()
        self._seen: dict[str, Any] = {}

    def run(self) -> None:
        """Make all observations, and write them after each part."""
        job, seen = self._job, self._seen
        self._import()
        function = self._captured[job["name"]]
        seen["replayed"] = self._outcomes(function, job["examples"])
        self._save()
        self._hidden.restore()
        seen["visible"] = self._outcomes(function, job["examples"])
        self._hidden.hide()
        seen["again"] = self._outcomes(function, job["examples"])
        seen["fresh"] = self._outcomes(function, job["fresh"], first=len(job["examples"]))
        seen["fresh_again"] = self._outcomes(function, job["fresh"], first=len(job["examples"]))
        self._save()
        if job["old"] is not None:
            self._compare_old()
            self._save()
        self._change_constants()
        seen["finished"] = not self._clock.is_over
        self._save()

    def run_as_test(self) -> None:
        """Make the recorded calls as a test does."""
        self._import()
        function = self._captured[self._job["name"]]
        for name in ("as_test", "as_test_again"):
            self._seen[name] = self._outcomes(function, self._job["examples"], call=call_as_test)
        self._save()

    def _save(self) -> None:
        self._seen["outside"] = sorted(self._outside)
        write(self.path, self._seen)

    def _import(self) -> None:
        job = self._job
        sys.path[:] = job["path"]
        self._look_ups = LookUps()
        self._file = job["file"]
        capture({job["file"]: [job["name"]]}, self._keep)
        try:
            self._module: Any = importlib.import_module(job["module"])
        except ImportError:  # it imports from the tests
            self._hidden.restore()
            self._module = importlib.import_module(job["module"])
            self._hidden.hide()

    def _keep(self, file: str, name: str, function: Any) -> Any:
        self._captured[name] = function
        return function

    def _outcomes(self, function: Any, inputs: list[Any], first: int = 0, call: Call = call) -> list[Outcome]:
        return [self._outcome(function, given, first + number, call) for number, given in enumerate(inputs)]

    def _outcome(self, function: Any, given: Any, number: int, call: Call = call) -> Outcome:
        """Call on one input. Later calls with it may take a few times as long as the first."""
        if self._clock.is_over:
            return ("time", "")
        try:
            args = [decode(item, self._module) for item in given["args"]]
            kwargs = {name: decode(item, self._module) for name, item in given["kwargs"].items()}
        except Exception:  # noqa: BLE001 - an object that cannot be rebuilt
            return ("time", "")
        self._look_ups.clear()
        texts = texts_in([*args, *kwargs.values()])
        began = time.process_time()
        outcome = call(function, args, kwargs, self._limits.get(number, SECONDS_A_CALL))
        took = time.process_time() - began
        self._limits.setdefault(number, min(SECONDS_A_CALL, max(0.05, took * 10)))
        if self._look_ups.are_named_by(texts):
            self._outside.add(number)
        return outcome

    def _compare_old(self) -> None:
        """Run the function as it was before the change on the same inputs."""
        job = self._job
        try:
            tree = ast.parse(job["old"])
            mark(tree, self._file, [job["name"]])
            self._captured.clear()
            scope = dict(self._module.__dict__)
            exec(compile(tree, self._file, "exec"), scope)
            old = self._captured[job["name"]]
        except Exception:  # noqa: BLE001 - the old file does not run any more
            return
        self._seen["old"] = self._outcomes(old, job["examples"])
        self._seen["old_fresh"] = self._outcomes(old, job["fresh"], first=len(job["examples"]))

    def _change_constants(self) -> None:
        """Change one constant at a time, in two ways, and note which inputs then have another outcome."""
        with open(self._file, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        lines = set(self._job["lines"])
        seen, constants = self._seen, list[dict[str, Any]]()
        seen["constants"] = constants
        known = _constants(tree, self._job["name"], lines)
        for statement, node in known[:: -(-len(known) // MAX_CONSTANTS) or 1]:
            if self._clock.is_over:
                return
            effects = [self._effect(tree, statement, node, value) for value in variants(node.value)]
            worked = [effect for effect in effects if effect is not None]
            if len(worked) == 2:
                constants.append(
                    {
                        "line": node.lineno,
                        "value": repr(node.value)[:200],
                        "examples": sorted({index for effect in worked for index in effect[0]}),
                        "fresh": sorted({index for effect in worked for index in effect[1]}),
                        "each": all(effect[0] or effect[1] for effect in worked),
                    }
                )

    def _effect(
        self, tree: ast.Module, statement: ast.stmt, node: ast.Constant, value: Any
    ) -> tuple[list[int], list[int]] | None:
        """Return the examples and fresh inputs that a changed constant affects, at most two of each; None if
        the module does not run with it."""
        try:
            function = self._changed(tree, statement, node, value)
        except BaseException:  # noqa: BLE001 - module code with a wrong constant may do anything
            return None
        examples = self._affected(function, self._job["examples"], self._seen["replayed"], 0)
        if len(examples) > 1:
            return examples, []
        first = len(self._job["examples"])
        return examples, self._affected(function, self._job["fresh"], self._seen["fresh"], first)

    def _affected(self, function: Any, inputs: list[Any], outcomes: list[Outcome], first: int) -> list[int]:
        affected, timeouts = list[int](), 0
        for number, (given, outcome) in enumerate(zip(inputs, outcomes)):  # noqa: B905 - Python 3.9
            if outcome[0] == "time":
                continue
            other = self._outcome(function, given, first + number)
            timeouts += other[0] == "time"
            if other != outcome:
                affected.append(number)
            if len(affected) > 1 or timeouts > MAX_TIMEOUTS:
                break
        return affected

    def _changed(self, tree: ast.Module, statement: ast.stmt, node: ast.Constant, value: Any) -> Any:
        """Return the function of a copy of the module, with another value for one constant."""
        scope = dict(self._module.__dict__)
        for name, kept in self._module.__dict__.items():
            if isinstance(kept, types.FunctionType) and kept.__globals__ is self._module.__dict__:
                scope[name] = rebound(kept, scope)
        original, node.value = node.value, value
        try:
            body = statements_after(tree, statement, self._job["name"])
            part = ast.Module(body=[copy.deepcopy(piece) for piece in body], type_ignores=[])
        finally:
            node.value = original
        mark(part, self._file, [self._job["name"]])
        self._captured.clear()
        exec(compile(part, self._file, "exec"), scope)
        return self._captured[self._job["name"]]


def rebound(function: types.FunctionType, scope: dict[str, Any]) -> types.FunctionType:
    """Return a copy of a function that looks up globals in another scope."""
    twin = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


def statements_after(tree: ast.Module, statement: ast.stmt, name: str) -> list[ast.stmt]:
    """Return the changed statement, later assignments that may depend on it, and the function itself."""
    owner = next(node for node in tree.body if _defines(node, name))
    if statement is owner:
        return [owner]
    simple = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)
    later = [node for node in tree.body if node.lineno > statement.lineno and isinstance(node, simple)]
    return [statement, *later, owner]


def _defines(node: ast.stmt, name: str) -> bool:
    return any(other == name for other, _ in functions(ast.Module(body=[node], type_ignores=[])))


def _constants(tree: ast.Module, name: str, lines: set[int]) -> list[tuple[ast.stmt, ast.Constant]]:
    """Return constants on changed lines: of the function, and of the module's own statements."""
    owner = next((node for node in tree.body if _defines(node, name)), None)
    found = list[tuple[ast.stmt, ast.Constant]]()
    for statement in tree.body:
        if statement is owner:
            nodes: list[ast.AST] = [node for other, node in functions(tree) if other == name]
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Expr)):
            continue
        else:
            nodes = [statement]
        every = [part for root in nodes for part in ast.walk(root)]
        texts = {id(part.value) for part in every if isinstance(part, ast.Expr)}  # docstrings
        for node in every:
            if isinstance(node, ast.Constant) and node.lineno in lines and id(node) not in texts:
                found += [(statement, node)] if variants(node.value) else []
    return found if owner is not None else []


def variants(value: Any) -> list[Any]:
    """Return two other values for a constant: a near one and a far one; none if there is no good one."""
    if isinstance(value, bool):
        return [not value, f"not {value}"]
    if isinstance(value, (int, float)):
        return [value + 1, value + 17 + abs(value) // 2]
    if isinstance(value, str):
        return [value + "~", "~" + value[::-1]] if value else []
    if isinstance(value, bytes):
        return [value + b"~", b"~" + value[::-1]] if value else []
    return []


if __name__ == "__main__":
    main()
