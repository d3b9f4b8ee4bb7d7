"""The accepted facts of a project in memory: names, aliases, and claims about subjects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from podium.brain.claims import Claim, claims_of
from podium.brain.life import DeadNames, speaks_of_life, tells_death, tells_life
from podium.brain.vocabulary import ALIAS, STOP_WORDS, TITLES, name_key, predicate_key, word_set, words_of
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
            found: DeadNames = defaultdict(list)
            for name in dict.fromkeys((*self.dead, *self._aliases, *self._partial)):
                if name and (key := self.resolve(name)) in self.dead:
                    found[name.split()[0]].append((tuple(name.split()), key))
            self._dead_names = found
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
        found: dict[str, None] = {}
        for place in range(len(words)):
            for size in range(min(_LONGEST_NAME, len(words) - place), 0, -1):
                name = " ".join(words[place : place + size])
                if name in self._by_subject:
                    found[name] = None
                elif name in self._aliases:
                    found[self._root(name)] = None
                elif name in self._partial:
                    found.update(dict.fromkeys(sorted(map(self._root, self._partial[name]))))
        return list(found)

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
