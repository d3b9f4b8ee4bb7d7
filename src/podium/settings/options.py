"""Option tables of the settings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec

from podium.errors import SettingsError
from podium.settings.parsing import SECRET_HEADERS, VARIABLE, nearest, parse_duration, parse_size, plain
from podium.settings.places import at_home
from podium.settings.secrets import is_secret_name, secrets_of_arguments, secrets_within

if TYPE_CHECKING:
    from podium.settings import Settings


LONGEST_TIMEOUT = 7 * 86_400.0
"""Maximum timeout in seconds. A longer one is a mistake of units."""
MOST_TOKENS = 10_000_000
"""Maximum tokens of one reply. No model writes as many."""

ReplyTokens = Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)]

TIMEOUT_EXPECTED = "a duration such as 90s or 20m, more than 0 and at most 7 days"
TOKENS_EXPECTED = f"a whole number from 1 to {MOST_TOKENS:,}"


class ReplyLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for the replies of one agent (`[agents.NAME]`) or of one model (`[models."NAME"]`)."""

    reply_timeout: float | None = None
    """Timeout of one reply in seconds; written like `time_limit`."""
    reply_tokens: ReplyTokens | None = None
    """Maximum tokens of one reply."""


def parse_timeout(value: str | float) -> float:
    """Return the timeout of a reply in seconds; raise `ValueError` if it is invalid."""
    seconds = parse_duration(value)
    if seconds > LONGEST_TIMEOUT:
        raise ValueError("a reply's time-out must be at most 7 days")
    return seconds


def for_model(name: str, models: Mapping[str, ReplyLimits]) -> list[ReplyLimits]:
    """Return the entries of `[models]` that match a model's name, the most specific first.

    An entry is a whole name, or a pattern in which `*` stands for any text, such as
    `openai-compatible:*@http://10.0.0.7:8000/v1`. A longer pattern is more specific.
    """
    if not models:
        return []
    wanted = name.rstrip("/")
    matching = [pattern for pattern in models if _matches(wanted, pattern.rstrip("/"))]
    return [models[pattern] for pattern in sorted(matching, key=lambda text: ("*" in text, -len(text)))]


def longest_timeout(settings: Settings) -> float:
    """Return the longest reply timeout in the settings, in seconds; 0 if there is none."""
    tables = (settings.providers, settings.models, settings.agents)
    entries = [settings, *(entry for table in tables for entry in table.values())]
    return max(entry.reply_timeout or 0.0 for entry in entries)


def _matches(name: str, pattern: str) -> bool:
    if "*" not in pattern:
        return name == pattern
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


HIGHEST_PRICE = 1_000_000.0
"""Maximum price in US dollars per million tokens. A higher price is a mistake of units, and would break
sums."""

Natural = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
PerMinute = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
PerMillion = Annotated[float, msgspec.Meta(ge=0, le=HIGHEST_PRICE)]


class OwnPrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Price of a model that the price tables do not have or have wrong: `[prices."openai:gpt-x"]`."""

    input: PerMillion
    """US dollars per million tokens of input."""
    output: PerMillion
    """US dollars per million tokens of output."""
    cache_read: PerMillion | None = None
    """US dollars per million input tokens read from the provider's cache; `None`: as `input`."""
    cache_write: PerMillion | None = None
    """US dollars per million input tokens written to the provider's cache; `None`: as `input`."""

    def __post_init__(self) -> None:
        """Reject prices that would break sums, also those set by a program."""
        for name in self.__struct_fields__:
            price = getattr(self, name)
            if price is not None and not (math.isfinite(price) and 0 <= price <= HIGHEST_PRICE):
                raise ValueError(f"the price `{name}` must be from 0 to {HIGHEST_PRICE:,.0f}, not {price}")


class ProviderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of one provider: `[providers.openai]`."""

    base_url: str = ""
    """Custom base URL; overrides the provider's environment variable."""
    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None
    """Input and output together, as the provider counts them: until a reply arrives, its token limit
    counts."""
    output: Literal["", "native", "tool", "prompted"] = ""
    """Structured-output mode; empty: the best one that the model supports."""
    tools: Literal["", "native", "prompted"] = ""
    """Form of tools for its models. Empty: native, or in the prompt for models that cannot."""
    prompt_cache: bool = True
    """Send prompt-cache hints, if the provider supports them."""
    reply_timeout: float | None = None
    """Timeout of one reply of its models in seconds; written like `time_limit`."""
    reply_tokens: ReplyTokens | None = None
    """Maximum tokens of one reply of its models."""


class OtelOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Traces of runs for OpenTelemetry: `[otel]`, or just `otel = true`."""

    enabled: bool = True
    endpoint: str = ""
    """URL of an OTLP/HTTP collector; empty: as the OTEL_* variables say."""
    content: bool = False
    """Send prompts, replies and error messages too."""


class BrainOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for project facts: `[brain]`."""

    embedding: str = ""
    """The embedding model: `openai:MODEL`, `ollama:MODEL`, `openai-compatible:MODEL@URL` or
    `python:FILE.py:function`; empty: facts are found by their words and names."""


WebAddress = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$", max_length=2_000)]


class NewsOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sources of news: `[news]`."""

    feeds: list[WebAddress] = []
    """Additional RSS or Atom feeds; entries that match the question are used."""
    search: WebAddress | Literal[""] | None = None
    """URL of a search that returns a feed, with `{query}` as placeholder; `""` disables it. `None`: Bing
    News."""


Count = Annotated[int, msgspec.Meta(ge=1)]


class SandboxOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sandbox for programs that a model wrote, and limits of each execution."""

    tier: Literal["auto", "bubblewrap", "landlock"] = "auto"
    """`auto`: the best one available; any other: that one or none."""
    bubblewrap: str = ""
    """Path of `bwrap`, if it is not in the PATH."""
    readable: list[str] = []
    """Folders that programs may read besides the system, such as a toolchain in the home folder."""
    time: float | None = None
    """Wall time of one execution: `90s`, `10m` or seconds."""
    cpu: float | None = None
    """CPU time of one process, written like `time`."""
    memory: int | None = None
    """Memory of all processes together: `2GB`, `500MB` or bytes."""
    processes: Count | None = None
    """Processes and threads together."""
    file_size: int | None = None
    """Maximum size of a written file."""
    output: int | None = None
    """Maximum size of standard output and error together."""
    workspace: int | None = None
    """Maximum size of the workspace and the temporary files together."""
    files: Count | None = None
    """Maximum files and folders that a program may add to the workspace and the temporary files together."""
    open_files: Count | None = None
    """Maximum open files of one process."""


_DURATIONS = ("time", "cpu")
_SIZES = ("memory", "file_size", "output", "workspace")

EXPECTED = (
    "a table with `tier` (auto, bubblewrap or landlock), `bubblewrap`, `readable`, `time`, `cpu`, `memory`, "
    "`processes`, `file_size`, `output`, `workspace`, `files` and `open_files`"
)
EXAMPLE = '[sandbox]\ntime = "10m"\nmemory = "2GB"'


def read_sandbox(value: Any, base: Path) -> SandboxOptions:
    """Convert the table, with sizes and durations as numbers; paths in it are relative to `base`."""
    if isinstance(value, SandboxOptions):
        return value
    if not isinstance(value, dict):
        raise TypeError("not a table")
    table: dict[str, Any] = dict(value)  # type: ignore[arg-type]
    for key in _DURATIONS:
        if key in table:
            table[key] = parse_duration(table[key])
    for key in _SIZES:
        if key in table and (size := parse_size(table[key])) >= 1:
            table[key] = size
        elif key in table:
            raise ValueError(f"{key} must be more than 0")
    options = msgspec.convert(table, SandboxOptions)
    place = str(base / at_home(options.bubblewrap)) if options.bubblewrap else ""
    readable = [str(base / at_home(folder)) for folder in options.readable]
    return msgspec.structs.replace(options, bubblewrap=place, readable=readable)


