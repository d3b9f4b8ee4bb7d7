"""Who is asking: a key or a cookie, and the caller that it stands for.

A cookie is `NAME.EXPIRES.NONCE.MAC`, made with the hash of the user's key (or with the secret of a server on
this machine): it outlives a restart, and ends when the key is changed or its browser signs out.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from typing import Protocol

import msgspec

from podium.server.users import User, Users

COOKIE_S = 7 * 24 * 3600
"""How long a cookie is good for."""
REMEMBERED = 1000
"""Keys that need not be hashed again."""
MOST_ENDED = 100_000
"""Sessions that were signed out of and have not expired."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whose request is dealt with."""

    name: str = ""
    """Empty on a server that has one user only."""
    user: User | None = None
    by_cookie: bool = False

    @property
    def owner(self) -> str | None:
        """Whose runs they see; `None`: everybody's."""
        return self.name or None

    @property
    def title(self) -> str:
        """How the log names them."""
        return self.name or "web"

    @property
    def most_streams(self) -> int:
        return self.user.max_streams if self.user else 10_000

    @property
    def per_minute(self) -> int:
        return self.user.requests_per_minute if self.user else 60_000


class Doorkeeper(Protocol):
    """Tells callers apart."""

    token_in_address: bool
    """Whether a key may stand in the address of the front page: one that lives as long as the server, not one
    that a person keeps."""

    def remembered(self, key: str) -> Caller | None:
        """The caller whose key this is, if that can be told at once."""
        ...

    async def by_key(self, key: str) -> Caller | None:
        """The caller whose key this is; it may take a while to tell."""
        ...

    def by_cookie(self, cookie: str) -> Caller | None: ...

    def cookie_for(self, caller: Caller) -> str: ...

    def end(self, cookie: str) -> None:
        """Refuse a cookie from here on, for as long as this server runs."""
        ...


class EndedSessions:
    """Cookies that were signed out of, by their MAC, until they would have expired anyway."""

    def __init__(self) -> None:
        self._expiries: dict[str, float] = {}

    def add(self, cookie: str) -> None:
        now = time.time()
        if len(self._expiries) >= MOST_ENDED:
            self._expiries = {mac: expiry for mac, expiry in self._expiries.items() if expiry > now}
        self._expiries[cookie.rpartition(".")[2]] = now + COOKIE_S

    def __contains__(self, cookie: str) -> bool:
        return cookie.rpartition(".")[2] in self._expiries


class LocalDoor:
    """One user, and a token that is made anew each time the server starts."""

    token_in_address = True

    def __init__(self, token: str = "", secret: str = "") -> None:
        self._ended = EndedSessions()
        self.token = token or secrets.token_urlsafe(32)
        self._secret = secret or self.token

    async def by_key(self, key: str) -> Caller | None:
        return self.remembered(key)

    def remembered(self, key: str) -> Caller | None:
        return Caller() if hmac.compare_digest(key.encode(), self.token.encode()) else None

    def by_cookie(self, cookie: str) -> Caller | None:
        name = _name_signed(cookie, lambda name: "" if name else self._secret)
        return Caller(by_cookie=True) if name == "" and cookie not in self._ended else None

    def cookie_for(self, caller: Caller) -> str:
        return _signed("", self._secret)

    def end(self, cookie: str) -> None:
        if self.by_cookie(cookie):
            self._ended.add(cookie)


class UsersDoor:
    """The users of a file."""

    token_in_address = False

    def __init__(self, users: Users) -> None:
        self._users = users
        self._seen: dict[bytes, User] = {}
        """Keys that fitted a slow hash, as digests: it takes too long to be done for every request."""
        self._slow = asyncio.Semaphore(2)
        self._ended = EndedSessions()

    def remembered(self, key: str) -> Caller | None:
        user = self._users.matching(key) or self._seen.get(_digest(key))
        if user is None or self._users.get(user.name) != user:
            return None
        return Caller(name=user.name, user=user)

    async def by_key(self, key: str) -> Caller | None:
        if caller := self.remembered(key):
            return caller
        if not self._users.slow:
            return None
        async with self._slow:
            user = await asyncio.to_thread(self._users.matching_slow, key)
        if user is None:
            return None
        if len(self._seen) >= REMEMBERED:
            self._seen.clear()
        self._seen[_digest(key)] = user
        return Caller(name=user.name, user=user)

    def by_cookie(self, cookie: str) -> Caller | None:
        name = _name_signed(cookie, self._secret)
        user = self._users.get(name) if name and cookie not in self._ended else None
        return Caller(name=user.name, user=user, by_cookie=True) if user else None

    def end(self, cookie: str) -> None:
        if self.by_cookie(cookie):
            self._ended.add(cookie)

    def cookie_for(self, caller: Caller) -> str:
        return _signed(caller.name, self._secret(caller.name))

    def _secret(self, name: str) -> str:
        user = self._users.get(name)
        return user.key if user else ""


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


class _Secret(Protocol):
    def __call__(self, name: str) -> str: ...


def _mac(name: str, expires: str, nonce: str, secret: str) -> str:
    text = f"podium session|{name}|{expires}|{nonce}"
    return hmac.new(secret.encode(), text.encode(), "sha256").hexdigest()


def _signed(name: str, secret: str) -> str:
    expires, nonce = str(int(time.time()) + COOKIE_S), secrets.token_hex(8)
    return f"{name}.{expires}.{nonce}.{_mac(name, expires, nonce, secret)}"


def _name_signed(cookie: str, secret: _Secret) -> str | None:
    """Return the name in a cookie that is genuine and has not expired."""
    parts = cookie.split(".")
    if len(parts) != 4 or not (parts[1].isascii() and parts[1].isdigit()) or len(parts[1]) > 15:
        return None
    name, expires, nonce, mac = parts
    known = secret(name)
    genuine = bool(known) and hmac.compare_digest(mac.encode(), _mac(name, expires, nonce, known).encode())
    return name if genuine and int(expires) > time.time() else None
