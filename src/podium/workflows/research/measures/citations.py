"""Citations and claims of an article.

The writer may cite only by the ids of retrieved sources. `only_known` removes everything else that looks like
a citation or links elsewhere, so invented sources never reach a reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from podium.workflows.research.measures.markup import (
    BETWEEN_CELLS,
    CITATION,
    CITED,
    Block,
    blocks_of,
    cleaned,
    ids_of,
    without_citations,
)
from podium.workflows.research.measures.text import sentences_in, words_in

if TYPE_CHECKING:
    from podium.workflows.research.contracts import Source


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
"""Marks a sentence of general knowledge that no source supports. Used by programs; removed before readers see
the text."""
EXPLAINED = "What has no citation is general knowledge, or could not be confirmed in the sources."
_EXPLAINED = re.compile(rf"^[*_> ]{{0,3}}{UNSOURCED}[ \t]*([^\n]*?)[*_]{{0,3}}[ \t]*$", re.MULTILINE)
"""The line that explains what has no citation."""


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of the article that makes a claim."""

    text: str
    """The text without citations."""
    source_ids: tuple[str, ...] = ()
    """The sources it cites. Empty if it cites none but should."""


class Mark(msgspec.Struct, frozen=True):
    """One citation in the text, in reading order, with its sentence."""

    source_ids: tuple[str, ...]
    sentence: str


def split_claims(markdown: str) -> list[Sentence]:
    """Return every sentence and table row that cites a source, and every other sentence that needs one, in
    reading order. Duplicates are one claim."""
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
    """Return every citation, including those in tables and headings, in the order in which a page numbers
    them."""
    return [
        Mark(tuple(ids.split(";")), _read(sentence))
        for block in blocks_of(markdown)
        for sentence in _sentences(block)
        for ids in CITED.findall(sentence)
    ]


def illustrations_in(sentences: Sequence[str]) -> set[str]:
    """Return the sentences of a paragraph that describe a hypothetical case: one that begins with `Suppose`
    or the like, and those that follow it. A figure, a citation or a word such as `according to` ends it."""
    found: set[str] = set()
    within = False
    for sentence in sentences:
        real = CITED.search(sentence) or _ATTRIBUTED.search(sentence) or _FIGURE.search(sentence)
        within = not real and (within or bool(_ILLUSTRATES.match(sentence.lstrip('*_“"( '))))
        found |= {sentence} if within else set()
    return found


def needs_source(sentence: str) -> bool:
    """True if a sentence states a figure, a date or a finding. Questions state nothing."""
    sentence = without_citations(sentence)
    if sentence.endswith("?") or UNSOURCED in sentence or len(words_in(sentence)) < 4:
        return False
    return bool(_FIGURE.search(_NO_FIGURE.sub("", sentence)) or _TOLD.search(sentence))


def unsourced_in(markdown: str) -> list[str]:
    """Return the sentences marked as general knowledge, without the line that explains the mark."""
    blocks = [one for one in blocks_of(_EXPLAINED.sub("", markdown)) if UNSOURCED in one.text]
    parts = [[_open_cells(one.text)] if one.kind == "row" else sentences_in(one.text) for one in blocks]
    return [_read(one) for part in parts for one in part if UNSOURCED in one]


def _open_cells(row: str) -> str:
    """The cells of a row that have no source, behind the first one, which says what it is about."""
    first, *others = row.split(BETWEEN_CELLS)
    return BETWEEN_CELLS.join([first, *(one for one in others if UNSOURCED in one)])


def with_marks_inside(markdown: str) -> str:
    """Move marks of general knowledge before the full stop of their sentence."""
    return re.sub(rf"([.!?…]+)[ \t]*{UNSOURCED}", rf"{UNSOURCED}\1", markdown)


