"""Router with encoded names.

A server hands on addresses in which that slash is like any other, so that no route would be found. Here a
slash that belongs to a name becomes a character which no text may hold, before anybody looks at the address;
what a route takes out of it is turned back. Routes say `{project:name}`, or `{name:names}` where slashes may
also be written as they are.
"""

from __future__ import annotations

from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

_SLASH = "\ufdd0"
"""Unicode keeps it for uses like this one, within a program."""


class Addresses:
    """An ASGI application around another one: slashes in names do not part an address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if b"%2f" in raw.lower():
            parts = [unquote(part) for part in raw.decode("ascii", "replace").split("/")]
            scope = {**scope, "path": "/".join(part.replace("/", _SLASH) for part in parts)}
        await self._app(scope, receive, send)


class _Name(Convertor[str]):
    """One part of an address."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace(_SLASH, "/")

    def to_string(self, value: str) -> str:
        return value.replace("/", _SLASH)


class _Names(_Name):
    """The rest of an address, up to what a route names behind it."""

    regex = ".+"


register_url_convertor("name", _Name())
register_url_convertor("names", _Names())
