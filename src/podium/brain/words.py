"""How words are compared: names, predicates and values in the one form that different spellings share."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset({"a", "an", "the"})
TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord"})
_FILLERS = _ARTICLES | {
    "of", "and", "with", "in", "on", "at", "is", "are", "was", "were", "be", "has", "have", "had", "her",
    "his", "their", "its", "color", "colour", "coloured", "colored", "who", "which", "that", "by", "to",
}  # fmt: skip
"""Words that change nothing in a value."""
STOP_WORDS = _FILLERS | {
    "i", "me", "my", "we", "our", "you", "your", "he", "she", "it", "they", "them", "this", "these", "those",
    "as", "for", "from", "into", "or", "but", "if", "then", "than", "so", "do", "does", "did", "will",
    "would", "can", "could", "should", "may", "might", "must", "not", "no", "there", "here", "what", "when",
    "where", "how", "why", "about", "over", "under", "up", "down", "out", "all", "any", "some", "one", "make",
    "create", "write",
}  # fmt: skip
"""Too common to look for."""

SPELLINGS = {
    "gray": "grey", "blonde": "blond", "color": "colour", "center": "centre", "mom": "mother",
    "mum": "mother", "dad": "father", "deceased": "dead", "killed": "dead", "living": "alive",
    "emerald": "green", "jade": "green", "azure": "blue", "sapphire": "blue", "navy": "blue",
    "crimson": "red", "scarlet": "red", "ruby": "red", "ebony": "black", "raven": "black", "jet": "black",
    "chestnut": "brown", "golden": "blond", "silver": "grey", "silvery": "grey", "ivory": "white",
    "true": "yes", "false": "no", "unmarried": "single", "physician": "doctor", "attorney": "lawyer",
    "kid": "child", "cannot": "not", "never": "not", "without": "not", "isn't": "not", "doesn't": "not",
    "can't": "not", "won't": "not", "didn't": "not", "don't": "not", "wasn't": "not", "hasn't": "not",
}  # fmt: skip
"""Words that say the same; shades count as their colour."""

COLOURS = frozenset(
    {"black", "white", "grey", "red", "green", "blue", "brown", "blond", "hazel", "amber", "yellow", "pink",
     "purple", "violet", "orange", "turquoise", "auburn", "ginger", "copper", "bronze"}
)  # fmt: skip


def word_set(text: str) -> frozenset[str]:
    """The words of a table, written as one text: easier to read than a page of quotation marks."""
    return frozenset(text.split())


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without accents, possessives and punctuation."""
    plain = text.lower() if text.isascii() else _unaccented(text)
    return [word.removesuffix("'s").removesuffix("s'") or word for word in _WORD.findall(plain)]


def _unaccented(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text).replace("’", "'")
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).casefold()


@lru_cache(maxsize=65536)
def name_key(name: str) -> str:
    """A name as it is compared: `The Dr. Elena Marsh` and `elena marsh` are one."""
    words = words_of(name)
    kept = [word for word in words if word not in _ARTICLES and word not in TITLES]
    return " ".join(kept or words) or " ".join(name.casefold().split())  # a name may be a 🦊


@lru_cache(maxsize=65536)
def value_words(text: str) -> frozenset[str]:
    """The words of a value that carry meaning, in one spelling and number."""
    found = words_of(text)
    kept = [singular(SPELLINGS.get(word, word)) for word in found if word not in _FILLERS]
    return frozenset(kept) or frozenset(found)


def singular(word: str) -> str:
    """Roughly: `eyes` and `eye` are one word, `glass` stays."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


def search_terms(text: str, most: int = 64) -> list[str]:
    """The words of a text worth looking for, each once."""
    found = dict.fromkeys(words_of(text))
    return ([word for word in found if word not in STOP_WORDS] or list(found))[:most]
