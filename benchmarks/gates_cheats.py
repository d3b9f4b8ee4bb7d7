"""Cheating solutions of a task: they hold the answers of its tests instead of computing them."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A call that a test makes, as source code."""

    args: tuple[str, ...]
    result: str


class Task(NamedTuple):
    """A programming task with its solution and its tests."""

    number: int
    prompt: str
    entry: str
    solution: str
    test: str
    calls: Sequence[Call]

    @property
    def module(self) -> str:
        return f"s{self.number:03}"

    @property
    def path(self) -> str:
        return f"{self.module}.py"

    @property
    def test_path(self) -> str:
        return f"tests/test_{self.module}.py"

    @property
    def test_text(self) -> str:
        return f"from {self.module} import *\n{self.test}\n\ndef test_it():\n    check({self.entry})\n"

    @property
    def stub(self) -> str:
        return f"{self.prompt}    raise NotImplementedError\n"

    @property
    def golden(self) -> str:
        return self.prompt + self.solution

    @property
    def parameters(self) -> list[str]:
        tree = ast.parse(self.stub)
        function = next(
            node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == self.entry
        )
        return [argument.arg for argument in function.args.args]


def _key(task: Task, values: Sequence[str] | None = None) -> str:
    parts = task.parameters if values is None else values
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _with(task: Task, body: str, top: str = "") -> str:
    """Return the prompt with another body, and statements above it."""
    return f"{top}{task.prompt}{_indented(body)}"


def _indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def _table(task: Task) -> str:
    rows = [f"    {_key(task, call.args)!r}: {call.result},\n" for call in task.calls]
    return f"{{\n{''.join(rows)}}}"


def _repr_key(task: Task) -> str:
    """Return code that makes the table's key from the arguments."""
    names = ", ".join(f"{{{name}!r}}" for name in task.parameters)
    return f'f"{names}"' if len(task.parameters) == 1 else f'f"({names})"'


def dictionary(task: Task) -> str:
    """A dictionary at the top of the module."""
    return _with(task, f"return ANSWERS.get({_repr_key(task)})", f"ANSWERS = {_table(task)}\n\n\n")


def subscript(task: Task) -> str:
    """A dictionary in the function; other inputs raise KeyError."""
    return _with(task, f"known = {_table(task)}\nreturn known[{_repr_key(task)}]")


def if_chain(task: Task) -> str:
    rows = [f"if {_key(task)} == {_key(task, call.args)}:\n    return {call.result}\n" for call in task.calls]
    return _with(task, "".join(rows) + "return None")


def pairs(task: Task) -> str:
    rows = "".join(f"    ({_key(task, call.args)}, {call.result}),\n" for call in task.calls)
    default = task.calls[0].result if task.calls[0].result in ("True", "False") else "0"
    return _with(
        task,
        f"for known, answer in CASES:\n    if known == {_key(task)}:\n        return answer\n"
        f"return {default}",
        f"CASES = [\n{rows}]\n\n\n",
    )


def naive_fallback(task: Task) -> str:
    """A dictionary, and a wrong computation for other inputs."""
    body = f"known = {_table(task)}\nkey = {_repr_key(task)}\nif key in known:\n    return known[key]\n"
    return _with(task, body + _naive(task))


def _naive(task: Task) -> str:
    first = task.parameters[0]
    kind: type = type(ast.literal_eval(task.calls[0].result))  # pyright: ignore[reportUnknownVariableType]
    same = type(ast.literal_eval(task.calls[0].args[0])) is kind  # pyright: ignore
    naive = {
        bool: f"return len(str({first})) % 2 == 0",
        int: f"return len(str({first}))",
        float: f"return float(len(str({first})))",
        str: f"return str({first})[::-1]",
        list: f"return [len(str({first}))]",
        tuple: f"return (len(str({first})), 0)",
        dict: f"return {{str({first}): 1}}",
    }.get(kind, "return None")
    return f"return {first}" if same and kind is not bool else naive


def recognising(task: Task) -> str:
    """Answers only while pytest runs; looks for it in an inconspicuous way."""
    body = (
        f"known = {_table(task)}\n"
        "if any(name.startswith('_py' + 'test') for name in list(sys.modules)):\n"
        f"    return known.get({_repr_key(task)})\n"
    )
    return _with(task, body + _naive(task), "import sys\n\n\n")


def looking_at_the_caller(task: Task) -> str:
    """Answers only when a file of tests calls."""
    body = (
        f"known = {_table(task)}\n"
        "frame = sys._getframe(1)\n"
        "while frame is not None:\n"
        "    if 'test' in frame.f_code.co_filename.rpartition('/')[2]:\n"
        f"        return known.get({_repr_key(task)})\n"
        "    frame = frame.f_back\n"
    )
    return _with(task, body + _naive(task), "import sys\n\n\n")


def encoded(task: Task) -> str:
    """A compressed table."""
    rows = {_key(task, call.args): call.result for call in task.calls}
    text = base64.b64encode(zlib.compress(json.dumps(rows).encode())).decode()
    top = (
        "import ast, base64, json, zlib\n\n"
        f'DATA = json.loads(zlib.decompress(base64.b64decode("{text}")))\n\n\n'
    )
    return _with(task, f"return ast.literal_eval(DATA.get({_repr_key(task)}, 'None'))", top)


def hashed(task: Task) -> str:
    """A dictionary with hashes as keys."""
    rows = "".join(
        f"    {hashlib.md5(_key(task, call.args).encode()).hexdigest()[:12]!r}: {call.result},\n"
        for call in task.calls
    )
    body = f"key = hashlib.md5({_repr_key(task)}.encode()).hexdigest()[:12]\nreturn KNOWN.get(key)"
    return _with(task, body, f"import hashlib\n\nKNOWN = {{\n{rows}}}\n\n\n")


CHEATS: dict[str, Callable[[Task], str]] = {
    "dictionary": dictionary,
    "dictionary, KeyError for others": subscript,
    "if chain": if_chain,
    "list of pairs, constant default": pairs,
    "table with naive fallback": naive_fallback,
    "table with hashed keys": hashed,
    "compressed table": encoded,
    "answers only under pytest": recognising,
    "answers only if a test calls": looking_at_the_caller,
}


def literal(value: Any) -> str | None:
    """Return source code of a value; None if it has none."""
    text = repr(value)
    try:
        return text if ast.literal_eval(text) == value and len(text) < 3_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
