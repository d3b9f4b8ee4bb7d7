"""Languages, and the test cases of a source file."""

from __future__ import annotations

import ast
import fnmatch
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

import msgspec


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
    """Yield every node below, without the body of a `try` that swallows failures."""
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


def _calls_of(function: ast.AST, helpers: set[str]) -> Iterator[ast.Call]:
    """Yield calls of functions in the same file that contain checks themselves."""
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
    """Return True for `pytestmark = pytest.mark.skip`, `__test__ = False` and `pytest.skip(…,
    allow_module_level=True)`."""
    if isinstance(node, ast.Assign):
        names = [ast.unparse(target) for target in node.targets]
        value = ast.unparse(node.value)
        return ("pytestmark" in names and bool(_SKIPPING.search(value))) or (
            "__test__" in names and value == "False"
        )
    return isinstance(node, ast.Expr) and "allow_module_level" in ast.unparse(node)


MAX_BODY = 20_000
"""Maximum characters of a test body that are read; bounds the work on bodies that never close."""
MAX_CASES = 2_000
MAX_UNCLOSED = 5

_SPACE = re.compile(r"\s+")

_JS_TEST = re.compile(
    r"(?<![\w.$])(x?(?:it|test)|f(?:it|test))((?:\.\w+)*)\s*(?:\([^()]*\)\s*)?\(\s*([\"'`])(.{0,300}?)(?<!\\)\3",
    re.DOTALL,
)
_JS_CHECK = re.compile(r"(?:\bexpect\w*|\bassert\w*|\bshould|\bt\.\w+|\bchai\b|\bfail)\s*[.(].*")
_JS_TRIVIAL = re.compile(
    r"expect\((true|1|false|0|null|undefined)\)\.(?:not\.)?to(?:Be|Equal|BeTruthy|BeFalsy|StrictEqual)"
)
_GO_TEST = re.compile(r"^func (Test\w*|Fuzz\w*)\(\w+ \*testing\.\w\) *\{", re.MULTILINE)
_GO_CHECK = re.compile(
    r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(.*|\b(?:assert|require|cmp|is|qt)\.\w+\(.*|\bt\.Run\(.*"
)
_RUST_TEST = re.compile(
    r"#\[(?:\w+::)*test(?:\([^\]]{0,200}\))?\]((?:\s*#\[[^\]]{0,200}\]){0,10})\s*"
    r"(?:pub )?(?:async )?fn (\w+)[^{]{0,300}\{"
)
_RUST_CHECK = re.compile(
    r"\b(?:debug_)?assert\w*!.*|\bpanic!.*|\.unwrap\(\).*|\.expect\(.*|\?;.*|\bprop_assert.*"
)
_RUST_TRIVIAL = re.compile(r"assert!\(\s*true\s*\)|assert_eq!\(\s*([\w\"]+)\s*,\s*\1\s*\)")


def javascript_cases(text: str) -> list[Case]:
    """Return the `it("…")` and `test("…")` cases of Jest, Vitest, Mocha and Node."""
    found = list[Case]()
    for match, body in _text_tests(text, _JS_TEST, "(", ")"):
        modes = match[2].split(".")
        skipped = match[1].startswith("x") or bool(
            {"skip", "todo", "failing", "fails", "skipIf"} & set(modes)
        )
        checks = [check for check in _text_checks(body, _JS_CHECK) if not _JS_TRIVIAL.search(check)]
        found.append(_case(text, match.start(), match[4], checks, skipped))
    return found


def go_cases(text: str) -> list[Case]:
    """Return the `func TestX(t *testing.T)` cases."""
    found = list[Case]()
    for match, body in _text_tests(text, _GO_TEST, "{", "}"):
        skipped = bool(re.search(r"\bt\.Skip(?:f|Now)?\(", body))
        found.append(_case(text, match.start(), match[1], list(_text_checks(body, _GO_CHECK)), skipped))
    return found


def rust_cases(text: str) -> list[Case]:
    """Return the functions under `#[test]`."""
    found = list[Case]()
    for match, body in _text_tests(text, _RUST_TEST, "{", "}"):
        checks = [check for check in _text_checks(body, _RUST_CHECK) if not _RUST_TRIVIAL.search(check)]
        checks += ["should_panic"] if "should_panic" in match[1] else []
        found.append(_case(text, match.start(), match[2], checks, "ignore" in match[1]))
    return found


def _case(text: str, start: int, name: str, checks: list[str], skipped: bool) -> Case:
    line = text.count("\n", 0, start) + 1
    return Case(_SPACE.sub(" ", name), line, checks, skipped, evidence(text, line))


def _text_checks(body: str, pattern: re.Pattern[str]) -> Iterator[str]:
    for match in pattern.finditer(body):
        yield _SPACE.sub(" ", match[0]).strip()[:300]


def _text_tests(
    text: str, pattern: re.Pattern[str], opening: str, closing: str
) -> Iterator[tuple[re.Match[str], str]]:
    """Yield every test with its body. Stops when too many bodies never close: then the file is not valid
    code."""
    unclosed = 0
    for match in islice(pattern.finditer(text), MAX_CASES):
        body, closed = _body(text, match.end(), opening, closing)
        unclosed += not closed
        if unclosed > MAX_UNCLOSED:
            return
        yield match, body


def _body(text: str, start: int, opening: str, closing: str) -> tuple[str, bool]:
    """Return the text from `start` to the closing bracket without comments, and whether it closes."""
    at, depth, kept = start, 1, list[str]()
    while at < len(text) and depth and at - start < MAX_BODY:
        skipped = _TOKEN.match(text, at)
        if skipped:
            kept.append("" if skipped[0].startswith(("//", "/*")) else skipped[0])
            at = skipped.end()
            continue
        depth += (text[at] == opening) - (text[at] == closing)
        kept.append(text[at])
        at += 1
    return "".join(kept), depth == 0


_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)'|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)


Language = Literal["python", "javascript", "go", "rust", ""]

_SUFFIXES: dict[str, Language] = {
    ".py": "python", ".js": "javascript", ".jsx": "javascript", ".ts": "javascript", ".tsx": "javascript",
    ".mjs": "javascript", ".cjs": "javascript", ".mts": "javascript", ".cts": "javascript", ".go": "go",
    ".rs": "rust",
}  # fmt: skip

_OTHER_CODE = frozenset({
    ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".kts", ".scala", ".rb", ".php", ".swift", ".m",
    ".lua", ".pl", ".r", ".jl", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".dart", ".zig", ".nim", ".vue",
    ".svelte", ".sh", ".sql", ".pyx",
})  # fmt: skip

_TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "*.test.*",
    "*.spec.*",
    "*_test.go",
    "*_test.rs",
    "*Test.java",
    "*_spec.rb",
)
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing_data", "testdata"})


def language_of(path: str) -> Language:
    """Return the language of a file if its tests can be parsed; empty otherwise."""
    return _SUFFIXES.get(_suffix(path), "")


def is_code(path: str) -> bool:
    """Return True if the file is source code rather than text, data or configuration."""
    return bool(language_of(path)) or _suffix(path) in _OTHER_CODE


def is_test_file(path: str) -> bool:
    """Return True if the file's own name, or a folder's name, marks it as a test file."""
    *folders, name = path.split("/")
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _TEST_NAMES) or name == "conftest.py":
        return True
    return any(folder in _TEST_FOLDERS for folder in folders)


def is_source(path: str) -> bool:
    """Return True if the file is source code but not a test file."""
    return is_code(path) and not is_test_file(path)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name else ""


_READERS: dict[str, Callable[[str], list[Case] | None]] = {
    "python": python_cases, "javascript": javascript_cases, "go": go_cases, "rust": rust_cases,
}  # fmt: skip


def cases_of(path: str, text: str) -> list[Case] | None:
    """Return the tests of a file; None if it cannot be parsed: another language, or a syntax error."""
    reader = _READERS.get(language_of(path))
    try:
        return reader(text) if reader else None
    except RecursionError:  # nested too deeply
        return None
