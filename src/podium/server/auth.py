"""Authentication: authenticators, session cookies, key checks and the sign-in page.

A cookie is `NAME.EXPIRES.NONCE.MAC`. The MAC is keyed with the hash of the user's key (or with the session
secret of a local server). So a cookie survives a restart, and ends when the key is changed or the browser
signs out.

A local server makes the token in the printed address anew at each start. The cookie that a browser got for it
should survive that: a page that is open during a restart continues by itself. So the session secret is
stored.

Anyone who knows that secret and reaches the server acts as the user, and the user may start programs: the
secret is worth more than the runs. So it is not stored beside the store, which is copied, shared and backed
up, and where others could plant a secret that they know. It is in the user's own state folder, one file per
store. A secret found there is used only if no other user can have read or written it, and only for a limited
time.

The rule for keys: a right key always gets in. Only wrong keys are counted, per client address; past the limit
a wrong key is answered with 429 instead of 401. So the limit does not make guessing harder; the 256 random
bits of a key do. The limit tells a misconfigured client to slow down, and bounds the work that a hostile
client can cause. A response reveals nothing about a key except that it is wrong: which names exist, and how
much of a key matches, changes neither status nor text nor time.

One exception: a scrypt hash made by an earlier version takes 50 ms to check. Past the limit it is not
checked, so such a key has to wait, unless it was accepted before since the server started.

The sign-in page is served in place of the requested page, and its form posts to that page's own address. So
the address, including its fragment, is still there when the key is accepted, and no parameter names a
redirect target.
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
"""Lifetime of a cookie in seconds (7 days)."""
REMEMBERED = 1000
"""Number of keys whose slow hash is cached as checked. When it is reached, the cache is cleared."""
MOST_ENDED = 100_000
"""Number of signed-out sessions at which expired ones are dropped."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The authenticated caller of a request."""

    name: str = ""
    """Empty on a server that has only one user."""
    user: User | None = None
    by_cookie: bool = False

    @property
    def owner(self) -> str | None:
        """The owner whose runs the caller sees. None: all runs."""
        return self.name or None

    @property
    def title(self) -> str:
        """The caller's name in the log; `web` for the only user of a local server."""
        return self.name or "web"

    @property
    def most_streams(self) -> int:
        return self.user.max_streams if self.user else 10_000

    @property
    def per_minute(self) -> int:
        return self.user.requests_per_minute if self.user else 60_000


class Authenticator(Protocol):
    """Identifies callers by key or cookie."""

    token_in_address: bool
    """True if the key is accepted in the address of the front page: for a token that lives as long as the
    server, not for a key that a person keeps."""

    def remembered(self, key: str) -> Caller | None:
        """Return the caller who owns this key, if that needs no slow hash."""
        ...

    async def by_key(self, key: str) -> Caller | None:
        """Return the caller who owns this key, or None. May compute a slow hash."""
        ...

    def by_cookie(self, cookie: str) -> Caller | None: ...

    def cookie_for(self, caller: Caller) -> str: ...

    def end(self, cookie: str) -> None:
        """Reject a cookie from now on, until the server stops."""
        ...


class EndedSessions:
    """Signed-out cookies, by their MAC, kept until they would have expired anyway."""

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
    """Authenticator of a local server: one user, and a token that is new at each start."""

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
    """Authenticator for the users of a file."""

    token_in_address = False

    def __init__(self, users: Users) -> None:
        self._users = users
        self._seen: dict[bytes, User] = {}
        """Users by the SHA-256 digest of a key that matched their slow hash, which takes too long to compute
        for every request."""
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
    """Return the name in a cookie that is genuine and has not expired, or None."""
    parts = cookie.split(".")
    if len(parts) != 4 or not (parts[1].isascii() and parts[1].isdigit()) or len(parts[1]) > 15:
        return None
    name, expires, nonce, mac = parts
    known = secret(name)
    genuine = bool(known) and hmac.compare_digest(mac.encode(), _mac(name, expires, nonce, known).encode())
    return name if genuine and int(expires) > time.time() else None


