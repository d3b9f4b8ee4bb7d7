"""Reading JUnit XML, as pytest and others write it. The file is written by code that is not trusted."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from podium.tools.testing.report import Counts, Failure
from podium.tools.testing.trimming import MAX_FAILURE, ends_of, first_line, plain

_PLACE = re.compile(r"^(?:E?\s*File \"|>?\s*)?([\w./-]+\.\w+)(?:\", line |:)(\d+)", re.MULTILINE)


class ResultsError(Exception):
    """A file of results cannot be read; one sentence."""


def read_junit(data: bytes, tree: Path) -> Counts:
    """What every test case came to."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ResultsError("The results declare entities, which no framework does.")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError) as error:
        raise ResultsError(f"The results are not XML: {error}.") from error
    passed = failed = errors = skipped = 0
    failures, tests = list[Failure](), list[str]()
    for case in root.iter("testcase"):
        name = _name(case)
        broken, wrong = case.find("error"), case.find("failure")
        if case.find("skipped") is not None and broken is None and wrong is None:
            skipped += 1
            continue
        tests.append(name)
        if broken is not None:
            errors += 1
            failures.append(_failure(case, broken, name, tree, is_error=True))
        elif wrong is not None:
            failed += 1
            failures.append(_failure(case, wrong, name, tree, is_error=False))
        else:
            passed += 1
    return Counts(passed, failed, errors, skipped, failures, tests)


def _failure(
    case: ElementTree.Element, told: ElementTree.Element, name: str, tree: Path, *, is_error: bool
) -> Failure:
    text = plain(told.text or "", tree)
    message = plain(told.get("message") or "", tree) or first_line(text)
    if message == "collection failure":  # what it was about stands last
        message = next(
            (line[1:].strip() for line in reversed(text.splitlines()) if line[:2] == "E "), message
        )
    file, line = case.get("file") or "", _number(case.get("line"))
    places = [(found[1], int(found[2])) for found in _PLACE.finditer(text) if not found[1].startswith("/")]
    if places:
        file, line = places[-1]
    return Failure(name, ends_of(message, 500), file, line, ends_of(text, MAX_FAILURE), is_error)


def _name(case: ElementTree.Element) -> str:
    """`tests/test_a.py::TestB::test_c`, as pytest takes it on its command line."""
    name, group, file = case.get("name") or "", case.get("classname") or "", case.get("file") or ""
    if not file:
        return plain(f"{group}::{name}" if group else name)
    module = file.removesuffix(".py").replace("/", ".")
    if name == module:  # the file could not be collected
        return plain(file)
    inner = group.removeprefix(module).strip(".").replace(".", "::") if group.startswith(module) else ""
    return plain("::".join(part for part in (file, inner, name) if part))


def _number(text: str | None) -> int:
    return int(text) + 1 if text and text.isdecimal() else 0
