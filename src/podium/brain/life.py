"""Rules about life and death: which subjects are dead, and which dead subjects act."""

from __future__ import annotations

import re

from podium.brain.claims import Claim, claims_of
from podium.brain.vocabulary import SPELLINGS, STATUS, word_set, words_of
from podium.engine.store_parts import Fact

DeadNames = dict[str, list[tuple[tuple[str, ...], str]]]
"""Names of dead subjects as words, with the key of each subject, by their first word."""

_DEATHS = word_set(
    "die dies died death killed murdered executed drowned drowns perished perishes dead deceased slain"
)
_DEATH_WORDS = word_set("death cause of date day year place manner time the his her how")
_TAKEN = word_set("killed murdered executed drowned slain")
"""Words that need a passive form: `killed | the captain` is about another person's death."""
_PASSIVE = word_set("is was were gets got been by in at during")
_ALIVE = word_set("alive survives survived living revived resurrected")
_UNSURE = word_set(
    "almost nearly fake fakes faked presumed believed rumoured rumored supposedly thought not no never false "
    "unknown threatens fears feared wants tries plans may might could undead will someone somebody"
)
"""Words with which a death is not certain."""

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


_SCRIPT = word_set("dialogue line lines says speech script exchange")
"""Predicates with which `Marcus: …` means that Marcus speaks."""
ACTS = _forms(f"{_SPEECH} {_DEEDS}") | {"dialogue", "line", "lines"}
PAST_ACTS = word_set(_PAST)

_APART = re.compile(
    r"\b(flash\s?backs?|memor(y|ies)|remembers?|remembered|ghosts?|spirits?|dreams?|visions?|recordings?|letters?"
    r"|photographs?|photos?|portraits?|corpse|dead body|funeral|grave|tomb|years ago|earlier|hallucinat\w+"
    r"|imagin\w+|before (his|her|their|the) death|undead|haunts?|resurrect\w*|diary|will and testament)\b",
    re.IGNORECASE,
)
"""Contexts in which the dead may speak."""
_ADVERBS = word_set("then now still slowly quietly softly suddenly also again finally calmly angrily")


_LIFE = re.compile(
    "|".join(
        rf"\b{word}\b"
        for word in sorted(
            {*_DEATHS, *_ALIVE, "dead", "alive"}
            | {word for word, same in SPELLINGS.items() if same in ("dead", "alive")}
        )
    ),
    re.IGNORECASE,
)


def speaks_of_life(fact: Fact) -> bool:
    """Return whether `tells_death` or `tells_life` can be true. Much faster than both, and most facts are not
    about life and death."""
    text = f"{fact.predicate} {fact.value}"
    return not text.isascii() or _LIFE.search(text) is not None


def tells_death(fact: Fact) -> bool:
    """Return whether a fact states with certainty that its subject is dead."""
    words = set(words_of(f"{fact.predicate} {fact.value}"))
    if words & _UNSURE:
        return False
    if _is_death(words_of(fact.predicate)):
        return True
    return any(_is_state(claim, "dead") for claim in claims_of(fact))


def _is_death(predicate: list[str]) -> bool:
    """Return True for `dies in`, `was killed by` and `cause of death`, but not for `killed` or `father's
    death`."""
    if "death" in predicate:
        return set(predicate) <= _DEATH_WORDS
    if set(predicate) & _TAKEN:
        return bool(set(predicate) & _PASSIVE)
    head = next((word for word in predicate if word not in _PASSIVE), "")
    return head in _DEATHS


def tells_life(fact: Fact) -> bool:
    """Return whether a fact states that its subject is alive."""
    if set(words_of(fact.value)) & _UNSURE:
        return False
    if set(words_of(fact.predicate)) & _ALIVE and "no" not in words_of(fact.value):
        return True
    return any(_is_state(claim, "alive") for claim in claims_of(fact))


def act_of(fact: Fact) -> str:
    """Return the verb with which a fact's subject acts; empty if it does not, or only in a memory."""
    if is_apart(fact):
        return ""
    return _verb([word for word in words_of(fact.predicate) if word not in ("is", "are", "was")])


def acts_of_others(fact: Fact, names: DeadNames) -> dict[str, str]:
    """Return which of these act in a fact about another subject, by key, with the verb: `Scene 7 | action |
    Marcus walks in`."""
    words = words_of(fact.value)
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        for name, key in names.get(word, ()):
            if tuple(words[place : place + len(name)]) == name:
                verb = _verb(words[place + len(name) :]) or _spoken(fact, name)
                if verb:
                    found.setdefault(key, verb)
    return {} if not found or is_apart(fact) else found


def _spoken(fact: Fact, name: tuple[str, ...]) -> str:
    """Return `dialogue` for a script line such as `Marcus: We should go.`"""
    if not set(words_of(fact.predicate)) & _SCRIPT:
        return ""
    line = rf"\b{re.escape(' '.join(name))}\b\s*(\([^)]*\))?\s*:"
    return "dialogue" if re.search(line, fact.value.lower()) else ""


def is_apart(fact: Fact) -> bool:
    """Return whether a fact is about a memory, a ghost, a letter: nothing that happens now."""
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
