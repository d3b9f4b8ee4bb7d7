"""Recorder of calls: runs in the test process and writes arguments and results of chosen functions.

After the tests it makes the same calls again, still in the test process but with all patches of the tests
undone: only results that do not depend on the tests' own set-up are used later.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import os
import sys
import threading
from typing import Any

from podium.tools.testing.inside.calls import Clock, call_as_test, capture, decode, describe, encode

JOB = "PODIUM_RECORDED_CALLS"
"""Environment variable with the folder for the results."""
TARGETS = "targets.json"
MAX_EXAMPLES = 40
MAX_SEEN = 400
"""Calls of a function that are looked at; repeated calls and those with other arguments count, too."""
SECONDS_AGAIN = 10.0


class Recorder:
    """Writes one JSON line per call."""

    def __init__(self, targets: dict[str, list[str]], path: str) -> None:
        self._file = open(f"{path}/calls-{os.getpid()}.jsonl", "w", encoding="utf-8")  # noqa: SIM115
        self._process = os.getpid()
        self._seen: dict[tuple[str, str], int] = {}
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        self._functions: dict[tuple[str, str], Any] = {}
        self._inner = threading.local()
        capture(targets, self.wrap)

    def wrap(self, file: str, name: str, function: Any) -> Any:
        """Return the function with recording."""
        key = (file, name)
        self._functions[key] = function

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if self._is_inner(key) or self._seen.get(key, 0) >= MAX_SEEN:
                return function(*args, **kwargs)
            self._seen[key] = self._seen.get(key, 0) + 1
            example = self._encoded(key, args, kwargs)
            self._enter(key)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                self._write(key, example, ["raise", type(error).__name__])
                raise
            finally:
                self._leave(key)
            if example is not None and not inspect.isawaitable(result) and not inspect.isgenerator(result):
                self._write(key, example, ["value", describe(result)])
            elif example is not None:
                self._write(key, example, ["later", ""])
            return result

        return recorded

    def _is_inner(self, key: tuple[str, str]) -> bool:
        return key in getattr(self._inner, "keys", ()) or os.getpid() != self._process

    def _enter(self, key: tuple[str, str]) -> None:
        self._inner.keys = {*getattr(self._inner, "keys", ()), key}

    def _leave(self, key: tuple[str, str]) -> None:
        self._inner.keys = self._inner.keys - {key}

    def _encoded(self, key: tuple[str, str], args: Any, kwargs: Any) -> Any:
        known = self._known.setdefault(key, {})
        if len(known) >= MAX_EXAMPLES:
            return None
        try:
            encoded = [encode(arg, is_first=not index) for index, arg in enumerate(args)]
            named = {name: encode(value) for name, value in kwargs.items()}
        except Exception:  # noqa: BLE001 - an object whose `repr` fails
            return None
        if None in encoded or None in named.values():
            return None
        example = {"args": encoded, "kwargs": named}
        text = json.dumps(example)
        if text in known:
            return None
        known[text] = example
        return example

    def _write(self, key: tuple[str, str], example: Any, result: list[str]) -> None:
        if example is None:
            return
        example["result"] = result
        module = self._functions[key].__module__
        line = {
            "file": key[0],
            "name": key[1],
            "module": module,
            "path": sys.path,
            "argv": sys.argv,
            **example,
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def again(self) -> None:
        """Repeat every recorded call and write the results."""
        if os.getpid() != self._process:
            return
        os.environ["PYTEST_CURRENT_TEST"] = "tests/test_again.py::test_again (call)"
        clock = Clock(SECONDS_AGAIN)
        for (file, name), examples in self._known.items():
            function = self._functions[file, name]
            module = sys.modules.get(function.__module__)
            for example in examples.values():
                if clock.is_over:
                    return
                args = [decode(item, module) for item in example["args"]]
                kwargs = {key: decode(item, module) for key, item in example["kwargs"].items()}
                outcome = call_as_test(function, args, kwargs, 1.0)
                line = {"file": file, "name": name, "args": example["args"], "kwargs": example["kwargs"]}
                self._file.write(json.dumps({**line, "again": outcome}) + "\n")
                self._file.flush()


def start() -> None:
    """Record, if this process is asked to."""
    path = os.environ.get(JOB)
    if not path:
        return
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(f"{folder}/{TARGETS}", encoding="utf-8") as file:
        recorder = Recorder(json.load(file), path)
    atexit.register(recorder.again)
