"""Parsing of durations and sizes, environment variables, and validation messages."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

SECRET_HEADERS = re.compile(
    r"authorization|cookie|token|secret|password|(?<![a-z])(api|auth)?-?key", re.IGNORECASE
)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A variable that is substituted when a setting is used."""


def parse_duration(text: str | float) -> float:
    """Return the seconds of `90s`, `15m`, `2h`, `1h30m`, or a plain number; raise `ValueError` for anything
    else."""
    if isinstance(text, str):
        units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
        parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhd]?)", text.strip().lower())
        if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
            raise ValueError(f"{text!r} is not a duration")
        if len(parts) > 1 and not all(unit for _, unit in parts):
            raise ValueError(f"{text!r} is not a duration")
        text = sum(float(number) * units[unit or "s"] for number, unit in parts)
    if isinstance(text, bool) or not _is_finite(text) or text <= 0:
        raise ValueError("a duration must be more than 0")
    return float(text)


def nearest(word: str, valid: list[str] | tuple[str, ...]) -> str:
    """Return the valid word that was most likely meant; empty if none is close."""
    return next(iter(difflib.get_close_matches(word, valid, n=1, cutoff=0.6)), "")


def parse_size(text: str | float) -> int:
    """Return the bytes of `500MB`, `1.5 GB`, `64kB`, or a plain number; raise `ValueError` for anything
    else."""
    if isinstance(text, str):
        units = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?b?)", text.strip().lower())
        if match is None or match[2] not in units:
            raise ValueError(f"{text!r} is not a size")
        text = float(match[1]) * units[match[2]]
    if isinstance(text, bool) or not _is_finite(text) or text < 0:
        raise ValueError("a size must be 0 or more")
    return int(text)


def _is_finite(number: float) -> bool:
    """Return whether a number is finite and fits a float: TOML allows integers of any length."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


OTHER_VARIABLES = ("PODIUM_CONFIG", "PODIUM_DEBUG")
"""`PODIUM_*` variables that are not settings: another user file, and tracebacks for unexpected errors."""


def debug_wanted() -> bool:
    """Return whether the user wants tracebacks of unexpected errors."""
    return os.environ.get("PODIUM_DEBUG", "") not in ("", "0")


def variable(*names: str, env: Mapping[str, str] | None = None) -> str:
    """Return the first of these variables that is set; empty if none is."""
    environ = os.environ if env is None else env
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


_SHOWN_ERRORS = 6
_SHOWN_VALUE = 60

_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
    "bytes": "text",
    "datetime": "a date and time",
    "date": "a date",
    "decimal": "a number",
    "uuid": "a UUID",
}
_AT = re.compile(r" - at `(?:key in )?\$\.?(.*?)`$", re.DOTALL)
_GOT = re.compile(r"Expected `([^`]*)`, got `([^`]*)`", re.DOTALL)
_LIMIT = re.compile(r"Expected `([^`]*)`(.*)", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_MALFORMED = "JSON is malformed: "
_NO_JSON = "It is not valid JSON: "


def plain(error: BaseException) -> str:
    """Return what is wrong with data that did not fit its type: one paragraph that ends with a full stop."""
    details = getattr(error, "errors", None)
    if not callable(details):
        return f"{_of_msgspec(str(error).removesuffix('.'))}."
    list_errors = cast("Callable[..., list[dict[str, Any]]]", details)
    errors = list_errors(include_url=False, include_context=True, include_input=True)
    lines = [_of_pydantic(item) for item in errors[:_SHOWN_ERRORS]]
    if len(errors) > _SHOWN_ERRORS:
        lines.append(f"and {len(errors) - _SHOWN_ERRORS} more problems")
    return f"{'; '.join(lines)}."


def _of_msgspec(text: str) -> str:
    """Return a message of msgspec in plain words; any other text is unchanged."""
    place = _AT.search(text)
    where = f"`{place[1]}`" if place and place[1] and place[1] != "[...]" else ""
    message = _AT.sub("", text)
    if message.startswith(_MALFORMED):
        return _NO_JSON + message.removeprefix(_MALFORMED).replace("(byte ", "(at byte ")
    if message == "Input data was truncated":
        return f"{_NO_JSON}it is truncated"
    if field := _FIELD.fullmatch(message):
        inside = f" in {where}" if where else ""
        return f"`{field[2]}` is {'missing' if 'missing' in field[1] else 'not a known field'}{inside}"
    subject = where or ("A value in it" if place else "It")
    if got := _GOT.fullmatch(message):
        return f"{subject} must be {_type(got[1])}, not {_type(got[2])}"
    if limit := _LIMIT.fullmatch(message):
        return f"{subject} must be {_type(limit[1])}{limit[2]}"
    if message.startswith("Invalid enum value "):
        return f"{subject} must be one of its choices, not {message.removeprefix('Invalid enum value ')}"
    return f"{where}: {message}" if where else message


def _type(names: str) -> str:
    return " or ".join(_TYPES.get(name.strip(), name.strip()) for name in names.split("|"))


def _of_pydantic(item: dict[str, Any]) -> str:
    kind, message = str(item.get("type", "")), str(item.get("msg", "invalid"))
    where = ".".join(str(part) for part in item.get("loc", ()))
    subject = f"`{where}`" if where else "It"
    if kind == "json_invalid":
        return _NO_JSON + message.removeprefix("Invalid JSON: ")
    if kind == "missing":
        return f"{subject} is missing"
    if kind == "extra_forbidden":
        return f"{subject} is not a known field"
    message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input should be "):
        return (
            f"{subject} must be {message.removeprefix('Input should be ')}, not {_value(item.get('input'))}"
        )
    lead = f"{subject}: " if where else ""
    return f"{lead}{message} (got {_value(item.get('input'))})"


def _value(value: Any) -> str:
    """Return a value as JSON, truncated to a readable length."""
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", "replace")
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN_VALUE else f"{text[: _SHOWN_VALUE - 3]}…"
