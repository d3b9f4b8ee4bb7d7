"""Check whether a passage of a source supports the whole of a claim, as far as a program can decide.

A model says that it does. This check finds what models overlook: numbers, units, dates, names and negations
that differ, and quotations too short to support anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from podium.brain.vocabulary import word_set
from podium.workflows.research.measures.differences import (
    denied,
    exchanged,
    held_stems,
    is_copied,
    is_near_copy,
    lacks_names,
    missing_name,
    opposed,
    stems,
)
from podium.workflows.research.measures.figures import NEGATORS, Date, Figures, figures_of, tokens_of
from podium.workflows.research.measures.markup import BETWEEN_CELLS
from podium.workflows.research.measures.quotes import locate
from podium.workflows.research.measures.text import sentences_in

LEAST_WORDS = 3
"""Minimum content words of a passage, or as many as the claim has."""
LEAST_SHARED = 0.34
"""Minimum share of the claim's content words in the passage."""
LEAST_READ = 0.25
"""The same share if a fact checker has read the passage."""
WIDEST = 2
"""Maximum sentences before and after a quotation that may be added to it."""
LONGEST = 1_500
"""Maximum characters of a passage."""
NEARLY_ALL = 0.6
"""Minimum share of the claim's content words with which a sentence says the same as the claim, or its
opposite."""
MOST_PARTS = 3
"""Maximum separate sentences that support a claim together."""
PARTS_HOLD = 0.7
"""Minimum share of the claim's content words that these must contain."""
TRIED = 6
"""Maximum sentences of a text that are tried as support of a claim."""
_FUNCTION_WORDS = {
    "en": word_set("the of and is are was to in that for with by it on as be this"),
    "de": word_set("der die das und ist sind von zu den mit ein eine für auf dem im wird"),
    "fr": word_set("le la les des et est sont une dans pour que qui sur avec du au par"),
    "es": word_set("el la los las y es son una en para que con por del se un al"),
    "it": word_set("il lo la gli di che è sono una per con del della nel un e si"),
    "nl": word_set("de het een en is zijn van in op te dat voor met aan niet door"),
}


def missing_support(
    claim: str, passage: str, context: str = "", *, text: str = "", read: bool = False
) -> str:
    """Return a sentence that says what the passage lacks to support the claim, or an empty string.

    `context` holds names that count as present: the title of the source. `text` is the whole source, in which
    abbreviations are spelled out. `read` means that a fact checker has read the passage and says that it
    supports the claim; then only contradictions count.
    """
    needed, present = stems(claim), stems(passage)
    if len(present) < min(LEAST_WORDS, max(len(needed), 1)):
        return "The quoted passage is too short to support the claim."
    if is_copied(claim, passage):
        return ""
    wrong = _figures(figures_of(claim, claim=True), figures_of(passage))
    if wrong:
        return wrong
    if _other_language(claim, passage):  # words and names are translated, figures are not
        return ""
    least = LEAST_READ if read else LEAST_SHARED
    if needed and len(held_stems(needed, f"{passage}\n{context}")) / len(needed) < least:
        return "The quoted passage speaks of something else."
    named = missing_name(claim, passage, context, text)
    if BETWEEN_CELLS in claim:  # a table row: its `No` denies a column heading
        return named
    different = exchanged(claim, passage) or named
    if not different and (not read or is_near_copy(claim, passage)):  # a fact checker understands paraphrases
        different = opposed(claim, passage)
    return different or denied(claim, passage, strict=not read)


def supporting_span(
    claim: str, text: str, start: int, end: int, context: str = "", *, read: bool = True
) -> tuple[int, int] | None:
    """Return the shortest span of the text around `start:end` that supports the whole claim, or None.

    The quotation itself is tried first, then its whole sentences, then these with up to two more on each
    side.
    """
    spans = list(_spans(text, start, end))
    own = own_passage(text, start, end)
    if not is_copied(claim, text[start:end]) and exchanged(claim, text[start:end]):
        return None  # in a list without full stops the sentence is too long to compare
    settled = _is_replaced(claim, own)
    for begin, stop in spans:
        passage = text[begin:stop]
        around = "" if settled else context
        if not missing_support(claim, passage, around, text=text if read else "", read=read):
            return begin, stop
        if settled and own in passage:  # its own sentences say something else, so others do not count
            return None
    return None


def find_support(claim: str, text: str, context: str = "") -> tuple[int, int] | None:
    """Return a span of the text that supports the whole claim, found without a model, or None.

    Without a fact checker, the passage must contain most of the claim's content words.
    """
    needed = stems(claim)
    if not needed:
        return None
    copied = locate(claim, text)
    span = supporting_span(claim, text, *copied, context, read=False) if copied else None
    if span is not None:
        return span
    places = [(len(needed & present), start, end) for start, end, present in _indexed(text)]
    best = sorted((place for place in places if place[0]), key=lambda place: (-place[0], place[1]))[:TRIED]
    for _, start, end in best:
        if _is_replaced(claim, text[start:end]):  # the most similar sentence says something else
            return None
        span = supporting_span(claim, text, start, end, context, read=False)
        if span and len(needed & stems(text[span[0] : span[1]])) / len(needed) >= NEARLY_ALL:
            return span
    return _together(claim, needed, text, context)


def _together(claim: str, needed: set[str], text: str, context: str) -> tuple[int, int] | None:
    """Find support by a few separate sentences, each with a part of the claim, and return the one with the
    largest part. They must contain more of the claim's words than a single passage."""
    chosen, missing = list[tuple[int, int]](), set(needed)
    sentences = _indexed(text)
    while len(chosen) < MOST_PARTS and missing:
        start, end, present = max(
            sentences,
            key=lambda sentence: (len(missing & sentence[2]), -sentence[0]),
            default=(0, 0, missing),
        )
        if len(missing & present) < LEAST_WORDS or end == 0:
            break
        chosen.append((start, end))
        missing -= present
    joined = "\n".join(text[start:end] for start, end in sorted(chosen))
    if len(chosen) < 2 or len(missing) / len(needed) > 1 - PARTS_HOLD:
        return None
    return None if missing_support(claim, joined, context) else chosen[0]


