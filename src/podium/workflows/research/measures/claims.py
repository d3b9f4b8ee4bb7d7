"""What an article claims: its sentences that cite somebody, and those that should."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from podium.workflows.research.measures.markup import (
    BETWEEN_CELLS,
    CITED,
    Block,
    blocks_of,
    without_citations,
)
from podium.workflows.research.measures.words import sentences_in, words_in

_FIGURE = re.compile(
    r"\d|\b(?:percent|per cent|hundreds?|thousands?|millions?|billions?|trillions?)\b", re.IGNORECASE
)
_TOLD = re.compile(
    r"\b(?:according to|stud(?:y|ies) (?:show|find|found|suggest|report)"
    r"|research(?:ers)? (?:show|find|found|suggest|report|from)|surveys?|experts? (?:say|agree|warn|believe)"
    r"|evidence (?:shows|suggests)|trials? (?:show|found)|doubled|tripled|halved"
    r"|(?:twice|three times) as|half of|the (?:largest|highest|lowest|first|most common))\b",
    re.IGNORECASE,
)
_NO_FIGURE = re.compile(
    r"\b(?:section|chapter|figure|table|step|part|version|python|web|type)\s+\d[\d.]*", re.IGNORECASE
)
_ATTRIBUTED = re.compile(
    r"\b(?:according to|stud(?:y|ies)|research(?:ers?)?|surveys?|experts?|evidence|trials?|laut|selon|según"
    r"|secondo)\b",
    re.IGNORECASE,
)
_ILLUSTRATES = re.compile(
    r"(?:suppose|supposing|assume|assuming|imagine|consider|say|let us say|let's say|picture|take"
    r"|for example|for instance|as an example|as an illustration|to illustrate"
    r"|angenommen|nehmen wir|stellen sie sich|stell dir|zum beispiel|beispielsweise|etwa wenn"
    r"|supposons|imaginons|par exemple|prenons|supongamos|imagine|imaginemos|por ejemplo"
    r"|supponiamo|immaginiamo|per esempio|ad esempio|stel|bijvoorbeeld|załóżmy|na przykład)\b",
    re.IGNORECASE,
)


UNSOURCED = "†"
"""Stands behind a sentence of general knowledge, which no source supports. Programs need it; no reader sees
it."""
EXPLAINED = "What has no citation is general knowledge, or could not be confirmed in the sources."
_EXPLAINED = re.compile(rf"^[*_> ]{{0,3}}{UNSOURCED}[ \t]*([^\n]*?)[*_]{{0,3}}[ \t]*$", re.MULTILINE)
"""The line that says what has no citation."""


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of the article that can be right or wrong."""

    text: str
    """As a reader reads it, without citations."""
    source_ids: tuple[str, ...] = ()
    """What it cites; empty: it cites nobody, and should."""


class Mark(msgspec.Struct, frozen=True):
    """One citation in the text, in the order of reading, with the sentence that it stands behind."""

    source_ids: tuple[str, ...]
    sentence: str


def split_claims(markdown: str) -> list[Sentence]:
    """Every sentence, and every row of a table, that cites a source, and every other sentence that needs one,
    in the order of reading. What is written twice is one claim."""
    found: dict[str, Sentence] = {}
    for block in blocks_of(markdown):
        sentences = _sentences(block) if block.kind != "heading" else []
        shown = illustrations_in(sentences)
        for sentence in sentences:
            text = _read(sentence)
            ids = [one for group in CITED.findall(sentence) for one in group.split(";")]
            open_ = block.kind != "row" and sentence not in shown and needs_source(sentence)
            if text and (ids or open_):
                before = found[text].source_ids if text in found else ()
                found[text] = Sentence(text, tuple(dict.fromkeys((*before, *ids))))
    return list(found.values())


def marks_of(markdown: str) -> list[Mark]:
    """Every citation, also those in tables and headings, as a page numbers them."""
    return [
        Mark(tuple(ids.split(";")), _read(sentence))
        for block in blocks_of(markdown)
        for sentence in _sentences(block)
        for ids in CITED.findall(sentence)
    ]


def illustrations_in(sentences: Sequence[str]) -> set[str]:
    """Return the sentences of a paragraph that make up a case: one that begins with `Suppose` or the like,
    and those that follow it. A figure, a citation or a word such as `according to` ends it."""
    found: set[str] = set()
    within = False
    for sentence in sentences:
        real = CITED.search(sentence) or _ATTRIBUTED.search(sentence) or _FIGURE.search(sentence)
        within = not real and (within or bool(_ILLUSTRATES.match(sentence.lstrip('*_“"( '))))
        found |= {sentence} if within else set()
    return found


def needs_source(sentence: str) -> bool:
    """Whether a sentence tells a figure, a date or what somebody found. A question tells nothing."""
    sentence = without_citations(sentence)
    if sentence.endswith("?") or UNSOURCED in sentence or len(words_in(sentence)) < 4:
        return False
    return bool(_FIGURE.search(_NO_FIGURE.sub("", sentence)) or _TOLD.search(sentence))


def unsourced_in(markdown: str) -> list[str]:
    """Return the sentences that are marked as general knowledge; the line that explains them is none."""
    blocks = [one for one in blocks_of(_EXPLAINED.sub("", markdown)) if UNSOURCED in one.text]
    parts = [one.text.split(BETWEEN_CELLS) if one.kind == "row" else sentences_in(one.text) for one in blocks]
    return [_read(one) for part in parts for one in part if UNSOURCED in one]


def with_marks_inside(markdown: str) -> str:
    """Return an article whose marks of general knowledge stand before the full stop of their sentence."""
    return re.sub(rf"([.!?…]+)[ \t]*{UNSOURCED}", rf"{UNSOURCED}\1", markdown)


def unmarked(markdown: str) -> str:
    """Return an article as readers see it: without the marks of general knowledge, and with a last line that
    says what has no citation."""
    if UNSOURCED not in markdown:
        return markdown
    told = [found[1].strip() for found in _EXPLAINED.finditer(markdown)]
    body = re.sub(rf"[ \t]*{UNSOURCED}", "", _EXPLAINED.sub("", markdown)).rstrip()
    return f"{body}\n\n*{next(filter(None, told), EXPLAINED)}*\n"


def _read(sentence: str) -> str:
    """A sentence as it is read aloud."""
    return re.sub(rf"\s*{UNSOURCED}", "", without_citations(sentence))


def _sentences(block: Block) -> list[str]:
    """What a block says. A row of a table says one thing, without its cells of general knowledge, and so does
    a heading."""
    if block.kind == "code":
        return []
    if block.kind == "row":
        cells = block.text.split(BETWEEN_CELLS)
        return [BETWEEN_CELLS.join(one for one in cells if CITED.search(one) or UNSOURCED not in one)]
    return [block.text] if block.kind == "heading" else sentences_in(block.text) or [block.text]
