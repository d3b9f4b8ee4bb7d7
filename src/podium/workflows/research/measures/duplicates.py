"""Texts that hold the same words: a book as one page, as chapters, as PDF and as its own source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from podium.brain.words import word_set

LEAST = 20
"""Samples that a text must have to be compared."""
CONTAINED = 0.7
"""Share of a text's samples from which on another text holds it."""
_LANGUAGES = word_set(
    "ar bg bn ca cn cs da de el en eo es et eu fa fi fr ga gl he hi hr hu id is it ja ka ko lt lv ml mr nb"
    " nl nn no pl pt ro ru sk sl sq sr sv ta te th tr uk vi zh"
)
_LANGUAGE = re.compile(r"[._-]([a-z]{2})(?:[_-][A-Za-z]{2,4})?(?=\.\w{2,5}$)")
_LETTERS = re.compile(r"[\W\d_]+")
_ANCHOR = re.compile(r"(?=((?:en|er|on|st).{28}))")


@lru_cache(maxsize=128)
def samples_of(text: str) -> frozenset[str]:
    """Return runs of letters that begin at fixed pairs of letters, so that two texts give the same runs
    wherever they agree. Spaces, markup and figures do not count: PDF files lose spaces."""
    letters = _LETTERS.sub("", text.lower())
    found = frozenset(one[1] for one in _ANCHOR.finditer(letters))
    if len(found) >= LEAST or letters.isascii() or len(letters) > 50_000:
        return found
    return frozenset(letters[at : at + 12] for at in range(len(letters) - 11))  # writing without these pairs


def is_contained(text: str, other: str) -> bool:
    """Whether nearly all of a text stands in the other."""
    own = samples_of(text)
    return len(own) >= LEAST and len(own & samples_of(other)) >= CONTAINED * len(own)


def translations_in(addresses: Mapping[str, str], language: str) -> set[str]:
    """Return the ids of translations to leave out: files whose names differ in a language code alone, such as
    `guide.de.pdf` and `guide.fr.pdf`. One of them stays, in the wanted language if there is one."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, address in addresses.items():
        found = _LANGUAGE.search(address)
        code = found[1] if found and found[1] in _LANGUAGES else ""
        name = _LANGUAGE.sub("", address) if code else address
        groups.setdefault(name, []).append((key, code))
    left: set[str] = set()
    for group in groups.values():
        order = (language, "en", "")
        kept = min(group, key=lambda one: order.index(one[1]) if one[1] in order else len(order))
        left |= {key for key, _ in group} - {kept[0]}
    return left


def works_of(texts: Mapping[str, str]) -> list[list[str]]:
    """Return the ids of the texts in groups that are one work, the text that holds the others first."""
    groups: list[list[str]] = []
    for key in sorted(texts, key=lambda one: -len(samples_of(texts[one]))):
        home = next((group for group in groups if is_contained(texts[key], texts[group[0]])), None)
        if home is None:
            groups.append([key])
        else:
            home.append(key)
    return groups
