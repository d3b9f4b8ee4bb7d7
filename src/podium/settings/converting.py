"""One value of the settings in its type, or a sentence that says what would be right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from podium.errors import SettingsError
from podium.settings.entries import ENTRIES, read_entries
from podium.settings.limits import TIMEOUT_EXPECTED, TOKENS_EXPECTED, parse_timeout
from podium.settings.options import BrainOptions
from podium.settings.places import at_home, store_url
from podium.settings.sandbox import EXAMPLE as SANDBOX_EXAMPLE
from podium.settings.sandbox import EXPECTED as SANDBOX_EXPECTED
from podium.settings.sandbox import read_sandbox
from podium.settings.servers import EXAMPLE, read_servers
from podium.settings.words import nearest, parse_duration, parse_size

_DURATIONS = ("time_limit", "retry_wait", "pause_grace")
_SIZES = ("cache_size",)

_EXPECTED = {
    "store": "a path or a URL such as sqlite:///podium.sqlite",
    "engine": "procrastinate, temporal://HOST:PORT/NAMESPACE or local",
    "model": "a model's name",
    "profiles": "a table of profile = model, or of profile = [model, next model]",
    "max_usd": "an amount from 0 to 1,000,000,000,000",
    "max_tokens": "a whole number from 0 to 1,000,000,000,000,000",
    "max_calls": "a whole number from 0 to 1,000,000,000,000,000",
    "time_limit": "a duration such as 90s, 15m or 2h",
    "concurrency": "a whole number from 1 to 10,000",
    "cache": "true or false",
    "cache_size": "a size such as 500MB or 2GB",
    "prices": "a table of models with `input` and `output` in US dollars per million tokens",
    "providers": "a table of providers with `base_url`, `requests_per_minute`, `tokens_per_minute`, "
    "`output`, `prompt_cache`, `reply_timeout` and `reply_tokens`",
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
    """One value in its type, or an error that names where it stands and what would be right."""
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
        given = _plain(value) if from_text else value
        converted: Any = msgspec.convert(given, kinds[key], strict=not from_text)
        if key == "max_usd" and not math.isfinite(converted):
            raise ValueError("not finite")
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        where = f"`{key}` in {source}" if source.endswith(".toml") else source or f"--{key.replace('_', '-')}"
        raise SettingsError(f"{where} must be {_EXPECTED[key]}, not {value!r}.", hint=_hint(key)) from error
    return _anchored(key, converted, base)


def _anchored(key: str, value: Any, base: Path) -> Any:
    """Paths inside values count from the folder of the file that holds them, not from where one stands."""
    if key == "store":
        return store_url(value, base)
    if key == "prompts":
        return str((base / at_home(value)).absolute()) if value else ""
    if key == "profiles":
        return {name: _anchored("model", model, base) for name, model in value.items()}
    if isinstance(value, BrainOptions):
        return BrainOptions(embedding=_anchored("model", value.embedding, base))
    if isinstance(value, list):
        return [_anchored(key, model, base) for model in cast("list[str]", value)]
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
