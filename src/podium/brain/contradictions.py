"""The accepted facts of a project in memory, and the rules that find contradictions to them.

Cases that these rules cannot decide are skipped; a model may be asked about them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from podium.brain.claims import (
    PAST_ACTS,
    Claim,
    DeadNames,
    Figures,
    act_of,
    acts_of_others,
    claims_of,
    figures_of,
    speaks_of_life,
    tells_death,
    tells_life,
)
from podium.brain.vocabulary import (
    ALIAS,
    COLOURS,
    FIXED,
    LOCATION,
    STATUS,
    STOP_WORDS,
    TITLES,
    is_single,
    name_key,
    predicate_key,
    value_words,
    word_set,
    words_of,
)
from podium.engine.store_parts import Fact

NAMED = ("character", "place", "object")
"""Kinds whose subjects are names."""
_RANKS = word_set(
    "captain doctor professor inspector detective officer king queen prince princess general colonel major "
    "sergeant agent father mother brother sister uncle aunt old young little big saint"
)
"""Parts of names that do not identify a person alone."""
_LONGEST_NAME = 6
_SHORTEST_PREFIX = 2


class Canon:
    """Index of the accepted facts. Built once for each revision of a project; a thousand facts take some
    milliseconds."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = list(facts)
        self.dead: dict[str, Fact] = {}
        """The fact that states a death, by the key of the dead subject."""
        self._dead_names: DeadNames | None = None
        self._by_subject: dict[str, list[Fact]] = defaultdict(list)
        self._claims: dict[str, dict[str, list[tuple[Fact, Claim]]]] = {}
        """By subject and predicate; built on first use of the subject."""
        self._aliases: dict[str, str] = {}
        self._partial: dict[str, set[str]] = defaultdict(set)
        for fact in self.facts:  # aliases have to be known before facts are indexed by name
            self._learn_names(fact)
        for fact in self.facts:
            self._file(fact)

    def add(self, fact: Fact) -> None:
        """Add one more fact to this instance; facts that are already indexed stay as they are."""
        self.facts.append(fact)
        self._learn_names(fact)
        self._file(fact)

    def _learn_names(self, fact: Fact) -> None:
        self._dead_names = None
        key = name_key(fact.subject)
        if predicate_key(fact.predicate) == ALIAS and self._root(key) != name_key(fact.value):
            self._aliases.setdefault(name_key(fact.value), key)  # cyclic names: the first one counts
        if fact.kind == "character":
            for part in _parts(fact.subject):
                self._partial[name_key(part)].add(key)

    def _file(self, fact: Fact) -> None:
        key = self.resolve(fact.subject)
        self._by_subject[key].append(fact)
        self._claims.pop(key, None)
        if not speaks_of_life(fact):
            return
        if tells_death(fact):
            self.dead.setdefault(key, fact)
        elif tells_life(fact):  # the last statement counts: canon may also tell of a return
            self.dead.pop(key, None)

    def _root(self, key: str) -> str:
        """Return the end of a chain of aliases."""
        while key in self._aliases:
            key = self._aliases[key]
        return key

    # ── names ──

    def names(self, kinds: Iterable[str] = NAMED) -> list[str]:
        """Return names as written in facts, then aliases, then parts of characters' names that are
        unambiguous."""
        wanted = set(kinds)
        shown: dict[str, str] = {}
        for fact in self.facts:
            if fact.kind in wanted:
                shown.setdefault(name_key(fact.subject), fact.subject)
        others = [
            fact.value
            for fact in self.facts
            if predicate_key(fact.predicate) == ALIAS and name_key(fact.subject) in shown
        ]
        parts = [
            part
            for key, name in shown.items()
            for part in _parts(name)
            if self._partial.get(name_key(part)) == {key}
        ]
        named = dict.fromkeys([*shown.values(), *others, *parts])
        return [name for name in named if name.strip()]

    def resolve(self, name: str) -> str:
        """Return the key of the subject of a name: the name itself, the target of an alias, or the character
        whose first or last name it unambiguously is."""
        key = name_key(name)
        if key in self._aliases:
            return self._root(key)
        partial = {self._root(whole) for whole in self._partial.get(key, ())}
        return partial.pop() if len(partial) == 1 else key

    def is_named(self, name: str) -> str:
        """Return the key of the subject with this name; empty if there is none."""
        key = self.resolve(name)
        return key if key in self._by_subject else ""

    def names_of_the_dead(self) -> DeadNames:
        """Return the names under which dead subjects may be mentioned."""
        if self._dead_names is None:
            names: DeadNames = defaultdict(list)
            for name in dict.fromkeys((*self.dead, *self._aliases, *self._partial)):
                if name and (key := self.resolve(name)) in self.dead:
                    names[name.split()[0]].append((tuple(name.split()), key))
            self._dead_names = names
        return self._dead_names

    # ── facts ──

    def about(self, key: str) -> list[Fact]:
        return self._by_subject.get(key, [])

    def claims(self, key: str, predicate: str) -> list[tuple[Fact, Claim]]:
        if key not in self._claims:
            made: dict[str, list[tuple[Fact, Claim]]] = defaultdict(list)
            for fact in self.about(key):
                for claim in claims_of(fact):
                    made[claim.predicate].append((fact, claim))
            self._claims[key] = made
        return self._claims[key].get(predicate, [])

    def mentioned(self, text: str) -> list[str]:
        """Return the keys of the subjects that a text names."""
        words = words_of(text)
        keys: dict[str, None] = {}
        for place in range(len(words)):
            for size in range(min(_LONGEST_NAME, len(words) - place), 0, -1):
                name = " ".join(words[place : place + size])
                if name in self._by_subject:
                    keys[name] = None
                elif name in self._aliases:
                    keys[self._root(name)] = None
                elif name in self._partial:
                    keys.update(dict.fromkeys(sorted(map(self._root, self._partial[name]))))
        return list(keys)

    def beginning_with(self, text: str) -> list[str]:
        """Return the keys of subjects with a name that has this prefix."""
        key = name_key(text)
        if len(key) < _SHORTEST_PREFIX or key in STOP_WORDS:
            return []
        own = [name for name in self._by_subject if name.startswith(key)]
        others = [self._root(alias) for alias in self._aliases if alias.startswith(key)]
        return list(dict.fromkeys([*own, *others]))


