"""Settings: the only reader of the environment and of config files.

Flags > `PODIUM_*` variables > `podium.toml` of the project > `podium.toml` of the user > defaults. An invalid
key or value is rejected with its source and the nearest valid key: a misspelt budget that is silently ignored
costs money.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from podium.settings.layers import TABLES, read_environment, read_file, read_flags
from podium.settings.options import (
    Amount,
    BrainOptions,
    McpServer,
    Natural,
    NewsOptions,
    OtelOptions,
    OwnPrice,
    ProviderOptions,
    ReplyLimits,
    ReplyTokens,
    SandboxOptions,
)
from podium.settings.parsing import (
    OTHER_VARIABLES,
    VARIABLE,
    debug_wanted,
    nearest,
    parse_duration,
    parse_size,
    variable,
)
from podium.settings.places import (
    FILE_NAME,
    current_folder,
    default_store,
    project_prompts,
    settings_files,
    store_url,
    user_file,
    user_prompts,
)
from podium.settings.secrets import is_secret_name, secrets_of_settings, secrets_of_variables, worth_redacting

__all__ = [
    "FILE_NAME",
    "KEYS",
    "OTHER_VARIABLES",
    "TABLES",
    "VARIABLE",
    "BrainOptions",
    "McpServer",
    "NewsOptions",
    "OtelOptions",
    "OwnPrice",
    "ProviderOptions",
    "ReplyLimits",
    "SandboxOptions",
    "Settings",
    "debug_wanted",
    "default_store",
    "is_secret_name",
    "nearest",
    "parse_duration",
    "parse_size",
    "settings_files",
    "store_url",
    "user_file",
    "variable",
]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of a run, where its own flags do not override them."""

    store: str = ""
    """Store of the runs: `sqlite:///PATH` or a bare path. Default: the user's data folder."""
    lock_timeout: float = 60.0
    """Seconds that a write waits for other processes that write to an SQLite store; written like
    `time_limit`."""
    engine: str = ""
    """Queue that distributes runs to workers; empty: `procrastinate` with a PostgreSQL store, and no workers
    with any other. `local`: a server drives its runs itself."""
    model: str = ""
    """The model of every agent; empty: each agent's own, or its profile's."""
    profiles: dict[str, str | list[str]] = {}
    """Models of `fast`, `balanced` and `powerful`; in a list, the next one is the fallback."""
    max_usd: Amount | None = None
    """Maximum cost per run, in US dollars."""
    max_tokens: Natural | None = None
    """Maximum tokens per run, input and output."""
    max_calls: Natural | None = None
    """Maximum model calls per run."""
    time_limit: float | None = None
    """Maximum driven time per run, in seconds; written as `90s`, `15m`, `2h` or a number."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 8
    """Maximum concurrent model calls of one run."""
    cache: bool = False
    """Serve identical model calls from a cache across runs."""
    cache_size: Annotated[int, msgspec.Meta(ge=0)] = 500_000_000
    """Maximum size of the cache in bytes, written as `500MB` or `2GB`; the least recently used entries are
    removed first."""
    prices: dict[str, OwnPrice] = {}
    """Custom prices, by the model's full name."""
    providers: dict[str, ProviderOptions] = {}
    """Addresses and limits, by the provider's name."""
    reply_timeout: float | None = None
    """Timeout of one reply in seconds, for all agents; `None`: as each agent's code says. Written like
    `time_limit`."""
    reply_tokens: ReplyTokens | None = None
    """Maximum tokens of one reply, for all agents; `None`: as each agent's code says."""
    models: dict[str, ReplyLimits] = {}
    """Reply limits by the model's full name, or by a pattern with `*`; override a provider's."""
    agents: dict[str, ReplyLimits] = {}
    """Reply limits by the agent's name or role, or `WORKFLOW/NAME`; override a model's."""
    mcp: dict[str, McpServer] = {}
    """MCP servers, by the prefix of their tools' names (before the dot)."""
    retry_wait: float = 1.0
    """Seconds before the first retry of a failed call, doubled each time; written like `time_limit`."""
    pause_grace: float = 10.0
    """Seconds that calls in flight have to be recorded when a run is paused; written like `time_limit`."""
    prompts: str = ""
    """Folder with prompts that replace shipped ones, as WORKFLOW/TASK.md; by default `.podium/prompts`."""
    otel: bool | OtelOptions | None = None
    """Send traces while runs are driven. `None`: if the OTEL_* variables name a collector."""
    brain: BrainOptions = BrainOptions()
    """Options for finding the facts of projects."""
    news: NewsOptions = NewsOptions()
    """Feeds and news search for research."""
    sandbox: SandboxOptions = SandboxOptions()
    """Options of the sandbox for programs that a model wrote."""
    files: tuple[str, ...] = ()
    """The settings files that were read, highest precedence first. Not a key."""
    sources: dict[str, str] = {}
    """Source of each given key: a file, a variable or `flag`. Not a key."""
    prompt_folders: tuple[str, ...] = ()
    """Folders with prompts that replace shipped ones, highest precedence first: the project's, then the
    user's. They need not exist. Not a key."""

    @classmethod
    def load(
        cls, cwd: Path | str | None = None, env: Mapping[str, str] | None = None, **flags: Any
    ) -> Settings:
        """Merge all sources; a flag that is `None` was not given."""
        here, environ = Path(cwd) if cwd else current_folder(), os.environ if env is None else env
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        files = settings_files(here, environ)
        layers = [read_file(file, KEYS) for file in reversed(files)]
        layers += [read_environment(environ, here, KEYS), read_flags(flags, here, KEYS)]
        for source, layer in layers:
            for key, value in layer.items():
                weaker = cast("dict[str, Any]", values.get(key, {})) if key in TABLES else {}
                values[key] = {**weaker, **value} if key in TABLES else value
                sources[key] = f"PODIUM_{key.upper()}" if source == "environment" else source
        values.setdefault("store", default_store())
        own = values.get("prompts") or project_prompts(here)
        folders = (str(own), str(user_prompts(environ)))
        named = tuple(str(file) for file in files)
        return cls(**values, files=named, sources=sources, prompt_folders=folders)

    def given(self, key: str) -> Any:
        """Return the value of a key that was set explicitly; `None` if it is the default."""
        value = getattr(self, key)
        return value if key in self.sources or value != getattr(_DEFAULTS, key) else None

    def secrets(self, env: Mapping[str, str] | None = None) -> list[str]:
        """Return the values that must be redacted everywhere, the longest first."""
        environ = os.environ if env is None else env
        own = {key: msgspec.to_builtins(getattr(self, key)) for key in KEYS if key != "mcp"}
        values = {*secrets_of_variables(environ), *secrets_of_settings(own)}
        for server in self.mcp.values():
            values.update(server.secrets(environ))
        return worth_redacting(values)


_DEFAULTS = Settings()

KEYS: dict[str, Any] = {
    field.name: field.type
    for field in msgspec.structs.fields(Settings)
    if field.name not in ("files", "sources", "prompt_folders")
}
"""Every key that a file, a variable or a flag may set, with its type."""
