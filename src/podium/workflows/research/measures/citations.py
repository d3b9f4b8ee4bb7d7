"""Citations and claims of an article.

The writer may cite only by the ids of retrieved sources. `only_known` removes everything else that looks like
a citation or links elsewhere, so invented sources never reach a reader.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    labelled: str = ""
    """A table row with the column heading before each cell. Empty for other sentences."""


class Mark(msgspec.Struct, frozen=True):
    """One citation in the text, in reading order, with its sentence."""

    source_ids: tuple[str, ...]
    sentence: str


def split_claims(markdown: str) -> list[Sentence]:
    """Return every sentence and table row that cites a source, and every other sentence that needs one, in
    reading order. Duplicates are one claim."""
    claims: dict[str, Sentence] = {}
    for block in blocks_of(markdown):
        sentences = _sentences(block) if block.kind != "heading" else []
        shown = illustrations_in(sentences)
        for sentence in sentences:
            text = _read(sentence)
            ids = [source_id for group in CITED.findall(sentence) for source_id in group.split(";")]
            open_ = block.kind != "row" and sentence not in shown and needs_source(sentence)
            if text and (ids or open_):
                before = claims[text].source_ids if text in claims else ()
                labelled = claims[text].labelled if text in claims else _labelled(block)
                claims[text] = Sentence(text, tuple(dict.fromkeys((*before, *ids))), labelled)
    return list(claims.values())


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
    illustrations: set[str] = set()
    within = False
    for sentence in sentences:
        real = CITED.search(sentence) or _ATTRIBUTED.search(sentence) or _FIGURE.search(sentence)
        within = not real and (within or bool(_ILLUSTRATES.match(sentence.lstrip('*_“"( '))))
        illustrations |= {sentence} if within else set()
    return illustrations


def needs_source(sentence: str) -> bool:
    """True if a sentence states a figure, a date or a finding. Questions state nothing."""
    sentence = without_citations(sentence)
    if sentence.endswith("?") or UNSOURCED in sentence or len(words_in(sentence)) < 4:
        return False
    return bool(_FIGURE.search(_NO_FIGURE.sub("", sentence)) or _TOLD.search(sentence))


def unsourced_in(markdown: str) -> list[str]:
    """Return the sentences marked as general knowledge, without the line that explains the mark."""
    blocks = [block for block in blocks_of(_EXPLAINED.sub("", markdown)) if UNSOURCED in block.text]
    parts = [
        [_open_cells(block.text)] if block.kind == "row" else sentences_in(block.text) for block in blocks
    ]
    return [_read(sentence) for part in parts for sentence in part if UNSOURCED in sentence]


def _open_cells(row: str) -> str:
    """The cells of a row that have no source, behind the first one, which says what it is about."""
    first, *others = row.split(BETWEEN_CELLS)
    return BETWEEN_CELLS.join([first, *(cell for cell in others if UNSOURCED in cell)])


def with_marks_inside(markdown: str) -> str:
    """Move marks of general knowledge before the full stop of their sentence."""
    return re.sub(rf"([.!?…]+)[ \t]*{UNSOURCED}", rf"{UNSOURCED}\1", markdown)


def unmarked(markdown: str) -> str:
    """Return an article for readers: without the marks of general knowledge, and with a last line that says
    what has no citation."""
    if UNSOURCED not in markdown:
        return markdown
    notes = [match[1].strip() for match in _EXPLAINED.finditer(markdown)]
    body = re.sub(rf"[ \t]*{UNSOURCED}", "", _EXPLAINED.sub("", markdown)).rstrip()
    return f"{body}\n\n*{next(filter(None, notes), EXPLAINED)}*\n"


def _read(sentence: str) -> str:
    """Return a sentence without citations and marks."""
    return re.sub(rf"\s*{UNSOURCED}", "", without_citations(sentence))


def _sentences(block: Block) -> list[str]:
    """Return the sentences of a block. A table row is one sentence, without its cells of general knowledge;
    so is a heading. Code has none."""
    if block.kind == "code":
        return []
    if block.kind == "row":
        return [BETWEEN_CELLS.join(cell for cell in block.text.split(BETWEEN_CELLS) if _is_claimed(cell))]
    return [block.text] if block.kind == "heading" else sentences_in(block.text) or [block.text]


def _is_claimed(cell: str) -> bool:
    return bool(CITED.search(cell)) or UNSOURCED not in cell


def _labelled(block: Block) -> str:
    """Return the claimed cells of a table row, each behind its column heading."""
    cells = block.text.split(BETWEEN_CELLS)
    if not block.headings or len(cells) != len(block.headings):
        return ""
    pairs = [
        (heading, cell) for heading, cell in zip(block.headings, cells, strict=True) if _is_claimed(cell)
    ]
    return BETWEEN_CELLS.join(_read(f"{heading}: {cell}" if heading else cell) for heading, cell in pairs)


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
    groups = (
        group for block in blocks_of(markdown) for group in CITED.findall(block.text) if block.kind != "code"
    )
    return list(dict.fromkeys(source_id for group in groups for source_id in group.split(";")))


def check_citations(markdown: str, sources: Sequence[Source]) -> CitationCheck:
    """Compare the citations with the listed sources."""
    listed = [source.id for source in sources]
    cited = cited_ids(markdown)
    claims = split_claims(markdown)
    missing = tuple(claim.text for claim in claims if not claim.source_ids)
    mentions = [source_id for claim in claims for source_id in claim.source_ids]
    right = sum(source_id in listed for source_id in mentions)
    whole = len(mentions) + len(missing)
    return CitationCheck(
        tuple(source_id for source_id in listed if source_id not in cited),
        missing,
        tuple(source_id for source_id in cited if source_id not in listed),
        right / whole if whole else 0.0,
    )


def cited_by_name(markdown: str) -> list[str]:
    """Return texts that look like citations by author and year, which cannot be followed. They may also be
    remarks."""
    names = (
        name for block in blocks_of(markdown) if block.kind != "code" for name in _BY_NAME.findall(block.text)
    )
    return [name for name in dict.fromkeys(names) if not _MONTHS.match(name)]


def only_known(markdown: str, sources: Sequence[Source]) -> Known:
    """Remove citations of sources that do not exist, and links to anything else.

    A link keeps its words. Numbers in brackets and footnotes are removed too, because only generated ones may
    appear there in the end.
    """
    removed: dict[str, None] = {}
    text = _without_list(cleaned(markdown), removed)
    text = _without_unknown(text, {source.id for source in sources}, removed)
    addresses = {_same(source.url) for source in sources}
    pieces = _CODE.split(text)
    pieces[::2] = [_without_links(piece, addresses, removed) for piece in pieces[::2]]
    return Known("".join(pieces), tuple(removed))


def _without_unknown(text: str, known: set[str], removed: dict[str, None]) -> str:
    def keep(match: re.Match[str]) -> str:
        ids = ids_of(match[0])
        for source_id in ids:
            if source_id not in known:
                removed[f"Cited {source_id}, which is not a source of this run."] = None
        valid = [f"@{source_id}" for source_id in ids if source_id in known]
        return f"{match[1] if valid else ''}[{'; '.join(valid)}]" if valid else ("" if ids else match[0])

    return re.sub(r"([ \t]?)" + CITATION.pattern, keep, text)


def _remove(match: re.Match[str], why: str, removed: dict[str, None], instead: str = "") -> str:
    """Record why a match is removed, and return what replaces it."""
    removed[f"{why}: {' '.join(match[0].split())[:120]}"] = None
    return instead


def _without_list(text: str, removed: dict[str, None]) -> str:
    """Remove the writer's own list of references. The real one is generated from the sources."""
    return _REFERENCES.sub(lambda match: _remove(match, "Wrote its own list of references", removed), text)


def _without_links(text: str, addresses: set[str], removed: dict[str, None]) -> str:
    def link(match: re.Match[str]) -> str:
        if _same(match[2]) in addresses and not match[0].startswith("!"):
            return match[0]
        return _remove(match, "Linked to something that is not a source of this run", removed, match[1])

    def address(match: re.Match[str]) -> str:
        if _same(match[1].strip("<>")) in addresses:
            return match[0]
        return _remove(match, "Named an address that is not a source of this run", removed)

    def by_name(match: re.Match[str]) -> str:
        if _MONTHS.match(match[1]):
            return match[0]
        return _remove(match, "Cited an author who is not a source of this run", removed)

    text = re.sub(r"[ \t]?(" + _BY_NAME.pattern + ")", by_name, text)
    text = _DEFINITION.sub(lambda match: _remove(match, "Wrote its own footnote", removed), text)
    text = _NUMBER.sub(lambda match: _remove(match, "Cited by number", removed), text)
    return _ADDRESS.sub(address, _LINK.sub(link, text))


def _same(url: str) -> str:
    """Normalize an address for comparison."""
    return re.sub(r"^https?://(?:www\.)?", "", url.strip().lower()).partition("#")[0].rstrip("/")