def _parts(name: str) -> list[str]:
    """Return the first and the last word of a name of several words, if they could be names themselves."""
    words = name.split()
    ends = (words[0], words[-1]) if len(words) > 1 else ()
    return [
        word
        for word in ends
        if len(word) > 2
        and word[:1].isupper()
        and word.casefold().strip(".") not in _RANKS | STOP_WORDS | TITLES
        and name_key(word)
    ]


LONGEST = 8
"""Values with more words than this are prose: only a model can tell whether they contradict."""
ALIKE = 0.5
"""Share of common words from which longer values count as the same."""

_NOISE = frozenset(
    """
    old age aged year born tall high long dark light bright deep pale very quite eye hair
    """.split()
)
"""Words that only qualify a value."""
_OPPOSITES = (
    ("short", "long"), ("short", "tall"), ("young", "old"), ("left", "right"), ("high", "low"),
    ("open", "closed"), ("straight", "curly"), ("rich", "poor"), ("alive", "dead"), ("married", "single"),
    ("east", "west"), ("north", "south"), ("inside", "outside"), ("indoors", "outdoors"),
)  # fmt: skip
OPPOSITE = "the opposite"
_NOT = frozenset({"not", "no"})


def difference(new: str, canon: str, name: Callable[[str], str] = lambda text: "") -> str:
    """Return why two values contradict each other; empty if they do not, or if only a model could tell.
    `name` returns the subject that a value refers to, so that a nickname is not another person."""
    if new.casefold().strip() == canon.casefold().strip() or (name(new) and name(new) == name(canon)):
        return ""
    mine, theirs = figures_of(new), figures_of(canon)
    figures = _figures(mine, theirs)
    if figures is not None:
        return figures or _words(mine.rest, theirs.rest, figured=True)
    return _words(new, canon)


def _figures(mine: Figures, theirs: Figures) -> str | None:
    """Compare dates and quantities; `None` if there is nothing to compare."""
    if mine.dates and theirs.dates:
        return "" if any(a.fits(b) for a in mine.dates for b in theirs.dates) else "another date"
    pairs = [(a, b) for a in mine.quantities for b in theirs.quantities if a.comparable(b)]
    if not pairs:  # figures beside words, or figures of different things: only a model could tell
        return "" if any((*mine[:2], *theirs[:2])) else None
    return "" if any(a.fits(b) for a, b in pairs) else "another number"


