"""No spelling of an address leads a fetch to a place that is not public."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from podium.tools.fetch import Address, Fetcher, parse_url, public_only, resolve_name
from podium.tools.tool import ToolError
from tests.tools.site import Answer, serving

LOOPBACK = [
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1",
    "0x7F.0x0.0x0.0x1", "017700000001", "0177.0.0.1", "0177.1", "0", "0.0.0.0", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "localhost", "LOCALHOST", "localhost.", "①②⑦.⓪.⓪.①",
    "127。0。0。1", "127．0．0．1", "１２７.0.0.1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "127%2e0%2e0%2e1", "%31%32%37.0.0.1",
    "example.com@127.0.0.1", "example.com:80@127.0.0.1", "127.0.0.1\\@example.com", "127.0.0.1\t",
    "127.0.0.1%00.example.com", "[fe80::1%25lo]", "[::1%25lo]",
]  # fmt: skip
"""Ways to write this machine."""


@pytest.mark.parametrize("host", LOOPBACK)
async def test_no_spelling_of_this_machine_makes_a_connection(host: str) -> None:
    async with serving(secret=Answer(b"inside")) as site:
        with pytest.raises(ToolError):
            await Fetcher().fetch(f"http://{host}:{site.port}/secret")
        assert site.asked == []


async def test_the_site_of_these_tests_can_be_reached_when_it_is_allowed() -> None:
    async with serving(secret=Answer(b"inside")) as site:
        fetched = await Fetcher(lambda address, port: "").fetch(f"http://127.1:{site.port}/secret")
        assert fetched.text == "inside"


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "0.1.2.3",
        "192.88.99.1",
        "::",
        "::1",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "64:ff9b::808:808",
        "100::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:808:808::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
    ],
)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert "not a public address" in public_only(ip_address(address), 443)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450::200e"]
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert public_only(ip_address(address), 443) == ""


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://127.0.0.1:6379/_INFO",
        "data:text/html,hi",
        "javascript:alert(1)",
        "//example.com/",
        "example.com",
        "",
        "http://",
        "http:///path",
        "http://[::1",
        "http://example.com:99999/",
        "http://exa mple.com/",
        "http://example.com/a b",
        "http://a\r\nHost: b/",
        "http://user:secret@example.com/",
        "http://" + "a" * 3000 + ".com/",
        "http://exa<mple>.com/",
        "http://.../",
        "http://[zz]/",
    ],
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(ToolError):
        parse_url(url)


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("HTTPS://Example.COM", "https://example.com/"),
        ("http://example.com:80/a?b=c#part", "http://example.com/a?b=c"),
        ("https://example.com.:8443/", "https://example.com:8443/"),
        ("http://bücher.example/ü?q=é", "http://xn--bcher-kva.example/%C3%BC?q=%C3%A9"),
        ("http://[2606:4700:0::1]/", "http://[2606:4700::1]/"),
    ],
)
def test_a_web_address_is_written_in_one_way(url: str, written: str) -> None:
    assert parse_url(url).url == written


async def test_a_name_with_one_public_and_one_private_address_is_refused_before_any_connection() -> None:
    async with serving(secret=Answer(b"inside")) as site:

        async def both(host: str, port: int) -> list[Address]:
            return [ip_address("93.184.216.34"), ip_address("127.0.0.1")]

        with pytest.raises(ToolError, match=r"two\.example is refused: 127\.0\.0\.1 is not a public"):
            await Fetcher(resolve=both).fetch(f"http://two.example:{site.port}/secret")
        assert site.asked == []


async def test_a_name_is_looked_up_once_and_the_checked_address_is_connected_to() -> None:
    names: list[str] = []
    checked: list[str] = []

    async def rebinding(host: str, port: int) -> list[Address]:
        names.append(host)
        return [ip_address("127.0.0.1" if len(names) == 1 else "127.0.0.99")]

    def allowed(address: Address, port: int) -> str:
        checked.append(str(address))
        return "" if str(address) == "127.0.0.1" else "it moved"

    async with serving(page=Answer(b"found")) as site:
        fetched = await Fetcher(allowed, rebinding).fetch(f"http://moving.example:{site.port}/page")
        assert fetched.text == "found"
        assert (names, checked) == (["moving.example"], ["127.0.0.1"])
        assert site.asked[0].headers["host"] == f"moving.example:{site.port}"
        with pytest.raises(ToolError, match="it moved"):
            await Fetcher(allowed, rebinding).fetch(f"http://moving.example:{site.port}/page")
        assert len(site.asked) == 1


async def test_a_name_that_does_not_exist_is_reported() -> None:
    with pytest.raises(ToolError, match=r"nowhere\.invalid could not be resolved"):
        await resolve_name("nowhere.invalid", 80)
