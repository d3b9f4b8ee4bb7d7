"""From where a request may come: the names that the server goes by, and its own pages.

A page of somebody else can make a browser send requests to this machine (and, with a name that it controls,
even to this machine under that name). So the Host must be one of ours, and the Origin must be the Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_of(netloc: str) -> str:
    """The name or address in `HOST:PORT`, in small letters; empty if it is neither."""
    try:
        parts = urlsplit(f"//{netloc}")
        _ = parts.port  # looks at it, too
    except ValueError:
        return ""
    return (
        ""
        if parts.username is not None or parts.path or parts.query or parts.fragment
        else parts.hostname or ""
    )


class Names:
    """The names that a server answers to."""

    def __init__(self, host: str, allowed: Collection[str] = ()) -> None:
        self._local = is_loopback(host)
        self._names = {name.lower() for name in (*allowed, host, "localhost")}

    def know(self, netloc: str) -> bool:
        """Whether a Host header means this server. An address is nobody's trick; a name may be."""
        name = host_of(netloc)
        if not name:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback if self._local else True


def is_own_page(origin: str, netloc: str) -> bool:
    """Whether an Origin header names the server that was asked."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == netloc.lower()
