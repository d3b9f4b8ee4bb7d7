"""Detection of names, figures, opposites and negations in which a claim and a passage differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from podium.brain.vocabulary import word_set
from podium.workflows.research.measures.figures import MONTHS, NEGATORS, OPPOSITES, figures_of, tokens_of
from podium.workflows.research.measures.text import letter_pairs, sentences_in, terms_of

NEAR_COPY = 0.7
"""Minimum share of the claim's words that occur in the passage in the same order, for a near copy."""
LONGEST_EXCHANGE = 3
"""Maximum words that replace others, for an exchanged name or figure."""
LONGEST_OPENING = 7
"""Words before the match, beyond the claim's own opening, in which a matching negation is searched."""
CAPITALISED = 0.35
"""Share of capitalised words within a sentence above which capitals do not indicate names: German,
headings."""
RUN_TOGETHER = 14
"""Minimum letters of a word that may be several words run together, as in text from PDF files."""
_STEM = 6
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ies|ed|es|e|s|y)$")
_INSIDE = re.compile(r"(?<=[\w,;)’'\"”] )([A-ZÀ-ÖØ-Þ][\w’'-]*)")
_CLAUSE = re.compile(r"[;:.!?]|,\s|\b(?:but|while|whereas|although|unless|except|because)\b", re.IGNORECASE)
_WITH_DIGITS = re.compile(r"\b[^\W\d_]+[\d_][\w-]*")
"""Names such as `MD5` and `MERGE_HEAD`."""
_FLAG = re.compile(r"--?no-(?=\w)")
"""An option that switches something off, such as `--no-edit`: a name, not a negation."""
_STARTERS = word_set(
    "a an the this that these those such some any each every all both either neither no one another other"
    " many most more few several much my your his her its our their i you he she it we they who whoever whom"
    " whose which what whatever anyone anybody everyone everybody someone somebody nobody nothing something"
    " if when where while whereas why how once until unless although though because since as so than then"
    " therefore thus hence however moreover furthermore also besides instead otherwise still yet finally"
    " first firstly second secondly third thirdly last lastly next now here there in on at by for from to of"
    " off with within without into onto over under after before during between among against about above"
    " below through across per via and or but nor not never always often usually sometimes only just even"
    " is are was were be been being do does did has have having had can could may might must shall should"
    " will would let please note see use used using new old good similar same different own given according"
    " yes suppose assume say"
    " der die das den dem des ein eine einer eines einem einen dies dieser diese dieses jeder jede jedes"
    " alle viele wenn als ob weil dass damit wer was wie wo ich du er sie es wir ihr man mein dein sein unser"
    " ihre seine im in am an auf aus bei mit nach von vor zu zum zur für über unter durch um und oder aber"
    " denn doch auch nur noch schon so dann daher deshalb"
    " le la les un une des ce cette ces chaque tout tous toute si quand lorsque comme il elle ils elles on"
    " nous vous je tu son sa ses leur leurs notre votre dans sur sous avec sans pour par et ou mais donc"
    " el los las uno una unos unas este esta estos estas cada todo todos cuando como yo usted ellos ellas"
    " nosotros su sus en con sin para por y o pero"
    " il lo gli uno una questo questa questi ogni tutto tutti quando come io lui lei noi loro nel nella con"
    " senza per e o ma"
)


def stems(text: str) -> set[str]:
    """Return the content words of a text without endings, truncated to a fixed number of letters."""
    return {_ENDING.sub("", word)[:_STEM] for word in terms_of(text)} | letter_pairs(text)


def held_stems(needed: Collection[str], passage: str) -> set[str]:
    """Return the needed stems that a passage contains, including those within run-together words."""
    present = stems(passage)
    long = [word for word in terms_of(passage) if len(word) >= RUN_TOGETHER]
    return {
        stem for stem in needed if stem in present or (len(stem) >= 4 and any(stem in word for word in long))
    }


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def names_of(text: str, known: str = "") -> Counter[str]:
    """Return capitalised words within sentences, and first words of sentences that are also capitalised
    within `known`."""
    inside = [_base(word) for word in _INSIDE.findall(text)]
    words = [word for word in tokens_of(text) if word[0].isalpha()]
    if len(words) > 3 and len(inside) / len(words) > CAPITALISED:
        inside = [word for word in inside if word.isupper() and len(word) > 1]
    first = [_base(word) for sentence in sentences_in(text) for word in tokens_of(sentence)[:1]]
    lowered = {word for word in tokens_of(known) if word.islower()}
    always = {_base(word) for word in _INSIDE.findall(known)} - lowered
    named = [word for word in first if word[:1].isupper() and word in always and word.lower() not in lowered]
    named += [word for word in first if len(word) > 1 and word.isupper()]
    return Counter(
        word
        for word in [*inside, *named]
        if len(word) > 1 and word.lower() not in NEGATORS and word.lower() not in MONTHS  # a month is a date
    )


