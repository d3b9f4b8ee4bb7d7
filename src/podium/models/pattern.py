"""A string that matches a regular expression, where one can be found without a search.

Python's own parser takes the expression apart, so every syntax that `re` knows is understood; what
cannot be built forwards (look-arounds, back-references) is left out and the result is checked.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

_TRIES = 24
_EXTRA = 3
"""How many more than the fewest repetitions are tried."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.,:/@+"

Choose = Callable[[int], int]
"""A number below its argument."""


def matching(pattern: str, choose: Choose, accept: Callable[[str], bool]) -> str | None:
    """A string in which `pattern` is found and that is acceptable otherwise; `None` if none turns up."""
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
    """One element of a parsed expression as text; `generous` asks for more repetitions."""
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
        case _:  # anchors take no room; look-arounds and back-references are left to the check
            return ""


def _all(items: Iterable[Any], choose: Choose, generous: int) -> str:
    return "".join(_write(item, choose, generous) for item in items)


def _members(items: list[Any]) -> list[str]:
    """The characters of a class such as `[a-z_]` or `[^/]`."""
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
