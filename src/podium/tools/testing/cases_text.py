"""Reading the tests of JavaScript, Go and Rust by their shape: names, braces and the words of checks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podium.tools.testing.case import Case, evidence

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
    r"#\[(?:\w+::)*test(?:\([^\]]*\))?\]((?:\s*#\[[^\]]*\])*)\s*(?:pub )?(?:async )?fn (\w+)[^{]*\{"
)
_RUST_CHECK = re.compile(
    r"\b(?:debug_)?assert\w*!.*|\bpanic!.*|\.unwrap\(\).*|\.expect\(.*|\?;.*|\bprop_assert.*"
)
_RUST_TRIVIAL = re.compile(r"assert!\(\s*true\s*\)|assert_eq!\(\s*([\w\"]+)\s*,\s*\1\s*\)")


def javascript_cases(text: str) -> list[Case]:
    """`it("…")` and `test("…")`, as Jest, Vitest, Mocha and Node have them."""
    found = list[Case]()
    for match in _JS_TEST.finditer(text):
        body = _body(text, match.end(), "(", ")", depth=1)
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
    for match in _GO_TEST.finditer(text):
        body = _body(text, match.end(), "{", "}", depth=1)
        skipped = bool(re.search(r"\bt\.Skip(?:f|Now)?\(", body))
        found.append(_case(text, match.start(), match[1], list(_checks(body, _GO_CHECK)), skipped))
    return found


def rust_cases(text: str) -> list[Case]:
    """Functions under `#[test]`."""
    found = list[Case]()
    for match in _RUST_TEST.finditer(text):
        body = _body(text, match.end(), "{", "}", depth=1)
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


def _body(text: str, start: int, opening: str, closing: str, *, depth: int) -> str:
    """From `start` to the bracket that closes; strings and comments are passed over and comments left out."""
    at, kept = start, list[str]()
    while at < len(text) and depth:
        skipped = _TOKEN.match(text, at)
        if skipped:
            kept.append("" if skipped[0].startswith(("//", "/*")) else skipped[0])
            at = skipped.end()
            continue
        depth += (text[at] == opening) - (text[at] == closing)
        kept.append(text[at])
        at += 1
    return "".join(kept)


_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)'|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
