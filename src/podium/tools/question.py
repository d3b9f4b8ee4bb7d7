"""The words of a question that tell what it is about."""

from __future__ import annotations

import re

LONGEST = 20_000
"""Characters of a question that are looked at."""
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_COMMON = frozenset(
    (
        "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
        "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me",
        "my", "of", "on", "or", "our", "shall", "should", "so", "than", "that", "the", "their", "them",
        "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when",
        "where", "which", "who", "whose", "why", "will", "with", "would", "you", "your",
    )
)  # fmt: skip


def telling(query: str, most: int) -> list[str]:
    """The words that are not in every text, at most so many; all of them if no other is there. What is left
    holds letters, digits, hyphens and apostrophes only: nothing in it steers a search engine."""
    words = list(dict.fromkeys(_WORD.findall(query[:LONGEST])))
    return ([word for word in words if word.lower() not in _COMMON] or words)[:most]


def share(words: list[str], text: str) -> float:
    """How much of the words stands in a text, from 0 to 1; endings are not looked at."""
    if not words:
        return 0.0
    there = {_stem(word) for word in _WORD.findall(text)}
    return sum(_stem(word) in there for word in words) / len(words)


def _stem(word: str) -> str:
    """A rough one: `brewing` and `brewed` are one word."""
    low = word.lower().replace("’", "'").removesuffix("'s")
    for ending in ("ing", "ies", "ed", "es", "s", "e"):
        if low.endswith(ending) and len(low) - len(ending) >= 3:
            return low.removesuffix(ending)
    return low
