"""Twenty hostile texts in every place that a model or a source can fill: no page runs a script, no page calls
anybody, and an address that is none of the web is no link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.report.html import kept_html
from podium.workflows.research.article import content_of, html_of, to_page, to_record
from tests.chromium import CHROMIUM
from tests.payloads import RAN, payloads
from tests.workflows.browser import Markup, browse, printed
from tests.workflows.research.hostile import hostile_article, hostile_result, hostile_sources
from tests.workflows.research.result import ARTICLE, SOURCES, TEXTS, claims

PROSE = "a b blockquote br code del em h2 h3 h4 h5 h6 hr i li ol p pre s strong table tbody td th thead tr ul"
OURS = "body main header nav article section footer div span sup mark cite figure figcaption dl dt dd h1"
DRAWN = "svg rect details summary"
ALLOWED = frozenset(f"{PROSE} {OURS} {DRAWN}".split())


def page_of(beacon: str) -> str:
    return to_page(hostile_result(beacon), topic=payloads(beacon)[0], run_id="run", rehearsal=True)


def record_of(beacon: str) -> str:
    bad = payloads(beacon)
    return to_record(
        hostile_result(beacon),
        topic=bad[0],
        run_id="run",
        rehearsal=True,
        models=bad,
        texts=hostile_sources(beacon)[1],
    )


both_pages = pytest.mark.parametrize("made", [page_of, record_of])


@both_pages
def test_no_hostile_text_is_markup(made: Callable[[str], str]) -> None:
    html = made("http://beacon.invalid")
    head, _, body = html.partition("</head>")
    found = Markup()
    found.feed(body)
    assert found.tags <= ALLOWED, found.tags - ALLOWED
    assert [name for name, _ in found.attributes if name.startswith("on")] == []
    assert found.values("src", "srcdoc", "action", "poster", "style", "formaction", "xlink:href") == []
    assert "default-src 'none'" in head
    opened = Markup()
    opened.feed(head)
    assert opened.tags <= {"html", "head", "meta", "title", "style"}


@both_pages
def test_links_lead_to_the_web_or_into_the_page(made: Callable[[str], str]) -> None:
    found = Markup()
    found.feed(made("http://beacon.invalid"))
    links, names = found.values("href"), found.values("id")
    outside = [one for one in links if not one.startswith("#")]
    assert outside, "addresses of the web are links"
    assert [one for one in outside if not one.startswith(("http://", "https://"))] == []
    assert {one[1:] for one in links if one.startswith("#")} <= set(names)
    assert len(names) == len(set(names)), "a name is there once"


def test_every_text_of_the_sources_is_readable_as_text() -> None:
    html = page_of("http://beacon.invalid") + record_of("http://beacon.invalid")
    assert "&lt;script&gt;" in html
    assert "&lt;iframe srcdoc=" in html
    assert "{{ 7 * 7 }}" in html, "no template reads what a model wrote"


def test_what_a_log_kept_is_made_safe_again() -> None:
    everything = "".join(payloads("http://beacon.invalid"))
    found = Markup()
    found.feed(str(kept_html(f'<section class="evidence" id="e1">{everything}</section>')))
    assert "script" not in found.tags
    assert not found.tags & {
        "img",
        "svg",
        "iframe",
        "object",
        "style",
        "form",
        "input",
        "video",
        "link",
        "meta",
    }
    assert found.values("src", "style", "srcdoc", "onload", "onerror", "onfocus") == []
    assert "e1" in found.values("id")


def test_our_own_html_survives_being_made_safe_again() -> None:
    """Except for what browsers may write in another way, nothing is lost."""
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    before, after = Markup(), Markup()
    before.feed(html)
    after.feed(str(kept_html(html)))
    assert after.tags == before.tags
    for name in ("id", "class", "href", "aria-label", "tabindex"):
        assert after.values(name) == before.values(name)


def test_no_citation_becomes_part_of_an_attribute() -> None:
    """A citation in an address, a title or an image must not put our markup between quote marks."""
    text = "[a](https://a.example/[@s1] '[@s1]') ![[@s1]](x) <https://a.example/[@s1]> [b [@s1]](https://b.example)"
    html = html_of(text, SOURCES, [], {})
    found = Markup()
    found.feed(html)
    assert [one for one in found.values("href", "title") if "<" in one or "sup" in one] == []
    assert "\ue000" not in html


@pytest.mark.parametrize("style", ["numeric", "apa", "mla", "chicago"])
def test_the_markdown_of_a_hostile_article_renders_without_harm(style: str) -> None:
    sources, _ = hostile_sources("http://beacon.invalid")
    content = content_of(hostile_article("http://beacon.invalid"), sources, style)
    assert "@s99" not in content
    assert "\ue000" not in content


# ── in a real browser ──


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@both_pages
def test_a_browser_runs_no_script_and_asks_nobody(
    tmp_path: Path, beacon: tuple[str, list[str]], made: Callable[[str], str]
) -> None:
    address, called = beacon
    page = tmp_path / "article.html"
    page.write_text(made(address), encoding="utf-8")
    for fragment in ("", "e3"):
        dom = browse(page, fragment=fragment)
        assert "data-ran=" not in dom
        assert len(dom) > 20_000, "the page was read"
    assert printed(page).startswith(b"%PDF")
    assert called == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_browser_would_show(tmp_path: Path, beacon: tuple[str, list[str]]) -> None:
    address, called = beacon
    page = tmp_path / "bad.html"
    page.write_text(f"<p>x</p><script>{RAN}</script><img src='{address}/img.png'>")
    assert "data-ran=" in browse(page)
    assert called == ["/img.png"]
