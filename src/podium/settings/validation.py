"""Messages of msgspec and pydantic about wrong data, in plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, cast

_SHOWN_ERRORS = 6
_SHOWN_VALUE = 60

_TYPES = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "null": "null",
    "array": "a list", "object": "an object", "bytes": "text", "datetime": "a date and time",
    "date": "a date", "decimal": "a number", "uuid": "a UUID",
}  # fmt: skip
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
    found = list_errors(include_url=False, include_context=True, include_input=True)
    lines = [_of_pydantic(item) for item in found[:_SHOWN_ERRORS]]
    if len(found) > _SHOWN_ERRORS:
        lines.append(f"and {len(found) - _SHOWN_ERRORS} more problems")
    return f"{'; '.join(lines)}."


def _of_msgspec(text: str) -> str:
    """Return a message of msgspec in plain words; any other text stays as it is."""
    place = _AT.search(text)
    where = f"`{place[1]}`" if place and place[1] and place[1] != "[...]" else ""
    said = _AT.sub("", text)
    if said.startswith(_MALFORMED):
        return _NO_JSON + said.removeprefix(_MALFORMED).replace("(byte ", "(at byte ")
    if said == "Input data was truncated":
        return f"{_NO_JSON}it breaks off"
    if field := _FIELD.fullmatch(said):
        inside = f" in {where}" if where else ""
        return f"`{field[2]}` is {'missing' if 'missing' in field[1] else 'not a known field'}{inside}"
    subject = where or ("A value in it" if place else "It")
    if got := _GOT.fullmatch(said):
        return f"{subject} must be {_type(got[1])}, not {_type(got[2])}"
    if limit := _LIMIT.fullmatch(said):
        return f"{subject} must be {_type(limit[1])}{limit[2]}"
    if said.startswith("Invalid enum value "):
        return f"{subject} must be one of its choices, not {said.removeprefix('Invalid enum value ')}"
    return f"{where}: {said}" if where else said


def _type(names: str) -> str:
    return " or ".join(_TYPES.get(name.strip(), name.strip()) for name in names.split("|"))


def _of_pydantic(item: dict[str, Any]) -> str:
    kind, said = str(item.get("type", "")), str(item.get("msg", "invalid"))
    where = ".".join(str(part) for part in item.get("loc", ()))
    subject = f"`{where}`" if where else "It"
    if kind == "json_invalid":
        return _NO_JSON + said.removeprefix("Invalid JSON: ")
    if kind == "missing":
        return f"{subject} is missing"
    if kind == "extra_forbidden":
        return f"{subject} is not a known field"
    said = said.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if said.startswith("Input should be "):
        return f"{subject} must be {said.removeprefix('Input should be ')}, not {_value(item.get('input'))}"
    lead = f"{subject}: " if where else ""
    return f"{lead}{said} (got {_value(item.get('input'))})"


def _value(value: Any) -> str:
    """Return a value as JSON, cut to a readable length."""
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", "replace")
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN_VALUE else f"{text[: _SHOWN_VALUE - 3]}…"
