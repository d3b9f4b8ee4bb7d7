"""Store addresses: display without passwords, and the options that Podium reads from them."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from podium.errors import UsageError

LEASE_S = 10.0
"""Default lease in seconds: how long a process without a heartbeat may still be alive."""
_SHORTEST_S, _LONGEST_S = 0.5, 3600.0
_HARMLESS = frozenset({
    "dbname", "host", "hostaddr", "lease_s", "port", "service", "sslmode", "target_session_attrs", "user",
})  # fmt: skip


def shown(url: str) -> str:
    """Return an address for display and logs, without the password, even if the address is malformed."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme == "sqlite":
        return url
    place, _, query = rest.partition("?")
    if rest.count("@") > 1 or "@" in query:
        return f"{scheme}://…"  # it is not clear where the password ends
    user, at, host = place.rpartition("@")
    kept = [(name, value) for name, value in parse_qsl(query) if name in _HARMLESS]
    asked = f"?{urlencode(kept, safe='/,:')}" if kept else ""
    return f"{scheme}://{user.partition(':')[0]}{at}{host}{asked}"


def take_lease(url: str) -> tuple[str, float]:
    """Return the address without Podium's own options, and the lease of a process in seconds
    (`?lease_s=30`)."""
    place, mark, query = url.partition("?")
    kept: list[str] = []
    lease_s = LEASE_S
    for part in query.split("&") if mark else ():
        name, _, value = part.partition("=")
        if name == "lease_s":
            lease_s = _seconds(value)
        else:
            kept.append(part)
    return (f"{place}?{'&'.join(kept)}" if kept else place), lease_s


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
