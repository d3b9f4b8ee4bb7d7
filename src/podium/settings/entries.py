"""Tables of the settings with named entries: prices, providers, models and agents.

Each entry is checked by itself, so that an error names the file, the entry and the key.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from podium.errors import SettingsError
from podium.settings.limits import TIMEOUT_EXPECTED, TOKENS_EXPECTED, ReplyLimits, parse_timeout
from podium.settings.options import HIGHEST_PRICE, OwnPrice, ProviderOptions
from podium.settings.words import nearest

T = TypeVar("T", bound=msgspec.Struct)

ENTRIES: dict[str, type[msgspec.Struct]] = {
    "prices": OwnPrice,
    "providers": ProviderOptions,
    "models": ReplyLimits,
    "agents": ReplyLimits,
}
"""Keys that are tables of named entries, with the type of an entry."""

_PRICE = f"an amount in US dollars per million tokens, from 0 to {HIGHEST_PRICE:,.0f}"
_PER_MINUTE = "a whole number of at least 1"
_EXPECTED = {
    "input": _PRICE,
    "output": _PRICE,
    "cache_read": _PRICE,
    "cache_write": _PRICE,
    "base_url": "an address such as http://127.0.0.1:11434/v1",
    "requests_per_minute": _PER_MINUTE,
    "tokens_per_minute": _PER_MINUTE,
    "prompt_cache": "true or false",
    "reply_timeout": TIMEOUT_EXPECTED,
    "reply_tokens": TOKENS_EXPECTED,
}
_OUTPUT_MODE = "native, tool or prompted"


def read_entries(key: str, value: Any, source: str, base: Path) -> dict[str, Any]:
    """Return the entries of one table in their type; `SettingsError` names the first that is wrong."""
    if not isinstance(value, dict):
        raise TypeError("not a table")
    kind = ENTRIES[key]
    entries = cast("dict[str, Any]", value)
    return {
        _anchored(key, name, base): _read_entry(_where(key, name, source), given, kind)
        for name, given in entries.items()
    }


def _read_entry(where: str, given: Any, kind: type[T]) -> T:
    if isinstance(given, kind):
        return given
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    if not isinstance(given, dict):
        raise SettingsError(
            f"{where} must be a table, not {_shown(given)}.", hint=f"Its keys: {', '.join(fields)}."
        )
    values: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", given).items():
        if key not in fields:
            meant = nearest(key, list(fields))
            hint = f"Did you mean `{meant}`?" if meant else f"Valid keys: {', '.join(fields)}."
            raise SettingsError(f"{where}: `{key}` is not a setting.", hint=hint)
        values[key] = _read_value(where, key, value, fields[key].type, kind)
    missing = [name for name, field in fields.items() if field.required and name not in values]
    if missing:
        raise SettingsError(
            f"{where} lacks `{missing[0]}`.", hint=f"Add {missing[0]} = …, {_expected(kind, missing[0])}."
        )
    return kind(**values)


def _read_value(where: str, key: str, value: Any, wanted: Any, kind: type[msgspec.Struct]) -> Any:
    try:
        if key == "reply_timeout":
            return parse_timeout(value)
        converted = msgspec.convert(value, wanted)
        if isinstance(converted, float) and not math.isfinite(converted):
            raise ValueError("not finite")
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise SettingsError(
            f"{where}: `{key}` must be {_expected(kind, key)}, not {_shown(value)}."
        ) from error
    return converted


def _expected(kind: type[msgspec.Struct], key: str) -> str:
    if kind is ProviderOptions and key == "output":
        return _OUTPUT_MODE
    return _EXPECTED[key]


def _anchored(key: str, name: str, base: Path) -> str:
    """Return the name of an entry; the file of a `python:` model counts from the settings file's folder."""
    if key == "models" and name.startswith("python:") and ".py:" in name:
        return f"python:{(base / name.removeprefix('python:')).absolute()}"
    return name


def _where(key: str, name: str, source: str) -> str:
    bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    entry = f"[{key}.{name}]" if bare else f'[{key}."{name}"]'
    return f"{entry} in {source}" if source else entry


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
