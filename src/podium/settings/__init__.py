"""Settings: the only reader of the environment and of config files.

Flags > `PODIUM_*` variables > `podium.toml` of the project > `podium.toml` of the user > defaults.
A wrong key or value is refused with its source and the nearest valid key: a misspelt budget that is
silently ignored costs money.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import platformdirs

from podium.errors import SettingsError
from podium.settings.sandbox import EXAMPLE as SANDBOX_EXAMPLE
from podium.settings.sandbox import EXPECTED as SANDBOX_EXPECTED
from podium.settings.sandbox import SandboxOptions, read_sandbox
from podium.settings.servers import EXAMPLE, McpServer, read_servers
from podium.settings.words import SECRET_NAMES, VARIABLE, nearest, parse_duration, parse_size

__all__ = [
    "FILE_NAME", "KEYS", "OTHER_VARIABLES", "PROVIDER_KEYS", "SECRET_NAMES", "TABLES", "VARIABLE",
    "BrainOptions", "McpServer", "NewsOptions", "OtelOptions", "OwnPrice", "ProviderOptions",
    "SandboxOptions", "Settings", "debug_wanted", "default_store", "nearest", "parse_duration",
    "parse_size", "provider_keys", "settings_files", "store_url", "user_file", "variable",
]  # fmt: skip

FILE_NAME = "podium.toml"

PROVIDER_KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY",
    "MISTRAL_API_KEY", "COHERE_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "OPENAI_COMPATIBLE_API_KEY", "OLLAMA_API_KEY",
    "HF_TOKEN", "TAVILY_API_KEY", "BRAVE_API_KEY",
)  # fmt: skip
"""Keys that providers know by these names; Podium gives them no second one."""

OTHER_VARIABLES = ("PODIUM_CONFIG", "PODIUM_DEBUG")
"""`PODIUM_*` variables that are no settings: another user file, and tracebacks for unexpected errors."""

Natural = Annotated[int, msgspec.Meta(ge=0)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
PerMinute = Annotated[int, msgspec.Meta(ge=1)]


class OwnPrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, where the price tables do not know it or are wrong: `[prices."openai:gpt-x"]`."""

    input: Amount
    """US dollars per million tokens of input."""
    output: Amount
    """US dollars per million tokens of output."""
    cache_read: Amount | None = None
    """US dollars per million tokens of input that the provider remembered; not given: as `input`."""
    cache_write: Amount | None = None
    """US dollars per million tokens of input that the provider was asked to remember; not given: as
    `input`."""


class ProviderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one provider is talked to: `[providers.openai]`."""

    base_url: str = ""
    """Another address than its own; stronger than the provider's variable."""
    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None
    """Input and output together, as the provider counts them: the longest reply, until it is there."""
    output: Literal["", "native", "tool", "prompted"] = ""
    """How structured replies are asked for; empty: the best way that the model supports."""
    prompt_cache: bool = True
    """Ask the provider to remember what stays the same between calls, where it has a way to be asked."""


class OtelOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Traces of runs for OpenTelemetry: `[otel]`, or just `otel = true`."""

    enabled: bool = True
    endpoint: str = ""
    """Address of a collector that speaks OTLP over HTTP; empty: as the OTEL_* variables say."""
    content: bool = False
    """Send prompts, replies and messages of errors too."""


class BrainOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What projects know: `[brain]`."""

    embedding: str = ""
    """The model that finds facts by meaning: `openai:MODEL`, `ollama:MODEL`, `openai-compatible:MODEL@URL` or
    `python:FILE.py:function`; empty: facts are found by their words and names."""


WebAddress = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$", max_length=2_000)]


class NewsOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where news are looked for: `[news]`."""

    feeds: list[WebAddress] = []
    """RSS or Atom feeds that are read besides; what speaks of the question is taken from them."""
    search: WebAddress | Literal[""] | None = None
    """A search that answers with a feed, with `{query}` where the words go; `""` asks none. Not given:
    Bing News."""


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
    mcp: dict[str, McpServer] = {}
    """MCP servers, by the name that stands before the dot in the names of their tools."""
    retry_wait: float = 1.0
    """Seconds before a failed call is tried again, doubled each time; written like `time_limit`."""
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

    @classmethod
    def load(
        cls, cwd: Path | str | None = None, env: Mapping[str, str] | None = None, **flags: Any
    ) -> Settings:
        """Merge all sources; a flag that is `None` was not given."""
        here, environ = Path(cwd or Path.cwd()), os.environ if env is None else env
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        files = settings_files(here, environ)
        layers = [_read_file(file) for file in reversed(files)]
        layers += [_read_environment(environ, here), _read_flags(flags, here)]
        for source, layer in layers:
            for key, value in layer.items():
                weaker = cast("dict[str, Any]", values.get(key, {})) if key in TABLES else {}
                values[key] = {**weaker, **value} if key in TABLES else value
                sources[key] = f"PODIUM_{key.upper()}" if source == "environment" else source
        values.setdefault("store", default_store())
        return cls(**values, files=tuple(str(file) for file in files), sources=sources)

    def given(self, key: str) -> Any:
        """The value of a key that somebody has set; `None` if it is just the default."""
        value = getattr(self, key)
        return value if key in self.sources or value != getattr(_DEFAULTS, key) else None

    def secrets(self, env: Mapping[str, str] | None = None) -> list[str]:
        """Values that must be redacted wherever they appear, the longest first."""
        environ = os.environ if env is None else env
        found = {value.strip() for name, value in environ.items() if SECRET_NAMES.search(name.upper())}
        for server in self.mcp.values():
            found |= set(server.secrets(environ))
        return sorted((value for value in found if len(value) >= 8), key=len, reverse=True)


_DEFAULTS = Settings()

KEYS: dict[str, Any] = {
    field.name: field.type
    for field in msgspec.structs.fields(Settings)
    if field.name not in ("files", "sources")
}
"""Every key that a file, a variable or a flag may set, with its type."""

TABLES = ("profiles", "prices", "providers", "mcp")
"""Keys that are tables: their entries are merged over all sources. No variable of their own sets them."""

_DURATIONS = ("time_limit", "retry_wait")
_SIZES = ("cache_size",)

_EXPECTED = {
    "store": "a path or a URL such as sqlite:///podium.sqlite",
    "engine": "procrastinate, temporal://HOST:PORT/NAMESPACE or local",
    "model": "a model's name",
    "profiles": "a table of profile = model, or of profile = [model, next model]",
    "max_usd": "an amount of at least 0",
    "max_tokens": "a whole number of at least 0",
    "max_calls": "a whole number of at least 0",
    "time_limit": "a duration such as 90s, 15m or 2h",
    "concurrency": "a whole number from 1 to 10,000",
    "cache": "true or false",
    "cache_size": "a size such as 500MB or 2GB",
    "prices": "a table of models with `input` and `output` in US dollars per million tokens",
    "providers": "a table of providers with `base_url`, `requests_per_minute`, `tokens_per_minute`, `output` "
    "and `prompt_cache`",
    "mcp": "a table of servers, each with a `command` or a `url`",
    "retry_wait": "a duration such as 500ms or 2s",
    "otel": "true, false, or a table with `endpoint` and `content`",
    "brain": "a table with `embedding`",
    "news": "a table with `feeds`, a list of http(s) addresses, and `search`, one with {query} in it",
    "sandbox": SANDBOX_EXPECTED,
}


def settings_files(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """The files that count here: the nearest project file up to the git root, then the user's."""
    named = env.get("PODIUM_CONFIG")
    user = Path(named) if named else user_file()
    project = next((file for file in _upward(cwd) if _is_there(file)), None)
    found = [file for file in (project, user) if file is not None and _is_there(file)]
    if named and user not in found:
        raise SettingsError(f"PODIUM_CONFIG names {named}, which is not a file.", hint="Correct or unset it.")
    return list(dict.fromkeys(file.resolve() for file in found))


def _is_there(file: Path) -> bool:
    try:
        return file.exists() and not file.is_dir()
    except OSError as error:  # a folder on the way to it is closed to us
        raise SettingsError(
            f"{file} cannot be looked at: {error.strerror}.", hint="Name another with PODIUM_CONFIG=FILE."
        ) from error


