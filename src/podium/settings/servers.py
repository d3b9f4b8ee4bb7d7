"""MCP servers of the settings: `[mcp.NAME]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from podium.errors import SettingsError
from podium.settings.places import at_home
from podium.settings.secrets import is_secret_name, secrets_of_arguments, secrets_within
from podium.settings.validation import plain
from podium.settings.words import SECRET_HEADERS, VARIABLE, nearest, parse_duration

EXAMPLE = '[mcp.files]\ncommand = "npx"\nargs = ["-y", "@modelcontextprotocol/server-filesystem", "."]'
_HINT = f"For example: {EXAMPLE}"


class McpServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server whose tools agents may use: `[mcp.NAME]`, with either a `command` or a `url`.

    `${VARIABLE}` in `args`, `env`, `url` and `headers` is read from the environment when the server is used,
    so that keys need not stand in the file.
    """

    command: str = ""
    """A program that speaks MCP on its standard input and output."""
    args: list[str] = []
    env: dict[str, str] = {}
    """Variables for the program, beside the few that it gets anyway (PATH, HOME, the language)."""
    cwd: str = ""
    """Where the program starts; counts from the folder of the file that names it."""
    url: str = ""
    """The address of a server that is running already."""
    headers: dict[str, str] = {}
    """Sent with each request to `url`."""
    transport: Literal["http", "sse"] = "http"
    """How `url` is spoken to: streamable HTTP, or the older server-sent events."""
    tools: list[str] | None = None
    """The only tools of it that may be used; not given: all."""
    timeout: float = 60.0
    """Seconds for connecting, and for each call; written like `time_limit`."""

    def secrets(self, env: Mapping[str, str]) -> Iterator[str]:
        """Yield values of headers, variables and arguments whose names say that they are secret, and
        passwords in addresses."""
        for name, value in [*self.headers.items(), *self.env.items()]:
            if is_secret_name(name) or SECRET_HEADERS.search(name):
                yield from (env.get(found, "").strip() for found in VARIABLE.findall(value))
                yield from VARIABLE.sub(" ", value).split()
        written = [self.url, *self.args, *self.env.values()]
        filled = [VARIABLE.sub(lambda found: env.get(found[1], ""), value) for value in written]
        for value in filled:
            yield from secrets_within(value)
        yield from secrets_of_arguments(filled[1 : 1 + len(self.args)])


def read_servers(value: Any, source: str, base: Path) -> dict[str, McpServer]:
    """Each server checked by itself. No message repeats a value: keys may stand in `env` and `headers`."""
    if not isinstance(value, dict):
        raise TypeError("not a table")
    servers = cast("dict[str, Any]", value)
    return {name: _read_server(name, given, source, base) for name, given in servers.items()}


def _read_server(name: str, given: Any, source: str, base: Path) -> McpServer:
    where = f"[mcp.{name}] in {source}" if source else f"The MCP server {name}"
    if isinstance(given, McpServer):
        return given
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
        raise SettingsError(f"{where}: the name of a server is made of letters, digits, - and _, at most 32.")
    fields = McpServer.__struct_fields__
    table = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
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