def missing_name(claim: str, passage: str, context: str, text: str = "") -> str:
    """Return a message about a name that only the claim contains, or an empty string.

    An abbreviation is known if the whole `text` spells it out.
    """
    around = f"{passage}\n{context}"
    words = [*tokens_of(around), *_WITH_DIGITS.findall(around)]
    present = Counter(_base(word).lower() for word in words if word[0].isalpha())
    initials = _acronyms(around) | _acronyms(text)
    short = {word for word in tokens_of(around) if len(word) > 1 and word.isupper()}
    written_out = {word for run in _runs(claim) if _initials(run) & short for word in run.split()}
    for name in names_of(claim, around):
        if name not in written_out and not _is_present(name, present, initials):
            return f"The quoted passage does not name {name}."
    return ""


def lacks_names(claim: str, passage: str) -> bool:
    """True if each text contains a name that the other does not."""
    present = {_base(word).lower() for word in tokens_of(passage)}
    claimed = {_base(word).lower() for word in tokens_of(claim)}
    new = [word for word in names_of(claim) if word.lower() not in present]
    lost = [word for word in names_of(passage) if word.lower() not in claimed]
    return bool(new and lost)


def _is_present(name: str, present: Counter[str], initials: Collection[str]) -> bool:
    low = name.lower()
    if low in present or f"{low}s" in present or low.removesuffix("s") in present:
        return True
    if name in initials or name.removesuffix("s") in initials:
        return True
    pieces = [word.lower() for word in re.split(r"[-’']", name) if word]
    if len(pieces) > 1 and all(word in present or len(word) < 3 for word in pieces):
        return True
    if len(low) > 3 and any(low in word for word in present if len(word) >= RUN_TOGETHER):
        return True
    return len(low) > 5 and any(
        word.startswith(low[:-2]) or low.startswith(word[:-2]) for word in present if len(word) > 5
    )