SERVER_EXAMPLE = '[mcp.files]\ncommand = "npx"\nargs = ["-y", "@modelcontextprotocol/server-filesystem", "."]'
_HINT = f"For example: {SERVER_EXAMPLE}"


class McpServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server whose tools agents may use: `[mcp.NAME]`, with either a `command` or a `url`.

    `${VARIABLE}` in `args`, `env`, `url` and `headers` is read from the environment when the server is used,
    so that keys need not be in the file.
    """

    command: str = ""
    """A program that speaks MCP on its standard input and output."""
    args: list[str] = []
    env: dict[str, str] = {}
    """Environment variables for the program, besides the few that it always gets (PATH, HOME, the
    language)."""
    cwd: str = ""
    """Working directory of the program; relative to the folder of the file that names it."""
    url: str = ""
    """URL of a server that is already running."""
    headers: dict[str, str] = {}
    """Sent with each request to `url`."""
    transport: Literal["http", "sse"] = "http"
    """Transport for `url`: streamable HTTP, or the older server-sent events."""
    tools: list[str] | None = None
    """Names of the tools that may be used; `None`: all."""
    timeout: float = 60.0
    """Timeout for connecting and for each call, in seconds; written like `time_limit`."""

    def secrets(self, env: Mapping[str, str]) -> Iterator[str]:
        """Yield values of headers, variables and arguments with secret names, and passwords in addresses."""
        for name, value in [*self.headers.items(), *self.env.items()]:
            if is_secret_name(name) or SECRET_HEADERS.search(name):
                yield from (env.get(match, "").strip() for match in VARIABLE.findall(value))
                yield from VARIABLE.sub(" ", value).split()
        written = [self.url, *self.args, *self.env.values()]
        filled = [VARIABLE.sub(lambda match: env.get(match[1], ""), value) for value in written]
        for value in filled:
            yield from secrets_within(value)
        yield from secrets_of_arguments(filled[1 : 1 + len(self.args)])


def read_servers(value: Any, source: str, base: Path) -> dict[str, McpServer]:
    """Read the servers, each checked separately. No message repeats a value, because `env` and `headers` may
    contain keys."""
    if not isinstance(value, dict):
        raise TypeError("not a table")
    servers = cast("dict[str, Any]", value)
    return {name: _read_server(name, entry, source, base) for name, entry in servers.items()}


def _read_server(name: str, entry: Any, source: str, base: Path) -> McpServer:
    where = f"[mcp.{name}] in {source}" if source else f"The MCP server {name}"
    if isinstance(entry, McpServer):
        return entry
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
        raise SettingsError(f"{where}: the name of a server is made of letters, digits, - and _, at most 32.")
    fields = McpServer.__struct_fields__
    table = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    for key in table:
        if key not in fields:
            meant = nearest(key, fields)
            hint = f"Did you mean `{meant}`?" if meant else f"Valid keys: {', '.join(fields)}."
            raise SettingsError(f"{where}: `{key}` is not a setting.", hint=hint)
    if bool(table.get("command")) == bool(table.get("url")):
        raise SettingsError(f"{where} must have either a `command` or a `url`.", hint=_HINT)
    try:
        timed = {"timeout": parse_duration(table["timeout"])} if "timeout" in table else {}
        server = msgspec.convert(table | timed, McpServer)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise SettingsError(f"{where} is wrong: {plain(error)}", hint=_HINT) from error
    return msgspec.structs.replace(
        server,
        command=str((base / server.command).absolute()) if "/" in server.command else server.command,
        cwd=str((base / at_home(server.cwd)).absolute()) if server.cwd else "",
    )
