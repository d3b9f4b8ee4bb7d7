"""Users of a server, read from a TOML file with one table per user. Keys are stored only as hashes.

[users.alice]
key = "sha256$…"        # made by `podium users add alice`
budget_usd = 20.0       # for all her runs together
max_runs = 2            # at once

A key is `podium-NAME-SECRET`. The name selects the hash to compare with, so checking a wrong key costs one
hash, not one per user. The secret has 256 random bits, too many to brute-force even against a fast hash. A
salted SHA-256 is therefore as safe as a slow hash, and wrong keys cannot keep the server busy. Scrypt hashes
made by an earlier version are still accepted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from podium.errors import SettingsError, UsageError
from podium.settings import nearest
from podium.settings.layers import read_toml
from podium.settings.parsing import plain

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
"""No hyphen: in a key, a hyphen ends the name."""
_N, _R, _P = 2**14, 8, 1
"""Scrypt parameters: 16 MB of memory and about 50 ms per hash."""
_SALT_AND_DIGEST = f"{'A' * 22}==${base64.b64encode(bytes(32)).decode()}"
_NOBODY, _NOBODY_SLOW = f"sha256${_SALT_AND_DIGEST}", f"scrypt${_SALT_AND_DIGEST}"
"""Dummy hashes, compared when no user's hash applies, so that the response time reveals nothing."""
_HASH = re.compile(r"(?:sha256|scrypt)\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=")

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class User(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A user of the server and their limits."""

    name: str = ""
    key: str
    """The hash of the key."""
    budget_usd: Amount | None = None
    """Limit in US dollars for all runs together. None: no limit."""
    usd_per_month: Amount | None = None
    """Limit in US dollars per calendar month (UTC). None: no limit."""
    usd_per_day: Amount | None = None
    """Limit in US dollars per day (UTC). None: no limit."""
    run_usd: Amount | None = None
    """Budget in US dollars of a run that names none. None: a tenth of the smallest limit."""
    max_runs: Count = 4
    """Runs that may execute at once; further runs are queued."""
    max_queued: Count = 100
    """Runs that may be queued."""
    max_streams: Count = 100
    """Live streams that may be open at once. Each open page has one or two."""
    requests_per_minute: Count = 1200

    @property
    def slow(self) -> bool:
        """Return whether the hash takes about 50 ms to compute (scrypt)."""
        return self.key.startswith("scrypt$")


def new_key(name: str) -> str:
    """Return a new random key."""
    return f"podium-{name}-{secrets.token_urlsafe(32)}"


def name_in(key: str) -> str:
    """Return the user name in a key, unverified. Empty if the text is not a key."""
    parts = key.split("-", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "podium" else ""


def hashed(key: str) -> str:
    """Return the hash of a key for the users file."""
    salt = os.urandom(16)
    return f"sha256${base64.b64encode(salt).decode()}${base64.b64encode(_sha256(key, salt)).decode()}"


def _sha256(key: str, salt: bytes) -> bytes:
    return hmac.digest(salt, key.encode("utf-8", "replace"), "sha256")


def _scrypt(key: str, salt: bytes) -> bytes:
    return hashlib.scrypt(key.encode("utf-8", "replace"), salt=salt, n=_N, r=_R, p=_P, dklen=32)


def _fits(key: str, stored: str) -> bool:
    kind, salt, digest = stored.split("$")
    computed = (_scrypt if kind == "scrypt" else _sha256)(key, base64.b64decode(salt))
    return hmac.compare_digest(computed, base64.b64decode(digest))


class Users:
    """The users of one file. The file is read again when it changes; if the new version has an error, the
    previous users stay."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._known: dict[str, User] = read_users(path)
        self._mark = self._look()
        self.trouble = ""
        """Error message of the last failed reload; empty if it succeeded."""

    def __len__(self) -> int:
        return len(self._known)

    def _look(self) -> tuple[int, int]:
        stat = self.path.stat()
        return stat.st_mtime_ns, stat.st_size

    def get(self, name: str) -> User | None:
        self._refresh()
        return self._known.get(name)

    def _refresh(self) -> None:
        try:
            mark = self._look()
            if mark == self._mark:
                return
            self._known = read_users(self.path)
            self._mark, self.trouble = mark, ""
        except (OSError, SettingsError) as error:
            self.trouble = str(error)

    @property
    def slow(self) -> bool:
        """Return whether any user has a scrypt hash."""
        return any(user.slow for user in self._known.values())

    def matching(self, key: str) -> User | None:
        """Return the user who owns this key, if their hash is a fast one. A wrong key takes as long as a name
        that does not exist."""
        user = self.get(name_in(key))
        fast = user if user and not user.slow else None
        return fast if _fits(key, fast.key if fast else _NOBODY) else None

    def matching_slow(self, key: str) -> User | None:
        """Return the user who owns this key, if their hash is a scrypt hash. Takes about 50 ms
        for any key."""
        user = self.get(name_in(key))
        slow = user if user and user.slow else None
        return slow if _fits(key, slow.key if slow else _NOBODY_SLOW) else None


def read_users(path: Path) -> dict[str, User]:
    """Return every user of a file. Raises `SettingsError` that names the table of the error."""
    table = read_toml(path, unreadable=f"Make it: podium users add NAME --file {path}")
    unknown = [key for key in table if key != "users"]
    entries: Any = table.get("users", {})
    if unknown or not isinstance(entries, dict):
        raise SettingsError(f"{path}: every table must be [users.NAME].", hint=f"Not known: {unknown[:1]}.")
    return {name: _read_user(path, name, entry) for name, entry in cast("dict[str, Any]", entries).items()}


def _read_user(path: Path, name: str, given: Any) -> User:
    where = f"[users.{name}] in {path}"
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"{where}: a name has small letters, digits and _ only, and begins with a letter."
        )
    try:
        user = msgspec.structs.replace(msgspec.convert(given, User), name=name)
    except msgspec.ValidationError as error:
        unknown = re.search(r"unknown field `(.+?)`", str(error))
        meant = nearest(unknown[1], User.__struct_fields__) if unknown else None
        raise SettingsError(
            f"{where}: {plain(error)}", hint=f"Did you mean `{meant}`?" if meant else ""
        ) from error
    if not _HASH.fullmatch(user.key):
        raise SettingsError(
            f"{where}: `key` is not the hash of a key.", hint="Make one with `podium users add`."
        )
    return user


def add_user(path: Path, name: str, limits: dict[str, float | int]) -> str:
    """Append a user to a file with mode 0600 and return the key, which is stored nowhere."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a user.",
            hint="Use up to 32 small letters, digits and _, beginning with a letter.",
        )
    if path.exists() and name in read_users(path):
        raise UsageError(
            f"There is a user {name} in {path} already.", hint="To give a new key, remove that table first."
        )
    key = new_key(name)
    lines = [
        f"[users.{name}]",
        f'key = "{hashed(key)}"',
        *(f"{field} = {value}" for field, value in limits.items()),
    ]
    block = "\n".join(lines) + "\n"
    old = path.read_text("utf-8") if path.exists() else ""
    separator = "" if not old else "\n" if old.endswith("\n") else "\n\n"
    try:
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
        ) as file:
            file.write(separator + block)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return key
