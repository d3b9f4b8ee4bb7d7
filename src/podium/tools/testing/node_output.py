"""Parsers of the output of Node's own test runner: its TAP and spec reporters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from podium.tools.testing.report import MAX_FAILURE, Counts, Failure, ends_of, first_line, plain

_SUMMARY = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo|cancelled) (\d+)$", re.MULTILINE)
_SUBTEST = re.compile(r"^( *)# Subtest: (.*)$")
_RESULT = re.compile(r"^( *)(not ok|ok) \d+(?: -)? ?(.*?)(?: # (SKIP|TO[D]O)\b.*)?$")
_FIELD = re.compile(r"^(\w+): ?(.*)$")
_GROUP = re.compile(r"^( *)▶ (.*?)(?: \([\d.]+ms\))?$")
_SPEC = re.compile(r"^( *)([✔✖﹣⚠]) (.*?)(?: \([\d.]+ms\))?(?: # (SKIP|TO[D]O)\b.*)?$")
_PLACE = re.compile(r"^test at (.+):(\d+):\d+$")
_FRAME = re.compile(r"\(?(?:file://)?((?!node:)[\w./@ -]+\.[cm]?[jt]sx?):(\d+):\d+\)?")
_FAILING = "✖ failing tests:"
_DEEP = re.compile(r"^\s*(?:at )?.*(?:\(node:|node:internal|node_modules/|async Promise\.all).*$")
"""Stack lines outside the project."""
_NAMES = " > "


class _Outcome(msgspec.Struct):
    """A test or a group of tests."""

    name: str
    kind: str
    """`passed`, `failed`, `skipped`, or `group` for a suite or test that only has subtests."""
    text: str = ""
    """What is printed about a failure."""
    file: str = ""
    line: int = 0
    is_error: bool = False
    """The file broke before its tests ran."""


def read_node_test(output: str, tree: Path | None = None) -> Counts | None:
    """Read the results of Node's own test runner; None if this is not its output. Tests with subtests count
    only if they failed by themselves."""
    numbers = {name: int(count) for name, count in _SUMMARY.findall(output)}
    if "pass" not in numbers or "fail" not in numbers:
        return None
    lines = plain(output, tree).split("\n")
    outcomes = list(_tap(lines) if any(_RESULT.match(line) for line in lines) else _spec(lines))
    passed = [outcome.name for outcome in outcomes if outcome.kind == "passed"]
    skipped = [outcome.name for outcome in outcomes if outcome.kind == "skipped"]
    failed = [outcome for outcome in outcomes if outcome.kind == "failed"]
    failures = [_failure(outcome) for outcome in failed]
    errors = sum(failure.is_error for failure in failures)
    counts = Counts(
        passed=len(passed),
        failed=len(failures) - errors,
        errors=errors,
        skipped=len(skipped),
        failures=failures,
        tests=[*passed, *(outcome.name for outcome in failed)],
        skipped_tests=skipped,
    )
    if len(outcomes) >= sum(numbers.values()):
        return counts
    return msgspec.structs.replace(  # another reporter, or a part of the output: only the summary is complete
        counts,
        passed=numbers["pass"],
        failed=numbers["fail"] + numbers.get("cancelled", 0) - errors,
        skipped=numbers.get("skipped", 0) + numbers.get("todo", 0),
    )


def _failure(outcome: _Outcome) -> Failure:
    text = "\n".join(line for line in outcome.text.splitlines() if not _DEEP.match(line))
    file, line = outcome.file, outcome.line
    for match in _FRAME.finditer(text):
        if not file or match[1].endswith(file) or file.endswith(match[1]):
            file, line = file or match[1], int(match[2])
            break
    lines = [part for part in text.splitlines() if part.strip()]
    message = next((part for part in lines if re.match(r"\s*(?:[A-Z]\w*)?Error\b", part)), "") or first_line(
        text
    )
    message = message.strip() or "The test failed and printed nothing."
    return Failure(
        outcome.name, ends_of(message, 500), file, line, ends_of(text, MAX_FAILURE), outcome.is_error
    )


def _tap(lines: Sequence[str]) -> Iterator[_Outcome]:
    parents, printed, at = dict[int, str](), list[str](), 0
    with_subtests = set[tuple[int, str]]()
    while at < len(lines):
        line, at = lines[at], at + 1
        if match := _SUBTEST.match(line):
            depth = len(match[1]) // 4
            parents = {level: name for level, name in parents.items() if level < depth} | {depth: match[2]}
            with_subtests |= {(depth - 1, parents[depth - 1])} if depth - 1 in parents else set()
            printed = printed if depth == 0 else []
        elif match := _RESULT.match(line):
            depth, name = len(match[1]) // 4, match[3]
            details, at = _details(lines, at)
            has_subtests = (depth, name) in with_subtests
            with_subtests.discard((depth, name))
            is_suite = details.get("type") == "suite" or details.get("failureType") == "subtestsFailed"
            whole = _NAMES.join([*(parents[level] for level in sorted(parents) if level < depth), name])
            if is_suite or (has_subtests and match[2] == "ok"):
                yield _Outcome(whole, "group")
            else:
                yield _outcome(whole, match[2], match[4], details, printed)
            printed = []
        elif line.startswith("# "):
            printed.append(line[2:])


def _outcome(name: str, word: str, directive: str, details: dict[str, str], printed: list[str]) -> _Outcome:
    if directive:
        return _Outcome(name, "skipped")
    if word == "ok":
        return _Outcome(name, "passed")
    file, _, rest = details.get("location", "").partition(":")
    line = rest.partition(":")[0]
    is_error = "exitCode" in details
    message = details.get("error", "")
    kind = details.get("name", "")
    text = f"{kind}: {message}" if kind else message
    text = "\n".join([*printed, text] if is_error else [text, details.get("stack", "")])
    return _Outcome(name, "failed", text, file, int(line) if line.isdecimal() else 0, is_error)


def _details(lines: Sequence[str], at: int) -> tuple[dict[str, str], int]:
    """Return the YAML block that follows a result, and the line after it."""
    if at >= len(lines) or lines[at].strip() != "---":
        return {}, at
    end = next((index for index in range(at + 1, len(lines)) if lines[index].strip() == "..."), at)
    block = textwrap.dedent("\n".join(lines[at + 1 : end])).split("\n")
    fields, name = dict[str, str](), ""
    for line in block:
        if match := _FIELD.match(line):
            name, value = match[1], match[2]
            quoted = len(value) > 1 and value[0] == value[-1] == "'"
            fields[name] = value[1:-1].replace("\\'", "'") if quoted else value
        elif name:
            fields[name] += f"\n{line}"
    blocks = {
        name: textwrap.dedent(value.partition("\n")[2]) for name, value in fields.items() if value[:1] in "|>"
    }
    return {**fields, **{name: value for name, value in blocks.items() if value}}, end + 1


def _spec(lines: Sequence[str]) -> Iterator[_Outcome]:
    end = next((at for at, line in enumerate(lines) if line == _FAILING), len(lines))
    blocks = list(_failing(lines[end + 1 :]))
    parents, groups, printed = dict[int, str](), set[tuple[int, str]](), list[str]()
    for line in lines[:end]:
        group, match = _GROUP.match(line), _SPEC.match(line)
        if group:
            depth, name = len(group[1]) // 2, group[2]
            parents = {level: known for level, known in parents.items() if level < depth} | {depth: name}
            groups.add((depth, name))
        elif match:
            depth, name = len(match[1]) // 2, match[3]
            is_group, whole = (
                (depth, name) in groups,
                [parents[level] for level in sorted(parents) if level < depth],
            )
            groups.discard((depth, name))
            block = next((known for known in blocks if known.name == name), None) if match[2] == "✖" else None
            if block is not None:
                blocks.remove(block)
                block.name = _NAMES.join([*whole, name])
                block.text = "\n".join([*printed, block.text]) if block.is_error else block.text
                yield block
            else:
                skipped = match[4] or match[2] == "﹣"
                kind = "skipped" if skipped else "failed" if match[2] == "✖" else "passed"
                yield _Outcome(_NAMES.join([*whole, name]), "group" if is_group else kind)
            printed = []
        else:
            printed.append(line)
    yield from blocks


def _failing(lines: Sequence[str]) -> Iterator[_Outcome]:
    """Yield the failures that are listed at the end."""
    current: _Outcome | None = None
    file, number = "", 0
    for line in lines:
        if place := _PLACE.match(line):
            if current:
                yield current
            current, file, number = None, place[1], int(place[2])
        elif current is None and (match := _SPEC.match(line)):
            broken = match[3] == file or match[3].endswith(f"/{file}")
            current = _Outcome(match[3], "failed", "", file, number, is_error=broken)
        elif current is not None:
            current.text += line.removeprefix("  ") + "\n"
    if current:
        yield current
