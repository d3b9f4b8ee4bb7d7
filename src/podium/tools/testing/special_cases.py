"""Static detection of hard-coded answers: a test's expected value, returned for a special case.

A finding is a suspicion, not a proof: base cases of real functions look the same. Values such as 0, 1, "" and
None are common in legitimate code and do not count. `answers` runs the code and knows more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from podium.tools.testing.cases import evidence, is_source, language_of, parse_python
from podium.tools.testing.findings import ChangedFile, Finding

_PLAIN = {"0", "1", "-1", "2", "True", "False", "None", "''", '""', "[]", "{}", "()", "0.0", "1.0", "set()"}
_LITERAL = r"(-?\d[\d_.]*|\"[^\"\n]{2,}\"|'[^'\n]{2,}'|\[[^\]\n]+\])"
_TEXT_CASE = re.compile(rf"(?:if|case|when)\b[^\n]*?{_LITERAL}[^\n]*?(?:\n[^\n]*?)?\breturn\s+{_LITERAL}")
_TEXT_EXPECTED = re.compile(
    rf"(?:==|===|toBe\(|toEqual\(|toStrictEqual\(|assert_eq!\([^\n]*?,|[eE]qual\([^\n]*?,|!=)\s*{_LITERAL}"
)


def hard_coded(files: Sequence[ChangedFile], tests: Sequence[tuple[str, str]]) -> list[Finding]:
    """Return new special cases in code whose input and answer both occur in tests; `tests` are paths and
    texts."""
    expected, inputs = set[str](), set[str]()
    for path, text in tests:
        answers, arguments = _values(path, text)
        expected |= answers
        inputs |= arguments
    findings = list[Finding]()
    for file in files:
        if is_source(file.path) and file.after is not None and expected:
            new = {line for line, _ in file.added()}
            special = _special_cases(file.path, file.after)
            findings += [
                _finding(file, line, answer)
                for line, tested, answer in special
                if answer in expected and (tested is None or tested & inputs) and line in new
            ]
    return findings


def _values(path: str, text: str) -> tuple[set[str], set[str]]:
    try:
        return _python_values(text) if language_of(path) == "python" else _text_values(_short_lines(text))
    except RecursionError:  # nested too deeply
        return set(), set()


def _special_cases(path: str, text: str) -> list[tuple[int, set[str] | None, str]]:
    try:
        return list(_python_cases(text) if language_of(path) == "python" else _text_cases(_short_lines(text)))
    except RecursionError:  # nested too deeply
        return []


def _short_lines(text: str) -> str:
    """Blank out long, generated lines: the regular expressions would take too long on them."""
    return "\n".join(line if len(line) <= 400 else "" for line in text.split("\n"))


def _finding(file: ChangedFile, line: int, answer: str) -> Finding:
    message = f"{answer}, which a test expects, is returned for a special case."
    return Finding("hard_coded", "major", file.path, message, line, evidence(file.after or "", line, 4))


def _python_values(text: str) -> tuple[set[str], set[str]]:
    """Return the literals that tests expect, and those that they pass as input."""
    expected, inputs = set[str](), set[str]()
    tree = parse_python(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            sides = [node.test.left, *node.test.comparators]
            expected |= {value for side in sides for value in _literal(side)}
            inputs |= {value for side in sides for value in _arguments(side)}
        elif isinstance(node, ast.Call) and _name(node).startswith("assert"):
            expected |= {value for argument in node.args for value in _literal(argument)}
            inputs |= {value for argument in node.args for value in _arguments(argument)}
        elif isinstance(node, ast.Call) and _name(node) == "parametrize" and len(node.args) > 1:
            for row in ast.walk(node.args[1]):
                if isinstance(row, ast.Tuple) and len(row.elts) > 1:
                    expected |= set(_literal(row.elts[-1]))
                    inputs |= {value for part in row.elts[:-1] for value in _literal(part, plain=True)}
    return expected, inputs


def _python_cases(text: str) -> Iterator[tuple[int, set[str] | None, str]]:
    """Yield the special cases of a program: the line, the literals it compares with (None: any input), and
    the answer."""
    tree = parse_python(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.If):
            for answer, line in _returned(node.body):
                yield line, _compared_values(node.test), answer
        elif isinstance(node, ast.IfExp):
            for answer in _literal(node.body):
                yield node.lineno, _compared_values(node.test), answer
        elif isinstance(node, ast.match_case) and isinstance(node.pattern, ast.MatchValue):
            for answer, line in _returned(node.body):
                yield line, set(_literal(node.pattern.value, plain=True)), answer
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                for answer in _literal(value) if key is not None else ():
                    yield value.lineno, set(_literal(key, plain=True)) if key else set(), answer
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.args:
            body = [part for part in node.body if not isinstance(part, ast.Expr)]
            if len(body) == 1:  # the same answer for every input
                for answer, line in _returned(body):
                    yield line, None, answer


def _returned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int]]:
    for part in body:
        if isinstance(part, ast.Return) and part.value is not None:
            for answer in _literal(part.value):
                yield answer, part.lineno


def _compared_values(test: ast.expr) -> set[str]:
    return {
        value for node in ast.walk(test) if isinstance(node, ast.expr) for value in _literal(node, plain=True)
    }


def _arguments(node: ast.expr) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                yield from _literal(argument, plain=True)


def _literal(node: ast.expr, *, plain: bool = False) -> Iterator[str]:
    """Yield the literal value of a node as text; common values only if `plain`, that is for inputs."""
    try:
        value = repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return
    if plain or value not in _PLAIN:
        yield value


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _text_values(text: str) -> tuple[set[str], set[str]]:
    expected = {match[1].replace("'", '"') for match in _TEXT_EXPECTED.finditer(text)} - _PLAIN
    inputs = {match[0].replace("'", '"') for match in re.finditer(_LITERAL, text)}
    return expected, inputs


def _text_cases(text: str) -> Iterator[tuple[int, set[str] | None, str]]:
    for match in _TEXT_CASE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield line, {match[1].replace("'", '"')}, match[2].replace("'", '"')
