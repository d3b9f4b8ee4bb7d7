"""Word matching by stems and groups of near synonyms."""

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
"""Stop words."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order. A hyphen separates two words."""
    return _WORD.findall(text)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without inflectional endings, in lower case. The result is never a stop word: `theme`
    does not become `them`."""
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
    """Return whether a word is an English stop word."""
    return word.lower() in _SMALL


def stems_of(text: str) -> list[str]:
    return [stem(word) for word in words_of(text)]


def telling_stems(text: str) -> set[str]:
    """Return the stems of a text's words, without stop words and single letters."""
    return {stem(word) for word in words_of(text) if word.lower() not in _SMALL and len(word) > 1}


def likeness(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the Jaccard similarity of two sets of stems, from 0 to 1."""
    first, second = set(one), set(other)
    both = len(first & second)
    return both / len(first | second) if both else 0.0


class Meanings:
    """Groups of near synonyms of one team."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._groups: dict[str, set[int]] = {}
        for nth, group in enumerate(groups):
            for word in group:
                self._groups.setdefault(stem(word), set()).add(nth)

    def match(self, skill: str, wanted: Iterable[str]) -> float:
        """Return how well a skill matches: 1 for identical words, 0.5 for synonyms, averaged over the skill's
        words."""
        own = telling_stems(skill)
        if not own:
            return 0.0
        sought = set(wanted)
        near = {nth for word in sought for nth in self._groups.get(word, ())}
        total = sum(
            1.0 if word in sought else 0.5 if self._groups.get(word, set()) & near else 0.0 for word in own
        )
        return total / len(own)
