"""Reading a source: its whole text, by the safe fetcher, with what is known about it."""

from __future__ import annotations

import gzip
import hashlib
from ipaddress import ip_address
from pathlib import Path

import msgspec
import pytest

from podium.engine.codec import decode, encode
from podium.settings import Settings
from podium.tools.corpus.corpus import open_corpus
from podium.tools.fetch import MAX_BYTES, MAX_SECONDS, Address, Fetcher
from podium.tools.sources.providers import Found, Retrieved, providers_for, retrieve
from podium.tools.tool import ToolError
from tests.tools.corpus.shelves import TIDES, folder_with, settings_in
from tests.tools.documents.pdfs import pdf
from tests.tools.site import Answer, serving
from tests.tools.test_addresses import LOOPBACK
from tests.tools.test_fetch import loopback

AT = "2026-01-02T03:04:05+00:00"
WORDS = "Low water comes twice a day, and the boats wait for it in the outer harbour. "
PAGE = (
    '<html><head><title>Tides</title><meta name="author" content="Harbour Office">'
    '<meta name="date" content="2023-01-02"></head><body><nav>Home</nav>'
    f"<article><p>{WORDS * 5}</p></article>"
    "<script>steal()</script></body></html>"
).encode()


def found(url: str, title: str = "", text_url: str = "") -> Found:
    return Found(title, url, "a snippet", "web", provider="Tavily", text_url=text_url)


async def test_a_page_is_read_whole_and_fills_in_what_the_search_did_not_show() -> None:
    async with serving(a=Answer(PAGE)) as site:
        read = await retrieve(found(f"{site.url}/a"), at=AT, fetcher=loopback(site))
        assert read == Retrieved(
            url=f"{site.url}/a",
            title="Tides",
            text=(WORDS * 5).strip(),
            kind="web",
            published="2023-01-02",
            authors=("Harbour Office",),
            retrieved_at=AT,
            media_type="text/html",
            sha256=hashlib.sha256((WORDS * 5).strip().encode()).hexdigest(),
        )
        assert (await retrieve(found(f"{site.url}/a", "Mine"), at=AT, fetcher=loopback(site))).title == "Mine"


async def test_what_was_retrieved_survives_the_log() -> None:
    async with serving(a=Answer(PAGE)) as site:
        read = await retrieve(found(f"{site.url}/a"), at=AT, fetcher=loopback(site))
    assert msgspec.convert(decode(encode(read)), Retrieved) == read


async def test_a_pdf_is_read_whatever_it_is_called() -> None:
    made = pdf(WORDS.strip(), title="Chart", author="Harbour Office")
    for kind in ("application/pdf", "application/octet-stream", "application/x-pdf", ""):
        async with serving(a=Answer(made, kind)) as site:
            read = await retrieve(found(f"{site.url}/a"), at=AT, fetcher=loopback(site))
            assert (read.text, read.title, read.media_type) == (WORDS.strip(), "Chart", "application/pdf")


async def test_the_full_text_is_preferred_and_the_page_is_there_if_it_fails() -> None:
    async with serving(page=Answer(PAGE), full=Answer(b"whole " * 100, "text/plain")) as site:
        result = found(f"{site.url}/page", text_url=f"{site.url}/full")
        read = await retrieve(result, at=AT, fetcher=loopback(site))
        assert (read.text[:11], read.url) == ("whole whole", result.url)
        assert len(site.asked) == 1
        for poor in (
            Answer(status=403),
            Answer(b"%PDF-1.4 no", "application/pdf"),
            Answer(b"Log in.", "text/plain"),
        ):
            site.pages["/full"] = poor
            assert (await retrieve(result, at=AT, fetcher=loopback(site))).text.startswith("Low water")
        site.pages["/page"] = Answer(status=404)
        assert (await retrieve(result, at=AT, fetcher=loopback(site))).text == "Log in."


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(b"gone", status=410), "answered 410"),
        (Answer(b"\x89PNG", "image/png"), "is image/png, which cannot be read"),
        (Answer(b"PK\3\4", "application/octet-stream"), "octet-stream, which cannot be read"),
        (Answer(b"no pdf", "application/pdf"), "application/pdf, which cannot be read"),
        (Answer(b"%PDF-1.7 broken", "application/pdf"), "not a PDF that can be read"),
        (Answer(b"%PDF-1.7" + b"x" * MAX_BYTES, "application/pdf"), "a PDF of more than 5 MB"),
        (Answer(b"<html><body></body></html>"), "has no text"),
        (Answer(b"", "text/plain"), "has no text"),
    ],
)
async def test_what_cannot_be_read_is_one_sentence(answer: Answer, message: str) -> None:
    async with serving(a=answer) as site:
        with pytest.raises(ToolError, match=message) as caught:
            await retrieve(found(f"{site.url}/a"), at=AT, fetcher=loopback(site))
    assert "\n" not in str(caught.value)


