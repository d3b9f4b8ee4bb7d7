"""Client addresses, Host and Origin checks, and rate limits.

A foreign page can make a browser send requests to this machine, even under a host name of its own that
resolves to it (DNS rebinding). So the Host must be one of the server's names, and the Origin must match the
Host.
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Collection
from typing import NamedTuple

from podium.errors import UsageError

_AUTHORITY = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9_.-]{1,254}))(?::(?P<port>[0-9]{1,5}))?"
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ORIGIN = re.compile(r"(https?)://([^/?#\\@\s]+)")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_AMBIGUOUS = frozenset("ßςẞ\u200c\u200d")
"""Characters that browsers and Python's IDNA codec encode differently."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class Authority(NamedTuple):
    """A parsed `HOST:PORT`."""

    host: str
    """In lower case, without brackets and without a trailing dot."""
    port: int | None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    address = _address(host.removeprefix("[").removesuffix("]"))
    return address.is_loopback if address else host.lower() == "localhost"


def parse_authority(text: str) -> Authority | None:
    """Return host and port of a Host header, or None unless it is exactly a name or an IP literal, each with
    an optional port. User info, paths, empty labels, zone ids and non-ASCII names are rejected."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else None
    if port is not None and port > 65535:
        return None
    if match["v6"]:
        address = _address(match["v6"])
        return Authority(str(address), port) if address is not None and ":" in match["v6"] else None
    name = match["name"].lower()
    if _address(name) is None:
        name = name.removesuffix(".")  # `example.org.` is the same name, fully qualified
        if not all(_LABEL.fullmatch(label) for label in name.split(".")):
            return None
        if name.rpartition(".")[2].isdigit():  # `127.1`, `1.2.3.4.`: an address in an unusual form
            return None
    return Authority(name, port)


def _address(text: str) -> IPAddress | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def allowed_name(given: str) -> str:
    """Return a `--allow-host` name as browsers send it: lower case, punycode.

    Raises:
        UsageError: It is not a host name.
    """
    hint = "Give the name alone, without scheme and port: --allow-host podium.example.org"
    if _AMBIGUOUS & set(given):
        raise UsageError(f"{given!r} can be encoded in two ways.", hint="Give it as punycode: xn--….")
    try:
        name = given if given.isascii() else given.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise UsageError(f"{given!r} is not the name of a host.", hint=hint) from error
    parsed = parse_authority(f"[{name}]" if name.count(":") > 1 and "[" not in name else name)
    if parsed is None or parsed.port is not None:
        raise UsageError(f"{given!r} is not the name of a host.", hint=hint)
    return parsed.host


def client_network(client: str) -> str:
    """Return the network that a client's wrong keys count for: its IPv4 address, or its IPv6 /64, which
    usually belongs to one subscriber."""
    address = _address(client.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or client)


class Names:
    """Host names that a server answers to."""

    def __init__(self, host: str, allowed: Collection[str] = ()) -> None:
        self._local = is_loopback(host)
        self._names = {host.lower(), "localhost", *(allowed_name(name) for name in allowed)}

    def know(self, header: str) -> bool:
        """Return whether a Host header means this server. IP literals pass (on a local server only loopback
        ones); names must be listed, because a foreign page can point its own name at this machine (DNS
        rebinding)."""
        parsed = parse_authority(header)
        if parsed is None:
            return False
        if parsed.host in self._names:
            return True
        address = _address(parsed.host)
        return address is not None and (address.is_loopback or not self._local)


def is_own_page(origin: str, host: str, *, https: bool = False) -> bool:
    """Return whether an Origin header names the requested server. If the request came over TLS, a page of the
    same name without TLS is foreign."""
    match = _ORIGIN.fullmatch(origin)
    if match is None or (https and match[1] != "https"):
        return False
    page, target = parse_authority(match[2]), parse_authority(host)
    if page is None or target is None:
        return False
    usual = _DEFAULT_PORTS[match[1]]
    return (page.host, page.port or usual) == (target.host, target.port or usual)


MOST = 10_000
"""Maximum number of buckets. Beyond that, the fuller half is dropped."""


class Rates:
    """Token buckets by name."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}
        """Remaining tokens and the time of the last update, by name."""

    def take(self, name: str, per_minute: float, burst: float, now: float | None = None) -> float:
        """Take a token. Returns 0 on success, otherwise the seconds to wait."""
        moment = time.monotonic() if now is None else now
        tokens, then = self._buckets.get(name, (burst, moment))
        tokens = min(burst, tokens + (moment - then) * per_minute / 60)
        if tokens < 1:
            self._buckets[name] = (tokens, moment)
            return (1 - tokens) * 60 / per_minute
        if name not in self._buckets and len(self._buckets) >= MOST:
            self._buckets = dict(sorted(self._buckets.items(), key=lambda entry: entry[1][0])[: MOST // 2])
        self._buckets[name] = (tokens - 1, moment)
        return 0.0

    def give_back(self, name: str, burst: float) -> None:
        """Put a token back after an attempt that does not count."""
        if name in self._buckets:
            tokens, then = self._buckets[name]
            self._buckets[name] = (min(burst, tokens + 1), then)
