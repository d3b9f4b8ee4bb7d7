"""How easy an English text is to read: Flesch reading ease and the Flesch-Kincaid school grade."""

from __future__ import annotations

import msgspec

from podium.brain.words import word_set
from podium.workflows.research.measures.markup import prose_of
from podium.workflows.research.measures.syllables import count_syllables
from podium.workflows.research.measures.words import sentences_in, words_in

PLAIN = 60.0
"""The ease of plain English: from here on a text has the full score."""
LONG_SENTENCE, ENDLESS_SENTENCE = 20.0, 60.0
"""Words of a sentence from which on it is hard to follow, and where nobody does."""
_COMMON = word_set(
    "the of and to in a is that for it as with on was are by this be from or an at not which have has its"
    " but their were can will more they"
)
_ENGLISH = 0.12
"""At least so many of the words of any English text are these."""
_FEW = 20
"""Words; too few to tell the language by."""


class Readability(msgspec.Struct, frozen=True):
    """Rounded to one decimal; `None` where the formulas do not apply: no words, or not English."""

    flesch: float | None
    """About 0 (hardly readable) to 100 (a child reads it); plain English is 60 to 70."""
    grade: float | None
    """Years of school that a reader needs."""
    score: float
    """0 to 1: full from plain English on. In another language it goes by the length of sentences alone."""


def readability(markdown: str) -> Readability:
    """Measured over everything that is written in sentences."""
    texts = prose_of(markdown)
    words = [word for text in texts for word in words_in(text)]
    sentences = sum(len(sentences_in(text)) for text in texts)
    if not words or not sentences:
        return Readability(None, None, 0.0)
    length = len(words) / sentences
    if not _is_english(words):
        room = (ENDLESS_SENTENCE - length) / (ENDLESS_SENTENCE - LONG_SENTENCE)
        return Readability(None, None, _between(room))
    syllables = sum(map(count_syllables, words)) / len(words)
    flesch = 206.835 - 1.015 * length - 84.6 * syllables
    grade = 0.39 * length + 11.8 * syllables - 15.59
    return Readability(round(flesch, 1), round(grade, 1), _between(flesch / PLAIN))


def _is_english(words: list[str]) -> bool:
    latin = sum(word[0].isascii() for word in words)
    if latin < len(words) / 2:
        return False
    if len(words) < _FEW:
        return True
    return sum(word.lower() in _COMMON for word in words) / len(words) >= _ENGLISH


def _between(value: float) -> float:
    return min(max(value, 0.0), 1.0)