async def test_an_endless_page_and_one_that_unfolds_are_cut_and_that_is_noted() -> None:
    bomb = Answer(gzip.compress(b"word " * 40_000_000), "text/plain", headers={"Content-Encoding": "gzip"})
    for answer in (Answer(endless=b"word " * 10_000, content_type="text/plain"), bomb):
        async with serving(a=answer) as site:
            read = await retrieve(found(f"{site.url}/a"), at=AT, fetcher=loopback(site))
            assert read.cut
            assert len(read.text) <= MAX_BYTES


async def test_a_slow_drip_ends_with_the_time_for_the_whole() -> None:
    async with serving(a=Answer(endless=b"x", pause=0.01)) as site:
        fetcher = Fetcher(lambda address, port: "", seconds=0.3)
        with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
            await retrieve(found(f"{site.url}/a"), at=AT, fetcher=fetcher)


def test_a_source_has_five_megabytes_and_fifteen_seconds() -> None:
    assert (MAX_BYTES, MAX_SECONDS) == (5_000_000, 15.0)


REFUSED = [
    *(f"http://{host}:{{port}}/secret" for host in LOOPBACK),
    "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://100.64.0.1:{port}/secret",
    "http://[2002:7f00:1::]:{port}/secret", "http://[2002:a9fe:a9fe::]/", "http://192.168.1.1/",
    "file:///etc/passwd", "FILE:///etc/passwd", "ftp://127.0.0.1:{port}/secret",
    "gopher://127.0.0.1:{port}/_x", "data:text/html,hi", "javascript:alert(1)", "//127.0.0.1:{port}/secret",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
async def test_no_address_that_is_not_public_is_connected_to(address: str) -> None:
    async with serving(secret=Answer(b"inside")) as site:
        url = address.replace("{port}", str(site.port))
        for result in (found(url), found("", text_url=url), found(url, text_url=url)):
            with pytest.raises(ToolError):
                await retrieve(result, at=AT)
        assert site.asked == []


async def test_a_redirect_from_a_page_to_a_private_address_makes_no_connection() -> None:
    async with serving(secret=Answer(b"inside")) as inside, serving() as site:
        for location in (f"{inside.url}/secret", "http://169.254.169.254/", "file:///etc/passwd"):
            site.pages["/a"] = Answer(status=302, headers={"Location": location})
            with pytest.raises(ToolError, match=r"not public|Only http"):
                await retrieve(found(f"{site.url}/a"), at=AT, fetcher=loopback(site))
        assert inside.asked == []


async def test_a_name_that_moves_between_two_lookups_reaches_nothing_private() -> None:
    answers = iter(["127.0.0.2", "127.0.0.1"])

    async def moving(host: str, port: int) -> list[Address]:
        return [ip_address(next(answers))]

    def allowed(address: Address, port: int) -> str:
        return "" if str(address) == "127.0.0.2" else "it moved"

    async with serving(secret=Answer(b"inside")) as site:
        result, fetcher = (
            found(f"http://moving.example:{site.port}/secret"),
            Fetcher(allowed, moving, seconds=5),
        )
        with pytest.raises(ToolError, match="could not be reached"):  # at the checked address nobody answers
            await retrieve(result, at=AT, fetcher=fetcher)
        with pytest.raises(ToolError, match="it moved"):
            await retrieve(result, at=AT, fetcher=fetcher)
        assert site.asked == []


async def test_a_corpus_document_is_the_one_that_the_index_holds(tmp_path: Path) -> None:
    corpus = await open_corpus(folder_with(tmp_path / "docs", **{"a b_dot_md": TIDES}), settings_in(tmp_path))
    (result,) = await providers_for("web_search", Settings(), corpus)[0].search("low water", 3)
    (tmp_path / "docs" / "a b.md").write_text("changed since")
    read = await retrieve(result, at=AT, corpus=corpus)
    assert (read.url, read.kind, read.media_type) == ("corpus:a%20b.md", "corpus", "text/markdown")
    assert read.text[result.start : result.end] == result.snippet
    assert (read.title, read.published, read.authors) == ("Tides", "2024-05-17", ("Harbour Office",))
    assert read.sha256 == hashlib.sha256(read.text.encode()).hexdigest()


@pytest.mark.parametrize(
    "path", ["../outside.md", "/etc/passwd", "%2e%2e/outside.md", "link.md", "nothing.md", ""]
)
async def test_nothing_outside_the_index_can_be_read_through_a_corpus(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.md").write_text("secret")
    docs = folder_with(tmp_path / "docs", a_dot_md=TIDES)
    (docs / "link.md").symlink_to(tmp_path / "outside.md")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    result = Found("x", f"corpus:{path}", "", "corpus")
    with pytest.raises(ToolError, match="has no document"):
        await retrieve(result, at=AT, corpus=corpus)
    with pytest.raises(ToolError, match="this run has none"):
        await retrieve(result, at=AT)
