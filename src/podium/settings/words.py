"""Words of the settings: durations, sizes, misspelt names, variables, and names of secret headers."""

from __future__ import annotations

import difflib
import math
import re

SECRET_HEADERS = re.compile(
    r"authorization|cookie|token|secret|password|(?<![a-z])(api|auth)?-?key", re.IGNORECASE
)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A variable that is filled in when a setting is used."""


def parse_duration(text: str | float) -> float:
    """Seconds of `90s`, `15m`, `2h`, `1h30m`, or a plain number; `ValueError` for anything else."""
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
    """The valid word that somebody most likely meant; empty when none is close."""
    return next(iter(difflib.get_close_matches(word, valid, n=1, cutoff=0.6)), "")


def parse_size(text: str | float) -> int:
    """Bytes of `500MB`, `1.5 GB`, `64kB`, or a plain number; `ValueError` for anything else."""
    if isinstance(text, str):
        units = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?b?)", text.strip().lower())
        if found is None or found[2] not in units:
            raise ValueError(f"{text!r} is not a size")
        text = float(found[1]) * units[found[2]]
    if isinstance(text, bool) or not _is_finite(text) or text < 0:
        raise ValueError("a size must be 0 or more")
    return int(text)


def _is_finite(number: float) -> bool:
    """Return whether a number is finite and fits a float: TOML holds whole numbers of any length."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
