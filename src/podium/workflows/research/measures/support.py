"""Whether a passage of a source supports the whole of a claim, as far as a program can tell.

A model says that it does; this is the check of what a model overlooks: numbers, units, dates, names and
negations that differ, and quotations too short to support anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from podium.brain.words import word_set
from podium.workflows.research.excerpts import stems_of
from podium.workflows.research.measures.facts_in import NEGATORS, OPPOSITES, Figures, figures_of, tokens_of
from podium.workflows.research.measures.quotes import locate
from podium.workflows.research.measures.words import sentences_in

LEAST_WORDS = 3
"""Content words that a passage must have, or as many as the claim has."""
LEAST_SHARED = 0.34
"""Share of the claim's content words that must be in the passage."""
WIDEST = 2
"""Sentences before and after a quotation that may be added to it."""
LONGEST = 1_500
"""Characters of a passage."""
NEARLY_ALL = 0.6
"""Share of the claim's content words from which on a sentence says the same as the claim, or its opposite."""
TRIED = 6
"""Sentences of a text that are tried as the support of a claim."""
NEAR_COPY = 0.7
"""Share of the claim's words that stand in the passage in the same order, if it is nearly a copy of it."""
LONGEST_EXCHANGE = 3
"""Words that stand in the place of others, if one name or figure was exchanged."""
CAPITALISED = 0.35
"""Share of capital letters within a sentence from which on they mark no names: German, headings."""
_INSIDE = re.compile(r"(?<=[\w,;)’'\"”] )([A-ZÀ-ÖØ-Þ][\w’'-]*)")
_CLAUSE = re.compile(r"[;:.!?]|,\s|\b(?:but|while|whereas|although|unless|except|because)\b", re.IGNORECASE)
_FUNCTION_WORDS = {
    "en": word_set("the of and is are was to in that for with by it on as be this"),
    "de": word_set("der die das und ist sind von zu den mit ein eine für auf dem im wird"),
    "fr": word_set("le la les des et est sont une dans pour que qui sur avec du au par"),
    "es": word_set("el la los las y es son una en para que con por del se un al"),
    "it": word_set("il lo la gli di che è sono una per con del della nel un e si"),
    "nl": word_set("de het een en is zijn van in op te dat voor met aan niet door"),
}


def missing_support(claim: str, passage: str, context: str = "") -> str:
    """Return what the passage lacks to support the claim, as a sentence; empty if nothing.

    `context` holds names that count as present: the title of the source.
    """
    needed, held = stems_of(claim), stems_of(passage)
    if len(held) < min(LEAST_WORDS, max(len(needed), 1)):
        return "The quoted passage is too short to support the claim."
    if _is_copied(claim, passage):
        return ""
    wrong = _figures(figures_of(claim, claim=True), figures_of(passage))
    if wrong:
        return wrong
    if _other_language(claim, passage):  # words and names are translated; figures are not
        return ""
    if needed and len(needed & (held | stems_of(context))) / len(needed) < LEAST_SHARED:
        return "The quoted passage speaks of something else."
    return _exchanged(claim, passage) or _names(claim, passage, context) or _negations(claim, passage)


def supporting_span(claim: str, text: str, start: int, end: int, context: str = "") -> tuple[int, int] | None:
    """Return the shortest span of the text around `start:end` that supports the whole claim, or None.

    The quotation itself comes first, then its whole sentences, then these with up to two more on each side.
    """
    spans = list(_spans(text, start, end))
    own = own_passage(text, start, end)
    settled = _is_replaced(claim, own)
    for begin, stop in spans:
        passage = text[begin:stop]
        if not missing_support(claim, passage, "" if settled else context):
            return begin, stop
        if settled and own in passage:  # its own sentences say it differently: others do not count
            return None
    return None


