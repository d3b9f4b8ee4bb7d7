"""Sample numbers and strings for a schema.

Python's own parser parses regular expressions, so all syntax of `re` is understood. What cannot be generated
(look-arounds, back-references) is skipped, and the result is checked.
"""

from __future__ import annotations

import base64
import importlib
import math
import re
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from podium.models.request_words import number, slug

_TRIES = 24
_EXTRA = 3
"""Maximum number of repetitions above the minimum that are tried."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.,:/@+"

Choose = Callable[[int], int]
"""Returns a number below its argument."""


def matching(pattern: str, choose: Choose, accept: Callable[[str], bool]) -> str | None:
    """Return a string that matches `pattern` and that `accept` allows; `None` if none is found."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
            parsed: Any = importlib.import_module("re._parser").parse(pattern)
    except re.error:
        return None
    for attempt in range(_TRIES):
        text = "".join(_write(item, choose, attempt // 3) for item in parsed)
        if compiled.search(text) and accept(text):
            return text
    return None


def _write(item: Any, choose: Choose, generous: int) -> str:
    """Return text for one element of a parsed expression; `generous` asks for more repetitions."""
    kind, value = str(item[0]), item[1]
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return _one_of([c for c in _ALPHABET if ord(c) != value], choose)
        case "ANY":
            return _one_of(_ALPHABET, choose)
        case "IN":
            return _one_of(_members(value), choose)
        case "BRANCH":
            options = value[1]
            return _all(options[choose(len(options))], choose, generous)
        case "SUBPATTERN":
            return _all(value[-1], choose, generous)
        case "ATOMIC_GROUP":
            return _all(value, choose, generous)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            fewest, most, inner = value
            times = min(
                int(most), int(fewest) + min(_EXTRA + 8 * generous, choose(2 + _EXTRA + 8 * generous))
            )
            return "".join(_all(inner, choose, generous) for _ in range(times))
        case _:  # anchors take no space; look-arounds and back-references are left to the check
            return ""


def _all(items: Iterable[Any], choose: Choose, generous: int) -> str:
    return "".join(_write(item, choose, generous) for item in items)


def _members(items: list[Any]) -> list[str]:
    """Return the characters of a class such as `[a-z_]` or `[^/]`."""
    found: list[str] = []
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                found.append(chr(value))
            case "RANGE":
                low, high = value
                found.extend(chr(code) for code in range(low, min(high, low + 127) + 1))
            case "CATEGORY":
                found.extend(c for c in _ALPHABET if _in_category(c, str(value)))
            case _:
                pass
    if str(items[0][0]) == "NEGATE":
        return [c for c in _ALPHABET if c not in found]
    return found


def _in_category(character: str, category: str) -> bool:
    inside = {
        "DIGIT": character.isdigit(),
        "WORD": character.isalnum() or character == "_",
        "SPACE": character == " ",
    }[category.removeprefix("CATEGORY_").removeprefix("NOT_")]
    return inside != category.startswith("CATEGORY_NOT_")


def _one_of(options: Iterable[str], choose: Choose) -> str:
    found = list(options)
    return found[choose(len(found))] if found else ""


LABEL = "[rehearsal]"
"""Prefix of invented text."""

Place = tuple[str | int, ...]
"""Path of a value in the reply: field names and list positions."""

_IDENTIFIER = re.compile(r"(^|_)(id|ids|key|slug|ref|file|path|filename|branch|code)$", re.IGNORECASE)
_MOMENT = re.compile(r"(^|_)(at|date|time|datetime|timestamp|when|deadline)$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Words:
    """The words of the request, and a seed that makes different calls differ."""

    def __init__(self, words: list[str], seed: str) -> None:
        self.words = words
        self.seed = seed

    def some(self, count: int, place: Place) -> list[str]:
        """Return a few of the words, different ones for different places."""
        start = number(self.seed, *place) % len(self.words)
        return [
            self.words[(start + offset) % len(self.words)] for offset in range(min(count, len(self.words)))
        ]

    def choose(self, most: int, place: Place) -> int:
        """Return a number below `most`; neighbours in a list get different ones."""
        if place and isinstance(place[-1], int):
            return (number(self.seed, *place[:-1]) + place[-1]) % most
        return number(self.seed, *place) % most


def make_integer(schema: Mapping[str, Any], words: Words, place: Place) -> int:
    return int(_multiple(schema, schema.get("multipleOf", 1), words, place))


def make_number(schema: Mapping[str, Any], words: Words, place: Place) -> float:
    if "multipleOf" in schema:
        return _multiple(schema, schema["multipleOf"], words, place)
    low, high = _bounds(schema)
    if low is not None and high is not None:
        value = low + (high - low) * _upper_part(words, place)
    elif high is not None:
        value = high - 0.5 - _small(words, place)
    else:
        value = (0 if low is None else low) + 0.5 + _small(words, place)
    rounded = round(value, 2)
    return rounded if (low is None or rounded > low) and (high is None or rounded < high) else value


def make_string(schema: Mapping[str, Any], words: Words, place: Place) -> str:
    if schema.get("contentEncoding") == "base64":
        return base64.b64encode(" ".join(words.some(2, place)).encode("utf-8", "replace")).decode()
    if schema.get("contentMediaType") == "application/json":
        return "{}"
    shaped = _FORMATS.get(schema.get("format", ""))
    if shaped is not None:
        return shaped(words, place)
    fewest, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 100_000))
    if "pattern" in schema:
        found = _matching(schema["pattern"], words, place, fewest, most)
        if found is not None:
            return found
    return _fitted(_phrase(words, place), words, fewest, most)


def _bounds(schema: Mapping[str, Any]) -> tuple[float | None, float | None]:
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    return (max(lows) if lows else None, min(highs) if highs else None)


def _multiple(schema: Mapping[str, Any], step: float, words: Words, place: Place) -> float:
    """Return a multiple of `step` within the bounds; computed in steps to avoid rounding errors."""
    low, high = _bounds(schema)
    first = None if low is None else math.ceil(low / step)
    if (
        low is not None
        and first is not None
        and low == schema.get("exclusiveMinimum")
        and first * step <= low
    ):
        first += 1
    last = None if high is None else math.floor(high / step)
    if (
        high is not None
        and last is not None
        and high == schema.get("exclusiveMaximum")
        and last * step >= high
    ):
        last -= 1
    if first is not None and last is not None:
        count = max(1, last - first + 1)
        inside = int((count - 1) * _upper_part(words, place))
        return (first + (inside + _index(place)) % count) * step
    if last is not None:
        return (last - _small(words, place)) * step
    return ((1 if first is None else first) + _small(words, place)) * step


def _upper_part(words: Words, place: Place) -> float:
    """Return a position in a closed range: high, because good scores make the better rehearsal."""
    return 0.7 + words.choose(25, place) / 100


def _small(words: Words, place: Place) -> int:
    """Return a small number; in a list the position, so that items differ."""
    return _index(place) or words.choose(5, place)


def _index(place: Place) -> int:
    return place[-1] if place and isinstance(place[-1], int) else 0


def _phrase(words: Words, place: Place) -> str:
    """Return text for a field without a format or pattern; different for each field and list item."""
    name, count = _field(place), [part + 1 for part in place if isinstance(part, int)]
    if _MOMENT.search(name):
        return _moment(words, place)
    numbered = "-".join(str(part) for part in count)
    if _IDENTIFIER.search(name):
        return "-".join([*(word.lower() for word in words.some(2, place)), *([numbered] if numbered else [])])
    subject = _CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").strip().lower() or "answer"
    about = words.some(3, place)
    listed = about[0] if len(about) == 1 else f"{', '.join(about[:-1])} and {about[-1]}"
    return f"{LABEL} {subject.capitalize()}{' ' + numbered if numbered else ''} about {listed}."


def _field(place: Place) -> str:
    return next((part for part in reversed(place) if isinstance(part, str)), "")


def _fitted(text: str, words: Words, fewest: int, most: int) -> str:
    if len(text) > most:
        text = text.removeprefix(LABEL).strip()[:most]
    while len(text) < fewest:
        text = f"{text} {' '.join(words.words)}"[: max(fewest, min(most, len(text) + 200))]
    return text


def _matching(pattern: str, words: Words, place: Place, fewest: int, most: int) -> str | None:
    drawn = 0

    def choose(options: int) -> int:
        nonlocal drawn
        drawn += 1
        return number(words.seed, *place, drawn) % options

    return matching(pattern, choose, lambda text: fewest <= len(text) <= most)


def _ascii_word(words: Words, place: Place) -> str:
    plain = (slug(word, 40).replace("-", "") for word in words.some(4, place))
    return next((word for word in plain if word), "rehearsal")


def _moment(words: Words, place: Place) -> str:
    return f"{_day(words, place)}T{8 + words.choose(10, place):02}:30:00Z"


def _day(words: Words, place: Place) -> str:
    return f"2024-05-{1 + words.choose(28, place):02}"


def _uuid(version: int) -> Callable[[Words, Place], str]:
    """Return a generator of UUIDs of one version; the digits depend only on the seed."""

    def make(words: Words, place: Place) -> str:
        digits = f"{number(words.seed, *place):016x}{number(words.seed, *place, 'low'):016x}"
        digits = f"{digits[:12]}{version}{digits[13:16]}a{digits[17:]}"
        return str(uuid.UUID(digits))

    return make


def _fixed(text: str) -> Callable[[Words, Place], str]:
    return lambda _words, _place: text


_FORMATS: dict[str, Callable[[Words, Place], str]] = {
    "date-time": _moment,
    "date": _day,
    "time": lambda words, place: f"{8 + words.choose(10, place):02}:30:00Z",
    "duration": lambda words, place: f"PT{5 + words.choose(50, place)}M",
    "uuid": _uuid(4),
    **{f"uuid{version}": _uuid(version) for version in (1, 3, 4, 5, 6, 7, 8)},
    "decimal": lambda words, place: f"{1 + words.choose(9, place)}.5",
    "email": lambda words, place: f"{_ascii_word(words, place)}@example.com",
    "idn-email": lambda words, place: f"{_ascii_word(words, place)}@example.com",
    "name-email": lambda words, place: f"Rehearsal <{_ascii_word(words, place)}@example.com>",
    "uri": lambda words, place: f"https://example.com/{_ascii_word(words, place)}",
    "uri-reference": lambda words, place: f"/{_ascii_word(words, place)}",
    "hostname": _fixed("example.com"),
    "ipv4": lambda words, place: f"192.0.2.{1 + words.choose(250, place)}",
    "ipv6": lambda words, place: f"2001:db8::{1 + words.choose(250, place):x}",
    "ipv4network": _fixed("192.0.2.0/24"),
    "ipv6network": _fixed("2001:db8::/32"),
    "ipv4interface": _fixed("192.0.2.7/24"),
    "ipv6interface": _fixed("2001:db8::7/32"),
    "ipvanyaddress": _fixed("192.0.2.7"),
    "ipvanynetwork": _fixed("192.0.2.0/24"),
    "ipvanyinterface": _fixed("192.0.2.7/24"),
    "path": lambda words, place: f"{_ascii_word(words, place)}.md",
    "json-string": _fixed("{}"),
    "base64": lambda words, place: base64.b64encode(_ascii_word(words, place).encode()).decode(),
    "base64url": lambda words, place: base64.urlsafe_b64encode(_ascii_word(words, place).encode()).decode(),
    "regex": _fixed(".*"),
}
