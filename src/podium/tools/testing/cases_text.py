"""Reading the tests of JavaScript, Go and Rust by their shape: names, braces and the words of checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from podium.tools.testing.case import Case, evidence

MAX_BODY = 20_000
"""Characters of a test that are looked at; one that never closes must not be read again and again."""
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
    """`it("…")` and `test("…")`, as Jest, Vitest, Mocha and Node have them."""
    found = list[Case]()
    for match, body in _tests(text, _JS_TEST, "(", ")"):
        modes = match[2].split(".")
        skipped = match[1].startswith("x") or bool(
            {"skip", "todo", "failing", "fails", "skipIf"} & set(modes)
        )
        checks = [check for check in _checks(body, _JS_CHECK) if not _JS_TRIVIAL.search(check)]
        found.append(_case(text, match.start(), match[4], checks, skipped))
    return found


def go_cases(text: str) -> list[Case]:
    """`func TestX(t *testing.T)`."""
    found = list[Case]()
    for match, body in _tests(text, _GO_TEST, "{", "}"):
        skipped = bool(re.search(r"\bt\.Skip(?:f|Now)?\(", body))
        found.append(_case(text, match.start(), match[1], list(_checks(body, _GO_CHECK)), skipped))
    return found


def rust_cases(text: str) -> list[Case]:
    """Functions under `#[test]`."""
    found = list[Case]()
    for match, body in _tests(text, _RUST_TEST, "{", "}"):
        checks = [check for check in _checks(body, _RUST_CHECK) if not _RUST_TRIVIAL.search(check)]
        checks += ["should_panic"] if "should_panic" in match[1] else []
        found.append(_case(text, match.start(), match[2], checks, "ignore" in match[1]))
    return found


def _case(text: str, start: int, name: str, checks: list[str], skipped: bool) -> Case:
    line = text.count("\n", 0, start) + 1
    return Case(_SPACE.sub(" ", name), line, checks, skipped, evidence(text, line))


def _checks(body: str, pattern: re.Pattern[str]) -> Iterator[str]:
    for match in pattern.finditer(body):
        yield _SPACE.sub(" ", match[0]).strip()[:300]


def _tests(
    text: str, pattern: re.Pattern[str], opening: str, closing: str
) -> Iterator[tuple[re.Match[str], str]]:
    """Every test with its body. A file with many bodies that never close is no program: the rest is left."""
    unclosed = 0
    for match in islice(pattern.finditer(text), MAX_CASES):
        body, closed = _body(text, match.end(), opening, closing)
        unclosed += not closed
        if unclosed > MAX_UNCLOSED:
            return
        yield match, body


def _body(text: str, start: int, opening: str, closing: str) -> tuple[str, bool]:
    """From `start` to the bracket that closes, and whether it does; comments are left out."""
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