@lru_cache(maxsize=64)
def _indexed(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Return the sentences of a text with their content words."""
    spans = _sentence_spans(text, 0, len(text))
    return tuple((start, end, frozenset(stems(text[start:end]))) for start, end in spans)


def own_passage(text: str, start: int, end: int) -> str:
    """Return the whole sentences that contain a quotation."""
    low, high = max(start - LONGEST, 0), min(end + LONGEST, len(text))
    within = [span for span in _sentence_spans(text, low, high) if span[0] < end and span[1] > start]
    return text[within[0][0] : within[-1][1]] if within else text[start:end]


def _is_replaced(claim: str, own: str) -> bool:
    """True if the quoted sentences say the same of another figure or name, or deny it.

    Such a claim is wrong, whatever the surrounding sentences say.
    """
    needed = stems(claim)
    if not needed or is_copied(claim, own) or _other_language(claim, own) or BETWEEN_CELLS in claim:
        return False
    if len(needed & stems(own)) / len(needed) < NEARLY_ALL:
        return False
    ours, theirs = figures_of(claim, claim=True), figures_of(own)
    years = {str(date.year) for date in theirs.dates}
    changed = set(ours.values) - set(theirs.values) - years and set(theirs.values) - set(ours.values)
    dated = theirs.dates and any(not _has_date(theirs, date) for date in ours.dates)
    other = is_near_copy(claim, own) and lacks_names(claim, own)
    return bool(changed or dated or other or exchanged(claim, own) or denied(claim, own, strict=False))


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    low, high = max(start - LONGEST, 0), min(end + LONGEST, len(text))
    sentences = _sentence_spans(text, low, high)
    first = max((nth for nth, sentence in enumerate(sentences) if sentence[0] <= start), default=0)
    last = min(
        (nth for nth, sentence in enumerate(sentences) if sentence[1] >= end), default=len(sentences) - 1
    )
    whole = sentences and _is_whole_clause(text, start, end)
    if whole or not sentences:
        yield start, end
    if not sentences:
        return
    wider = sorted(
        (
            sentences[min(last + after, len(sentences) - 1)][1] - sentences[max(first - before, 0)][0],
            sentences[max(first - before, 0)][0],
            sentences[min(last + after, len(sentences) - 1)][1],
        )
        for before in range(WIDEST + 1)
        for after in range(WIDEST + 1)
    )
    yield from ((begin, stop) for length, begin, stop in wider if length <= max(LONGEST, end - start))


def _is_whole_clause(text: str, start: int, end: int) -> bool:
    """True if a quotation leaves out no negation of its sentence before or after it."""
    before = re.split(r"[.!?\n]", text[max(start - 300, 0) : start])[-1]
    after = re.split(r"[.!?\n]", text[end : end + 300])[0]
    return not {token.lower() for token in tokens_of(f"{before} ; {after}")} & NEGATORS


@lru_cache(maxsize=256)
def _sentence_spans(text: str, low: int, high: int) -> tuple[tuple[int, int], ...]:
    """Return the spans of sentences. A blank line also ends a sentence."""
    spans: list[tuple[int, int]] = []
    for block in re.finditer(r"\S(?:[^\n]|\n(?!\s*\n))*", text[low:high]):
        at = low + block.start()
        for sentence in sentences_in(block[0]):
            begin = text.find(sentence[:40], at, high)
            if begin < 0:
                continue
            spans.append((begin, min(begin + len(sentence), high)))
            at = spans[-1][1]
    return tuple(spans)


# ── figures ──────────────────────────────────────────────────────────────────────────────────────


def _has_date(passage: Figures, date: Date) -> bool:
    return any(known.covers(date) for known in passage.dates)


def _figures(claim: Figures, passage: Figures) -> str:
    years = {str(date.year) for date in passage.dates if date.year}
    for date in claim.dates:
        if not _has_date(passage, date):
            return "The quoted passage does not hold a date of the claim."
    values, units = passage.values, {quantity.unit for quantity in passage.quantities}
    for quantity in claim.quantities:
        if quantity.value not in values and quantity.value not in years:
            return f"The quoted passage does not hold the figure {quantity.value}."
        same = [other.unit for other in passage.quantities if other.value == quantity.value]
        if quantity.unit and same and quantity.unit not in same and (any(same) or quantity.unit not in units):
            return f"The quoted passage gives {quantity.value} in another unit."
        if not quantity.unit and same and all(unit in "%$€£¥" and unit for unit in same):
            return f"The quoted passage gives {quantity.value} in {same[0]}."
    for value, things in claim.counts:
        if value not in values and any(things & others for others in passage.counted):
            return f"The quoted passage does not hold the figure {value}."
    return ""


# ── language ─────────────────────────────────────────────────────────────────────────────────────


def _other_language(claim: str, passage: str) -> bool:
    ours, theirs = language_of(claim), language_of(passage)
    return bool(ours and theirs and ours != theirs)


def language_of(text: str) -> str:
    """Return the language whose function words dominate, or an empty string."""
    words = Counter(token.lower() for token in tokens_of(text))
    scores = sorted(
        ((sum(words[word] for word in known), name) for name, known in _FUNCTION_WORDS.items()), reverse=True
    )
    return scores[0][1] if scores[0][0] >= 2 and scores[0][0] > scores[1][0] * 1.5 else ""
