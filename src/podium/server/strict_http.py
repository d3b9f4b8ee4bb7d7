"""Strict parsing of request heads.

h11 is lenient where proxies differ from it: lines that end in a bare LF, folded lines, a repeated
Content-Length, Content-Length beside Transfer-Encoding. What two servers read differently can be used to
smuggle a request past the first one, so such a head is refused (RFC 9112, sections 2.2, 5.2, 6.1 and 6.3).
"""

from __future__ import annotations

import re

import h11

_END = re.compile(rb"\n\r?\n")
"""Where h11 sees the end of a head."""
_LENGTH = re.compile(rb"[ \t]*[0-9]{1,18}[ \t]*")


class StrictConnection(h11.Connection):
    """An h11 connection of a server that refuses ambiguous heads."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.their_state is h11.IDLE:
            problem = head_problem(self.trailing_data[0])
            if problem:
                raise h11.RemoteProtocolError(problem, error_status_hint=400)
        return super().next_event()


def head_problem(received: bytes) -> str:
    """Return what is wrong with the request head at the start of the received bytes; empty if nothing is, or
    if the head is not complete yet."""
    end = _END.search(received)
    if end is None:
        return ""
    head = received[: end.end()]
    plain = head.replace(b"\r\n", b"")
    if b"\n" in plain or b"\r" in plain:
        return "a line does not end in CRLF"
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return "a header is folded"
    fields = [(name.lower(), value) for name, _, value in (line.partition(b":") for line in lines)]
    lengths = [value for name, value in fields if name == b"content-length"]
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    if len(lengths) > 1 or any(not _LENGTH.fullmatch(value) for value in lengths):
        return "Content-Length is repeated or not a number"
    if codings and (lengths or len(codings) > 1 or not first.endswith(b"HTTP/1.1")):
        return "Transfer-Encoding beside another framing"
    return ""
