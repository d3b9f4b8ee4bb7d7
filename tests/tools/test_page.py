"""What a person would read of a page."""

from __future__ import annotations

import pytest

from podium.tools.page import read_page

LIST = (
    "<html><body><ul>" + "".join(f"<li>Boat {n} leaves at {n}:00" for n in range(24)) + "</ul></body></html>"
)


def test_a_page_that_is_no_article_is_read_whole() -> None:
    page = read_page(LIST, "text/html")
    assert all(f"Boat {n} leaves at {n}:00" in page.text for n in range(24))


@pytest.mark.parametrize(
    "source",
    [
        "", "<", "<html", "<title>", "<p>" * 5_000, "</p>" * 5_000, "<script>never closed", "<!--",
        "<html><head><title>T<body>words", "\ud800 <p>x", "<p>" + "a" * 100_000, "<![CDATA[x]]>",
        "&#xFFFFFFFF;",
    ],
)  # fmt: skip
def test_broken_html_is_read_as_far_as_it_goes(source: str) -> None:
    assert isinstance(read_page(source, "text/html").text, str)


def test_code_and_styles_are_not_text() -> None:
    source = "<html><body><style>x{}</style><script>y()</script><p>Words.</body></html>"
    assert read_page(source, "text/html").text == "Words."


def test_what_is_not_html_stays_as_it_is() -> None:
    assert read_page('{"a": "<b>"}', "application/json").text == '{"a": "<b>"}'
    assert read_page("<!doctype html><title>T</title><p>Words.", "").title == "T"
