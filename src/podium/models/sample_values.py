"""Words of a request, and sample values made of them."""

from __future__ import annotations

import base64
import hashlib
import importlib
import math
import re
import unicodedata
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[-’'][^\W_]+)*")
_SUBJECT = re.compile(
    r"^[ \t#*>-]*(?:the |your |user'?s? |original )*"
    r"(?:request|topic|objective|goal|question|subject|brief|idea|story|assignment)\b[^\n:]{0,40}(?::|\n)",
    re.IGNORECASE | re.MULTILINE,
)
"""Places where a prompt names its subject: a heading or a label such as `Request:`."""
_NEXT_HEADING = re.compile(r"^[ \t]*(?:#|\*\*)", re.MULTILINE)
_LOOKED_AT = 20_000
_LONGEST_WORD = 40
_ESCAPES = re.compile(
    r"\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
    r"|\[\d{1,3}(?:;\d{1,3})*m(?!\])",
    re.MULTILINE,
)
"""Terminal escape sequences, also colour codes that have lost their escape character: `[31m`."""
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "œ": "oe"})
_COMMON_TEXT = """
    a about above after again all also although always an and another any answer are around as ask asked at
    back be because been before being below best better between both but by call can come could create did do
    does doing done down during each either else enough even every everything few find first following for
    from further gave get give given gives go good great had has have having he help her here him his how
    however if in instead into is it its itself just keep know last least less let like list long look made
    make makes many may me might more most much must my need needs never new next no nor not nothing now of
    off on once one only or other our out over own part people please point produce put rather rehearsal reply
    request say sentence sentences she should show since so some something still such take than that the
    their them then there these they thing things this those three through to too topic two under until up
    upon us use used using very want was way we well were what when where whether which while who whole whom
    whose why will with within without word words work would write writes writing yes yet you your yours
    belongs model needs place real stands table written
    aber als auch auf aus bei beim bitte das dass dem den der des die diese dieser ein eine einem einen einer
    eines für gerne haben ich ihr ihre ist kann keine können man mein mir mit nach nicht noch nur oder ohne
    schreibe sein sich sie sind soll und uns unser unsere vom von was welche wenn werden wer wie wir wird zum
    zur über
"""
_COMMON = frozenset(_COMMON_TEXT.split())
"""Words of English and German that say nothing about what a request is about."""


def keywords(prompt: str, limit: int = 12) -> list[str]:
    """Return the content words of a prompt in order of appearance; never empty. A section that is labelled
    as the request or topic comes first, because templates have many words of their own."""
    text = without_codes(prompt[:_LOOKED_AT])
    section = _subject(text)
    words = _content_words(section)
    if len(words) < 3:
        words += [word for word in _content_words(text) if word.lower() not in {w.lower() for w in words}]
    return words[:limit] or ["request", "answer"]


def without_codes(text: str) -> str:
    """Remove terminal escape sequences."""
    return _ESCAPES.sub("", text)


def slug(text: str, most: int) -> str:
    """Return a name of ASCII letters, digits and hyphens: as many whole words as fit, or an empty string."""
    spelt = unicodedata.normalize("NFC", text.lower()).translate(_SPELT_OUT)
    plain = "".join(char for char in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(char))
    words = re.findall(r"[a-z0-9]+", plain)
    while len(words) > 1 and len("-".join(words)) > most:
        words.pop()
    return "-".join(words)[:most]


def pick(options: Sequence[T], *seed: object) -> T:
    """One of the options, always the same for the same seed."""
    return options[number(*seed) % len(options)]


def number(*seed: object) -> int:
    """A large number that depends on nothing but the seed."""
    text = "\x1f".join(str(part) for part in seed)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _subject(text: str) -> str:
    label = _SUBJECT.search(text)
    if label is None:
        return text
    heading = _NEXT_HEADING.search(text, label.end())
    section = text[label.end() : heading.start() if heading else len(text)]
    return section if section.strip() else text


def _content_words(text: str) -> list[str]:
    """The words of a text without the common ones; those that occur most, in order of appearance."""
    words = [word[:_LONGEST_WORD] for word in _WORD.findall(text)]
    telling = [word for word in words if len(word) > 2 and word.lower() not in _COMMON]
    counts = Counter(word.lower() for word in telling)
    chosen = {word for word, _ in counts.most_common(24)}
    return list({word.lower(): word for word in reversed(telling) if word.lower() in chosen}.values())[::-1]


LABEL = "[rehearsal]"
"""Starts every text that the rehearsal model makes up."""

