"""Tests of a Python file: names, checks, data, and whether they are skipped."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

import msgspec

MAX_CHECKS = 2_000


class Case(msgspec.Struct, frozen=True):
    """One test."""

    name: str
    """Name with its class: `TestA.test_b`."""
    line: int
    asserts: list[str]
    """Assertions as text with normalized spaces; those that cannot fail are left out."""
    skipped: bool
    text: str
    """First lines of the test, as evidence."""
    rows: list[str] = []
    """Rows of its data: of `parametrize`, and of the module's tables that it uses."""
    skips: int = 0
    """Number of places that can skip it."""
    conditional: bool = False
    """True if it is skipped only under a condition, such as a platform or a missing package."""


def evidence(text: str, line: int, count: int = 12) -> str:
    """Return up to `count` lines from `line` on, at most 1,000 characters."""
    return "\n".join(text.splitlines()[line - 1 : line - 1 + count])[:1_000]


_Function = ast.FunctionDef | ast.AsyncFunctionDef

_CHECKING = re.compile(
    r"^(assert|check|verify|expect|ensure|should|fail$|raises$|warns$|deprecated_call$)", re.IGNORECASE
)
_SKIPPING = re.compile(
    r"\b(skip|skipif|skipIf|skipUnless|skipTest|SkipTest|xfail|expectedFailure|importorskip)\b"
)
_SWALLOWING = {"", "Exception", "BaseException", "AssertionError"}


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree; None if it is not valid Python."""
    try:
        with warnings.catch_warnings():  # ignore warnings about invalid escapes in the project's strings
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def python_cases(text: str) -> list[Case] | None:
    """Return test functions and methods of test classes; None if the file is not valid Python."""
    tree = parse_python(text)
    if tree is None:
        return None
    helpers = {
        node.name: node for node in ast.walk(tree) if isinstance(node, _Function) and any(_checks(node))
    }
    tables = _tables(tree)
    module_skips = sum(_skips_file(node) for node in tree.body)
    cases = list[Case]()
    for node, prefix, marks in _tests(tree.body, "", module_skips):
        skips = marks + _skips_in(node)
        cases.append(
            Case(
                name=prefix + node.name,
                line=node.lineno,
                asserts=_all_checks(node, helpers),
                skipped=bool(marks) or _is_skipped(node),
                text=evidence(text, node.lineno),
                rows=_rows(node, tables),
                skips=skips,
                conditional=_is_conditional(node, marks),
            )
        )
    return cases


def _all_checks(node: _Function, helpers: dict[str, _Function]) -> list[str]:
    """Return the checks of a test and of the helpers in the same file that it calls."""
    checks, known, queue = list[str](), {node.name}, [node]
    while queue and len(checks) < MAX_CHECKS:
        function = queue.pop(0)
        checks += [ast.unparse(check) for check in _checks(function)]
        called = {_called(part) for part in _reached(function) if isinstance(part, ast.Call)}
        for name in sorted(called & helpers.keys() - known):
            known.add(name)
            queue.append(helpers[name])
    return checks


def _tables(tree: ast.Module) -> dict[str, list[str]]:
    """Return the rows of lists and dictionaries at the top of the module."""
    tables = dict[str, list[str]]()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and (rows := _elements(node.value)):
                    tables[target.id] = rows
    return tables


def _elements(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [f"{ast.unparse(key) if key else '**'}: {ast.unparse(value)}" for key, value in pairs]
    return (
        [ast.unparse(part) for part in node.elts] if isinstance(node, ast.List | ast.Tuple | ast.Set) else []
    )


def _rows(node: _Function, tables: dict[str, list[str]]) -> list[str]:
    rows = list[str]()
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and _called(decorator) == "parametrize"
            and len(decorator.args) > 1
        ):
            rows += _elements(decorator.args[1])
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return rows + [row for name in sorted(used & tables.keys()) for row in tables[name]]


def _tests(body: list[ast.stmt], prefix: str, skips: int) -> Iterator[tuple[_Function, str, int]]:
    for node in body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node, prefix, skips
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or node.bases):
            marks = skips + sum(map(_marks_skip, node.decorator_list))
            marks += sum(_skips_file(inner) for inner in node.body)
            marks += not node.bases and any(getattr(inner, "name", "") == "__init__" for inner in node.body)
            yield from _tests(node.body, f"{prefix}{node.name}.", marks)


def helper_skips(text: str) -> dict[str, tuple[int, int]]:
    """Return the fixtures and helpers of a test file that can skip tests: number of places, and line."""
    tree = parse_python(text)
    skipping = dict[str, tuple[int, int]]()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, _Function) and not node.name.startswith("test") and (count := _skips_in(node)):
            skipping[node.name] = (count, node.lineno)
    return skipping


def _checks(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the checks that can make the test fail, outside of code that swallows failures."""
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
    """Yield every node below that can run, without the body of a `try` that swallows failures."""
    dead = _dead_code(node)
    for child in ast.iter_child_nodes(node):
        if id(child) in dead:
            continue
        if isinstance(child, ast.Try) and any(_swallows(handler) for handler in child.handlers):
            for part in (*child.orelse, *child.finalbody):
                yield part
                yield from _reached(part)
            continue
        if isinstance(child, ast.With) and any("suppress(" in ast.unparse(item) for item in child.items):
            continue
        if isinstance(child, ast.If | ast.While) and _is_false(child.test):
            continue
        if (
            isinstance(child, ast.For)
            and isinstance(child.iter, ast.List | ast.Tuple)
            and not child.iter.elts
        ):
            continue
        yield child
        yield from _reached(child)


