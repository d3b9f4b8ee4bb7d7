"""Redirects, sizes, times and kinds of what is fetched, and how it reaches a model."""

from __future__ import annotations

import gzip
import re
import socket
import zlib
from collections.abc import Callable

import pytest

from podium.tools.fetch import MAX_BYTES, Address, Fetcher
from podium.tools.tool import MAX_TEXT, ToolError
from podium.tools.web import FetchUrl
from tests.tools.documents.pdfs import pdf
from tests.tools.site import Answer, Site, serving

PAGE = b"""<!doctype html><html><head><title>Harbours &amp; bays</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><article><h1>Harbours</h1>
<p>The old harbour of the town is quiet in the morning, and the boats come home before noon.</p>
<p>In the evening the lamps are lit along the quay, and people walk there until late.</p>
</article><script>alert("no")</script></body></html>"""


def loopback(site: Site) -> Fetcher:
    """A fetcher for which this one port of this machine is the public internet."""

    def allowed(address: Address, port: int) -> str:
        return "" if port == site.port else f"{address} port {port} is not public"

    return Fetcher(allowed, seconds=10)


def to(url: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": url})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_and_the_last_address_is_reported(status: int) -> None:
    async with serving(a=to("/b?x=1", status), b=Answer(b"there")) as site:
        fetched = await loopback(site).fetch(f"{site.url}/a")
        assert (fetched.text, fetched.url) == ("there", f"{site.url}/b?x=1")


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/secret",
        "http://localhost:{port}/secret",
        "//127.1:{port}/secret",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "http://0x7f.1:{port}/secret",
    ],
)
async def test_a_redirect_to_a_private_address_makes_no_connection(location: str) -> None:
    async with serving(secret=Answer(b"inside")) as inside, serving() as site:
        site.pages["/a"] = to(location.format(port=inside.port))
        with pytest.raises(ToolError, match="is not public"):
            await loopback(site).fetch(f"{site.url}/a")
        assert inside.asked == []


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://example.com/", "http://u:p@example.com/", "\\\\x"]
)
async def test_a_redirect_to_something_else_than_the_web_is_refused(location: str) -> None:
    async with serving(a=to(location)) as site:
        with pytest.raises(ToolError, match=r"refused|Only http|not a URL"):
            await loopback(site).fetch(f"{site.url}/a")


async def test_five_redirects_are_followed_and_a_sixth_is_not() -> None:
    async with serving(**{f"r{n}": to(f"/r{n + 1}") for n in range(9)}) as site:
        site.pages["/r5"] = Answer(b"end")
        assert (await loopback(site).fetch(f"{site.url}/r0")).text == "end"
        site.pages["/r5"] = to("/r6")
        site.asked.clear()
        with pytest.raises(ToolError, match="more than 5 times"):
            await loopback(site).fetch(f"{site.url}/r0")
        assert len(site.asked) == 6


async def test_a_redirect_to_nowhere_is_reported() -> None:
    async with serving(a=Answer(status=302)) as site:
        with pytest.raises(ToolError, match="redirects without a target"):
            await loopback(site).fetch(f"{site.url}/a")


async def test_a_large_body_is_cut_at_five_megabytes() -> None:
    async with serving(a=Answer(b"x" * (MAX_BYTES + 1)), b=Answer(b"x" * MAX_BYTES)) as site:
        cut = await loopback(site).fetch(f"{site.url}/a")
        whole = await loopback(site).fetch(f"{site.url}/b")
        assert (len(cut.body), cut.cut) == (MAX_BYTES, True)
        assert (len(whole.body), whole.cut) == (MAX_BYTES, False)


async def test_an_endless_body_is_cut() -> None:
    async with serving(a=Answer(endless=b"x" * 65_536)) as site:
        fetched = await loopback(site).fetch(f"{site.url}/a")
        assert (len(fetched.body), fetched.cut) == (MAX_BYTES, True)


