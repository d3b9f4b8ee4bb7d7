"""Function calls as data: capturing functions at import, encoding arguments, running a call with a limit."""

from __future__ import annotations

import ast
import asyncio
import builtins
import hashlib
import importlib.machinery
import inspect
import itertools
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

Outcome = tuple[str, str]
"""`value` and a description of it, `raise` and the exception's name, or `time`."""
Wrap = Callable[[str, str, Any], Any]
"""Gets a file, the qualified name of a function in it and the function; returns its replacement."""

MAX_TEXT = 2_000
"""Maximum characters of an argument."""
MAX_RESULT = 4_000
"""Maximum characters of a result; longer ones are hashed."""
MAX_YIELDED = 1_000
DECORATOR = "__podium_capture__"
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_PLAIN = (int, float, complex, str, bytes, bool, type(None))


class TooSlow(BaseException):
    """A call took too long. Not an `Exception`, so that the function itself does not catch it."""


def is_literal(value: Any, depth: int = 0) -> bool:
    """Return True if `repr` of the value can be read back."""
    kind: Any = value.__class__
    if kind in _PLAIN:
        return value == value and value not in (float("inf"), float("-inf"))
    if depth > 20:
        return False
    if kind in (list, tuple, set):
        return all(is_literal(part, depth + 1) for part in value)
    return kind is dict and all(
        is_literal(key, depth + 1) and is_literal(part, depth + 1) for key, part in value.items()
    )


def encode(value: Any, *, is_first: bool = False) -> list[str] | None:
    """Return an argument as `["value", repr]`; for the first one also `["object", class, state]` and
    `["class", name]`; None if it cannot be encoded."""
    if is_literal(value):
        text = repr(value)
        return ["value", text] if len(text) <= MAX_TEXT else None
    if is_first and isinstance(value, type):
        return ["class", value.__qualname__]
    state = getattr(value, "__dict__", None)
    if is_first and state is not None and is_literal(dict(state)):
        text = repr(dict(state))
        return ["object", type(value).__qualname__, text] if len(text) <= MAX_TEXT else None
    return None


def decode(item: list[str], module: Any) -> Any:
    """Return a new value for an encoded argument."""
    if item[0] == "value":
        return ast.literal_eval(item[1])
    kind = module
    for part in item[1].split("."):
        kind = getattr(kind, part)
    if item[0] == "class":
        return kind
    value = kind.__new__(kind)
    value.__dict__.update(ast.literal_eval(item[2]))
    return value


def describe(value: Any) -> str:
    """Return a text that is equal for equal results."""
    if inspect.isgenerator(value):
        value = list(itertools.islice(value, MAX_YIELDED))
    text = repr(_sorted(value)) if is_literal(value) else f"<{type(value).__name__}> {_shown(value)}"
    if len(text) > MAX_RESULT:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        text = f"{text[:100]}… sha256 {digest}"
    return text


def _sorted(value: Any) -> Any:
    """Sets have no stable order."""
    return ("set", sorted(value, key=repr)) if isinstance(value, set) else value  # pyright: ignore


def _shown(value: Any) -> str:
    state = getattr(value, "__dict__", None)
    text = repr(value)
    if _ADDRESS.search(text) and state is not None:
        text += repr(sorted(state.items(), key=repr))
    return _ADDRESS.sub("0x", text)


def call(function: Any, args: list[Any], kwargs: dict[str, Any], seconds: float) -> Outcome:
    """Call a function and describe its outcome. It has this much processor time, which does not depend on how
    busy the machine is, and ten times as much wall time, at least two seconds."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.05)  # again, if a broad `except` swallows the first
    signal.setitimer(signal.ITIMER_REAL, max(2.0, seconds * 10), 0.05)
    try:
        result = function(*args, **kwargs)
        if inspect.iscoroutine(result):
            result = asyncio.new_event_loop().run_until_complete(result)
        outcome = ("value", describe(result))
    except TooSlow:
        outcome = ("time", "")
    except BaseException as error:  # noqa: BLE001
        outcome = ("raise", type(error).__name__)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return outcome


def call_as_test(function: Any, args: list[Any], kwargs: dict[str, Any], seconds: float) -> Outcome:
    """Make a call from code that looks like a test: some code looks at the stack."""
    scope: dict[str, Any] = {"call": call, "__name__": "test_again"}
    source = f"def test_again(*given):\n    return call(*given, {seconds})\n"
    exec(compile(source, os.path.abspath("tests/test_again.py"), "exec"), scope)
    return scope["test_again"](function, args, kwargs)


def _too_slow(number: int, frame: Any) -> None:
    raise TooSlow


def quiet() -> None:
    """Send everything that calls print to nowhere, and give them no input."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115


Targets = dict[str, list[str]]
"""Qualified names of functions by the real path of their file."""


def capture(targets: Targets, wrap: Wrap) -> None:
    """Pass the target functions to `wrap` when their module is imported."""
    loader = importlib.machinery.SourceFileLoader
    original: Any = loader.source_to_code

    def source_to_code(self: Any, data: Any, path: Any, *args: Any, **options: Any) -> Any:
        names = targets.get(os.path.realpath(str(path)))
        if names:
            tree = ast.parse(data, str(path))
            mark(tree, os.path.realpath(str(path)), names)
            data = tree
        return original(self, data, path, *args, **options)

    setattr(builtins, DECORATOR, lambda file, name: lambda function: wrap(file, name, function))  # pyright: ignore
    loader.source_to_code = source_to_code  # pyright: ignore
    # bytecode that was written before would bypass it
    loader.get_code = _without_bytecode(loader.get_code, targets)  # pyright: ignore


def _without_bytecode(original: Any, targets: Targets) -> Any:
    def get_code(self: Any, fullname: str) -> Any:
        path = self.get_filename(fullname)
        if os.path.realpath(path) in targets:
            return self.source_to_code(self.get_data(path), path)
        return original(self, fullname)

    return get_code


def mark(tree: ast.Module, file: str, names: list[str]) -> None:
    """Decorate the named functions, below their other decorators."""
    for name, node in functions(tree):
        if name in names:
            decorator = ast.parse(f"{DECORATOR}({file!r}, {name!r})", mode="eval").body
            for part in ast.walk(decorator):
                ast.copy_location(part, node)
            node.decorator_list.append(decorator)


def functions(tree: ast.Module) -> list[tuple[str, Any]]:
    """Return functions and methods with their qualified names, without functions inside functions."""
    known: list[tuple[str, Any]] = []

    def visit(body: list[Any], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                known.append((prefix + node.name, node))
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, (ast.If, ast.Try)):
                visit(node.body, prefix)
                visit(node.orelse, prefix)

    visit(tree.body, "")
    return known


class Clock:
    """A deadline."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._end
