"""The deliverable as Markdown: the requested text without any record keeping."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from podium.report.words import one_line
from podium.workflows.studio.contracts import DepartmentReport

_HEADING = re.compile(r"^(#{1,6})(?= )")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_BLOCK = re.compile(
    r"\s*$|#{1,6} |\s*(?:[-*+]|\d+[.)]) |\s*[|>]| {4}|\t|\s*(?:-{2,}|={2,}|\*{3,}|_{3,})\s*$|\s*(?:```|~~~)"
)
"""Lines that are empty or belong to a heading, list, table, quotation, rule or code."""
_TITLE = re.compile(r"\A\s*# +(.+?)[ #]*\n")
OWN_LEVEL = 3
"""The highest heading inside a section, which is itself of level 2."""


def integrated_text(request: str, text: str) -> str:
    """Return a text ready for delivery: with a title, and with line breaks in dialogue."""
    return with_line_breaks(with_title(request, text)) + "\n"


def with_title(request: str, text: str) -> str:
    """Return a text with a title. If the text has none, the request becomes the title."""
    text = text.strip()
    if _TITLE.match(f"{text}\n"):
        return f"{text}\n"
    return f"# {one_line(request, 200)}\n\n{demoted(text, 2)}\n"


def with_line_breaks(text: str) -> str:
    """Keep lines of dialogue and verse apart in every Markdown renderer: append two spaces to lines inside a
    paragraph."""
    lines, fenced = text.splitlines(), False
    for number, (line, following) in enumerate(pairwise(lines)):
        fenced ^= bool(_FENCE.match(line))
        quoted = line.startswith(">") and following.startswith(">")
        if not fenced and (quoted or not (_BLOCK.match(line) or _BLOCK.match(following))):
            lines[number] = f"{line.rstrip()}  "
    return "\n".join(lines)


def departments_text(request: str, reports: Sequence[DepartmentReport]) -> str:
    """Return the departments' texts one after the other, for a run in which the master wrote nothing."""
    parts = [f"# {one_line(request, 200)}"]
    written = [one for one in reports if one.output]
    if written:
        parts.append("*These are the departments' texts as they are; they were not brought together.*")
    parts += [f"## {one.department_name}\n\n{demoted(one.output)}" for one in written]
    missing = [one.department_name for one in reports if not one.output]
    if missing:
        parts.append(f"*Missing: the work of {', '.join(missing)}.*")
    return "\n\n".join(parts) + "\n"


def title_and_body(text: str) -> tuple[str, str]:
    """Return the title of a deliverable and the text below it."""
    found = _TITLE.match(text)
    return (found[1], text[found.end() :].strip()) if found else ("", text.strip())


def demoted(text: str, top: int = OWN_LEVEL) -> str:
    """Shift headings down so that the highest is of level `top`, and keep their relative levels."""
    fenced, headings = False, list[int]()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        if not fenced and _HEADING.match(line):
            headings.append(number)
    levels = [len(lines[number]) - len(lines[number].lstrip("#")) for number in headings]
    down = top - min(levels, default=top)
    for number, level in zip(headings, levels, strict=True):
        if down > 0:
            lines[number] = "#" * min(level + down, 6) + lines[number][level:]
    return "\n".join(lines)