Place = tuple[str | int, ...]
"""Path of a value in the reply: field names and list positions."""
Choose = Callable[[int], int]
"""Returns a number below its argument."""

_TRIES = 24
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.,:/@+"
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdigit,
    "WORD": lambda char: char.isalnum() or char == "_",
    "SPACE": str.isspace,
}
_IDENTIFIER = re.compile(r"(^|_)(id|ids|key|slug|ref|file|path|filename|branch|code)$", re.IGNORECASE)
_MOMENT = re.compile(r"(^|_)(at|date|time|datetime|timestamp|when|deadline)$", re.IGNORECASE)


class Words:
    """Keywords of the request, and a seed that makes the answers of different calls differ."""

    def __init__(self, words: list[str], seed: str) -> None:
        self.words = words
        self.seed = seed

    def some(self, count: int, place: Place) -> list[str]:
        """Return up to `count` of the keywords, others at other places."""
        start = number(self.seed, *place) % len(self.words)
        return [*self.words[start:], *self.words[:start]][:count]

    def choose(self, most: int, place: Place) -> int:
        """Return a number below `most`; neighbours in a list get different ones."""
        if place and isinstance(place[-1], int):
            return (number(self.seed, *place[:-1]) + place[-1]) % most
        return number(self.seed, *place) % most


def make_number(schema: Mapping[str, Any], words: Words, place: Place, step: float | None = None) -> float:
    """Return a number within the bounds: in a closed range from its upper part, because good scores make
    the better demonstration. With `step`, a multiple of it."""
    low = max((schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema), default=None)
    high = min((schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema), default=None)
    position = place[-1] if place and isinstance(place[-1], int) else 0
    small, upper = position or words.choose(5, place), 0.7 + words.choose(25, place) / 100
    if step is None:
        if low is not None and high is not None:
            value = low + (high - low) * upper
        else:
            value = (low or 0) + 0.5 + small if high is None else high - 0.5 - small
        rounded = round(value, 2)
        return rounded if (low is None or rounded > low) and (high is None or rounded < high) else value
    first = 1 if low is None else math.ceil(low / step)
    last = math.inf if high is None else math.floor(high / step)
    first += low is not None and low == schema.get("exclusiveMinimum") and first * step <= low
    last -= high is not None and high == schema.get("exclusiveMaximum") and last * step >= high
    if low is None and last < math.inf:
        return (last - small) * step
    if last == math.inf:
        return (first + small) * step
    count = max(1, int(last) - first + 1)
    return (first + (int((count - 1) * upper) + position) % count) * step


def make_string(schema: Mapping[str, Any], words: Words, place: Place) -> str:
    """Return a string with the format, pattern and length that the schema asks for."""
    shape = schema.get("format") or schema.get("contentEncoding") or schema.get("contentMediaType")
    if shape in _FORMATS:
        return _FORMATS[shape](words, place)
    fewest, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 100_000))
    if "pattern" in schema:
        draws = iter(range(1_000_000))
        made = matching(
            schema["pattern"],
            lambda options: number(words.seed, *place, next(draws)) % options,
            lambda text: fewest <= len(text) <= most,
        )
        if made is not None:
            return made
    text = _phrase(words, place)
    if len(text) > most:
        text = text.removeprefix(LABEL).strip()[:most]
    while len(text) < fewest:
        text = f"{text} {' '.join(words.words)}"[: max(fewest, min(most, len(text) + 200))]
    return text


def _phrase(words: Words, place: Place) -> str:
    """Return text for a field without rules, different for each field and list item."""
    name = next((part for part in reversed(place) if isinstance(part, str)), "")
    if _MOMENT.search(name):
        return _FORMATS["date-time"](words, place)
    numbered = "-".join(str(part + 1) for part in place if isinstance(part, int))
    if _IDENTIFIER.search(name):
        return "-".join(filter(None, [*(word.lower() for word in words.some(2, place)), numbered]))
    subject = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]", " ", name).strip().capitalize() or "Answer"
    return f"{LABEL} {' '.join(filter(None, [subject, numbered]))} about {', '.join(words.some(3, place))}."


# ── regular expressions ──────────────────────────────────────────────────────────────────────────


