"""Word matching by stems and groups of near synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_STOP_TEXT = """
    a about an and are as at be by do for from has have how i if in into is it its make me my of on or our so
    some that the their them then there they this to us we what when where which who will with you your
"""
_STOP = frozenset(_STOP_TEXT.split())
"""English stop words."""
_GERMAN_TEXT = """
    aber auch auf aus bei bitte das dem der die ein eine einem einen einer für haben ich im ist keine mir mit
    nicht noch oder sich sie sind soll und uns unsere von warum wenn wie wir zum zur zwei über
"""
_GERMAN = frozenset(_GERMAN_TEXT.split())


def words_of(text: str) -> list[str]:
    """Return the words of a text in order. A hyphen separates two words."""
    return _WORD.findall(text)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without its inflection. It never becomes a stop word: `theme` is not `them`."""
    text = re.sub(r"['’](s|t|re|ve|ll|d|m)?$", "", word.lower())
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if text.endswith(ending) and len(text) - len(ending) >= 3 and not text.endswith("ss"):
            text = text[: -len(ending)] + instead
            break
    if len(text) > 3 and text[-1] == text[-2] and text[-1] not in "aeiouls":
        text = text[:-1]
    short = text[:-1] if len(text) > 3 and text.endswith("e") else text
    return word.lower() if short in _STOP else short


def is_stop_word(word: str) -> bool:
    """Return whether a word is an English stop word."""
    return word.lower() in _STOP


def is_german(text: str) -> bool:
    """Return whether a text has at least two different German stop words."""
    return len(_GERMAN.intersection(word.lower() for word in words_of(text))) > 1


def stems_of(text: str) -> list[str]:
    return [stem(word) for word in words_of(text)]


def content_stems(text: str) -> set[str]:
    """Return the stems of a text without stop words."""
    return {stem(word) for word in words_of(text) if word.lower() not in _STOP and len(word) > 1}


def similarity(first_stems: Iterable[str], second_stems: Iterable[str]) -> float:
    """Return the Jaccard similarity of two sets of stems, from 0 to 1."""
    first, second = set(first_stems), set(second_stems)
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
        """Return how well a skill fits: 1 for the same words, 0.5 for near synonyms."""
        own = content_stems(skill)
        if not own:
            return 0.0
        sought = set(wanted)
        near = {nth for word in sought for nth in self._groups.get(word, ())}
        total = sum(
            1.0 if word in sought else 0.5 if self._groups.get(word, set()) & near else 0.0 for word in own
        )
        return total / len(own)