def user_file() -> Path:
    """The user's own settings file; it need not exist."""
    return Path(platformdirs.user_config_dir("podium", appauthor=False)) / FILE_NAME


def default_store() -> str:
    """The store in the user's data folder."""
    return f"sqlite:///{Path(platformdirs.user_data_dir('podium', appauthor=False)) / 'podium.sqlite'}"


def store_url(value: str, base: Path) -> str:
    """A store's URL with an absolute path; relative ones count from `base`."""
    if "://" in value and not value.startswith("sqlite:///"):
        return value
    path = Path(value.removeprefix("sqlite:///")).expanduser()
    return f"sqlite:///{path if path.is_absolute() else (base / path).absolute()}"


def debug_wanted() -> bool:
    """Whether the user asked for tracebacks of unexpected errors."""
    return os.environ.get("PODIUM_DEBUG", "") not in ("", "0")


def variable(*names: str, env: Mapping[str, str] | None = None) -> str:
    """The first of these variables that is set; keys and addresses of providers keep their own names."""
    environ = os.environ if env is None else env
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def provider_keys(env: Mapping[str, str] | None = None) -> list[str]:
    """Names of the known provider keys that are set; never their values."""
    environ = os.environ if env is None else env
    return [name for name in PROVIDER_KEYS if environ.get(name)]


def _upward(cwd: Path) -> Iterator[Path]:
    """Where a project's file may lie: here and above, no further than the git root."""
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        yield folder / FILE_NAME
        if (folder / ".git").exists():
            return


def _read_file(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        with file.open("rb") as handle:
            table = tomllib.load(handle)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.", hint="Correct that line.") from error
    except OSError as error:
        raise SettingsError(
            f"{file} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    return str(file), {key: _convert(key, value, str(file), file.parent) for key, value in table.items()}


def _read_environment(env: Mapping[str, str], cwd: Path) -> tuple[str, dict[str, Any]]:
    layer: dict[str, Any] = {}
    names = tuple(f"PODIUM_{key.upper()}" for key in KEYS if key not in TABLES)
    for name, value in env.items():
        if not name.startswith("PODIUM_") or not value or name in OTHER_VARIABLES:
            continue
        if name in names:
            key = name.removeprefix("PODIUM_").lower()
            layer[key] = _convert(key, value, name, cwd, from_text=True)
        elif name.startswith("PODIUM_PROFILE_"):
            models = [model.strip() for model in value.split(",") if model.strip()]
            profile = name.removeprefix("PODIUM_PROFILE_").lower()
            layer.setdefault("profiles", {})[profile] = models if len(models) > 1 else value.strip()
        elif meant := nearest(name, names):  # others may be somebody else's: container hosts set PODIUM_PORT
            raise SettingsError(f"{name} is not a setting.", hint=f"Did you mean {meant}?")
    return "environment", layer


def _read_flags(flags: Mapping[str, Any], cwd: Path) -> tuple[str, dict[str, Any]]:
    given = {key: value for key, value in flags.items() if value is not None}
    return "flag", {key: _convert(key, value, "", cwd) for key, value in given.items()}


def _convert(key: str, value: Any, source: str, base: Path, *, from_text: bool = False) -> Any:
    """One value in its type, or an error that names where it stands and what would be right."""
    if key not in KEYS:
        meant = nearest(key, list(KEYS))
        hint = f"Did you mean `{meant}`?" if meant else f"Valid keys: {', '.join(KEYS)}."
        raise SettingsError(f"{source or 'Podium'}: `{key}` is not a setting.", hint=hint)
    try:
        if key in _DURATIONS:
            return parse_duration(value)
        if key == "mcp":
            return read_servers(value, source, base)
        if key == "sandbox":
            return read_sandbox(value, base)
        if key in _SIZES:
            return parse_size(value)
        given = _plain(value) if from_text else value
        converted: Any = msgspec.convert(given, KEYS[key], strict=not from_text)
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
    }
    return "" if key not in examples else f"For example: {examples[key]}"
