"""Where a fetch may go: public addresses only, whatever way an address is written.

A name is looked up once, every answer is checked, and the connection is made to an address that was checked.
Spellings of an address (`127.1`, `0x7f.1`, `2130706433`, a name that points to it) all end in such an answer.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import msgspec

from podium.tools.aside import aside
from podium.tools.tool import ToolError

Address = IPv4Address | IPv6Address
Policy = Callable[[Address, int], str]
"""Why no connection may be made to this address and port; empty: it may."""
Resolve = Callable[[str, int], Awaitable[list[Address]]]
"""All addresses of a name."""

MAX_URL = 2_048

_REFUSED_4 = [
    IPv4Network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's own metadata, on an address that is otherwise public
    )
]  # fmt: skip
_GLOBAL_6 = IPv6Network("2000::/3")
_REFUSED_6 = [
    IPv6Network(net)
    for net in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID and the like
        "2001:db8::/32", "3fff::/20",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",
    )
]  # fmt: skip


class Target(msgspec.Struct, frozen=True):
    """A URL that may be asked for, in parts."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, as it goes onto the wire."""

    @property
    def url(self) -> str:
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.path}"


def public_only(address: Address, port: int) -> str:
    """The policy for what a model asks for: the public internet."""
    if isinstance(address, IPv4Address):
        refused = any(address in net for net in _REFUSED_4) or not address.is_global
    else:  # every range that is not global unicast is refused, with all that embeds an IPv4 address
        refused = address not in _GLOBAL_6 or any(address in net for net in _REFUSED_6)
    return f"{address} is not a public address" if refused else ""


async def resolve_name(host: str, port: int) -> list[Address]:
    """Ask the system, once."""
    try:
        answers = await aside(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host} could not be found: {error}.") from error
    found = [ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    return list(dict.fromkeys(found))


def parse_url(url: str) -> Target:
    """A URL in parts, or a `ToolError` that says what is wrong with it."""
    text = url.strip()
    if len(text) > MAX_URL or any(ord(char) < 33 or char in "\\\x7f" for char in text):
        raise ToolError("That is not a URL: it is too long or holds spaces or control characters.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"That is not a URL: {error}.") from error
    if parts.scheme not in ("http", "https"):
        raise ToolError(f"Only http and https can be fetched, not {parts.scheme or 'that'}.")
    if "@" in parts.netloc:
        raise ToolError("A URL with a user name or password is refused.")
    port = port or {"http": 80, "https": 443}[parts.scheme]
    path = _ascii(parts.path or "/") + (f"?{_ascii(parts.query)}" if parts.query else "")
    return Target(parts.scheme, _host(parts.hostname or ""), port, path)


def _host(name: str) -> str:
    if ":" in name:  # IPv6, which urlsplit took out of its brackets
        try:
            return str(IPv6Address(name))
        except ValueError as error:
            raise ToolError("That is not a URL: its IPv6 address is wrong.") from error
    try:
        host = name.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError as error:
        raise ToolError("That is not a URL: its host name is wrong.") from error
    if not host or not all(char.isalnum() or char in ".-_" for char in host):
        raise ToolError("That is not a URL: its host name is wrong.")
    return host


def _ascii(text: str) -> str:
    return "".join(
        char if ord(char) < 128 else "".join(f"%{byte:02X}" for byte in char.encode()) for char in text
    )
