"""Detection of functions that only return the answers their tests expect.

Python only. A false alarm is worse than a miss, so a function is reported only if it does nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from podium.tools.testing.cases import parse_python

MOST_CASES = 2
"""Maximum comparisons in a reported function. A larger table of answers may be what was requested."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Case(NamedTuple):
    """`assert name(args) == expected`, as source code."""

    name: str
    args: tuple[str, ...]
    expected: str


def hard_coded_answers(
    sources: Mapping[str, str], tests: Mapping[str, str], before: Mapping[str, str] | None = None
) -> list[str]:
    """Return a message for each new or changed function that is hard-coded to its tests. `before` holds the
    old sources."""
    cases = {case for text in tests.values() for case in _cases(text)}
    known = before or {}
    return [
        f"{function.name} in {path} does not compute anything: it returns what its tests expect"
        for path, text in sources.items()
        if path.endswith(".py")
        for function in _new_functions(text, known.get(path, ""))
        if _only_answers(function, {case for case in cases if case.name == function.name})
    ]


def _only_answers(function: Function, cases: set[Case]) -> bool:
    """True if the function returns only literals, at most compares its parameters with literals, and returns
    a value that a test expects."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    parameters = {
        parameter.arg
        for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    }
    ends = [node.value for part in body for node in ast.walk(part) if isinstance(node, ast.Return)]
    returned = [value for end in ends for value in _either(end)]
    if not parameters - {"self", "cls"} or not returned or not cases:
        return False
    if any(value is None or not _is_literal(value) for value in returned):
        return False
    compared = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Compare)]
    if len(compared) > MOST_CASES or not all(_with_literal(node) for node in compared):
        return False
    used = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    looked_at = {node.id for test in compared for node in ast.walk(test) if isinstance(node, ast.Name)}
    expected = {case.expected for case in cases}
    wanted = {ast.unparse(value) for value in returned if value is not None} & expected
    return used <= looked_at and bool(wanted)


def _either(value: ast.expr | None) -> list[ast.expr | None]:
    """Return both branches of `a if condition else b`, or the value itself."""
    return [*_either(value.body), *_either(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _with_literal(node: ast.Compare) -> bool:
    """True for `x == 3` or `(a, b) == (2, 3)`."""
    sides = [node.left, *node.comparators]
    return all(isinstance(operator, ast.Eq | ast.Is) for operator in node.ops) and any(
        map(_is_literal, sides)
    )


def _cases(text: str) -> Iterator[Case]:
    """Return the expectations of calls with literal arguments in `assert` and `assertEqual`."""
    for node in ast.walk(_parsed(text)):
        match node:
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right])):
                pairs = [(left, right), (right, left)]
            case ast.Assert(test=ast.Call() as call):
                pairs = [(call, ast.Constant(True))]
            case ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call)):
                pairs = [(call, ast.Constant(False))]
            case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[left, right, *_]):
                pairs = [(left, right), (right, left)]
            case _:
                continue
        yield from (case for call, value in pairs if (case := _case(call, value)) is not None)


def _case(call: ast.expr, expected: ast.expr) -> Case | None:
    if not isinstance(call, ast.Call) or not _is_literal(expected):
        return None
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if not name or not all(_is_literal(arg) for arg in call.args):
        return None
    return Case(name, tuple(ast.unparse(arg) for arg in call.args), ast.unparse(expected))


def _new_functions(text: str, before: str) -> Iterator[Function]:
    known = {ast.dump(function) for function in _functions(before)}
    return (function for function in _functions(text) if ast.dump(function) not in known)


def _functions(text: str) -> Iterator[Function]:
    return (node for node in ast.walk(_parsed(text)) if isinstance(node, Function))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _parsed(text: str) -> ast.AST:
    """Parse Python. Invalid source becomes an empty module; the tests themselves will report it."""
    return parse_python(text) or ast.Module([], [])
