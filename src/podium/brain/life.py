"""Life and death: who is dead, and who acts all the same."""

from __future__ import annotations

import re
from collections.abc import Collection

from podium.brain.claims import Claim, claims_of
from podium.brain.predicates import STATUS
from podium.brain.words import SPELLINGS, word_set, words_of
from podium.engine.facts import Fact

_DEATHS = word_set(
    "die dies died death killed murdered executed drowned drowns perished perishes dead deceased slain"
)
_ALIVE = word_set("alive survives survived living revived resurrected")
_UNSURE = word_set(
    "almost nearly fake fakes faked presumed believed rumoured rumored supposedly thought not no never false "
    "unknown threatens fears feared wants tries plans may might could undead will someone somebody"
)
"""With one of these nobody is dead for certain."""

_SPEECH = "say speak tell ask answer shout whisper talk reply call sing laugh narrate warn argue explain cry"
_DEEDS = (
    "walk run enter fight arrive leave drive kill meet visit attend climb open close take give hold sit "
    "stand eat drink write read look watch smile kiss hug dance ride sail travel return appear join lead "
    "follow grab throw search find hide escape attack save rescue confront help"
)
_PAST = (
    "said spoke told asked answered shouted whispered talked replied called sang laughed warned walked ran "
    "entered fought arrived left drove met visited attended climbed appeared returned joined"
)


def _forms(verbs: str) -> frozenset[str]:
    found: set[str] = set()
    for verb in verbs.split():
        found |= {verb, f"{verb}s", f"{verb}es", f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing"}
    return frozenset(found) | {"cries", "replies", "carries"}


ACTS = _forms(f"{_SPEECH} {_DEEDS}") | {"dialogue", "line", "lines"}
PAST_ACTS = word_set(_PAST)

_APART = re.compile(
    r"\b(flash\s?backs?|memor(y|ies)|remembers?|remembered|ghosts?|spirits?|dreams?|visions?|recordings?|letters?"
    r"|photographs?|photos?|portraits?|corpse|dead body|funeral|grave|tomb|years ago|earlier|hallucinat\w+"
    r"|imagin\w+|before (his|her|their|the) death|undead|haunts?|resurrect\w*|diary|will and testament)\b",
    re.IGNORECASE,
)
"""Where the dead may speak."""
_ADVERBS = word_set("then now still slowly quietly softly suddenly also again finally calmly angrily")


def tells_death(fact: Fact) -> bool:
    """Whether a fact says for certain that its subject is dead."""
    words = set(words_of(f"{fact.predicate} {fact.value}"))
    if words & _UNSURE:
        return False
    if set(words_of(fact.predicate)) & _DEATHS:
        return True
    return any(_is_state(claim, "dead") for claim in claims_of(fact))


def tells_life(fact: Fact) -> bool:
    """Whether a fact says that its subject lives."""
    if set(words_of(fact.value)) & _UNSURE:
        return False
    if set(words_of(fact.predicate)) & _ALIVE and "no" not in words_of(fact.value):
        return True
    return any(_is_state(claim, "alive") for claim in claims_of(fact))


def act_of(fact: Fact) -> str:
    """The verb by which a fact's subject acts; empty: it does not, or only in a memory."""
    if is_apart(fact):
        return ""
    return _verb([word for word in words_of(fact.predicate) if word not in ("is", "are", "was")])


def act_of_other(fact: Fact, names: Collection[tuple[str, ...]]) -> str:
    """The verb by which somebody of these names acts in what is told of somebody or something else:
    `Scene 7 | action | Marcus walks in`."""
    if is_apart(fact):
        return ""
    words = words_of(fact.value)
    for name in names:
        for place in range(len(words) - len(name) + 1):
            if tuple(words[place : place + len(name)]) == name:
                verb = _verb(words[place + len(name) :])
                if verb:
                    return verb
    return ""


def is_apart(fact: Fact) -> bool:
    """A memory, a ghost, a letter: nothing that happens now."""
    return bool(_APART.search(f"{fact.subject} {fact.predicate} {fact.value} {fact.quote}"))


def _verb(words: list[str]) -> str:
    for word in words[:2]:
        if word in ACTS or word in PAST_ACTS:
            return word
        if word not in _ADVERBS:
            return ""
    return ""


def _is_state(claim: Claim, state: str) -> bool:
    if claim.predicate != STATUS:
        return False
    words = {SPELLINGS.get(word, word) for word in words_of(claim.value)}
    return state in words or (state == "dead" and bool(words & _DEATHS))
