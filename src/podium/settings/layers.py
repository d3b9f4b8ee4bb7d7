"""Settings from files, environment and flags, as typed values.

Each entry is checked separately, so that an error names the file, the entry and the key.

`kinds` are all valid keys, with their types.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from podium.dimensions import SETTABLE
from podium.errors import SettingsError
from podium.settings.options import EXAMPLE as SANDBOX_EXAMPLE
from podium.settings.options import EXPECTED as SANDBOX_EXPECTED
from podium.settings.options import (
    HIGHEST_PRICE,
    TIMEOUT_EXPECTED,
    TOKENS_EXPECTED,
    BrainOptions,
    OwnPrice,
    ProviderOptions,
    ReplyLimits,
    parse_timeout,
    read_sandbox,
    read_servers,
)
from podium.settings.options import SERVER_EXAMPLE as EXAMPLE
from podium.settings.parsing import OTHER_VARIABLES, nearest, parse_duration, parse_size
from podium.settings.places import at_home, store_url

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
    "tools": "native or prompted",
    "prompt_cache": "true or false",
    "reply_timeout": TIMEOUT_EXPECTED,
    "reply_tokens": TOKENS_EXPECTED,
}
_OUTPUT_MODE = "native, tool or prompted"


def read_entries(key: str, value: Any, source: str, base: Path) -> dict[str, Any]:
    """Return the entries of one table, typed; raise `SettingsError` for the first invalid one."""
    if not isinstance(value, dict):
        raise TypeError("not a table")
    kind = ENTRIES[key]
    entries = cast("dict[str, Any]", value)
    return {
        _anchored(key, name, base): _read_entry(_where(key, name, source), entry, kind)
        for name, entry in entries.items()
    }


def _read_entry(where: str, entry: Any, kind: type[T]) -> T:
    if isinstance(entry, kind):
        return entry
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    if not isinstance(entry, dict):
        raise SettingsError(
            f"{where} must be a table, not {_shown(entry)}.", hint=f"Its keys: {', '.join(fields)}."
        )
    values: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", entry).items():
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
    """Return the name of an entry; the file of a `python:` model is relative to the settings file's
    folder."""
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


_TIMES = tuple(key for key, setting in SETTABLE.items() if setting.is_time)
_DURATIONS = (*_TIMES, "retry_wait", "pause_grace", "lock_timeout")
_SIZES = ("cache_size",)

_EXPECTED_TYPES = {
    "store": "a path or a URL such as sqlite:///podium.sqlite",
    "lock_timeout": "a duration such as 5s or 2m",
    "engine": "procrastinate, temporal://HOST:PORT/NAMESPACE or local",
    "model": "a model's name",
    "profiles": "a table of profile = model, or of profile = [model, next model]",
    **{key: dimension.expected for key, dimension in SETTABLE.items()},
    "concurrency": "a whole number from 1 to 10,000",
    "cache": "true or false",
    "cache_size": "a size such as 500MB or 2GB",
    "prices": "a table of models with `input` and `output` in US dollars per million tokens",
    "providers": "a table of providers with `base_url`, `requests_per_minute`, `tokens_per_minute`, "
    "`output`, `tools`, `prompt_cache`, `reply_timeout` and `reply_tokens`",
    "reply_timeout": TIMEOUT_EXPECTED,
    "reply_tokens": TOKENS_EXPECTED,
    "models": "a table of models with `reply_timeout` and `reply_tokens`",
    "agents": "a table of agents with `reply_timeout` and `reply_tokens`",
    "mcp": "a table of servers, each with a `command` or a `url`",
    "retry_wait": "a duration such as 500ms or 2s",
    "pause_grace": "a duration such as 500ms or 30s",
    "prompts": "a folder",
    "otel": "true, false, or a table with `endpoint` and `content`",
    "brain": "a table with `embedding`",
    "news": "a table with `feeds`, a list of http(s) addresses, and `search`, one with {query} in it",
    "sandbox": SANDBOX_EXPECTED,
}


def convert(
    key: str, value: Any, kinds: Mapping[str, Any], source: str, base: Path, *, from_text: bool = False
) -> Any:
    """Return one value, typed; raise `SettingsError` that names its place and a valid form."""
    if key not in kinds:
        meant = nearest(key, list(kinds))
        hint = f"Did you mean `{meant}`?" if meant else f"Valid keys: {', '.join(kinds)}."
        raise SettingsError(f"{source or 'Podium'}: `{key}` is not a setting.", hint=hint)
    try:
        if key in _DURATIONS:
            return parse_duration(value)
        if key == "reply_timeout":
            return parse_timeout(value)
        if key in ENTRIES:
            return read_entries(key, value, source, base)
        if key == "mcp":
            return read_servers(value, source, base)
        if key == "sandbox":
            return read_sandbox(value, base)
        if key in _SIZES:
            return parse_size(value)
        raw = _plain(value) if from_text else value
        converted: Any = msgspec.convert(raw, kinds[key], strict=not from_text)
        if key in SETTABLE and not math.isfinite(converted):
            raise ValueError("not finite")
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        where = f"`{key}` in {source}" if source.endswith(".toml") else source or f"--{key.replace('_', '-')}"
        raise SettingsError(
            f"{where} must be {_EXPECTED_TYPES[key]}, not {value!r}.", hint=_hint(key)
        ) from error
    return _anchored_path(key, converted, base)


def _anchored_path(key: str, value: Any, base: Path) -> Any:
    """Resolve paths in values relative to the folder of the file that contains them, not to the current
    folder."""
    if key == "store":
        return store_url(value, base)
    if key == "prompts":
        return str((base / at_home(value)).absolute()) if value else ""
    if key == "profiles":
        return {name: _anchored_path("model", model, base) for name, model in value.items()}
    if isinstance(value, BrainOptions):
        return BrainOptions(embedding=_anchored_path("model", value.embedding, base))
    if isinstance(value, list):
        return [_anchored_path(key, model, base) for model in cast("list[str]", value)]
    if key == "model" and value.startswith("python:") and value != "python:":
        return f"python:{(base / value.removeprefix('python:')).absolute()}"
    return value


def _plain(text: str) -> str:
    words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
    return words.get(text.strip().lower(), text.strip())


def _hint(key: str) -> str:
    examples = {
        "store": 'store = "podium.sqlite"',
        "profiles": '[profiles]\nfast = "rehearsal"',
        "prices": '[prices."openai:gpt-x"]\ninput = 2.5\noutput = 10',
        "otel": '[otel]\nendpoint = "http://localhost:4318"',
        "mcp": EXAMPLE,
        "brain": '[brain]\nembedding = "openai:text-embedding-3-small"',
        "news": '[news]\nfeeds = ["https://example.org/feed.xml"]',
        "sandbox": SANDBOX_EXAMPLE,
        "providers": "[providers.openai]\nrequests_per_minute = 500",
        "reply_timeout": 'reply_timeout = "20m"',
        "models": '[models."ollama:qwen3"]\nreply_timeout = "20m"',
        "agents": "[agents.writer]\nreply_tokens = 8192",
    }
    return "" if key not in examples else f"For example: {examples[key]}"


def read_toml(file: Path, *, unreadable: str) -> dict[str, Any]:
    """Parse a TOML file; `unreadable` is the hint if it cannot be read at all."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))  # some editors write a byte order mark
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.", hint="Correct that line.") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.", hint=unreadable) from error


TABLES = ("profiles", "prices", "providers", "models", "agents", "mcp")
"""Keys that are tables: their entries are merged over all sources. They have no environment variable."""


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
        elif meant := nearest(name, names):  # others may be foreign: container hosts set PODIUM_PORT
            raise SettingsError(f"{name} is not a setting.", hint=f"Did you mean {meant}?")
    return "environment", layer


def read_flags(flags: Mapping[str, Any], cwd: Path, kinds: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    values = {key: value for key, value in flags.items() if value is not None}
    return "flag", {key: convert(key, value, kinds, "", cwd) for key, value in values.items()}
