"""What every request passes before anything else looks at it: Host, Origin, key or cookie, rate, size.

It stands around the whole application, so that no route can be forgotten.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.server.callers import Caller, Doorkeeper
from podium.server.origins import Names, is_own_page
from podium.server.problems import problem
from podium.server.rates import Rates

MOST_BODY = 4_000_000
"""Bytes of a request."""
BODY_S = 60.0
"""How long a request's body may take to come."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LONGEST_KEY = 500
TRIES = 30
"""Keys that one address may try in a minute."""
LOGINS = ("/api/session", "/session")
"""Where a key is exchanged for a cookie: they look at the key themselves."""
OWN_HEADER = "x-podium"
"""Only a page of ours can send it with a cookie: a foreign form cannot set headers."""
OWN_SITES = ("same-origin", "none")
DOOR_PAGE = (Path(__file__).parent / "pages" / "door.html").read_text("utf-8")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'self'"
    ),
    "Cache-Control": "no-store",
}
"""On every answer, unless a route says otherwise."""


class Guard:
    """An ASGI application around another one."""

    body_s = BODY_S

    def __init__(self, app: ASGIApp, *, door: Doorkeeper, names: Names, cookie: str) -> None:
        self._app = app
        self._door = door
        self._names = names
        self._cookie = cookie
        self._rates = Rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        out = _with_headers(send)
        refused = self._refused_origin(headers) or await self._refused_caller(scope, headers)
        if refused is None:
            try:
                async with asyncio.timeout(self.body_s):
                    body = await _whole_body(receive, headers)
            except TimeoutError:
                refused = problem(
                    408, "The request did not come to its end.", headers={"Connection": "close"}
                )
                await refused(scope, receive, out)
                return
            if body is not None:
                await self._app(scope, _replayed(body, receive), out)
                return
            refused = problem(413, "The request is too large.", f"At most {MOST_BODY:,} bytes.")
        await refused(scope, receive, out)

    def _refused_origin(self, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._names.know(hosts[0]):
            return problem(421, "This server does not go by that name.", "Add it with --allow-host NAME.")
        if any(not is_own_page(origin, hosts[0]) for origin in headers.getlist("origin")):
            return problem(403, "This request comes from a foreign page.")
        return None

    async def _refused_caller(self, scope: Scope, headers: Headers) -> Response | None:
        """Find out who is asking, and leave it in the scope; or say why the request goes no further."""
        address = f"address {(scope.get('client') or ('',))[0]}"
        if scope["path"] in LOGINS and scope["method"] == "POST":
            return self._limited(address, TRIES, TRIES)
        found = await self._caller(scope, headers, address)
        if isinstance(found, Response):
            return found
        caller = found
        if caller is None:
            return _unknown(scope, headers)
        if caller.by_cookie and (refused := _refused_page(scope, headers)):
            return refused
        scope.setdefault("state", {})["caller"] = caller
        return self._limited(f"user {caller.name}", caller.per_minute, max(caller.per_minute / 4, 20))

    def _limited(self, name: str, per_minute: float, burst: float) -> Response | None:
        wait = self._rates.take(name, per_minute, burst)
        if not wait:
            return None
        after = {"Retry-After": str(math.ceil(wait))}
        return problem(429, "Too many requests.", f"Wait {math.ceil(wait)} s.", headers=after)

    async def _caller(self, scope: Scope, headers: Headers, address: str) -> Caller | Response | None:
        """Who it is; or why that is not looked at."""
        key = _token_in(scope) if self._door.token_in_address else ""
        given = headers.get("authorization")
        if not key and given is None:
            cookie = _cookie_of(headers, self._cookie)
            return self._door.by_cookie(cookie) if cookie else None
        kind, _, rest = (given or "").partition(" ")
        key = key or (rest.strip() if kind.lower() == "bearer" else "")
        return self._door.remembered(key) or await self._tried(key, address)

    async def _tried(self, key: str, address: str) -> Caller | Response | None:
        """Look at a key that is not known yet. That takes a while, so nobody may have it done too often."""
        limited = self._limited(address, TRIES, TRIES)
        if limited is not None or len(key) > LONGEST_KEY:
            return limited
        caller = await self._door.by_key(key)
        if caller is not None:
            self._rates.give_back(address, TRIES)
        return caller


def _unknown(scope: Scope, headers: Headers) -> Response:
    """401; a browser that wants a page gets one that tells how to come in."""
    if not scope["path"].startswith("/api") and "text/html" in headers.get("accept", ""):
        return Response(DOOR_PAGE, 401, media_type="text/html")
    wanted = {"WWW-Authenticate": 'Bearer realm="podium"'}
    hint = "Open the address that `podium serve` printed, or send your key."
    return problem(401, "You are not signed in.", hint, headers=wanted)


def _refused_page(scope: Scope, headers: Headers) -> Response | None:
    """A browser sends its cookie along whoever makes it ask: the request must be one of our own pages'."""
    if scope["path"].startswith("/api") and headers.get("sec-fetch-site", "none") not in OWN_SITES:
        return problem(403, "This request comes from a foreign page.")
    if scope["method"] in SAFE:
        return None
    kind = headers.get("content-type", "").split(";")[0].strip()
    if "origin" in headers and (OWN_HEADER in headers or kind == "application/json"):
        return None
    told = "A browser's request must come from a page of this server."
    return problem(403, told, "Scripts send a key instead of a cookie.")


def _token_in(scope: Scope) -> str:
    """The token in the address of the front page, which the command line has printed."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return ""
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]


def _cookie_of(headers: Mapping[str, str], name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


async def _whole_body(receive: Receive, headers: Headers) -> bytes | None:
    """The body, if it is not too large; read here, so that a route never sees more than it may."""
    told = headers.get("content-length", "0")
    if not (told.isascii() and told.isdigit()) or len(told) > 12 or int(told) > MOST_BODY:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body again, for the application; after it, whatever else the client does."""
    handed = False

    async def again() -> Message:
        nonlocal handed
        if handed:
            return await receive()
        handed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return wrapped
