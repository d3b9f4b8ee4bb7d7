"""Request heads that servers read differently, sent as bytes to a real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator

import pytest

from podium.server.http_server import head_problem
from tests.server.serving import PATIENCE_S, Served, served


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("raw")) as running:
        yield running


def exchange(server: Served, *pieces: bytes) -> bytes:
    """Send bytes, and return all that the server answers until it closes the connection."""
    host, _, port = server.base.removeprefix("http://").partition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                line.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has refused the first bytes and closed; its answer is there to be read
        try:
            while more := line.recv(65_536):
                received += more
        except ConnectionResetError:
            pass  # it closed with bytes of ours unread; what it answered came before
    return received


def statuses(answer: bytes) -> list[int]:
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


def request(
    server: Served, *headers: bytes, body: bytes = b"", line: bytes = b"POST /api/runs HTTP/1.1"
) -> bytes:
    first = [line, b"Host: localhost", b"Authorization: Bearer " + server.token.encode()]
    return b"\r\n".join([*first, *headers, b"", body])


SMUGGLED = b"GET /api/me HTTP/1.1\r\nHost: localhost\r\n\r\n"
FRAMING = {
    "length and chunked": [b"Content-Length: 4", b"Transfer-Encoding: chunked"],
    "chunked and length": [b"Transfer-Encoding: chunked", b"Content-Length: 4"],
    "two lengths that differ": [b"Content-Length: 4", b"Content-Length: 5"],
    "two lengths that agree": [b"Content-Length: 4", b"Content-Length: 4"],
    "a list of lengths": [b"Content-Length: 4, 4"],
    "a signed length": [b"Content-Length: +4"],
    "a negative length": [b"Content-Length: -4"],
    "a length in hex": [b"Content-Length: 0x4"],
    "an empty length": [b"Content-Length: "],
    "a length with an underscore": [b"Content-Length: 1_0"],
    "two codings": [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
    "space before the colon": [b"Transfer-Encoding : chunked"],
    "a folded header": [b"X-One: a", b" b", b"Content-Length: 4"],
    "a folded coding": [b"Transfer-Encoding:", b" chunked"],
    "a bare LF between headers": [b"X-One: a\nContent-Length: 4"],
    "a bare CR in a header": [b"X-One: a\rContent-Length: 4"],
    "a NUL in a header": [b"X-One: a\0b"],
    "a header without a colon": [b"Content-Length 4"],
}


@pytest.mark.parametrize("name", FRAMING)
def test_ambiguous_framing_is_refused_and_nothing_behind_it_is_read(house: Served, name: str) -> None:
    answer = exchange(house, request(house, *FRAMING[name], body=b"0\r\n\r\n" + SMUGGLED))
    assert statuses(answer) == [400], answer
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("name", FRAMING)
def test_it_is_refused_just_the_same_where_it_comes_byte_by_byte_or_second(house: Served, name: str) -> None:
    bad = request(house, *FRAMING[name])
    assert statuses(exchange(house, *(bad[at : at + 1] for at in range(len(bad))))) == [400]
    good = request(house, line=b"GET /api/me HTTP/1.1")
    assert statuses(exchange(house, good + bad)) == [200, 400], "pipelined behind a good one"


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/me HTTP/1.1\nHost: localhost\n\n",
        b"GET /api/me HTTP/1.1\r\nHost: localhost\n\r\n",
        b"GET /api/me HTTP/1.1\r\nHost: localhost\r\n\n",
        b"\nGET /api/me HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/me HTTP/1.1\r\n Host: localhost\r\n\r\n",
        b"GET /api/me HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
        b"GET /api/me HTTP/1.1\r\n\r\n",
        b"GET /api/me\r\nHost: localhost\r\n\r\n",
        b"POST /api/me HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_a_malformed_head_is_refused(house: Served, head: bytes) -> None:
    assert statuses(exchange(house, head)) == [400]


def test_an_unknown_coding_is_refused(house: Served) -> None:
    for coding in (b"gzip, chunked", b"identity", b"xchunked", b"chunked;q=1"):
        (status,) = statuses(exchange(house, request(house, b"Transfer-Encoding: " + coding)))
        assert status in (400, 501), coding


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_ordinary_requests_are_answered_also_one_behind_the_other(house: Served, framing: str) -> None:
    data = b'{"key": "wrong"}'
    if framing == "length":
        headers, body = [b"Content-Length: %d" % len(data)], data
    else:
        headers, body = [b"Transfer-Encoding: chunked"], b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)
    sign_in = request(
        house, b"Content-Type: application/json", *headers, body=body, line=b"POST /api/session HTTP/1.1"
    )
    last = request(house, b"Connection: close", line=b"GET /api/me HTTP/1.1")
    answer = exchange(house, sign_in + sign_in + last)
    assert statuses(answer) == [401, 401, 200]
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["local"] is True


def test_a_head_is_judged_once_it_is_complete() -> None:
    head = b"GET / HTTP/1.1\r\nHost: x\r\nX-One: a\r\n b\r\n\r\n"
    assert {head_problem(head[:length]) for length in range(len(head))} == {""}
    assert head_problem(head) == "a header is folded"
    assert head_problem(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nbody\nof\rany kind\n\n") == ""
