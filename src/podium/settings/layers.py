"""The layers of settings: files, the environment and flags, each read by itself.

`kinds` are all keys that there are, with their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.errors import SettingsError
from podium.settings.converting import convert
from podium.settings.tables import read_toml
from podium.settings.variables import OTHER_VARIABLES
from podium.settings.words import nearest

TABLES = ("profiles", "prices", "providers", "models", "agents", "mcp")
"""Keys that are tables: their entries are merged over all sources. No variable of their own sets them."""


def read_file(file: Path, kinds: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    table = read_toml(file, unreadable="Check its permissions.")
    return str(file), {
        key: convert(key, value, kinds, str(file), file.parent) for key, value in table.items()
    }


def read_environment(
    env: Mapping[str, str], cwd: Path, kinds: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    layer: dict[str, Any] = {}
    names = tuple(f"PODIUM_{key.upper()}" for key in kinds if key not in TABLES)
    for name, value in env.items():
        if not name.startswith("PODIUM_") or not value or name in OTHER_VARIABLES:
            continue
        if name in names:
            key = name.removeprefix("PODIUM_").lower()
            layer[key] = convert(key, value, kinds, name, cwd, from_text=True)
        elif name.startswith("PODIUM_PROFILE_"):
            models = [model.strip() for model in value.split(",") if model.strip()]
            profile = name.removeprefix("PODIUM_PROFILE_").lower()
            layer.setdefault("profiles", {})[profile] = models if len(models) > 1 else value.strip()
        elif meant := nearest(name, names):  # others may be somebody else's: container hosts set PODIUM_PORT
            raise SettingsError(f"{name} is not a setting.", hint=f"Did you mean {meant}?")
    return "environment", layer


def read_flags(flags: Mapping[str, Any], cwd: Path, kinds: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    given = {key: value for key, value in flags.items() if value is not None}
    return "flag", {key: convert(key, value, kinds, "", cwd) for key, value in given.items()}
