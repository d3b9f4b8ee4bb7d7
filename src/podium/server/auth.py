"""Authenticator, sessions, key checks, sign-in page.

A cookie is `NAME.EXPIRES.NONCE.MAC`, made with the hash of the user's key (or with the secret of a server on
this machine): it outlives a restart, and ends when the key is changed or its browser signs out.

The token in the printed address is made anew at each start. The cookie that a browser got for it should
outlive that: a page that is open while the server is started again goes on by itself. So its secret is kept.

Whoever knows it and reaches the server is the user, and a user may start programs: it is worth more than the
runs. So it does not lie beside the store, which is copied, shared and backed up, and where somebody else
could put one that they know; but in the user's own state folder, one for each store. What is found there is
believed only if nobody else can have read or written it, and not for ever.

The rule: a right key always gets in. Only wrong keys are counted, by address, and past the limit a wrong key
is answered with 429 instead of 401. So the limit does not make guessing harder; that keys hold 256 random
bits does. It tells a misconfigured client to slow down, and bounds the work that a hostile one can cause. An
answer tells nothing about a key but that it is wrong: which names exist, and how much of a key fits, change
neither status nor text nor time.

One exception: a hash made with scrypt by an earlier version takes 50 ms to check. Past the limit that is not
done, so such a key has to wait, unless it has got in since the server was started.

The page stands in for whatever page was asked for, and its form posts to that page's own address. So the
address, fragment included, is still there when the key is accepted, and no parameter names a place to go to.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import hmac
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

import msgspec
import platformdirs
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import Scope

from podium.server.rate_limits import Rates, client_network
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


class Authenticator(Protocol):
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


class TokenAuthenticator:
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


class UserAuthenticator:
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


LONGEST_S = 30 * 24 * 3600
"""A secret that is older is made anew at the next start."""

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def session_secret(store_url: str, folder: Path | None = None) -> str:
    """The secret for the cookies of a store. Empty where none can be kept for the user alone: then cookies
    live as long as the server."""
    name = hashlib.sha256(store_url.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    try:
        with _own_folder(folder or secrets_folder()) as place:
            return _kept(place, name) or _made(place, name)
    except OSError:  # there is no such folder to be had, or it is somebody else's
        return ""


def secrets_folder() -> Path:
    """Where the secrets of this user lie."""
    return Path(platformdirs.user_state_dir("podium", appauthor=False)) / "sessions"


@contextmanager
def _own_folder(folder: Path) -> Generator[int]:
    """The folder, open and locked, so that two servers that start at once agree; closed to everybody else."""
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    place = os.open(folder, _READ | os.O_DIRECTORY)
    try:
        found = os.fstat(place)
        if found.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is somebody else's")
        if found.st_mode & _OTHERS:
            os.fchmod(place, stat.S_IRWXU)
        fcntl.flock(place, fcntl.LOCK_EX)
        yield place
    finally:
        os.close(place)


def _kept(place: int, name: str) -> str:
    """The secret of a file that only we can have read and written; empty if there is none, or it is old."""
    try:
        file = os.open(name, _READ, dir_fd=place)
    except OSError:  # not there, a link, or closed to us
        return ""
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        private = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS and found.st_nlink == 1
        if not (stat.S_ISREG(found.st_mode) and private) or time.time() - found.st_mtime > LONGEST_S:
            return ""
        text = opened.read(100).decode("ascii", "replace")
    return text if _SECRET.fullmatch(text) else ""


def _made(place: int, name: str) -> str:
    """A new one, written whole and then put in the place of whatever is there."""
    draft, secret = f"{name}.new", secrets.token_urlsafe(32)
    with suppress(FileNotFoundError):  # of a server that was killed just then
        os.unlink(draft, dir_fd=place)
    with os.fdopen(os.open(draft, _NEW, stat.S_IRUSR | stat.S_IWUSR, dir_fd=place), "w") as file:
        file.write(secret)
    os.replace(draft, name, src_dir_fd=place, dst_dir_fd=place)
    return secret


LONGEST_KEY = 500
TRIES = 30
"""Wrong keys that one address may send in a minute before it is told to wait."""


class WrongKey(msgspec.Struct, frozen=True):
    """A key that is nobody's."""

    retry_after_s: int = 0
    """Seconds to wait; 0 below the limit."""


class KeyCheck:
    """Tells whose key it is, and counts wrong ones."""

    def __init__(self, door: Authenticator) -> None:
        self._door = door
        self._rates = Rates()

    async def check(self, key: str, client: str) -> Caller | WrongKey:
        """Return the caller whose key it is. `client` is the address that the request came from."""
        if len(key) <= LONGEST_KEY and (caller := self._door.remembered(key)):
            return caller
        network = client_network(client)
        wait = self._rates.take(network, TRIES, TRIES)
        if wait:
            return WrongKey(math.ceil(wait))
        caller = await self._door.by_key(key) if len(key) <= LONGEST_KEY else None
        if caller is None:
            return WrongKey()
        self._rates.give_back(network, TRIES)
        return caller


FORM_PATH = "/session"
"""The route that handles the form, whatever address it was posted to."""
PAGE = (Path(__file__).parent / "pages" / "sign_in.html").read_text("utf-8")
_FORM = "application/x-www-form-urlencoded"
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@%-][A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")
"""A path that a browser cannot take for another host: it has one slash at its start, and no backslash."""


def wants_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser asks for a page, rather than a program for data."""
    return not is_api(scope) and "text/html" in headers.get("accept", "")


def is_api(scope: Scope) -> bool:
    return scope["path"] == "/api" or scope["path"].startswith("/api/")


def is_sign_in_form(scope: Scope, headers: Headers) -> bool:
    """Return whether this is the form of the sign-in page. No other route takes a form."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return scope["method"] == "POST" and kind == _FORM and not is_api(scope)


def sign_in_page(wrong: WrongKey | None = None) -> HTMLResponse:
    """Return the page with its form; after a wrong key it says so."""
    if wrong is None:
        return HTMLResponse(PAGE, 401)
    status, error, hint = wrong_key_text(wrong)
    note = f'<p class="wrong" role="alert">{escape(f"{error} {hint}")}</p>'
    headers = {"Retry-After": str(wrong.retry_after_s)} if wrong.retry_after_s else None
    return HTMLResponse(PAGE.replace("<!-- problem -->", note), status, headers=headers)


def wrong_key_text(wrong: WrongKey) -> tuple[int, str, str]:
    """Return status, sentence and hint for a wrong key."""
    if wrong.retry_after_s:
        return (
            429,
            "Too many wrong keys came from your address.",
            f"Wait {wrong.retry_after_s} s, then try again.",
        )
    return (
        401,
        "That key is not valid.",
        "Check that you copied all of it, or ask whoever runs this server for a new one.",
    )


def target_after_sign_in(scope: Scope) -> str:
    """Return the path and query that were asked for, without a token; `/` if a browser could take the path
    for the address of another server."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    path = raw.decode("latin-1")
    if path == FORM_PATH or not _PLAIN_PATH.fullmatch(path):
        return "/"
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    query = urlencode([(name, value) for name, value in pairs if name != "token"])
    return f"{path}?{query}" if query else path
