"""What stands behind each citation: the claim, what was found about it, and the passage of the source.

A card is one claim with one source. In the article every citation leads to its card, and the card shows the
words of the source that were really read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from podium.report.words import shorten
from podium.workflows.research.contracts import Claim, Passage, Source
from podium.workflows.research.measures.claims import Mark
from podium.workflows.research.measures.quotes import excerpt

LONGEST_QUOTE = 1_200
"""Characters of a quotation that are shown."""
SNIPPET = 400


class Quoted(msgspec.Struct, frozen=True):
    """Words of a source with those around them."""

    before: str = ""
    quote: str = ""
    after: str = ""


class Card(msgspec.Struct, frozen=True):
    """One claim, and all sources that it cites."""

    number: int
    claim: str
    sources: tuple[Source, ...]
    """The one that holds the quotation first."""
    verdict: str
    """`verified`, `unverified`, `contradicted`, or empty: nobody checked it."""
    reason: str
    passage: Quoted
    quoted_from: str = ""
    """The id of the source whose words are shown; empty: there are none."""


def quoted(text: str, quote: str, start: int, end: int) -> Quoted:
    """A quotation in its passage. It is taken from the kept text, where that is at hand."""
    if not text or not 0 <= start < end <= len(text):
        return Quoted(quote=shorten(quote, LONGEST_QUOTE))
    before, words, after = excerpt(text, start, end)
    return Quoted(before, shorten(words, LONGEST_QUOTE), after)


def passage_of(passage: Passage, texts: Mapping[str, str]) -> Quoted:
    """A passage of a contradiction."""
    return quoted(texts.get(passage.source_id, ""), passage.quote, passage.start, passage.end)


def cards_of(
    marks: Iterable[Mark], sources: Sequence[Source], claims: Sequence[Claim], texts: Mapping[str, str]
) -> dict[str, Card]:
    """A card for every sentence that cites somebody, in the order of reading."""
    known = {one.id: one for one in sources}
    checked = {_same(one.text): one for one in claims}
    cited: dict[str, dict[str, Source]] = {}
    for mark in marks:
        found = {one: known[one] for one in mark.source_ids if one in known}
        if found:
            cited.setdefault(mark.sentence, {}).update(found)
    return {
        sentence: _card(number, sentence, list(found.values()), checked.get(_same(sentence)), texts)
        for number, (sentence, found) in enumerate(cited.items(), 1)
    }


def _same(sentence: str) -> str:
    """A sentence as it is compared: an editor may have changed its spaces."""
    return " ".join(sentence.split()).casefold()


def _card(
    number: int, sentence: str, sources: list[Source], claim: Claim | None, texts: Mapping[str, str]
) -> Card:
    if claim is None:
        return Card(number, sentence, tuple(sources), "", "", _snippet(sources[0]))
    first = [one for one in sources if one.id == claim.quote_source]
    if not claim.quote or not first:
        return Card(number, sentence, tuple(sources), claim.verdict, claim.reason, _snippet(sources[0]))
    passage = quoted(texts.get(first[0].id, ""), claim.quote, claim.start, claim.end)
    ordered = (*first, *(one for one in sources if one not in first))
    return Card(number, sentence, ordered, claim.verdict, claim.reason, passage, first[0].id)


def _snippet(source: Source) -> Quoted:
    """What a search said of the source, where no words of it are tied to the claim."""
    return Quoted(before=shorten(source.snippet.strip(), SNIPPET))
