"""The tests that a file holds, in the languages that can be read."""

from __future__ import annotations

from collections.abc import Callable

from podium.tools.testing.case import Case
from podium.tools.testing.cases_python import python_cases
from podium.tools.testing.cases_text import go_cases, javascript_cases, rust_cases
from podium.tools.testing.languages import language_of

_READERS: dict[str, Callable[[str], list[Case] | None]] = {
    "python": python_cases, "javascript": javascript_cases, "go": go_cases, "rust": rust_cases,
}  # fmt: skip


def cases_of(path: str, text: str) -> list[Case] | None:
    """The tests of a file; `None` if it cannot be read: another language, or broken."""
    reader = _READERS.get(language_of(path))
    try:
        return reader(text) if reader else None
    except RecursionError:  # nested deeper than anybody writes by hand
        return None
