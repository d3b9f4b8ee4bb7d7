"""Validation of values with JSON schemas that come from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType
from referencing import Registry
from referencing.exceptions import Unresolvable

from podium.models.messages import without_keywords


def problem_with(schema: Mapping[str, Any], value: Any) -> str:
    """Return why a value does not fit a JSON schema; empty if it does."""
    # A foreign regular expression could block the process; a foreign reference could fetch an address.
    checked = without_keywords(dict(schema), "pattern", "patternProperties", "format")
    validator: Any = Draft202012Validator(checked, registry=Registry())
    try:
        errors = sorted(validator.iter_errors(value), key=lambda error: str(list(error.absolute_path)))
    except (Unresolvable, UnknownType, TypeError, ValueError, RecursionError) as error:
        return f"its schema is invalid: {str(error).splitlines()[0][:200]}"
    return "; ".join(
        f"{'.'.join(map(str, error.absolute_path)) or 'the arguments'}: {error.message[:300]}"
        for error in errors[:5]
    )