def matching(pattern: str, choose: Choose, accept: Callable[[str], bool]) -> str | None:
    """Return a string that the pattern finds and `accept` takes, or None.

    The pattern is parsed by Python's own parser. Look-arounds and back-references are left out, and every
    result is checked.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
            parsed: Any = importlib.import_module("re._parser").parse(pattern)
    except re.error:
        return None
    made = (_write(parsed, choose, 3 + 8 * (attempt // 3)) for attempt in range(_TRIES))
    return next((text for text in made if compiled.search(text) and accept(text)), None)


def _write(items: Iterable[Any], choose: Choose, extra: int) -> str:
    """Return text for the elements of a parsed pattern, with up to `extra` optional repetitions."""
    parts: list[str] = []
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                parts.append(chr(value))
            case "NOT_LITERAL" | "ANY" | "IN":
                options = _members(str(kind), value)
                parts.append(options[choose(len(options))] if options else "")
            case "BRANCH":
                parts.append(_write(value[1][choose(len(value[1]))], choose, extra))
            case "SUBPATTERN":
                parts.append(_write(value[-1], choose, extra))
            case "ATOMIC_GROUP":
                parts.append(_write(value, choose, extra))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                fewest, most, inner = value
                times = min(int(most), int(fewest) + min(extra, choose(2 + extra)))
                parts += [_write(inner, choose, extra) for _ in range(times)]
            case _:
                pass
    return "".join(parts)


def _members(kind: str, value: Any) -> list[str]:
    """Return the characters that a class such as `[a-z_]`, `[^/]` or `.` allows."""
    if kind != "IN":
        return [char for char in _ALPHABET if kind == "ANY" or ord(char) != value]
    names: list[str] = []
    for name, inner in value:
        if str(name) == "LITERAL":
            names.append(chr(inner))
        elif str(name) == "RANGE":
            names += [chr(code) for code in range(inner[0], min(inner[1], inner[0] + 127) + 1)]
        elif str(name) == "CATEGORY":
            category = str(inner).removeprefix("CATEGORY_")
            belongs = _CATEGORIES[category.removeprefix("NOT_")]
            names += [char for char in _ALPHABET if belongs(char) != category.startswith("NOT_")]
    return [char for char in _ALPHABET if char not in names] if str(value[0][0]) == "NEGATE" else names


# ── formats ──────────────────────────────────────────────────────────────────────────────────────


def _ascii_word(words: Words, place: Place) -> str:
    plain = (slug(word, 40).replace("-", "") for word in words.some(4, place))
    return next((word for word in plain if word), "rehearsal")


def _uuid(version: int) -> Callable[[Words, Place], str]:
    def make(words: Words, place: Place) -> str:
        digits = f"{number(words.seed, *place):016x}{number(words.seed, *place, 'low'):016x}"
        return str(uuid.UUID(f"{digits[:12]}{version}{digits[13:16]}a{digits[17:]}"))

    return make


def _template(text: str) -> Callable[[Words, Place], str]:
    """Return a maker that fills in `{word}`, and `{n}` with a number from 1 to 28."""
    return lambda words, place: text.format(word=_ascii_word(words, place), n=1 + words.choose(28, place))


_FORMATS: dict[str, Callable[[Words, Place], str]] = {
    **{f"uuid{version}": _uuid(version) for version in (1, 3, 4, 5, 6, 7, 8)},
    "uuid": _uuid(4),
    "base64": lambda words, place: base64.b64encode(_ascii_word(words, place).encode()).decode(),
    "base64url": lambda words, place: base64.urlsafe_b64encode(_ascii_word(words, place).encode()).decode(),
    **{
        name: _template(text)
        for name, text in {
            "date-time": "2024-05-{n:02}T10:30:00Z",
            "date": "2024-05-{n:02}",
            "time": "10:{n:02}:00Z",
            "duration": "PT{n}M",
            "decimal": "{n}.5",
            "email": "{word}@example.com",
            "idn-email": "{word}@example.com",
            "name-email": "Rehearsal <{word}@example.com>",
            "uri": "https://example.com/{word}",
            "uri-reference": "/{word}",
            "hostname": "example.com",
            "ipv4": "192.0.2.{n}",
            "ipv6": "2001:db8::{n}",
            "ipv4network": "192.0.2.0/24",
            "ipv6network": "2001:db8::/32",
            "ipv4interface": "192.0.2.7/24",
            "regex": ".*",
            "ipv6interface": "2001:db8::7/32",
            "ipvanyaddress": "192.0.2.7",
            "path": "{word}.md",
            "ipvanynetwork": "192.0.2.0/24",
            "ipvanyinterface": "192.0.2.7/24",
            "json-string": "{{}}",
            "application/json": "{{}}",
        }.items()
    },
}
