"""Documents of every kind: their text as it is kept, and what they say about themselves."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from podium.tools.documents.child import read_text
from podium.tools.documents.document import MAX_CHARACTERS, Document, iso_date
from podium.tools.documents.reader import DocumentReader, Readers, media_type_of
from podium.tools.tool import ToolError
from tests.tools.documents.pdfs import endless_pdf, pdf


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    with DocumentReader() as opened:
        yield opened


def test_front_matter_shows_title_date_and_authors_and_is_no_part_of_the_text(reader: DocumentReader) -> None:
    source = (
        b"---\r\ntitle: Tides\r\ndate: 2024-05-17\r\nauthors: [Harbour Office, {name: Sea School}]\r\n---\r\n"
        b"# Other\r\n\r\nLow water."
    )
    assert reader.read(source, "text/markdown") == Document(
        "# Other\n\nLow water.", "Tides", "2024-05-17", ("Harbour Office", "Sea School")
    )


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# Tides #\n\ntext", "Tides"),
        ("Tides\n=====\n\ntext", "Tides"),
        ("text\n\n## Later\n", "Later"),
        ("just text", ""),
        ("---\nnot: [closed\n---\n# Tides", "Tides"),
        ("---\n- a list\n---\n# Tides", "Tides"),
        ("---\n\nText between two rules.\n\n---\n# Tides", "Tides"),
        ("---\na: " + "[" * 3000 + "\n---\n# Tides", "Tides"),
        ("---\ntitle: 2024\n---\n", "2024"),
    ],
)
def test_markdown_without_usable_front_matter_is_named_by_its_heading(
    reader: DocumentReader, source: str, title: str
) -> None:
    assert reader.read(source.encode(), "text/markdown").title == title


def test_front_matter_with_aliases_within_aliases_costs_nothing(reader: DocumentReader) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    read = reader.read(f"---\n{bomb}title: Tides\nauthors: *i\n---\nText.".encode(), "text/markdown")
    assert (read.title, read.text) == ("Tides", "Text.")
    assert read.authors == ()


@pytest.mark.parametrize(
    ("source", "title", "published", "authors"),
    [
        (
            "Title: Tides\nDate: 17 May 2024 10:00 +0000\nAuthor: Harbour Office\n\nx",
            "Tides",
            "2024-05-17",
            1,
        ),
        ("TIDES\n\nHarbour Office, 2024-05-17\n\nLow water.", "TIDES", "2024-05-17", 0),
        ("Tides\n-----\nLow water.", "Tides", "", 0),
        ("A first line that goes on\nin a second one.", "", "", 0),
        ("By: Harbour Office\n\nLow water.", "", "", 1),
    ],
)
def test_plain_text_is_named_by_its_first_lines(
    reader: DocumentReader, source: str, title: str, published: str, authors: int
) -> None:
    read = reader.read(source.encode(), "text/plain")
    assert (read.title, read.published, len(read.authors)) == (title, published, authors)
    assert read.text == source


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_read_in_the_encoding_it_is_in(reader: DocumentReader, encoding: str) -> None:
    assert reader.read("Käse – für alle".encode(encoding), "text/plain").text == "Käse – für alle"


def test_a_page_is_read_in_the_encoding_that_it_names(reader: DocumentReader) -> None:
    page = '<html><head><meta charset="shift_jis"><title>水温</title></head><body><p>お湯</p></body></html>'
    assert reader.read(page.encode("shift_jis"), "text/html").title == "水温"
    wrong = page.replace("shift_jis", "no-such-code").replace("水温", "Käse").replace("お湯", "x")
    assert reader.read(wrong.encode("cp1252"), "text/html").title == "Käse"


def test_control_characters_and_lone_surrogates_do_not_reach_the_text(reader: DocumentReader) -> None:
    assert reader.read(b"a\x1b[31mb\x02c\tand\r\nmore", "text/plain").text == "a[31mbc\tand\nmore"


def test_what_is_no_text_is_reported(reader: DocumentReader) -> None:
    with pytest.raises(ToolError, match="it is not text"):
        reader.read(b"\x89PNG\0\0", "text/markdown")


PAGE = b"""<html><head><title>Tides &amp; winds</title><meta name="author" content="Harbour Office">
<meta property="article:published_time" content="2023-01-02T10:00:00Z"></head><body><nav>Home</nav><article>
<h1>Tides</h1><p>Low water comes twice a day, and the boats wait for it in the outer harbour.</p>
<p>High water comes twice as well.</p></article><script>alert(1)</script></body></html>"""


def test_a_page_is_its_article_with_what_its_head_says(reader: DocumentReader) -> None:
    read = reader.read(PAGE, "text/html")
    assert (read.title, read.published, read.authors) == ("Tides & winds", "2023-01-02", ("Harbour Office",))
    assert "Low water comes twice a day" in read.text
    assert "alert" not in read.text


def test_embedded_data_and_a_time_show_too(reader: DocumentReader) -> None:
    linked = (
        b'<html><head><script type="application/ld+json">{"datePublished":"2022-03-04","author":[{"name":'
        b'"Sea School"}]}</script></head><body><h1>Tides</h1><p>Low water.</p></body></html>'
    )
    read = reader.read(linked, "text/html")
    assert (read.title, read.published, read.authors) == ("Tides", "2022-03-04", ("Sea School",))
    timed = b'<html><body><h1>Tides</h1><time datetime="2021-06-07">today</time><p>Low.</p></body></html>'
    assert reader.read(timed, "text/html").published == "2021-06-07"


def test_a_pdf_is_the_text_of_its_pages(reader: DocumentReader) -> None:
    made = pdf(
        "Low water.",
        "High water.",
        title="Tides",
        author="Harbour Office; Sea School",
        created="D:20240517101500Z",
    )
    assert reader.read(made, "application/pdf") == Document(
        "Low water.\n\nHigh water.", "Tides", "2024-05-17", ("Harbour Office", "Sea School")
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"%PDF-1.4 and nothing else", "it is not a PDF that can be read"),
        (b"", "it is not a PDF that can be read"),
        (pdf("x")[:200], "it is not a PDF that can be read"),
        (pdf(""), "it has no text"),
    ],
)
def test_a_pdf_that_cannot_be_read_is_reported(reader: DocumentReader, data: bytes, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        reader.read(data, "application/pdf")


def test_a_document_that_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    with DocumentReader(seconds=0.001) as hasty:
        with pytest.raises(ToolError, match=r"took longer than 0\.001 s"):
            hasty.read(PAGE, "text/html")
        assert hasty.read(b"text", "text/plain").text == "text"
    with DocumentReader() as patient:
        assert patient.read(pdf("Low water."), "application/pdf").text == "Low water."


def test_a_reader_that_died_is_started_again(reader: DocumentReader) -> None:
    with DocumentReader() as own:
        own.read(pdf("x"), "application/pdf")
        own.close()
        assert own.read(pdf("Low water."), "application/pdf").text == "Low water."


def test_a_document_that_keeps_its_reader_busy_for_ever_is_given_up() -> None:
    with DocumentReader(seconds=2) as hasty, pytest.raises(ToolError, match="took longer than 2 s"):
        hasty.read(endless_pdf(), "application/pdf")


@pytest.mark.parametrize("start", [b"<!--", b"<div>", b"<a href=", b"<table><tr><td>", b"&amp", b"<b><i>"])
def test_a_page_of_nothing_but_openings_costs_little(reader: DocumentReader, start: bytes) -> None:
    read = reader.read(b"<html><title>Tides</title><body>" + start * 100_000, "text/html")
    assert read.title == "Tides"


def test_readers_are_shared_and_their_processes_end_when_nobody_reads() -> None:
    def children() -> set[str]:
        lists = Path("/proc/self/task").glob("*/children")
        return {pid for file in lists for pid in file.read_text().split()}

    def read(number: int) -> str:
        return shared.read(pdf(f"Page {number}."), "application/pdf").text

    before, shared = children(), Readers(most=2)
    with ThreadPoolExecutor(6) as threads:
        texts = threads.map(read, range(12))
    assert list(texts) == [f"Page {n}." for n in range(12)]
    assert children() == before


def test_only_as_much_is_kept_as_may_be_and_that_is_noted(reader: DocumentReader) -> None:
    read = reader.read(b"word " * (MAX_CHARACTERS // 5 + 10), "text/plain")
    assert (len(read.text), read.cut) == (MAX_CHARACTERS, True)


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2024-05-17T10:00:00Z", "2024-05-17"),
        ("2024/5/7", "2024-05-07"),
        ("2024-05", "2024-05"),
        ("2024", "2024"),
        ("Fri, 17 May 2024 10:00:00 GMT", "2024-05-17"),
        ("2024-13-45", "2024"),
        ("20240517", ""),
        ("yesterday", ""),
        ("", ""),
        (None, ""),
        ("99999-01-01", ""),
    ],
)
def test_dates_are_reported_as_exactly_as_they_are_known(value: object, date: str) -> None:
    assert iso_date(value) == date


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.MD", "text/markdown"),
        ("a.b.txt", "text/plain"),
        ("a.htm", "text/html"),
        ("a.pdf", "application/pdf"),
        ("a.docx", ""),
        ("README", ""),
        ("md", ""),
    ],
)
def test_what_is_a_document_follows_from_the_name(name: str, kind: str) -> None:
    assert media_type_of(name) == kind


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (".. _beyond-pkging:\n\nBeyond Packaging\n****************\n\nDebian is more.", "Beyond Packaging"),
        (".. comment\n   goes on\n\n=====\nTools\n=====\n\nText.", "Tools"),
        (":orphan:\n\nUploads\n=======\n\nText.", "Uploads"),
        ("Plain title\n\nText.", "Plain title"),
        (".. _only:\n\nA paragraph that goes on\nover two lines.", ""),
    ],
)
def test_the_title_of_a_text_is_its_first_real_heading(text: str, title: str) -> None:
    assert read_text(text).title == title
