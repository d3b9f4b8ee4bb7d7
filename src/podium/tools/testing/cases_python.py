"""Reading the tests of a Python file from its syntax tree."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from podium.tools.testing.case import Case, evidence

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_CHECKING = re.compile(
    r"^(assert|check|verify|expect|ensure|should|fail$|raises$|warns$|deprecated_call$)", re.IGNORECASE
)
_SKIPPING = re.compile(
    r"\b(skip|skipif|skipIf|skipUnless|skipTest|SkipTest|xfail|expectedFailure|importorskip)\b"
)
_SWALLOWING = {"", "Exception", "BaseException", "AssertionError"}


def parse_python(text: str) -> ast.Module | None:
    """The syntax tree; `None` for what is no Python."""
    try:
        with warnings.catch_warnings():  # a stray backslash in somebody's string is no business of ours
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def python_cases(text: str) -> list[Case] | None:
    """Test functions, and methods of test classes."""
    tree = parse_python(text)
    if tree is None:
        return None
    helpers = {node.name for node in ast.walk(tree) if isinstance(node, _Function) and any(_checks(node))}
    whole_file = any(_skips_file(node) for node in tree.body)
    found = list[Case]()
    for node, prefix, skipped in _tests(tree.body, "", whole_file):
        asserts = [ast.unparse(check) for check in _checks(node)]
        asserts += [ast.unparse(call) for call in _calls_of(node, helpers - {node.name})]
        left_out = skipped or _is_skipped(node)
        found.append(Case(prefix + node.name, node.lineno, asserts, left_out, evidence(text, node.lineno)))
    return found


def _tests(body: list[ast.stmt], prefix: str, skipped: bool) -> Iterator[tuple[_Function, str, bool]]:
    for node in body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node, prefix, skipped
        elif isinstance(node, ast.ClassDef):
            left_out = skipped or _marks_skip(node.decorator_list)
            left_out = left_out or any(_skips_file(inner) for inner in node.body)
            yield from _tests(node.body, f"{prefix}{node.name}.", left_out)


def _checks(function: ast.AST) -> Iterator[ast.AST]:
    """What can make the test fail, outside of places that swallow it."""
    for node in _reached(function):
        if _can_fail(node):
            yield node


def _can_fail(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not is_trivial(node.test)
    if isinstance(node, ast.Call):
        return bool(_CHECKING.match(_called(node))) and not _checks_nothing(node)
    return isinstance(node, ast.Raise) and "Assertion" in ast.unparse(node)


def _reached(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, but not the body of a `try` that takes failures and goes on."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try) and any(_swallows(handler) for handler in child.handlers):
            for part in (*child.orelse, *child.finalbody):
                yield part
                yield from _reached(part)
            continue
        if isinstance(child, ast.With) and any("suppress(" in ast.unparse(item) for item in child.items):
            continue
        if isinstance(child, ast.If) and isinstance(child.test, ast.Constant) and not child.test.value:
            continue
        yield child
        yield from _reached(child)


def _swallows(handler: ast.ExceptHandler) -> bool:
    names = {""} if handler.type is None else {name.split(".")[-1] for name in _names(handler.type)}
    ends = any(isinstance(node, ast.Raise | ast.Assert | ast.Return) for node in ast.walk(handler))
    ends = ends or any(
        _CHECKING.match(_called(node)) for node in ast.walk(handler) if isinstance(node, ast.Call)
    )
    return bool(names & _SWALLOWING) and not ends


def _names(node: ast.expr) -> list[str]:
    return [ast.unparse(part) for part in (node.elts if isinstance(node, ast.Tuple) else [node])]


def is_trivial(test: ast.expr) -> bool:
    """Whether a check cannot fail: constants, a thing compared with itself, a tuple that is never empty."""
    if isinstance(test, ast.Compare):
        left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
        same = (
            len(test.comparators) == 1 and left == right and isinstance(test.ops[0], ast.Eq | ast.Is | ast.In)
        )
        return same or all(_is_constant(part) for part in (test.left, *test.comparators))
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(is_trivial(part) for part in test.values)
    if isinstance(test, ast.UnaryOp):
        return is_trivial(test.operand)
    if isinstance(test, ast.Tuple | ast.Dict | ast.Lambda | ast.JoinedStr):
        return True
    return _is_constant(test)


def _is_constant(node: ast.expr) -> bool:
    known = ast.Constant | ast.UnaryOp | ast.unaryop | ast.BinOp | ast.operator
    return all(isinstance(part, known) for part in ast.walk(node))


def _checks_nothing(call: ast.Call) -> bool:
    """`self.assertTrue(True)` and `self.assertEqual(1, 1)`."""
    name, args = _called(call), call.args
    if not re.match("assert[A-Z]", name) or not args:
        return False
    if len(args) == 1 or name in ("assertTrue", "assertFalse", "assertIsNotNone"):
        return _is_constant(args[0])
    return ast.unparse(args[0]) == ast.unparse(args[1]) or all(_is_constant(arg) for arg in args[:2])


def _calls_of(function: ast.AST, helpers: set[str]) -> Iterator[ast.Call]:
    """Calls of functions of the same file that check something themselves."""
    for node in _reached(function):
        if isinstance(node, ast.Call) and _called(node) in helpers and not _CHECKING.match(_called(node)):
            yield node


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_skipped(function: _Function) -> bool:
    if _marks_skip(function.decorator_list):
        return True
    first = next((part for part in function.body if not _is_docstring(part)), None)
    return isinstance(first, ast.Expr | ast.Raise | ast.Return) and (
        isinstance(first, ast.Return) or bool(_SKIPPING.search(ast.unparse(first)))
    )


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _marks_skip(decorators: list[ast.expr]) -> bool:
    return any(_SKIPPING.search(ast.unparse(decorator)) for decorator in decorators)


def _skips_file(node: ast.stmt) -> bool:
    """`pytestmark = pytest.mark.skip`, `__test__ = False` and `pytest.skip(…, allow_module_level=True)`."""
    if isinstance(node, ast.Assign):
        names = [ast.unparse(target) for target in node.targets]
        value = ast.unparse(node.value)
        return ("pytestmark" in names and bool(_SKIPPING.search(value))) or (
            "__test__" in names and value == "False"
        )
    return isinstance(node, ast.Expr) and "allow_module_level" in ast.unparse(node)
