"""Languages, and the test cases of a source file."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

from podium.tools.testing.python_cases import (
    Case,
    evidence,
    helper_skips,
    is_trivial,
    parse_python,
    python_cases,
)

__all__ = [
    "Case",
    "Language",
    "cases_of",
    "evidence",
    "go_cases",
    "helper_skips",
    "is_code",
    "is_collected",
    "is_source",
    "is_test_file",
    "is_test_language",
    "is_trivial",
    "javascript_cases",
    "language_of",
    "parse_python",
    "python_cases",
    "rust_cases",
]


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
    cases = list[Case]()
    for match, body in _text_tests(text, _JS_TEST, "(", ")"):
        modes = match[2].split(".")
        skipped = match[1].startswith("x") or bool(
            {"skip", "todo", "failing", "fails", "skipIf"} & set(modes)
        )
        checks = [check for check in _text_checks(body, _JS_CHECK) if not _JS_TRIVIAL.search(check)]
        cases.append(_case(text, match.start(), match[4], checks, skipped))
    return cases


def go_cases(text: str) -> list[Case]:
    """Return the `func TestX(t *testing.T)` cases."""
    cases = list[Case]()
    for match, body in _text_tests(text, _GO_TEST, "{", "}"):
        skipped = bool(re.search(r"\bt\.Skip(?:f|Now)?\(", body))
        cases.append(_case(text, match.start(), match[1], list(_text_checks(body, _GO_CHECK)), skipped))
    return cases


def rust_cases(text: str) -> list[Case]:
    """Return the functions under `#[test]`."""
    cases = list[Case]()
    for match, body in _text_tests(text, _RUST_TEST, "{", "}"):
        checks = [check for check in _text_checks(body, _RUST_CHECK) if not _RUST_TRIVIAL.search(check)]
        checks += ["should_panic"] if "should_panic" in match[1] else []
        cases.append(_case(text, match.start(), match[2], checks, "ignore" in match[1]))
    return cases


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
    at, depth, pieces = start, 1, list[str]()
    while at < len(text) and depth and at - start < MAX_BODY:
        skipped = _TOKEN.match(text, at)
        if skipped:
            pieces.append("" if skipped[0].startswith(("//", "/*")) else skipped[0])
            at = skipped.end()
            continue
        depth += (text[at] == opening) - (text[at] == closing)
        pieces.append(text[at])
        at += 1
    return "".join(pieces), depth == 0


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


_COLLECTED = {
    "python": ("test_*.py", "*_test.py"),
    "javascript": ("*.test.*", "*.spec.*"),
    "go": ("*_test.go",),
}


def is_test_language(path: str) -> bool:
    """Return True if frameworks of the language find tests by the file's name."""
    return language_of(path) in _COLLECTED


def is_collected(path: str) -> bool:
    """Return True if frameworks look for tests in the file by default."""
    *folders, name = path.split("/")
    if language_of(path) == "javascript" and "__tests__" in folders:
        return True
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _COLLECTED.get(language_of(path), ("*",)))


def is_source(path: str) -> bool:
    """Return True if the file is source code but not a test file."""
    return is_code(path) and not is_test_file(path)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name else ""


_READERS: dict[str, Callable[[str], list[Case] | None]] = {
    "python": python_cases,
    "javascript": javascript_cases,
    "go": go_cases,
    "rust": rust_cases,
}


def cases_of(path: str, text: str) -> list[Case] | None:
    """Return the tests of a file; None if it cannot be parsed: another language, or a syntax error."""
    reader = _READERS.get(language_of(path))
    try:
        return reader(text) if reader else None
    except RecursionError:  # nested too deeply
        return None