async def test_a_body_that_unfolds_into_gigabytes_is_cut() -> None:
    bomb = gzip.compress(b"\0" * 200_000_000)
    assert len(bomb) < 1_000_000
    page = Answer(bomb, "text/plain", headers={"Content-Encoding": "gzip"})
    async with serving(a=page) as site:
        fetched = await loopback(site).fetch(f"{site.url}/a")
        assert (len(fetched.body), fetched.cut) == (MAX_BYTES, True)


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_compressed_bodies_are_read(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    page = Answer(pack(PAGE * 100), headers={"Content-Encoding": encoding})
    async with serving(a=page) as site:
        assert (await loopback(site).fetch(f"{site.url}/a")).body == PAGE * 100


@pytest.mark.parametrize(("encoding", "body"), [("br", b"xx"), ("gzip", b"not gzip"), ("gzip, gzip", b"xx")])
async def test_a_body_that_cannot_be_unpacked_is_reported(encoding: str, body: bytes) -> None:
    async with serving(a=Answer(body, headers={"Content-Encoding": encoding})) as site:
        with pytest.raises(ToolError, match=r"encoded|compressed"):
            await loopback(site).fetch(f"{site.url}/a")


async def test_a_slow_drip_ends_with_the_time_for_the_whole() -> None:
    async with serving(a=Answer(endless=b"x", pause=0.01)) as site:
        with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
            await Fetcher(lambda address, port: "", seconds=0.3).fetch(f"{site.url}/a")


async def test_a_server_that_never_answers_and_one_that_is_not_there_are_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ToolError, match=r"too long|longer than"):
            await Fetcher(lambda address, port: "", seconds=0.3).fetch(f"http://127.0.0.1:{port}/")
    with pytest.raises(ToolError, match=r"127\.0\.0\.1 could not be reached"):
        await Fetcher(lambda address, port: "").fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("kind", "readable"),
    [
        ("text/html", True),
        ("text/plain", True),
        ("application/json", True),
        ("application/ld+json", True),
        ("application/rss+xml", True),
        ("application/xhtml+xml", True),
        ("", True),
        ("image/png", False),
        ("application/pdf", False),
        ("application/octet-stream", False),
        ("video/mp4", False),
        ("application/zip", False),
    ],
)
async def test_only_text_is_fetched(kind: str, readable: bool) -> None:
    async with serving(a=Answer(b"plain words", kind)) as site:
        if readable:
            assert (await loopback(site).fetch(f"{site.url}/a")).text == "plain words"
        else:
            with pytest.raises(ToolError, match=f"is {kind}, which cannot be read"):
                await loopback(site).fetch(f"{site.url}/a")


async def test_other_kinds_can_be_asked_for() -> None:
    async with serving(a=Answer(b"%PDF-1.7", "application/pdf")) as site:
        fetched = await loopback(site).fetch(f"{site.url}/a", types=re.compile("application/pdf"))
        assert (fetched.body, fetched.content_type) == (b"%PDF-1.7", "application/pdf")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("Käse".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        ("Käse".encode(), "text/plain"),
        ("Käse".encode("utf-16"), "text/plain"),
        (b'<meta charset="windows-1252">' + "Käse".encode("cp1252"), "text/html"),
        ("Käse".encode(), "text/plain; charset=no-such-code"),
    ],
)
async def test_the_text_is_read_in_its_own_encoding(body: bytes, kind: str) -> None:
    async with serving(a=Answer(body, kind)) as site:
        assert "Käse" in (await loopback(site).fetch(f"{site.url}/a")).text


async def test_an_error_page_is_reported_by_its_number() -> None:
    async with serving(a=Answer(b"gone", status=410)) as site:
        with pytest.raises(ToolError, match="answered 410"):
            await loopback(site).fetch(f"{site.url}/a")


async def test_a_page_reaches_a_model_as_fenced_text_without_code() -> None:
    async with serving(a=Answer(PAGE)) as site:
        result = await FetchUrl(loopback(site)).call({"url": f"{site.url}/a"})
        assert result.ok
        assert "Title: Harbours & bays" in result.text
        assert "The old harbour of the town is quiet" in result.text
        assert "alert" not in result.text
        number = re.match(rf"BEGIN UNTRUSTED (\w+) from {re.escape(site.url)}/a\n", result.text)
        assert number
        assert result.text.endswith(f"END UNTRUSTED {number[1]}")


async def test_a_long_page_is_read_part_by_part_without_a_gap() -> None:
    words = " ".join(f"w{n}" for n in range(9_000))
    async with serving(a=Answer(words.encode(), "text/plain")) as site:
        tool, read, offset = FetchUrl(loopback(site)), "", 0
        while True:
            text = (await tool.call({"url": f"{site.url}/a", "offset": offset})).text
            assert len(text) <= MAX_TEXT
            read += re.split(r"\n\[[\d,]+ characters follow|\nEND UNTRUSTED", text.split("\n", 2)[2])[0]
            if not (more := re.search(r"characters follow: offset (\d+)", text)):
                break
            offset = int(more[1])
        assert read == words


async def test_a_pdf_is_read_as_text_and_fenced() -> None:
    made = pdf("The harbour is four metres deep at low water.", title="Soundings")
    async with serving(chart=Answer(made, content_type="application/pdf")) as site:
        result = await FetchUrl(loopback(site)).call({"url": f"{site.url}/chart"})
    assert result.ok
    assert "Title: Soundings" in result.text
    assert "four metres deep" in result.text
    assert result.text.startswith("BEGIN UNTRUSTED")


async def test_what_only_claims_to_be_a_pdf_is_reported() -> None:
    async with serving(chart=Answer(b"%PDF-1.7 and then nothing", content_type="application/pdf")) as site:
        with pytest.raises(ToolError, match=re.escape(f"{site.url}/chart")):
            await FetchUrl(loopback(site)).call({"url": f"{site.url}/chart"})