def find_support(claim: str, text: str, context: str = "") -> tuple[int, int] | None:
    """Return a span of the text that supports the whole claim, found without a model; None if there is none.

    Where nobody has read the passage, most of the claim's content words have to stand in it.
    """
    needed = stems_of(claim)
    if not needed:
        return None
    copied = locate(claim, text)
    span = supporting_span(claim, text, *copied, context) if copied else None
    if span is not None:
        return span
    places = [(len(needed & stems), start, end) for start, end, stems in _indexed(text)]
    for _, start, end in sorted((one for one in places if one[0]), key=lambda one: (-one[0], one[1]))[:TRIED]:
        if _is_replaced(claim, text[start:end]):  # what is most alike says something else
            return None
        span = supporting_span(claim, text, start, end, context)
        if span and len(needed & stems_of(text[span[0] : span[1]])) / len(needed) >= NEARLY_ALL:
            return span
    return None


@lru_cache(maxsize=64)
def _indexed(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """The sentences of a text with their content words."""
    spans = _sentence_spans(text, 0, len(text))
    return tuple((start, end, frozenset(stems_of(text[start:end]))) for start, end in spans)


def own_passage(text: str, start: int, end: int) -> str:
    """Return the whole sentences in which a quotation stands."""
    low, high = max(start - LONGEST, 0), min(end + LONGEST, len(text))
    within = [one for one in _sentence_spans(text, low, high) if one[0] < end and one[1] > start]
    return text[within[0][0] : within[-1][1]] if within else text[start:end]


def _is_replaced(claim: str, own: str) -> bool:
    """Whether the quoted sentences say the same of another figure or name, or deny it.

    Such a claim is wrong whatever stands in the sentences around.
    """
    needed = stems_of(claim)
    if not needed or _is_copied(claim, own) or _other_language(claim, own):
        return False
    if len(needed & stems_of(own)) / len(needed) < NEARLY_ALL:
        return False
    ours, theirs = figures_of(claim, claim=True), figures_of(own)
    years = {str(one.year) for one in theirs.dates}
    changed = set(ours.values) - set(theirs.values) - years and set(theirs.values) - set(ours.values)
    dated = theirs.dates and any(not any(one.covers(date) for one in theirs.dates) for date in ours.dates)
    present = {_base(one).lower() for one in tokens_of(own)}
    said = {_base(one).lower() for one in tokens_of(claim)}
    new = [one for one in names_of(claim) if one.lower() not in present]
    lost = [one for one in names_of(own) if one.lower() not in said]
    return bool(changed or dated or (new and lost) or _exchanged(claim, own) or _negations(claim, own))


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    low, high = max(start - LONGEST, 0), min(end + LONGEST, len(text))
    sentences = _sentence_spans(text, low, high)
    first = max((nth for nth, one in enumerate(sentences) if one[0] <= start), default=0)
    last = min((nth for nth, one in enumerate(sentences) if one[1] >= end), default=len(sentences) - 1)
    whole = sentences and _is_whole_clause(text, start, end)
    if whole or not sentences:
        yield start, end
    if not sentences:
        return
    wider = sorted(
        (sentences[min(last + after, len(sentences) - 1)][1] - sentences[max(first - before, 0)][0],
         sentences[max(first - before, 0)][0], sentences[min(last + after, len(sentences) - 1)][1])
        for before in range(WIDEST + 1) for after in range(WIDEST + 1)
    )  # fmt: skip
    yield from ((begin, stop) for length, begin, stop in wider if length <= max(LONGEST, end - start))


def _is_whole_clause(text: str, start: int, end: int) -> bool:
    """Whether a quotation leaves out no negation of its own sentence before or behind it."""
    before = re.split(r"[.!?\n]", text[max(start - 300, 0) : start])[-1]
    after = re.split(r"[.!?\n]", text[end : end + 300])[0]
    return not {one.lower() for one in tokens_of(f"{before} ; {after}")} & NEGATORS


def _sentence_spans(text: str, low: int, high: int) -> list[tuple[int, int]]:
    """Where sentences stand; an empty line ends one, too."""
    found: list[tuple[int, int]] = []
    for block in re.finditer(r"\S(?:[^\n]|\n(?!\s*\n))*", text[low:high]):
        at = low + block.start()
        for sentence in sentences_in(block[0]):
            begin = text.find(sentence[:40], at, high)
            if begin < 0:
                continue
            found.append((begin, min(begin + len(sentence), high)))
            at = found[-1][1]
    return found


# ── figures ──────────────────────────────────────────────────────────────────────────────────────


def _figures(claim: Figures, passage: Figures) -> str:
    years = {str(one.year) for one in passage.dates if one.year}
    for date in claim.dates:
        if not any(one.covers(date) for one in passage.dates):
            return "The quoted passage does not hold a date of the claim."
    values, units = passage.values, {one.unit for one in passage.quantities}
    for one in claim.quantities:
        if one.value not in values and one.value not in years:
            return f"The quoted passage does not hold the figure {one.value}."
        same = [other.unit for other in passage.quantities if other.value == one.value]
        if one.unit and same and one.unit not in same and (any(same) or one.unit not in units):
            return f"The quoted passage gives {one.value} in another unit."
        if not one.unit and same and all(unit in "%$€£¥" and unit for unit in same):
            return f"The quoted passage gives {one.value} in {same[0]}."
    return ""


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def names_of(text: str, known: str = "") -> Counter[str]:
    """Capitalised words that do not begin a sentence, and first words that are capitalised within `known`."""
    inside = [_base(one) for one in _INSIDE.findall(text)]
    words = [one for one in tokens_of(text) if one[0].isalpha()]
    if len(words) > 3 and len(inside) / len(words) > CAPITALISED:
        inside = [one for one in inside if one.isupper() and len(one) > 1]
    first = [_base(one) for sentence in sentences_in(text) for one in tokens_of(sentence)[:1]]
    always = {_base(one) for one in _INSIDE.findall(known)} - {
        one for one in tokens_of(known) if one.islower()
    }
    lowered = {one.lower() for one in tokens_of(known) if one.islower()}
    named = [one for one in first if one[:1].isupper() and one in always and one.lower() not in lowered]
    named += [one for one in first if len(one) > 1 and one.isupper()]
    return Counter(one for one in [*inside, *named] if len(one) > 1 and one.lower() not in NEGATORS)


def _names(claim: str, passage: str, context: str) -> str:
    around = f"{passage}\n{context}"
    claimed = names_of(claim, around)
    present = Counter(_base(one).lower() for one in tokens_of(around) if one[0].isalpha())
    initials = _acronyms(around)
    for name in claimed:
        if not _is_present(name, present, initials):
            return f"The quoted passage does not name {name}."
    return ""


def _is_present(name: str, present: Counter[str], initials: set[str]) -> bool:
    low = name.lower()
    if low in present or f"{low}s" in present or low.removesuffix("s") in present or name in initials:
        return True
    pieces = [one.lower() for one in re.split(r"[-’']", name) if one]
    if len(pieces) > 1 and all(one in present or len(one) < 3 for one in pieces):
        return True
    return len(low) > 5 and any(
        one.startswith(low[:-2]) or low.startswith(one[:-2]) for one in present if len(one) > 5
    )


def _base(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


def _acronyms(text: str) -> set[str]:
    """Initials of runs of capitalised words: `European Food Safety Authority` gives `EFSA`."""
    runs = re.findall(r"[A-Z][\w-]+(?: (?:of |for |and |the )?[A-Z][\w-]+)+", text)
    found = {"".join(word[0] for word in run.split() if word[0].isupper()) for run in runs}
    return found | {one[1:] for one in found if len(one) > 2}  # without the article that begins a sentence


# ── near copies ──────────────────────────────────────────────────────────────────────────────────


def _is_copied(claim: str, passage: str) -> bool:
    """Whether the passage holds the claim word for word."""
    words, held = (" ".join(tokens_of(one)).lower() for one in (claim, passage))
    return f" {words} " in f" {held} "


def _exchanged(claim: str, passage: str) -> str:
    """What a claim that nearly repeats the passage says differently: a name, a figure, a negation.

    This finds names and figures that stand in the passage, too, but at another place.
    """
    ours, theirs = tokens_of(claim), tokens_of(passage)
    low, held = ([_base(one).lower() for one in side] for side in (ours, theirs))
    matcher = SequenceMatcher(None, low, held, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    if same < NEAR_COPY * len(ours):
        return ""
    for kind, first, last, begin, end in matcher.get_opcodes():
        mine, other = ours[first:last], theirs[begin:end]
        if kind == "replace" and max(len(mine), len(other)) <= LONGEST_EXCHANGE and _differ(mine, other):
            return f"The quoted passage says “{' '.join(other)}” where the claim says “{' '.join(mine)}”."
    blocks = [one for one in matcher.get_matching_blocks() if one.size > 1] or matcher.get_matching_blocks()
    region = theirs[blocks[0].b : blocks[-1].b + blocks[-1].size]
    said, denied = (sum(_is_negator(one) for one in side) for side in (ours, region))
    if said != denied and len(region) <= 1.3 * len(ours):
        return "The claim and the quoted passage differ in a negation."
    return ""


def _differ(mine: list[str], other: list[str]) -> bool:
    """Whether a name stands in the place of another name, or a figure in that of another."""
    figures = [figures_of(" ".join(side)).values for side in (mine, other)]
    if figures[0] and figures[1] and figures[0] != figures[1]:
        return True
    names = [[_base(one) for one in side if one[0].isupper()] for side in (mine, other)]
    present = Counter(one.lower() for one in names[1])
    return bool(names[0] and names[1]) and not any(
        _is_present(one, present, _acronyms(" ".join(other))) for one in names[0]
    )


def _is_negator(word: str) -> bool:
    return word.lower().replace("’", "'") in NEGATORS


# ── negations ────────────────────────────────────────────────────────────────────────────────────


def _negations(claim: str, passage: str) -> str:
    words = {one.lower() for one in tokens_of(claim)}
    held = {one.lower() for one in tokens_of(passage)}
    for word in words & set(OPPOSITES):
        if word not in held and OPPOSITES[word] & held and not OPPOSITES[word] & words:
            return f"The quoted passage says the opposite of “{word}”."
    ours, theirs = _negated(claim), _negated(passage)
    denied = {stem for one in theirs for stem in one}
    for stems in ours:
        if not stems & denied:
            return "The claim denies what the quoted passage does not deny."
    meant = {stem for one in ours for stem in one}
    needed = stems_of(claim)
    for stems in theirs:
        if stems <= needed and not stems & meant:
            return "The quoted passage denies what the claim says."
    return ""


def _negated(text: str) -> list[frozenset[str]]:
    """For every negation, the stems of the content words that it governs in its clause."""
    found: list[frozenset[str]] = []
    for clause in _CLAUSE.split(text):
        tokens = tokens_of(clause or "")
        for at, token in enumerate(tokens):
            if not _is_negator(token):
                continue
            governed = _first_stems(tokens[at + 1 :]) or _first_stems(tokens[:at][::-1])
            if governed:
                found.append(frozenset(governed))
    return found


def _first_stems(tokens: list[str], most: int = 2) -> list[str]:
    found: list[str] = []
    for token in tokens:
        found += [stem for stem in stems_of(token) if stem not in found]
        if len(found) >= most:
            break
    return found[:most]


# ── language ─────────────────────────────────────────────────────────────────────────────────────


def _other_language(claim: str, passage: str) -> bool:
    one, other = _language(claim), _language(passage)
    return bool(one and other and one != other)


def _language(text: str) -> str:
    """The language whose function words stand out; empty if none does."""
    words = Counter(token.lower() for token in tokens_of(text))
    scores = sorted(
        ((sum(words[one] for one in known), name) for name, known in _FUNCTION_WORDS.items()), reverse=True
    )
    return scores[0][1] if scores[0][0] >= 2 and scores[0][0] > scores[1][0] * 1.5 else ""
