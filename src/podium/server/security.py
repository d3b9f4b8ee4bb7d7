"""Security middleware: checks Host, Origin, key or cookie, rate and size of every request.

It wraps the whole application, so that no route can be forgotten.

Cross-site requests: the cookie is `SameSite=Lax`, so a browser sends it when a link of another site is
followed, but not with forms, frames, images or scripts of another site. Unsafe methods need more than the
cookie: an Origin that is this server, and JSON or a header that a foreign form cannot set.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.server.auth import (
    FORM_PATH,
    Authenticator,
    Caller,
    KeyCheck,
    WrongKey,
    is_api,
    is_sign_in_form,
    sign_in_page,
    wants_page,
    wrong_key_text,
)
from podium.server.problems import problem
from podium.server.rate_limits import Names, Rates, is_own_page

MOST_BODY = 4_000_000
"""Maximum size of a request body in bytes."""
MOST_LOGIN_BODY = 10_000
"""Maximum size in bytes of a request body that is not authenticated yet."""
BODY_S = 60.0
"""Seconds that a request body may take to arrive."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOGINS = ("/api/session", FORM_PATH)
"""Routes that exchange a key for a cookie; they check the key themselves."""
PROBES = ("/api/health", "/api/ready")
"""Routes that answer without a key, for load balancers. Without one they report only whether the server is
healthy."""
OWN_HEADER = "x-podium"
"""Header that only our own pages can send with a cookie: a foreign form cannot set headers."""
OWN_SITES = ("same-origin", "none")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send `Origin: null` with the sign-in form
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
"""Headers of every response, unless a route sets its own."""


class SecurityMiddleware:
    """ASGI middleware around the whole application."""

    body_s = BODY_S

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        names: Names,
        cookie: str,
        keys: KeyCheck | None = None,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._keys = keys or KeyCheck(authenticator)
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
        if is_sign_in_form(scope, headers):
            scope = {**scope, "path": FORM_PATH}
        refused = self._refused_origin(scope, headers) or await self._refused_caller(scope, headers)
        if refused is None:
            most = MOST_LOGIN_BODY if _is_login(scope) else MOST_BODY
            try:
                async with asyncio.timeout(self.body_s):
                    body = await _whole_body(receive, headers, most)
            except TimeoutError:
                refused = problem(
                    408, "The request did not come to its end.", headers={"Connection": "close"}
                )
                await refused(scope, receive, out)
                return
            if body is not None:
                await self._app(scope, _replayed(body, receive), out)
                return
            refused = problem(413, "The request is too large.", f"At most {most:,} bytes.")
        await refused(scope, receive, out)

    def _refused_origin(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._names.know(hosts[0]):
            return problem(421, "This server does not go by that name.", "Add it with --allow-host NAME.")
        https = scope.get("scheme") == "https"
        if any(not is_own_page(origin, hosts[0], https=https) for origin in headers.getlist("origin")):
            return problem(403, "This request comes from a foreign page.")
        return None

    async def _refused_caller(self, scope: Scope, headers: Headers) -> Response | None:
        """Authenticate the request and store the caller in the scope, or return the response
        that rejects it."""
        if _is_login(scope):
            return None
        caller = await self._caller(scope, headers)
        if isinstance(caller, WrongKey):
            return _wrong_key(scope, headers, caller)
        if caller is None:
            return None if scope["path"] in PROBES else _unknown(scope, headers)
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

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | WrongKey | None:
        """Return the caller by key, by token in the address or by cookie; None if the request has none of
        these."""
        client = (scope.get("client") or ("",))[0]
        authorization = headers.get("authorization")
        if authorization is not None:
            kind, _, key = authorization.partition(" ")
            return await self._keys.check(key.strip() if kind.lower() == "bearer" else "", client)
        cookie = _cookie_of(headers, self._cookie)
        by_cookie = self._authenticator.by_cookie(cookie) if cookie else None
        token = _token_in(scope) if self._authenticator.token_in_address else ""
        if not token:
            return by_cookie
        return self._authenticator.remembered(token) or by_cookie or await self._keys.check(token, client)


def _is_login(scope: Scope) -> bool:
    return scope["path"] in LOGINS and scope["method"] == "POST"


def _unknown(scope: Scope, headers: Headers) -> Response:
    """Return a 401; a browser that wants a page gets the sign-in page."""
    if wants_page(scope, headers):
        return sign_in_page()
    wanted = {"WWW-Authenticate": 'Bearer realm="podium"'}
    hint = "Open the address that `podium serve` printed, or send your key."
    return problem(401, "You are not signed in.", hint, headers=wanted)


def _wrong_key(scope: Scope, headers: Headers, wrong: WrongKey) -> Response:
    """Return a 401, or a 429 past the limit."""
    if not wrong.retry_after_s:
        return _unknown(scope, headers)
    if wants_page(scope, headers):
        return sign_in_page(wrong)
    status, error, hint = wrong_key_text(wrong)
    return problem(status, error, hint, headers={"Retry-After": str(wrong.retry_after_s)})


def _refused_page(scope: Scope, headers: Headers) -> Response | None:
    """Return a 403 for a cross-site request. A browser sends its cookie no matter which site causes the
    request, so it must come from our own pages or be a followed link."""
    followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    foreign = headers.get("sec-fetch-site", "none") not in OWN_SITES
    if is_api(scope) and foreign and not (followed and scope["method"] in SAFE):
        return problem(403, "This request comes from a foreign page.")
    if scope["method"] in SAFE:
        return None
    kind = headers.get("content-type", "").split(";")[0].strip()
    if "origin" in headers and (OWN_HEADER in headers or kind == "application/json"):
        return None
    reason = "A browser's request must come from a page of this server."
    return problem(403, reason, "Scripts send a key instead of a cookie.")


def _token_in(scope: Scope) -> str:
    """Return the token in the address of the front page, as printed by `podium serve`."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return ""
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]


def _cookie_of(headers: Mapping[str, str], name: str) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


async def _whole_body(receive: Receive, headers: Headers, most: int) -> bytes | None:
    """Return the body, or None if it is too large. It is read here, so that a route never receives more than
    allowed."""
    announced = headers.get("content-length", "0")
    if not (announced.isascii() and announced.isdigit()) or len(announced) > 12 or int(announced) > most:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that delivers the body again, then the client's further messages."""
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
