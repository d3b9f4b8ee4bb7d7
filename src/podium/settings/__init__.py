"""Settings: the only reader of the environment and of config files.

Flags > `PODIUM_*` variables > `podium.toml` of the project > `podium.toml` of the user > defaults.
A wrong key or value is refused with its source and the nearest valid key: a misspelt budget that is
silently ignored costs money.
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
    PROVIDER_KEYS,
    VARIABLE,
    debug_wanted,
    nearest,
    parse_duration,
    parse_size,
    provider_keys,
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
    "FILE_NAME", "KEYS", "OTHER_VARIABLES", "PROVIDER_KEYS", "TABLES", "VARIABLE", "BrainOptions",
    "McpServer", "NewsOptions", "OtelOptions", "OwnPrice", "ProviderOptions", "ReplyLimits", "SandboxOptions",
    "Settings", "debug_wanted", "default_store", "is_secret_name", "nearest", "parse_duration",
    "parse_size", "provider_keys", "settings_files", "store_url", "user_file", "variable",
]  # fmt: skip


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is started with when its own flags do not say otherwise."""

    store: str = ""
    """Where runs are kept: `sqlite:///PATH` or a bare path. Default: the user's data folder."""
    engine: str = ""
    """What carries runs to workers; empty: `procrastinate` on a store in PostgreSQL, and no workers on any
    other. `local`: a server drives its runs itself."""
    model: str = ""
    """The model for every agent; empty: each agent's own, or its profile's."""
    profiles: dict[str, str | list[str]] = {}
    """Which model stands behind `fast`, `balanced` and `powerful`; in a list, the next one takes over when
    one gives up."""
    max_usd: Amount | None = None
    """Ceiling of money per run, in US dollars."""
    max_tokens: Natural | None = None
    """Ceiling of tokens per run, in and out."""
    max_calls: Natural | None = None
    """Ceiling of model calls per run."""
    time_limit: float | None = None
    """Ceiling of driven time per run, in seconds; written as `90s`, `15m`, `2h` or a number."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 8
    """How many model calls of one run may be under way at once."""
    cache: bool = False
    """Serve identical model calls from a cache across runs."""
    cache_size: Annotated[int, msgspec.Meta(ge=0)] = 500_000_000
    """Bytes that the cache may hold, written as `500MB` or `2GB`; what was not used for the longest time
    goes first."""
    prices: dict[str, OwnPrice] = {}
    """Own prices, by the model's full name."""
    providers: dict[str, ProviderOptions] = {}
    """Addresses and limits, by the provider's name."""
    reply_timeout: float | None = None
    """Seconds that one reply may take, of any agent; not given: as each agent's code says. Written like
    `time_limit`."""
    reply_tokens: ReplyTokens | None = None
    """Most tokens of one reply, of any agent; not given: as each agent's code says."""
    models: dict[str, ReplyLimits] = {}
    """Limits of replies by the model's full name, or by a pattern with `*`; stronger than a provider's."""
    agents: dict[str, ReplyLimits] = {}
    """Limits of replies by the agent's name or role, or `WORKFLOW/NAME`; stronger than a model's."""
    mcp: dict[str, McpServer] = {}
    """MCP servers, by the name that stands before the dot in the names of their tools."""
    retry_wait: float = 1.0
    """Seconds before a failed call is tried again, doubled each time; written like `time_limit`."""
    pause_grace: float = 10.0
    """Seconds that calls in flight get to be recorded when a run is paused; written like `time_limit`."""
    prompts: str = ""
    """Folder with prompts that replace shipped ones, as WORKFLOW/TASK.md; by default `.podium/prompts`."""
    otel: bool | OtelOptions | None = None
    """Send traces while runs go. `None`: when the OTEL_* variables name a collector."""
    brain: BrainOptions = BrainOptions()
    """How the facts of projects are found."""
    news: NewsOptions = NewsOptions()
    """Feeds for research, and where news are searched."""
    sandbox: SandboxOptions = SandboxOptions()
    """How programs that a model wrote are shut in."""
    files: tuple[str, ...] = ()
    """The settings files that were read, the strongest first. Not a key."""
    sources: dict[str, str] = {}
    """Where each given key came from: a file, a variable or `flag`. Not a key."""
    prompt_folders: tuple[str, ...] = ()
    """Folders with prompts that replace shipped ones, the strongest first: the project's, then the user's.
    They need not exist. Not a key."""

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
        """The value of a key that somebody has set; `None` if it is just the default."""
        value = getattr(self, key)
        return value if key in self.sources or value != getattr(_DEFAULTS, key) else None

    def secrets(self, env: Mapping[str, str] | None = None) -> list[str]:
        """Values that must be redacted wherever they appear, the longest first."""
        environ = os.environ if env is None else env
        own = {key: msgspec.to_builtins(getattr(self, key)) for key in KEYS if key != "mcp"}
        found = {*secrets_of_variables(environ), *secrets_of_settings(own)}
        for server in self.mcp.values():
            found.update(server.secrets(environ))
        return worth_redacting(found)


_DEFAULTS = Settings()

KEYS: dict[str, Any] = {
    field.name: field.type
    for field in msgspec.structs.fields(Settings)
    if field.name not in ("files", "sources", "prompt_folders")
}
"""Every key that a file, a variable or a flag may set, with its type."""
