"""Words compared by what they mean rather than by how they are spelt: stems, and groups of near synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SMALL_TEXT = """
    a about an and are as at be by do for from has have how i if in into is it its make me my of on or our so
    some that the their them then there they this to us we what when where which who will with you your
"""
_SMALL = frozenset(_SMALL_TEXT.split())
"""Words that say nothing about what a text is about."""
_GERMAN_TEXT = """
    aber auch auf aus bei bitte das dem der die ein eine einem einen einer für haben ich im ist keine mir mit
    nicht noch oder sich sie sind soll und uns unsere von warum wenn wie wir zum zur zwei über
"""
_GERMAN = frozenset(_GERMAN_TEXT.split())


def words_of(text: str) -> list[str]:
    """The words of a text in their order; a hyphen parts two words."""
    return _WORD.findall(text)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What is left of a word without the endings that it takes in a sentence. It never becomes another, small
    word: `theme` is not `them`."""
    text = re.sub(r"['’](s|t|re|ve|ll|d|m)?$", "", word.lower())
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if text.endswith(ending) and len(text) - len(ending) >= 3 and not text.endswith("ss"):
            text = text[: -len(ending)] + instead
            break
    if len(text) > 3 and text[-1] == text[-2] and text[-1] not in "aeiouls":
        text = text[:-1]
    short = text[:-1] if len(text) > 3 and text.endswith("e") else text
    return word.lower() if short in _SMALL else short


def is_small(word: str) -> bool:
    """Return whether a word is one of the small words of English."""
    return word.lower() in _SMALL


def is_german(text: str) -> bool:
    """Return whether a text has at least two different small words of German."""
    return len(_GERMAN.intersection(word.lower() for word in words_of(text))) > 1


def stems_of(text: str) -> list[str]:
    return [stem(word) for word in words_of(text)]


def telling_stems(text: str) -> set[str]:
    """The stems of the words that say what a text is about."""
    return {stem(word) for word in words_of(text) if word.lower() not in _SMALL and len(word) > 1}


def likeness(one: Iterable[str], other: Iterable[str]) -> float:
    """How much two sets of stems have in common: 0 nothing, 1 everything."""
    first, second = set(one), set(other)
    both = len(first & second)
    return both / len(first | second) if both else 0.0


class Meanings:
    """Which words mean nearly the same, for one team."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._groups: dict[str, set[int]] = {}
        for nth, group in enumerate(groups):
            for word in group:
                self._groups.setdefault(stem(word), set()).add(nth)

    def match(self, skill: str, wanted: Iterable[str]) -> float:
        """How well a skill fits what is wanted: 1 for the same words, half for words of one meaning."""
        own = telling_stems(skill)
        if not own:
            return 0.0
        sought = set(wanted)
        near = {nth for word in sought for nth in self._groups.get(word, ())}
        total = sum(
            1.0 if word in sought else 0.5 if self._groups.get(word, set()) & near else 0.0 for word in own
        )
        return total / len(own)
