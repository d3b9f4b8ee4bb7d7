"""Path converters and middleware for names that contain encoded slashes.

Servers decode `%2F` before routing, so an encoded slash would separate path segments and no route would
match. The middleware replaces a slash that belongs to a name with a noncharacter before routing; the
converters turn it back. Routes use `{project:name}`, or `{name:names}` where unencoded slashes are allowed
too.
"""

from __future__ import annotations

from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

_SLASH = "\ufdd0"
"""A Unicode noncharacter, reserved for internal use."""


class Addresses:
    """ASGI middleware: encoded slashes in names do not separate path segments."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if b"%2f" in raw.lower():
            parts = [unquote(part) for part in raw.decode("ascii", "replace").split("/")]
            scope = {**scope, "path": "/".join(part.replace("/", _SLASH) for part in parts)}
        await self._app(scope, receive, send)


class _Name(Convertor[str]):
    """One path segment."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace(_SLASH, "/")

    def to_string(self, value: str) -> str:
        return value.replace("/", _SLASH)


class _Names(_Name):
    """One or more path segments, up to the next literal of the route."""

    regex = ".+"


register_url_convertor("name", _Name())
register_url_convertor("names", _Names())
