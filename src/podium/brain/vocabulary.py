"""Normalization of words and predicates."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset({"a", "an", "the"})
TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord"})
_FILLERS = _ARTICLES | set(
    """
    of and with in on at is are was were be has have had her his their its color colour coloured colored
    who which that by to
    """.split()
)
"""Words that do not affect the meaning of a value."""
STOP_WORDS = _FILLERS | set(
    """
    i me my we our you your he she it they them this these those as for from into or but if then than so
    do does did will would can could should may might must not no there here what when where how why
    about over under up down out all any some one make create write
    """.split()
)
"""Too common to search for."""

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
"""Synonyms and spellings; shades count as their colour."""

COLOURS = frozenset(
    """
    black white grey red green blue brown blond hazel amber yellow pink purple violet orange turquoise
    auburn ginger copper bronze
    """.split()
)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a table that is written as one text, which is easier to read than many quoted
    words."""
    return frozenset(text.split())


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents, possessives and punctuation."""
    plain = text.lower() if text.isascii() else _unaccented(text)
    return [word.removesuffix("'s").removesuffix("s'") or word for word in _WORD.findall(plain)]


def _unaccented(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text).replace("’", "'")
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).casefold()


@lru_cache(maxsize=65536)
def name_key(name: str) -> str:
    """Return a name in normalized form: `The Dr. Elena Marsh` and `elena marsh` are equal."""
    words = words_of(name)
    parts = [word for word in words if word not in _ARTICLES and word not in TITLES]
    return " ".join(parts or words) or " ".join(name.casefold().split())  # a name may be an emoji


@lru_cache(maxsize=65536)
def value_words(text: str) -> frozenset[str]:
    """Return the meaningful words of a value, with normalized spelling and in the singular."""
    words = words_of(text)
    terms = [singular(SPELLINGS.get(word, word)) for word in words if word not in _FILLERS]
    return frozenset(terms) or frozenset(words)


def singular(word: str) -> str:
    """Return an approximate singular: `eyes` becomes `eye`, `glass` stays."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


def search_terms(text: str, most: int = 64) -> list[str]:
    """Return the words of a text worth searching for, each once."""
    words = dict.fromkeys(words_of(text))
    return ([word for word in words if word not in STOP_WORDS] or list(words))[:most]


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
"""Predicates that may have several values, or that change from scene to scene: another value is new
information."""

FIXED = frozenset(
    {
        "eye colour", "skin colour", "birth date", "birthplace", "death date", "height", "gender", "species",
        "name", "mother", "father", "blood type", "age", "spouse", "nationality", "year", "surname",
        "first name", "last name",
    }
)  # fmt: skip
"""Predicates whose values do not change: another value is an error."""

_LEADING = frozenset(
    {"has", "have", "had", "is", "are", "was", "were", "the", "a", "an", "his", "her", "its"}
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _table() -> dict[str, str]:
    table = {name: name for name in _SYNONYMS}
    for name, others in _SYNONYMS.items():
        table |= {" ".join(singular(word) for word in other.split()): name for other in others.split(", ")}
        table |= dict.fromkeys(others.split(", "), name)
    return table


_TABLE = _table()


@lru_cache(maxsize=8192)
def predicate_key(predicate: str) -> str:
    """Return a predicate in normalized form: `Eye_color`, `eyeColor` and `has the eye colour` are equal."""
    words = words_of(_CAMEL.sub(" ", predicate).replace("_", " "))
    while len(words) > 1 and words[0] in _LEADING:
        del words[0]
    plain = " ".join(words)
    rooted = " ".join(singular(word) for word in words)
    key = _TABLE.get(plain) or _TABLE.get(rooted) or rooted
    return {"are": "is", "was": "is", "were": "is", "have": "has", "had": "has"}.get(key, key)


def is_single(predicate: str, kind: str) -> bool:
    """Return whether a subject has at most one value of this predicate. People and objects move; everything
    else stays."""
    if predicate == LOCATION:
        return kind not in ("character", "object")
    return predicate not in MANY
