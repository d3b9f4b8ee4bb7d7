"""Parsing of Host and Origin headers, and of names on the command line."""

from __future__ import annotations

import pytest

from podium.errors import UsageError
from podium.server.rate_limits import Names, allowed_name, is_loopback, is_own_page, parse_authority
from tests.server.serving import Served

LOCAL = Names("127.0.0.1")
PUBLIC = Names("0.0.0.0", ("Podium.Example.org", "bücher.example", "2001:db8::1"))

FOREIGN = [
    "", " ", "evil", "evil.example", "[::1].evil", "[::1]evil", "[::1]:80.evil", "[::1", "::1", "::1]", "[]",
    "[::1%25eth0]", "[::1%eth0]", "[127.0.0.1]", "[localhost]", "[v1.x]", "localhost.evil", "localhost@evil",
    "evil@localhost", "a:b@localhost", "localhost:x", "localhost:", "localhost:80:80", "localhost:65536",
    "localhost:-1", "localhost:+80", "localhost:٣", "localhost/", "localhost?", "localhost#", "localhost\\",
    "localhost,evil", "localhost evil", "localhost\t", "localhost..", ".localhost", ".", "..", "lo..calhost",
    "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1.", "127.0.0.1.evil", "0.0.0.0", "8.8.8.8",
    "-localhost", "localhost-", "locаlhost", "ｌocalhost", "localhost%00", "a" * 64, "a." * 130,
]  # fmt: skip


def test_a_host_that_is_not_exactly_ours_is_refused() -> None:
    for host in FOREIGN:
        assert not LOCAL.know(host)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost",
        "localhost.",
        "localhost:1",
        "localhost:65535",
        "127.0.0.1",
        "127.9.9.9:80",
        "[::1]",
        "[::1]:80",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
    ],
)
def test_a_local_server_answers_to_every_form_of_its_names(host: str) -> None:
    assert LOCAL.know(host)


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("podium.example.org", True),
        ("PODIUM.example.org.:443", True),
        ("xn--bcher-kva.example", True),
        ("192.0.2.7:8321", True),
        ("[2001:db8::1]", True),
        ("[2001:db8::2]:80", True),
        ("localhost", True),
        ("podium.example.org.evil", False),
        ("x.podium.example.org", False),
        ("bücher.example", False),
        ("podium.example.org..", False),
        ("[2001:db8::1].evil", False),
        ("192.0.2.7.evil", False),
    ],
)
def test_a_public_server_answers_to_addresses_and_to_the_names_it_was_given(host: str, known: bool) -> None:
    assert PUBLIC.know(host) is known


def test_over_http_a_name_behind_an_address_is_refused(server: Served) -> None:
    for host in ("[::1].evil", "[::1]evil:80", "127.0.0.1.evil", "localhost@evil.example"):
        with server.client(Host=host) as client:
            assert client.get("/api/me").status_code in (400, 421), host


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://localhost:8321", "localhost:8321", True),
        ("http://LOCALHOST:8321", "localhost:8321", True),
        ("https://podium.example.org", "podium.example.org", True),
        ("https://podium.example.org", "podium.example.org:443", True),
        ("http://[::1]:80", "[::1]", True),
        ("http://localhost", "localhost:8321", False),
        ("http://localhost:8322", "localhost:8321", False),
        ("http://127.0.0.1:8321", "localhost:8321", False),
        ("null", "localhost", False),
        ("", "localhost", False),
        ("http://", "localhost", False),
        ("ftp://localhost", "localhost", False),
        ("http://localhost/", "localhost", False),
        ("http://user@localhost", "localhost", False),
        ("http://localhost@evil", "localhost", False),
        ("http://localhost, http://evil", "localhost", False),
        ("http://[::1].evil", "[::1]", False),
    ],
)
def test_an_origin_is_ours_if_scheme_host_and_port_are(origin: str, host: str, own: bool) -> None:
    assert is_own_page(origin, host) is own


@pytest.mark.parametrize(
    "given",
    [
        "",
        "*",
        "*.example.org",
        "https://podium.example.org",
        "podium.example.org:443",
        "podium.example.org/",
        "a b",
        "user@host",
        "straße.example",
        "..",
        "ü" * 70,
    ],
)
def test_a_name_that_could_never_match_is_refused_at_the_start(given: str) -> None:
    with pytest.raises(UsageError) as caught:
        Names("127.0.0.1", (given,))
    assert caught.value.hint


def test_names_are_kept_as_browsers_send_them() -> None:
    assert allowed_name("BÜCHER.Example") == "xn--bcher-kva.example"
    assert allowed_name("podium.example.org.") == "podium.example.org"
    assert parse_authority("A.b:1") == ("a.b", 1)
    assert [is_loopback(host) for host in ("::1", "[::1]", "localhost", "0.0.0.0", "x")] == [
        True,
        True,
        True,
        False,
        False,
    ]