LONGEST_S = 30 * 24 * 3600
"""Maximum age of a session secret in seconds (30 days). An older one is replaced at the next start."""

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def session_secret(store_url: str, folder: Path | None = None) -> str:
    """Return the cookie secret of a store. Empty if it cannot be stored privately; then cookies live as long
    as the server."""
    name = hashlib.sha256(store_url.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    try:
        with _own_folder(folder or secrets_folder()) as place:
            return _kept(place, name) or _made(place, name)
    except OSError:  # no such folder can be created, or another user owns it
        return ""


def secrets_folder() -> Path:
    """Return the folder of this user's session secrets."""
    return Path(platformdirs.user_state_dir("podium", appauthor=False)) / "sessions"


@contextmanager
def _own_folder(folder: Path) -> Generator[int]:
    """Yield a descriptor of the folder, with an exclusive lock so that two servers that start at once agree.
    Removes access for group and others; raises `PermissionError` if another user owns it."""
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    place = os.open(folder, _READ | os.O_DIRECTORY)
    try:
        status = os.fstat(place)
        if status.st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to another user")
        if status.st_mode & _OTHERS:
            os.fchmod(place, stat.S_IRWXU)
        fcntl.flock(place, fcntl.LOCK_EX)
        yield place
    finally:
        os.close(place)


def _kept(place: int, name: str) -> str:
    """Return the secret of a file that only this user can have read and written. Empty if there is no such
    file or it is too old."""
    try:
        file = os.open(name, _READ, dir_fd=place)
    except OSError:  # missing, a symbolic link, or not readable
        return ""
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(file)
        private = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS and status.st_nlink == 1
        if not (stat.S_ISREG(status.st_mode) and private) or time.time() - status.st_mtime > LONGEST_S:
            return ""
        text = opened.read(100).decode("ascii", "replace")
    return text if _SECRET.fullmatch(text) else ""


def _made(place: int, name: str) -> str:
    """Create a new secret: write it to a temporary file, then replace the existing file atomically."""
    draft, secret = f"{name}.new", secrets.token_urlsafe(32)
    with suppress(FileNotFoundError):  # left by a server that was killed while writing
        os.unlink(draft, dir_fd=place)
    with os.fdopen(os.open(draft, _NEW, stat.S_IRUSR | stat.S_IWUSR, dir_fd=place), "w") as file:
        file.write(secret)
    os.replace(draft, name, src_dir_fd=place, dst_dir_fd=place)
    return secret


LONGEST_KEY = 500
TRIES = 30
"""Wrong keys that one client network may send per minute before it has to wait."""


class WrongKey(msgspec.Struct, frozen=True):
    """The result of a key check that failed."""

    retry_after_s: int = 0
    """Seconds to wait. 0: below the limit."""


class KeyCheck:
    """Finds the caller who owns a key, and counts wrong keys per client network."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._rates = Rates()

    async def check(self, key: str, client: str) -> Caller | WrongKey:
        """Return the caller who owns the key, or `WrongKey`. `client` is the address that the request came
        from."""
        if len(key) <= LONGEST_KEY and (caller := self._authenticator.remembered(key)):
            return caller
        network = client_network(client)
        wait = self._rates.take(network, TRIES, TRIES)
        if wait:
            return WrongKey(math.ceil(wait))
        caller = await self._authenticator.by_key(key) if len(key) <= LONGEST_KEY else None
        if caller is None:
            return WrongKey()
        self._rates.give_back(network, TRIES)
        return caller


FORM_PATH = "/session"
"""Route that handles the sign-in form, whatever address it was posted to."""
PAGE = (Path(__file__).parent / "pages" / "sign_in.html").read_text("utf-8")
_FORM = "application/x-www-form-urlencoded"
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@%-][A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")
"""A path that a browser cannot take for another host: exactly one slash at its start, and no backslash."""


def wants_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser requests a page, as opposed to a program that requests data."""
    return not is_api(scope) and "text/html" in headers.get("accept", "")


def is_api(scope: Scope) -> bool:
    return scope["path"] == "/api" or scope["path"].startswith("/api/")


def is_sign_in_form(scope: Scope, headers: Headers) -> bool:
    """Return whether the request posts the sign-in form. No other route accepts a form."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return scope["method"] == "POST" and kind == _FORM and not is_api(scope)


def sign_in_page(wrong: WrongKey | None = None) -> HTMLResponse:
    """Return the sign-in page; after a wrong key, with an error message."""
    if wrong is None:
        return HTMLResponse(PAGE, 401)
    status, error, hint = wrong_key_text(wrong)
    note = f'<p class="wrong" role="alert">{escape(f"{error} {hint}")}</p>'
    headers = {"Retry-After": str(wrong.retry_after_s)} if wrong.retry_after_s else None
    return HTMLResponse(PAGE.replace("<!-- problem -->", note), status, headers=headers)


def wrong_key_text(wrong: WrongKey) -> tuple[int, str, str]:
    """Return status, message and hint for a wrong key."""
    if wrong.retry_after_s:
        return (
            429,
            "Too many wrong keys came from your address.",
            f"Wait {wrong.retry_after_s} s, then try again.",
        )
    return (
        401,
        "That key is not valid.",
        "Check that you copied all of it, or ask the operator of this server for a new one.",
    )


def target_after_sign_in(scope: Scope) -> str:
    """Return the requested path and query, without a token. Returns `/` if a browser could take the path for
    the address of another server."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    path = raw.decode("latin-1")
    if path == FORM_PATH or not _PLAIN_PATH.fullmatch(path):
        return "/"
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    query = urlencode([(name, value) for name, value in pairs if name != "token"])
    return f"{path}?{query}" if query else path
