"""What is told of a subject, in one word each: synonyms, what has many values, and what never changes."""

from __future__ import annotations

import re
from functools import lru_cache

from podium.brain.words import singular, words_of

ALIAS = "alias"
STATUS = "status"
DESCRIPTION = "description"
LOCATION = "location"

_SYNONYMS = {
    ALIAS: "also known as, aka, a k a, nickname, known as, goes by, called, other name, alias",
    STATUS: "state, life status, vital status, condition, fate, alive, dead",
    DESCRIPTION: "appearance, look, looks like, physical description, feature, face, physique",
    "eye colour": "eye color, colour of eye, color of eye, iris colour, colour of the eye, color of the eye",
    "hair colour": "hair color, colour of hair, color of hair, colour of the hair, color of the hair",
    "skin colour": "skin color, skin tone, complexion",
    "colour": "color",
    "age": "aged, years old, year old",
    "birth date": "date of birth, birthday, birthdate, dob, year of birth, birth year, born on",
    "birthplace": "born in, place of birth, birth place",
    "death date": "date of death, died on, year of death",
    "height": "tall, body height, stands",
    "weight": "weighs, body weight",
    "occupation": "job, profession, works as, work, career, employed as, trade",
    "gender": "sex",
    "species": "race",
    "name": "full name, real name",
    "spouse": "husband, wife, married to",
    "mother": "mom, mum",
    "father": "dad",
    "home": "lives in, lives at, residence, resides in, dwells in",
    LOCATION: "located in, located at, lies in, in, at, current location, position, whereabouts",
    "duration": "length, lasts, running time, runtime",
    "time of day": "time, set at",
    "year": "set in year, takes place in year",
}

MANY = frozenset(
    {
        ALIAS, DESCRIPTION, "is", "has", "like", "dislike", "love", "hate", "fear", "afraid of", "own",
        "know", "friend", "friend of", "ally", "enemy", "rival", "sibling", "brother", "sister", "brother of",
        "sister of", "child", "son", "daughter", "child of", "parent", "parent of", "mother of", "father of",
        "cousin", "relative", "relationship", "related to", "skill", "ability", "can", "trait", "personality",
        "quirk", "habit", "hobby", "language", "appear in", "appear", "wear", "costume", "clothing", "carry",
        "hold", "say", "speak", "tell", "ask", "does", "do", "action", "event", "visit", "meet", "member of",
        "mood", "feel", "emotion", "goal", "want", "secret", "theme", "note", "contain", "include", "feature",
        "quote", "line", "dialogue", "scar", "tattoo", "possession", "memory", "belief", "backstory",
        "history", "symbol", "rule", "detail", "happen", "scene", "character", "participant", "cast",
    }
)  # fmt: skip
"""What may be told of one subject again and again, or changes from scene to scene: another value is news."""

FIXED = frozenset(
    {
        "eye colour", "skin colour", "birth date", "birthplace", "death date", "height", "gender", "species",
        "name", "mother", "father", "blood type", "age", "spouse", "nationality", "year", "surname",
        "first name", "last name",
    }
)  # fmt: skip
"""What does not change by itself: another value is a mistake."""

_LEADING = frozenset(
    {"has", "have", "had", "is", "are", "was", "were", "the", "a", "an", "his", "her", "its"}
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _table() -> dict[str, str]:
    found = {name: name for name in _SYNONYMS}
    for name, others in _SYNONYMS.items():
        found |= {" ".join(singular(word) for word in other.split()): name for other in others.split(", ")}
        found |= dict.fromkeys(others.split(", "), name)
    return found


_TABLE = _table()


@lru_cache(maxsize=8192)
def predicate_key(predicate: str) -> str:
    """`Eye_color`, `eyeColor` and `has the eye colour` are one predicate."""
    given = words_of(_CAMEL.sub(" ", predicate).replace("_", " "))
    words = list(given)
    while len(words) > 1 and words[0] in _LEADING:
        del words[0]
    plain = " ".join(words)
    rooted = " ".join(singular(word) for word in words)
    key = _TABLE.get(plain) or _TABLE.get(rooted) or rooted
    return {"are": "is", "was": "is", "were": "is", "have": "has", "had": "has"}.get(key, key)


def is_single(predicate: str, kind: str) -> bool:
    """Return whether one subject has one value of it. People and things move; everything else stays."""
    if predicate == LOCATION:
        return kind not in ("character", "object")
    return predicate not in MANY
