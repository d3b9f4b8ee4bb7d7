"""Files in TOML, and what is wrong with them in one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from podium.errors import SettingsError


def read_toml(file: Path, *, unreadable: str) -> dict[str, Any]:
    """What a file says; `unreadable` is the hint for one that cannot be read at all."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))  # some editors write a mark before it
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.", hint="Correct that line.") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.", hint=unreadable) from error