def unmarked(markdown: str) -> str:
    """Return an article for readers: without the marks of general knowledge, and with a last line that says
    what has no citation."""
    if UNSOURCED not in markdown:
        return markdown
    told = [found[1].strip() for found in _EXPLAINED.finditer(markdown)]
    body = re.sub(rf"[ \t]*{UNSOURCED}", "", _EXPLAINED.sub("", markdown)).rstrip()
    return f"{body}\n\n*{next(filter(None, told), EXPLAINED)}*\n"


def _read(sentence: str) -> str:
    """Return a sentence without citations and marks."""
    return re.sub(rf"\s*{UNSOURCED}", "", without_citations(sentence))


def _sentences(block: Block) -> list[str]:
    """Return the sentences of a block. A table row is one sentence, without its cells of general knowledge;
    so is a heading. Code has none."""
    if block.kind == "code":
        return []
    if block.kind == "row":
        cells = block.text.split(BETWEEN_CELLS)
        return [BETWEEN_CELLS.join(one for one in cells if CITED.search(one) or UNSOURCED not in one)]
    return [block.text] if block.kind == "heading" else sentences_in(block.text) or [block.text]


_CODE = re.compile(
    r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)[^\n]*$|\Z)|`[^`\n]{1,500}`)", re.DOTALL | re.MULTILINE
)
_LINK = re.compile(
    r"!?\[([^\[\]]{0,500})\]\(\s{0,9}<?([^\s<>()]{0,2000}(?:\([^\s<>()]{0,200}\))?[^\s<>()]{0,500})>?[^()\n]{0,200}\)"
)
_ADDRESS = re.compile(
    r"[ \t]?(<?(?:https?://|www\.)[^\s<>\[\]()\"'`]{1,2000}(?<![.,;:!?*_])>?)", re.IGNORECASE
)
_NUMBER = re.compile(r"\s?\[\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,20}\](?![(\[:])|\s?\[\^[\w-]{1,40}\](?!:)")
_DEFINITION = re.compile(
    r"^ {0,3}\[\^?(?!@)[^\[\]\n]{1,100}\]:[^\n]*(?:\n(?: {2,}|\t)[^\n]+)*\n?", re.MULTILINE
)
_BY_NAME = re.compile(
    r"\([A-Z][\w'’-]{1,40}(?:,? (?:et al\.?|(?:and|&) [A-Z][\w'’-]{1,40}))?"
    r",? (?:19|20)\d\d[a-z]?(?:, pp?\. ?\d+)?\)"
)
_REFERENCES = re.compile(
    r"^(?:#{1,6} *|\*\*)(?:references|sources|bibliography|works cited|further reading|literatur|quellen"
    r"|références|bibliographie|referencias|fuentes):?(?:\*\*)?:?[ \t]*\n(?:(?!#{1,6} )[^\n]*(?:\n|\Z))*",
    re.IGNORECASE | re.MULTILINE,
)
"""A list of references up to the next heading."""
_MONTHS = re.compile(
    r"\((?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec|Spring|Summer|Autumn|Fall|Winter)"
)


class CitationCheck(msgspec.Struct, frozen=True):
    """Citation errors of an article."""

    orphans: tuple[str, ...]
    """Ids of listed sources that are never cited."""
    missing: tuple[str, ...]
    """Sentences with a figure or a finding but without a citation."""
    unknown: tuple[str, ...]
    """Cited ids that match no source."""
    accuracy: float
    """Share of correct citations among all existing and missing ones. 0 if nothing is cited."""


class Known(msgspec.Struct, frozen=True):
    """An article that names only existing sources."""

    markdown: str
    removed: tuple[str, ...]
    """Removed parts, one sentence each."""


def cited_ids(markdown: str) -> list[str]:
    """Return the cited ids without duplicates, in reading order. Code is ignored."""
    groups = (group for one in blocks_of(markdown) for group in CITED.findall(one.text) if one.kind != "code")
    return list(dict.fromkeys(found for group in groups for found in group.split(";")))