def _words(new: str, canon: str, *, figured: bool = False) -> str:
    mine, theirs = value_words(new), value_words(canon)
    denied = bool(mine & _NOT) != bool(theirs & _NOT)
    mine, theirs = mine - _NOT, theirs - _NOT
    if denied and mine and theirs:
        return "one denies the other" if mine <= theirs or theirs <= mine else ""
    if denied:
        return "another value"
    only_mine, only_theirs = mine - theirs, theirs - mine
    for pair in _OPPOSITES:
        if not only_mine.isdisjoint(pair) and not only_theirs.isdisjoint(pair):
            return OPPOSITE
    colours, others = mine & COLOURS, theirs & COLOURS
    if colours or others:  # a colour beside something else may refer to something else
        return "" if colours <= others or others <= colours else "another colour"
    mine, theirs = mine - _NOISE or mine, theirs - _NOISE or theirs
    if not mine or not theirs or mine <= theirs or theirs <= mine:
        return ""
    if figured or max(len(mine), len(theirs)) > LONGEST:
        return ""
    if min(len(mine), len(theirs)) >= 4 and len(mine & theirs) / len(mine | theirs) >= ALIKE:
        return ""
    return "another value"


Severity = Literal["low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A new fact that contradicts a fact of the project."""

    new: Fact
    canon: Fact
    reason: str
    """One sentence."""
    severity: Severity


def find_contradictions(facts: Sequence[Fact], canon: Canon) -> list[Contradiction]:
    """Return all contradictions, each pair of facts once, with the highest severity."""
    clashes: dict[tuple[int, str], Contradiction] = {}
    for place, fact in enumerate(facts):
        for clash in (*_life(fact, canon), *_values(fact, canon)):
            key = (place, clash.canon.id)
            known = clashes.get(key)
            if known is None or SEVERITIES.index(clash.severity) > SEVERITIES.index(known.severity):
                clashes[key] = clash
    return list(clashes.values())


# ── different values ──

_SHORT = 3
"""Maximum number of words of a value that leaves little room for interpretation."""


def _values(fact: Fact, canon: Canon) -> Iterator[Contradiction]:
    key = canon.resolve(fact.subject)
    for claim in claims_of(fact):
        movable = claim.predicate == LOCATION and fact.kind == "object"
        if not movable and not is_single(claim.predicate, fact.kind):
            continue
        for known, known_claim in canon.claims(key, claim.predicate):
            if known.id and known.id == fact.id:
                continue
            why = difference(claim.value, known_claim.value, canon.is_named)
            if why and (why == OPPOSITE or not movable):
                yield Contradiction(
                    new=fact,
                    canon=known,
                    severity=_severity(fact, known, claim, known_claim),
                    reason=f"{known.subject}, {known.predicate}: {why}: "
                    f"“{fact.value}” instead of “{known.value}”.",
                )


def _severity(fact: Fact, known: Fact, claim: Claim, known_claim: Claim) -> Severity:
    if claim.predicate == STATUS and tells_life(known) and tells_death(fact):
        return "medium"  # people die as a story goes on
    if claim.predicate in FIXED or "rule" in (fact.kind, known.kind):
        return "high"
    short = max(len(value_words(claim.value)), len(value_words(known_claim.value))) <= _SHORT
    return "medium" if short else "low"


# ── life and death ──


def _life(fact: Fact, canon: Canon) -> Iterator[Contradiction]:
    if not canon.dead:
        return
    key = canon.resolve(fact.subject)
    death = canon.dead.get(key)
    if death is not None:
        if tells_life(fact):
            yield _undead(fact, death, "lives", "critical")
        elif not tells_death(fact) and (verb := act_of(fact)):
            yield _undead(fact, death, f"acts (“{verb}”)", "high" if verb in PAST_ACTS else "critical")
    for dead, verb in acts_of_others(fact, canon.names_of_the_dead()).items():
        if dead != key:
            yield _undead(
                fact, canon.dead[dead], f"acts (“{verb}”)", "high" if verb in PAST_ACTS else "critical"
            )


def _undead(fact: Fact, death: Fact, what: str, severity: Severity) -> Contradiction:
    statement = f"{death.predicate}: {death.value}"
    reason = f"{death.subject} is dead in canon ({statement}) and {what} here."
    return Contradiction(new=fact, canon=death, reason=reason, severity=severity)
