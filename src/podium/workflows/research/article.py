"""The article as people get it: Markdown with readable citations and references, and HTML in which every
citation opens the passage that it rests on.

Both are made of the writer's Markdown, after `only_known` has taken out of it what names no real source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from podium.report.frame import templates_of
from podium.report.prose import prose
from podium.workflows.research.contracts import Claim, Source
from podium.workflows.research.evidence import Card, cards_of
from podium.workflows.research.measures.claims import Mark, marks_of, unmarked
from podium.workflows.research.measures.links import web_address
from podium.workflows.research.measures.markup import CLOSE, OPEN, cleaned, understands_citations
from podium.workflows.research.measures.styles import STYLES, Entry, references, render
from podium.workflows.research.telling import SIGNS, VERDICTS

PACKAGE = "podium.workflows.research"
REFERENCES = "References"
_PLACE = re.compile(f"([ \\t]?){OPEN}(\\d+){CLOSE}")
_TITLE = re.compile(r"\A\s*<h1>.*?</h1>\s*", re.DOTALL)
_SECTION = re.compile(r"<h2>")


def content_of(markdown: str, sources: Sequence[Source], style: str = "numeric") -> str:
    """The article as Markdown."""
    text, listed = render(unmarked(cleaned(markdown)).strip(), sources, style)
    return f"{text}\n\n## {REFERENCES}\n\n{listed}\n" if listed else f"{text}\n"


def html_of(
    markdown: str,
    sources: Sequence[Source],
    claims: Sequence[Claim],
    texts: Mapping[str, str],
    style: str = "numeric",
) -> str:
    """The article, its references, and a card for everything that it cites; without a title, safe to show.

    `texts` are the kept texts of the sources by their ids; without one, a card shows the bare quotation.
    """
    markdown, style = cleaned(markdown), style if style in STYLES else "numeric"
    marks = marks_of(markdown)
    markdown = unmarked(markdown)
    cards = cards_of(marks, sources, claims, texts)
    entries = references(markdown, sources, style)
    labels = {one.source_id: _label(one) for one in entries}
    templates = templates_of(PACKAGE)
    shown = templates.get_template("evidence.html").render(
        cards=cards.values(), references=entries, labels=labels, numeric=style == "numeric",
        first=_first_marks(marks, cards), signs=SIGNS, verdicts=VERDICTS, address=web_address,
    )  # fmt: skip
    cites = _citations(marks, cards, labels, style == "numeric")
    return f'<div class="prose article">{_body(markdown, cites)}</div>\n{shown}'


def _citations(
    marks: Sequence[Mark], cards: Mapping[str, Card], labels: Mapping[str, str], numeric: bool
) -> list[str]:
    """Every citation of the text as HTML: links to the card of its sentence."""
    cite: Any = templates_of(PACKAGE).get_template("_cite.html").module
    found: list[str] = []
    for number, mark in enumerate(marks, 1):
        cited = [(one, labels[one]) for one in mark.source_ids if one in labels]
        found.append(str(cite.cite(number, cards.get(mark.sentence), cited, numeric, VERDICTS)))
    return found


def _body(markdown: str, citations: Sequence[str]) -> str:
    """The text without its title; a link can lead to each of its sections."""
    numbers = count(1)
    text = _TITLE.sub("", prose(markdown, understands_citations, _leaves_places), count=1)
    text = _SECTION.sub(lambda _: f'<h2 id="part-{next(numbers)}">', text)
    return _PLACE.sub(lambda found: citations[int(found[2]) - 1], text).strip()


def _leaves_places(parser: MarkdownIt) -> None:
    """A citation is rendered as its number between two marks, which only text can hold, no attribute."""

    def place(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
        env["citations"] = env.get("citations", 0) + 1
        return f"{OPEN}{env['citations']}{CLOSE}"

    parser.add_render_rule("citation", place)


def _label(entry: Entry) -> str:
    """A citation as plain text."""
    return re.sub(r"\\(.)", r"\1", entry.mark)


def _first_marks(marks: Sequence[Mark], cards: Mapping[str, Card]) -> dict[int, int]:
    """Where in the text each card is cited first."""
    found: dict[int, int] = {}
    for number, mark in enumerate(marks, 1):
        if mark.sentence in cards:
            found.setdefault(cards[mark.sentence].number, number)
    return found