def check_citations(markdown: str, sources: Sequence[Source]) -> CitationCheck:
    """Compare the citations with the listed sources."""
    listed = [one.id for one in sources]
    cited = cited_ids(markdown)
    claims = split_claims(markdown)
    missing = tuple(one.text for one in claims if not one.source_ids)
    mentions = [one for claim in claims for one in claim.source_ids]
    right = sum(one in listed for one in mentions)
    whole = len(mentions) + len(missing)
    return CitationCheck(
        tuple(one for one in listed if one not in cited),
        missing,
        tuple(one for one in cited if one not in listed),
        right / whole if whole else 0.0,
    )


def cited_by_name(markdown: str) -> list[str]:
    """Return texts that look like citations by author and year, which cannot be followed. They may also be
    remarks."""
    found = (
        one for block in blocks_of(markdown) if block.kind != "code" for one in _BY_NAME.findall(block.text)
    )
    return [one for one in dict.fromkeys(found) if not _MONTHS.match(one)]


def only_known(markdown: str, sources: Sequence[Source]) -> Known:
    """Remove citations of sources that do not exist, and links to anything else.

    A link keeps its words. Numbers in brackets and footnotes are removed too, because only generated ones may
    appear there in the end.
    """
    removed: dict[str, None] = {}
    text = _without_list(cleaned(markdown), removed)
    text = _without_unknown(text, {one.id for one in sources}, removed)
    addresses = {_same(one.url) for one in sources}
    pieces = _CODE.split(text)
    pieces[::2] = [_without_links(one, addresses, removed) for one in pieces[::2]]
    return Known("".join(pieces), tuple(removed))


def _without_unknown(text: str, known: set[str], removed: dict[str, None]) -> str:
    def keep(found: re.Match[str]) -> str:
        ids = ids_of(found[0])
        for one in ids:
            if one not in known:
                removed[f"Cited {one}, which is no source of this run."] = None
        left = [f"@{one}" for one in ids if one in known]
        return f"{found[1] if left else ''}[{'; '.join(left)}]" if left else ("" if ids else found[0])

    return re.sub(r"([ \t]?)" + CITATION.pattern, keep, text)


def _without_list(text: str, removed: dict[str, None]) -> str:
    """Remove the writer's own list of references. The real one is generated from the sources."""

    def take(found: re.Match[str]) -> str:
        removed[f"Wrote a list of references of its own: {' '.join(found[0].split())[:120]}"] = None
        return ""

    return _REFERENCES.sub(take, text)


def _without_links(text: str, addresses: set[str], removed: dict[str, None]) -> str:
    def told(why: str, put: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
        def take(found: re.Match[str]) -> str:
            removed[f"{why}: {' '.join(found[0].split())[:120]}"] = None
            return put(found)

        return take

    def link(found: re.Match[str]) -> str:
        if _same(found[2]) in addresses and not found[0].startswith("!"):
            return found[0]
        return told("Linked to what is no source of this run", lambda one: one[1])(found)

    def address(found: re.Match[str]) -> str:
        if _same(found[1].strip("<>")) in addresses:
            return found[0]
        return told("Named an address that is no source of this run", lambda _: "")(found)

    def by_name(found: re.Match[str]) -> str:
        if _MONTHS.match(found[1]):
            return found[0]
        return told("Cited an author that is no source of this run", lambda _: "")(found)

    text = re.sub(r"[ \t]?(" + _BY_NAME.pattern + ")", by_name, text)
    text = _DEFINITION.sub(told("Wrote a footnote of its own", lambda _: ""), text)
    text = _NUMBER.sub(told("Cited by number", lambda _: ""), text)
    return _ADDRESS.sub(address, _LINK.sub(link, text))


def _same(url: str) -> str:
    """Normalize an address for comparison."""
    return re.sub(r"^https?://(?:www\.)?", "", url.strip().lower()).partition("#")[0].rstrip("/")
