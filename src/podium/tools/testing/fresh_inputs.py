"""Fresh inputs for a function: small changes of recorded ones that keep their type and format."""

from __future__ import annotations

import ast
import random
import re
import string
from collections.abc import Sequence
from typing import Any

MAX_FRESH = 60
_TRIES = 8
"""Tries per fresh input."""
_NUMBER = re.compile(r"\d+")

Arguments = tuple[list[Any], dict[str, Any]]
"""Positional and named arguments. Those that are not literals are `Opaque`."""


class Opaque:
    """An argument that is passed on as it is."""

    def __init__(self, item: list[str]) -> None:
        self.item = item

    def __repr__(self) -> str:
        return f"Opaque({self.item!r})"


def fresh_inputs(
    recorded: Sequence[Arguments], constants: Sequence[Any] = (), most: int = MAX_FRESH
) -> list[Arguments]:
    """Return up to `most` inputs that differ from all recorded ones, always the same for the same
    examples. `constants` are values of the code: a table may have entries that no test uses."""
    chance = random.Random(0)
    known = {repr(example) for example in recorded}
    fresh = list[Arguments]()

    def keep(candidate: Arguments) -> None:
        if repr(candidate) not in known:
            known.add(repr(candidate))
            fresh.append(candidate)

    for candidate in _from_constants(recorded, constants, chance):
        keep(candidate)
    del fresh[most // 2 :]
    for _ in range(most * _TRIES):
        if len(fresh) >= most or not recorded:
            break
        keep(_mutated(chance.choice(recorded), recorded, chance))
    return fresh


def _from_constants(
    recorded: Sequence[Arguments], constants: Sequence[Any], chance: random.Random
) -> list[Arguments]:
    """Return examples with one argument replaced by a constant of the same type."""
    candidates = list[Arguments]()
    for constant in constants:
        for positional, named in recorded[:3]:
            for index, value in enumerate(positional):
                if type(value) is type(constant):
                    changed = [*positional[:index], constant, *positional[index + 1 :]]
                    candidates.append((changed, named))
    chance.shuffle(candidates)
    return candidates


def _mutated(example: Arguments, recorded: Sequence[Arguments], chance: random.Random) -> Arguments:
    positional, named = list(example[0]), dict(example[1])
    places = [index for index, value in enumerate(positional) if not isinstance(value, Opaque)]
    keys = [key for key, value in named.items() if not isinstance(value, Opaque)]
    if not places and not keys:
        return example
    count = 1 if chance.random() < 0.7 else 2
    for _ in range(count):
        place = chance.choice([*places, *keys])
        others = [
            other[0][place] if isinstance(place, int) else other[1][place]
            for other in recorded
            if (isinstance(place, int) and place < len(other[0]))
            or (isinstance(place, str) and place in other[1])
        ]
        value = positional[place] if isinstance(place, int) else named[place]
        if len(places) + len(keys) > 1 and chance.random() < 0.25:
            value = chance.choice(others)  # a new combination of recorded values
        else:
            value = mutate(value, others, chance)
        if isinstance(place, int):
            positional[place] = value
        else:
            named[place] = value
    return positional, named


def mutate(value: Any, others: Sequence[Any], chance: random.Random) -> Any:
    """Return a value of the same type that is slightly different. `others` are values in the same place."""
    match value:
        case bool():
            return not value
        case int():
            step = chance.choice([1, -1, 2, 3, 10, 7, max(1, abs(value) // 3)])
            changed = value + step
            return changed if changed >= 0 or value < 0 else value + abs(step)
        case float():
            return round(value + chance.choice([0.5, -0.5, 1.0, 2.25, value / 4 or 1.0]), 6)
        case str():
            return _mutated_text(value, [other for other in others if isinstance(other, str)], chance)
        case bytes():
            text = value.decode("latin-1")
            return _mutated_text(text, [], chance).encode("latin-1", "replace")
        case list() | tuple() | set():
            parts = sorted(value, key=repr) if isinstance(value, set) else list(value)  # pyright: ignore
            return type(value)(_mutated_list(parts, others, chance))  # pyright: ignore
        case dict():
            return _mutated_dict(value, chance)  # pyright: ignore
        case _:
            return value


def _mutated_list(parts: list[Any], others: Sequence[Any], chance: random.Random) -> list[Any]:
    pool = list[Any]()
    for other in others:
        pool += other if isinstance(other, list | tuple | set) else []  # pyright: ignore
    pool = pool or [1]
    parts = list(parts)
    kind = chance.choice(("part", "part", "part", "drop", "add", "shuffle", "repeat"))
    if not parts or kind == "add":
        parts.insert(chance.randint(0, len(parts)), mutate(chance.choice(pool), pool, chance))
    elif kind == "part":
        index = chance.randrange(len(parts))
        parts[index] = mutate(parts[index], pool, chance)
    elif kind == "drop":
        del parts[chance.randrange(len(parts))]
    elif kind == "repeat":
        parts.append(chance.choice(parts))
    else:
        chance.shuffle(parts)
    return parts


def _mutated_dict(value: dict[Any, Any], chance: random.Random) -> dict[Any, Any]:
    items = list(value.items())
    if not items:
        return {"a": 1}
    index = chance.randrange(len(items))
    key, part = items[index]
    kind = chance.choice(("value", "value", "key", "drop"))
    if kind == "value":
        items[index] = (key, mutate(part, [other for _, other in items], chance))
    elif kind == "key":
        items[index] = (mutate(key, [other for other, _ in items], chance), part)
    else:
        del items[index]
    return dict(items)


def _mutated_text(text: str, others: Sequence[str], chance: random.Random) -> str:
    numbers = list(_NUMBER.finditer(text))
    if numbers and chance.random() < 0.5:
        match = chance.choice(numbers)
        number = str(mutate(int(match[0][:300]), [], chance)).zfill(len(match[0]))
        return text[: match.start()] + number + text[match.end() :]
    kind = chance.choice(("letter", "letter", "letter", "drop", "repeat", "swap", "words", "join"))
    if not text:
        return chance.choice([other for other in others if other] or ["a"])[:3]
    index = chance.randrange(len(text))
    if kind == "letter":
        return text[:index] + _similar(text[index], chance) + text[index + 1 :]
    if kind == "drop" and len(text) > 1:
        return text[:index] + text[index + 1 :]
    if kind == "repeat":
        return text[:index] + text[index] + text[index:]
    if kind == "swap" and len(text) > 1:
        other = (index + 1) % len(text)
        letters = list(text)
        letters[index], letters[other] = letters[other], letters[index]
        return "".join(letters)
    if kind == "words" and " " in text:
        words = text.split(" ")
        chance.shuffle(words)
        return " ".join(words)
    if kind == "join" and others:
        other = chance.choice(list(others))
        return text[:index] + other[len(other) // 2 :]
    return text + _similar(text[-1], chance)


def _similar(letter: str, chance: random.Random) -> str:
    """Return another character of the same class."""
    for group in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        if letter in group:
            return chance.choice(group.replace(letter, ""))
    return (
        letter if letter.isspace() or letter in string.punctuation else chance.choice(string.ascii_lowercase)
    )


def literal_constants(tree: ast.AST, lines: set[int]) -> list[Any]:
    """Return the literals on the given lines: constants, and containers of constants."""
    values = dict[str, Any]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.UnaryOp) and node.lineno in lines:
            try:
                value = ast.literal_eval(node)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            if len(values) < 500:
                values.setdefault(repr(value)[:500], value)
    return list(values.values())