def _is_false(test: ast.expr) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return isinstance(test.operand, ast.Constant) and bool(test.operand.value)
    return isinstance(test, ast.Constant) and not test.value


def _dead_code(node: ast.AST) -> set[int]:
    """Return the ids of statements after a `return`, `raise` or skip in the same block."""
    dead = set[int]()
    for field in ("body", "orelse", "finalbody"):
        block: list[ast.stmt] = getattr(node, field, None) or []
        ended = False
        for statement in block if isinstance(block, list) else ():  # pyright: ignore[reportUnnecessaryIsInstance]
            if ended:
                dead.add(id(statement))
            leaves = isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break)
            ended = ended or leaves or (isinstance(statement, ast.Expr) and _is_skip(statement.value))
    return dead


def _is_skip(node: ast.expr) -> bool:
    """Return True for calls such as `pytest.skip()` and `self.skipTest()`."""
    return isinstance(node, ast.Call) and bool(_SKIPPING.fullmatch(_called(node)))


def _skips_in(function: _Function) -> int:
    """Count decorators, calls and exceptions that can skip a test."""
    count = sum(map(_marks_skip, function.decorator_list))
    for node in ast.walk(function):
        if (isinstance(node, ast.Call) and _is_skip(node) and not _is_decorator(node, function)) or (
            isinstance(node, ast.Raise) and node.exc is not None and "SkipTest" in ast.unparse(node.exc)
        ):
            count += 1
    return count


def _is_decorator(node: ast.Call, function: _Function) -> bool:
    return any(node is part for decorator in function.decorator_list for part in ast.walk(decorator))


def _is_conditional(function: _Function, marks: int) -> bool:
    """Return True if the test is skipped by `skipif` and the like only."""
    if marks:
        return False
    always = [ast.unparse(mark) for mark in function.decorator_list if _marks_skip(mark)]
    return bool(always) and all(re.search(r"skipif|skipIf|skipUnless", mark) for mark in always)


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
    """Return True if a check cannot fail: constants, a value compared with itself, a tuple."""
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
    """Return True for calls such as `self.assertTrue(True)` and `self.assertEqual(1, 1)`."""
    name, args = _called(call), call.args
    if not re.match("assert[A-Z]", name) or not args:
        return False
    if len(args) == 1 or name in ("assertTrue", "assertFalse", "assertIsNotNone"):
        return _is_constant(args[0])
    return ast.unparse(args[0]) == ast.unparse(args[1]) or all(_is_constant(arg) for arg in args[:2])


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_skipped(function: _Function) -> bool:
    if any(map(_marks_skip, function.decorator_list)):
        return True
    for statement in function.body:
        if isinstance(statement, ast.Return):
            return not any(_checks(function))
        if isinstance(statement, ast.Raise) and _SKIPPING.search(ast.unparse(statement)):
            return True
        if isinstance(statement, ast.Expr | ast.Assign) and _is_skip(statement.value):
            return True
    return False


def _marks_skip(decorator: ast.expr) -> bool:
    return bool(_SKIPPING.search(ast.unparse(decorator)))


def _skips_file(node: ast.stmt) -> bool:
    """Return True for `pytestmark = pytest.mark.skip`, `__test__ = False`, `pytest.importorskip(…)` and
    `pytest.skip(…, allow_module_level=True)`, also under a condition."""
    if isinstance(node, ast.Assign):
        names = [ast.unparse(target) for target in node.targets]
        value = ast.unparse(node.value)
        if ("pytestmark" in names and _SKIPPING.search(value)) or ("__test__" in names and value == "False"):
            return True
    if isinstance(node, ast.Expr | ast.Assign):
        return _is_skip(node.value)
    if isinstance(node, ast.If | ast.Try | ast.With):
        inner = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and part is not node]
        return not isinstance(node, ast.FunctionDef) and any(
            _skips_file(part) for part in inner if isinstance(part, ast.Expr | ast.Assign | ast.Raise)
        )
    return isinstance(node, ast.Raise) and "SkipTest" in ast.unparse(node)
