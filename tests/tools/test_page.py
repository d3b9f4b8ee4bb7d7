"""What a person would read of a page."""

from __future__ import annotations

import pytest

from podium.tools.documents.html import read_html
from podium.tools.fetch import Fetched
from podium.tools.web import read_fetched

LIST = (
    "<html><body><ul>" + "".join(f"<li>Boat {n} leaves at {n}:00" for n in range(24)) + "</ul></body></html>"
)


def test_a_page_that_is_no_article_is_read_whole() -> None:
    page = read_html(LIST)
    assert all(f"Boat {n} leaves at {n}:00" in page.text for n in range(24))


@pytest.mark.parametrize(
    "source",
    [
        "",
        "<",
        "<html",
        "<title>",
        "<p>" * 5_000,
        "</p>" * 5_000,
        "<script>never closed",
        "<!--",
        "<html><head><title>T<body>words",
        "\ud800 <p>x",
        "<p>" + "a" * 100_000,
        "<![CDATA[x]]>",
        "&#xFFFFFFFF;",
    ],
)
def test_broken_html_is_read_as_far_as_it_goes(source: str) -> None:
    assert isinstance(read_html(source).text, str)


PROSE = "<p>" + "The harbour lies open to the west, and boats wait for the tide. " * 12 + "</p>"


@pytest.mark.parametrize(
    "source",
    [
        f"<nav><a href=x>Home</a> Menu</nav><main>{PROSE}</main><footer>Imprint</footer>",
        f"<div class=sphinxsidebar>Menu</div><div role=main>{PROSE}</div><div class=footer>Imprint</div>",
        f"<header>Menu</header><article><header><h1>Tides</h1></header>{PROSE}</article><aside>Imprint</aside>",
        f"<div id=top-nav>Menu</div>{PROSE}<div class='site-footer'>Imprint</div>",
        f"<ul class=menu><li>Menu</ul><div id=content>{PROSE}</div><p class='cookie-consent'>Imprint",
    ],
)
def test_menus_and_footers_are_not_the_content(source: str) -> None:
    text = read_html(f"<html><body>{source}</body></html>").text
    assert "boats wait for the tide" in text
    assert "Menu" not in text
    assert "Imprint" not in text


def test_lists_tables_definitions_and_code_keep_their_lines() -> None:
    source = (
        f"<html><body><main>{PROSE}<ul><li>One<li><p>Two</p></ul><dl><dt>Neap<dd>A small tide</dl>"
        "<table><tr><th>Port<th>Depth<tr><td>Brest<td>9 m</table><pre>if tide:\n    wait()</pre></main>"
    )
    lines = read_html(source).text.splitlines()
    assert lines[1:] == [
        "- One",
        "- Two",
        "Neap",
        "A small tide",
        "Port | Depth",
        "Brest | 9 m",
        "if tide:",
        "    wait()",
    ]


def test_a_note_inside_the_content_belongs_to_it() -> None:
    source = f"<html><body><main>{PROSE}<aside class=note>Beware of the rocks.</aside></main></body></html>"
    assert "Beware of the rocks." in read_html(source).text


def test_an_element_that_holds_most_of_the_page_is_content_whatever_its_class() -> None:
    source = f"<html><body><div class='page with sidebar'>{PROSE}</div></body></html>"
    assert "boats wait for the tide" in read_html(source).text


def test_of_a_web_site_the_article_is_read() -> None:
    scripts = "<script>track()</script>" * 30
    menu = "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(60))
    page = f"<html><body>{scripts}<div><ul>{menu}</ul></div><div>{PROSE * 4}</div></body></html>"
    text = read_html(page).text
    assert "boats wait for the tide" in text
    assert "Section 7" not in text


def test_code_and_styles_are_not_text() -> None:
    source = "<html><body><style>x{}</style><script>y()</script><p>Words.</body></html>"
    assert read_html(source).text == "Words."


async def test_what_is_not_html_stays_as_it_is() -> None:
    document = await read_fetched("x", Fetched("x", "application/json", "", b'{"a": "<b>"}'))
    assert document.text == '{"a": "<b>"}'
    document = await read_fetched("x", Fetched("x", "", "", b"<!doctype html><title>T</title><p>Words."))
    assert (document.title, document.text) == ("T", "Words.")