def _base(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


def _runs(text: str) -> list[str]:
    return re.findall(r"[A-Z][\w-]+(?: (?:of |for |and |the )?[A-Z][\w-]+)+", text)


def _initials(run: str) -> set[str]:
    letters = "".join(word[0] for word in run.split() if word[0].isupper())
    return (
        {letters, letters[1:]} if len(letters) > 2 else {letters}
    )  # without the article at the start of a sentence


@lru_cache(maxsize=256)
def _acronyms(text: str) -> frozenset[str]:
    """Return the initials of runs of capitalised words: `European Food Safety Authority` gives `EFSA`."""
    return frozenset(initials for run in _runs(text) for initials in _initials(run))


# ── near copies ──────────────────────────────────────────────────────────────────────────────────


def is_copied(claim: str, passage: str) -> bool:
    """True if the passage contains the claim word for word."""
    ours, theirs = (" ".join(tokens_of(text)).lower() for text in (claim, passage))
    return f" {ours} " in f" {theirs} "


def _matched(ours: list[str], theirs: list[str]) -> SequenceMatcher[str] | None:
    """Match the words that both share in the same order. None if the claim is no near copy."""
    mine, others = ([_base(word).lower() for word in side] for side in (ours, theirs))
    matcher = SequenceMatcher(None, mine, others, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return matcher if same >= NEAR_COPY * len(ours) else None


def is_near_copy(claim: str, passage: str) -> bool:
    """True if most words of the claim occur in the passage in the same order."""
    return _matched(tokens_of(claim), tokens_of(passage)) is not None


def exchanged(claim: str, passage: str) -> str:
    """Return a message about a name, a figure or a negation in which a near copy differs from the passage, or
    an empty string.

    This also finds names and figures that occur elsewhere in the passage.
    """
    claim, passage = (_FLAG.sub(" ", text) for text in (claim, passage))
    ours, theirs = tokens_of(claim), tokens_of(passage)
    matcher = _matched(ours, theirs)
    if matcher is None:
        return ""
    plain, plainer = _without_starters(ours, claim), _without_starters(theirs, passage)
    for kind, first, last, begin, end in matcher.get_opcodes():
        short = max(last - first, end - begin) <= LONGEST_EXCHANGE
        if kind == "replace" and short and _differ(plain[first:last], plainer[begin:end]):
            own, other = " ".join(ours[first:last]), " ".join(theirs[begin:end])
            return f"The quoted passage says “{other}” where the claim says “{own}”."
    blocks = [
        block for block in matcher.get_matching_blocks() if block.size > 1
    ] or matcher.get_matching_blocks()
    begin, end = blocks[0].b, blocks[-1].b + blocks[-1].size
    own, other = (_count_negators(side) for side in (ours, theirs[begin:end]))
    if own == other or end - begin > 1.3 * len(ours):
        return ""
    before, after = blocks[0].a, len(ours) - blocks[-1].a - blocks[-1].size
    if any(map(_is_negator, ours[:before])):  # `Without a reason` and `If there is no reason`
        other += any(map(_is_negator, theirs[max(begin - before - LONGEST_OPENING, 0) : begin]))
    if after and any(map(_is_negator, ours[-after:])):
        other += any(map(_is_negator, theirs[end : end + after + LONGEST_EXCHANGE]))
    return "" if own == other else "The claim and the quoted passage differ in a negation."


def _count_negators(tokens: list[str]) -> int:
    """Count the negations of a passage. `neither … nor` counts once."""
    negators = [token.lower() for token in tokens if _is_negator(token)]
    return len(negators) - (negators.count("nor") if "neither" in negators else 0)


def _differ(mine: list[str], other: list[str]) -> bool:
    """True if a name replaces another name, or a figure another figure."""
    figures = [figures_of(" ".join(side)).values for side in (mine, other)]
    if figures[0] and figures[1] and figures[0] != figures[1]:
        return True
    names = [[_base(word) for word in side if word[0].isupper()] for side in (mine, other)]
    present = Counter(word.lower() for word in names[1])
    return bool(names[0] and names[1]) and not any(
        _is_present(word, present, _acronyms(" ".join(other))) for word in names[0]
    )


def _without_starters(tokens: list[str], text: str) -> list[str]:
    """Return the tokens of a text with determiners, pronouns and the like in lower case at the start of
    sentences, where their capital does not make them names."""
    lowered = list(tokens)
    at = 0
    for sentence in sentences_in(text):
        if at < len(lowered) and re.sub(r"['’].*$", "", lowered[at]).lower() in _STARTERS:
            lowered[at] = lowered[at].lower()
        at += len(tokens_of(sentence))
    return lowered


def _is_negator(word: str) -> bool:
    return word.lower().replace("’", "'") in NEGATORS


# ── opposites and negations ──────────────────────────────────────────────────────────────────────


def opposed(claim: str, passage: str) -> str:
    """Return a message about a word of the claim whose opposite the passage says of the same thing, or an
    empty string."""
    words = {token.lower() for token in tokens_of(claim)}
    present = {token.lower() for token in tokens_of(passage)}
    if _count_negators(tokens_of(claim)) != _count_negators(tokens_of(passage)):
        return ""  # `cannot be changed after` and `must be set before`: negations are compared elsewhere
    for word in sorted(words & set(OPPOSITES)):
        against = OPPOSITES[word] & present
        if word in present or not against or OPPOSITES[word] & words:
            continue
        ours, theirs = _around(word, claim), set[str]().union(*(_around(token, passage) for token in against))
        if not ours or ours & theirs:
            return f"The quoted passage says the opposite of “{word}”."
    return ""


def _around(word: str, text: str) -> set[str]:
    """Return the content words next to a word."""
    tokens = tokens_of(text)
    places = [nth for nth, token in enumerate(tokens) if token.lower() == word]
    return {
        stem for at in places for side in (tokens[at + 1 :], tokens[:at][::-1]) for stem in _first_stems(side)
    }


def denied(claim: str, passage: str, *, strict: bool) -> str:
    """Return a message if only one side denies something, or an empty string.

    Without `strict`, a fact checker has read the passage: then a negation of the claim counts only if the
    passage mentions what it denies.
    """
    ours, theirs = _negated(claim), _negated(passage)
    behind = " ".join(stem for negation in theirs for stem in negation.wider)
    present, needed = stems(passage), stems(claim)
    for negation in ours:
        if (strict or negation.nearest <= present) and not any(stem in behind for stem in negation.nearest):
            return "The claim denies what the quoted passage does not deny."
    meant = {stem for negation in ours for stem in (*negation.nearest, *negation.before)}
    for negation in theirs:
        if negation.nearest <= needed and not (negation.nearest | negation.before) & meant:
            return "The quoted passage denies what the claim says."
    return ""


class _Negation(NamedTuple):
    """Stems of the content words that a negation governs in its clause."""

    nearest: frozenset[str]
    wider: frozenset[str]
    before: frozenset[str]
    """Stems of the clause before, if the negation ends its own: `A can do it. B can't.`"""


def _negated(text: str) -> list[_Negation]:
    negations: list[_Negation] = []
    before: list[str] = []
    for clause in _CLAUSE.split(_FLAG.sub(" ", text)):
        tokens = tokens_of(clause or "")
        for at, token in enumerate(tokens):
            if not _is_negator(token):
                continue
            governed, elided = _first_stems(tokens[at + 1 :], 8), list[str]()
            if not governed:
                governed, elided = _first_stems(tokens[:at][::-1], 8), _first_stems(before, 12)
            if governed:
                wider = frozenset((*governed, *elided))
                negations.append(_Negation(frozenset(governed[:2]), wider, frozenset(elided)))
        before = tokens or before
    return negations


def _first_stems(tokens: list[str], most: int = 2) -> list[str]:
    first: list[str] = []
    for token in tokens:
        first += [stem for stem in stems(token) if stem not in first]
        if len(first) >= most:
            break
    return first[:most]
