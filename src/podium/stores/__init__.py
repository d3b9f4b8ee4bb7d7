"""Stores for the log, and their addresses: `open_store("sqlite:///PATH")`.

async with open_store(url) as store: ...
store = await open_store(url)          # and later: await store.close()
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from podium.engine.log import Store
from podium.errors import UsageError
from podium.stores.sqlite.connection import LOCK_TIMEOUT_S, resolved
from podium.stores.sqlite.store import SqliteStore

__all__ = ["LOCK_TIMEOUT_S", "open_store"]

LEASE_S = 10.0
"""Default lease in seconds: how long a process without a heartbeat may still be alive."""
_SHORTEST_S, _LONGEST_S = 0.5, 3600.0
_HARMLESS = frozenset(
    {
        "dbname",
        "host",
        "hostaddr",
        "lease_s",
        "port",
        "service",
        "sslmode",
        "target_session_attrs",
        "user",
    }
)


def shown(url: str) -> str:
    """Return an address for display and logs, without the password, even if the address is malformed."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme == "sqlite":
        return url
    place, _, query = rest.partition("?")
    if rest.count("@") > 1 or "@" in query:
        return f"{scheme}://…"  # it is not clear where the password ends
    user, at, host = place.rpartition("@")
    harmless = [(name, value) for name, value in parse_qsl(query) if name in _HARMLESS]
    options = f"?{urlencode(harmless, safe='/,:')}" if harmless else ""
    return f"{scheme}://{user.partition(':')[0]}{at}{host}{options}"


def take_lease(url: str) -> tuple[str, float]:
    """Return the address without Podium's own options, and the lease of a process in seconds
    (`?lease_s=30`)."""
    place, mark, query = url.partition("?")
    others: list[str] = []
    lease_s = LEASE_S
    for part in query.split("&") if mark else ():
        name, _, value = part.partition("=")
        if name == "lease_s":
            lease_s = _seconds(value)
        else:
            others.append(part)
    return (f"{place}?{'&'.join(others)}" if others else place), lease_s


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise UsageError(
            f"lease_s in the address of the store is {text!r}.",
            hint=f"Give seconds, from {_SHORTEST_S:g} to {_LONGEST_S:g}; {LEASE_S:g} is usual.",
        )
    return seconds


HINT = "Name it as `sqlite:///PATH`, as a plain path, or as `postgresql://HOST/DATABASE`."


def open_store(url: str | Path, *, lock_timeout: float = LOCK_TIMEOUT_S) -> Opening:
    """Open the store at `url`: use the result with `async with`, or await it and close the store yourself.
    `lock_timeout`: seconds that a write waits for other processes that write to an SQLite store."""
    return Opening(str(url), lock_timeout)


class Opening:
    """A store that is not open yet: awaitable and async context manager."""

    def __init__(self, url: str, lock_timeout: float) -> None:
        self._url = url
        self._lock_timeout = lock_timeout
        self._store: Store | None = None

    def __await__(self) -> Generator[Any, None, Store]:
        return _open(self._url, self._lock_timeout).__await__()

    async def __aenter__(self) -> Store:
        self._store = await _open(self._url, self._lock_timeout)
        return self._store

    async def __aexit__(self, *_: object) -> None:
        if self._store is not None:
            await self._store.close()


async def _open(url: str, lock_timeout: float) -> Store:
    opener = OPENERS.get(_scheme(url))
    if opener is not None:
        return await opener(url)
    return await SqliteStore.open(_file_of(url), lock_timeout=lock_timeout)


def address_of(url: str) -> str:
    """Return the canonical address of a store whose path may be relative, contain `~` or be a link."""
    return url if _scheme(url) in OPENERS else f"sqlite:///{resolved(_file_of(url))}"


def _scheme(url: str) -> str:
    return url.partition("://")[0] if "://" in url else ""


def _file_of(url: str) -> str:
    """Return the path in the address of an SQLite store."""
    scheme, separator, path = url.partition(":///")
    if not separator:
        path = url
        scheme = url.partition("://")[0] if "://" in url else "sqlite"
    if scheme != "sqlite" or "://" in path:
        raise UsageError(f"The store {shown(url)!r} has an unknown scheme.", hint=HINT)
    if not path or path == ":memory:":
        raise UsageError(f"The store {url!r} names no file.", hint=HINT)
    return path


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


async def _open_postgres(url: str) -> Store:
    try:
        from podium.stores.postgres.store import PostgresStore  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise UsageError(
            "A store on PostgreSQL needs an extra that is not installed.",
            hint="Install it with: pip install 'podium[postgres]'.",
        ) from error
    return await PostgresStore.open(url)


OPENERS: dict[str, Callable[[str], Awaitable[Store]]] = {
    "postgresql": _open_postgres,
    "postgres": _open_postgres,
}
"""Functions that open a store, by the scheme of its URL. Any other URL is a file of SQLite."""
