"""What a server's settings become when it is used: variables are filled in, the environment is kept small."""

from __future__ import annotations

import re
from collections.abc import Mapping

from podium.settings import VARIABLE, McpServer, variable
from podium.tools.tool import ToolError

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""All that a program gets of our environment: no key of ours is in it."""


def expand(text: str, env: Mapping[str, str] | None = None) -> str:
    """The text with its variables filled in; one that is not set is a `ToolError`."""

    def value(found: re.Match[str]) -> str:
        if not (given := variable(found[1], env=env)):
            raise ToolError(f"the variable {found[1]} is not set")
        return given

    return VARIABLE.sub(value, text)


def conceal(text: str, server: McpServer, env: Mapping[str, str] | None = None) -> str:
    """A message without the values that the server was given, should it repeat one."""
    for value in (*server.env.values(), *server.headers.values()):
        text = text.replace(value, "[hidden]") if len(value) >= 6 and not VARIABLE.search(value) else text
    for given in (*server.env.values(), *server.headers.values(), *server.args, server.url):
        for name in VARIABLE.findall(given):
            if value := variable(name, env=env):
                text = text.replace(value, f"${{{name}}}")
    return text


def child_environment(server: McpServer, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for a server's program."""
    inherited = {name: value for name in INHERITED if (value := variable(name, env=env))}
    return inherited | {name: expand(value, env) for name, value in server.env.items()}
