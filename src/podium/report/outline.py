"""Data for people: an outline of a value, where JSON would make them read brackets.

A list is a line per item, an object a line per field; what is nested is indented, what is empty left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

INDENT = "  "


def outline(value: Any) -> str:
    """Text as it is; lists and objects as lines."""
    return "\n".join(_lines(value))


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [line for key, held in _fields(cast(Mapping[Any, Any], value)) for line in _field(key, held)]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [line for item in cast(Sequence[Any], value) for line in _item(item)]
    return [_plain(value)]


def _fields(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    return [
        (str(key).replace("_", " "), held) for key, held in value.items() if held not in (None, "", [], {})
    ]


def _field(key: str, value: Any) -> list[str]:
    if _flat(value):
        return [f"{key}: {_inline(value)}"]
    return [f"{key}:", *(INDENT + line for line in _lines(value))]


def _item(value: Any) -> list[str]:
    """The first field of an object is what it is called; short ones stand in one line."""
    if not isinstance(value, Mapping):
        first, *rest = _lines(value) or [""]
        return [f"- {first}", *(INDENT + line for line in rest)]
    fields = _fields(cast(Mapping[Any, Any], value))
    if not fields:
        return []
    (_, name), *others = fields
    line = " · ".join([_inline(name), *(f"{key} {_inline(held)}" for key, held in others if _flat(held))])
    nested = [line for key, held in others if not _flat(held) for line in _field(key, held)]
    return [f"- {line}", *(INDENT + line for line in nested)]


def _flat(value: Any) -> bool:
    if isinstance(value, Mapping):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return all(not isinstance(item, Mapping | list) for item in cast(Sequence[Any], value))
    return True


def _inline(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return ", ".join(_plain(item) for item in cast(Sequence[Any], value))
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
