"""Authors, dates and addresses as they come from anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.report.words import site_of, web_address
from podium.workflows.research.measures.styles import Date, Name, date_of, name_of


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("Jane Smith", Name("Smith", "Jane")),
        ("Smith, Jane Q.", Name("Smith", "Jane Q.")),
        ("Ludwig van Beethoven", Name("van Beethoven", "Ludwig")),
        ("Jane van der Berg", Name("van der Berg", "Jane")),
        ("World Health Organization", Name("World Health Organization")),
        ("Reuters", Name("Reuters")),
        ("Open Cup Handbook", Name("Open Cup Handbook")),
        ("Small Roasters Forum", Name("Small Roasters Forum")),
        ("The Editors", Name("The Editors")),
        ("Ministry of Energy, Paris", Name("Ministry of Energy, Paris")),
        ("李伟", Name("李伟")),
        ("someone on the web", Name("someone on the web")),
        ("  ", None),
        ("---", None),
        ("Ann\n\x1b[31mLee", Name("Lee", "Ann")),
    ],
)
def test_names(author: str, name: Name | None) -> None:
    assert name_of(author) == name


def test_initials() -> None:
    assert Name("x", "Jean-Luc Marie").initials == "J.-L. M."
    assert Name("x", "J. Q.").initials == "J. Q."


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-11-25", Date(2024, 11, 25)),
        ("2024-11-25T10:00:00Z", Date(2024, 11, 25)),
        ("2024-11", Date(2024, 11)),
        ("2024", Date(2024)),
        ("2024-13-01", Date(2024)),
        ("2024-02-99", Date(2024, 2)),
        ("0000", None),
        ("yesterday", None),
        ("", None),
        ("20245", None),
    ],
)
def test_dates(text: str, date: Date | None) -> None:
    assert date_of(text) == date


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://a.example/x?y=1&z=2#f", "https://a.example/x?y=1&z=2#f"),
        ("https://a.example/a b\"<>'`\\c", "https://a.example/a%20b%22%3C%3E%27%60%5Cc"),
        ("http://ä.example/ü", "http://%C3%A4.example/%C3%BC"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("corpus:a.md", ""),
        ("//a.example", ""),
        ("file:///etc/passwd", ""),
        ("https://", ""),
        ("https://user:pass@a.example", ""),
        ("", ""),
        ("https://[::1", ""),
        ("ftp://a.example", ""),
        ("JaVaScRiPt:alert(1)", ""),
        ("https://a/" + "x" * 3000, ""),
    ],
)
def test_only_pages_of_the_web_can_be_opened(url: str, address: str) -> None:
    assert web_address(url) == address


@given(st.text(max_size=60))
def test_no_text_breaks_out_of_an_address(text: str) -> None:
    for url in (text, f"https://a.example/{text}", f"https://{text}"):
        found = web_address(url)
        assert found == "" or found.startswith(("http://", "https://"))
        assert not set(found) & set(" \t\n<>\"'`\\")
        assert isinstance(site_of(url), str)
