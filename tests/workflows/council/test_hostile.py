"""Twenty hostile texts in every place that a model can fill: no page runs a script or calls anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.workflows.council.publisher import made_safe
from tests.chromium import CHROMIUM
from tests.payloads import RAN, payloads
from tests.workflows.browser import Markup, browse, printed
from tests.workflows.council.hostile import hostile_team
from tests.workflows.council.pages import artifact, seen
from tests.workflows.council.team import hold

# ── hostile texts ──


def test_there_are_forty_hostile_texts() -> None:
    assert len(set(payloads("http://x"))) == 40


OURS = (
    "body main header section footer p span strong h1 h2 h3 div ul ol li dl dt dd details summary code a br"
)
TABLES = "table caption thead tbody tfoot tr th td abbr em pre hr blockquote wbr"
FORMS = "article fieldset legend label input"
DRAWN = "svg title polygon line text path g rect"
ALLOWED = frozenset(f"{OURS} {TABLES} {FORMS} {DRAWN}".split())


async def test_no_hostile_text_is_markup_in_the_report_or_the_page(store: Store) -> None:
    run = await hold(store, hostile_team("http://beacon.invalid"), preset="full", rounds=1, min_ideas=3)
    assert run.status == "completed"
    _, page = await seen(store, run)
    for html in (
        page,
        await artifact(store, run, "report.html"),
        await artifact(store, run, "ui-creator.html"),
    ):
        markup = Markup()
        markup.feed(html.split("</head>")[1])
        assert markup.tags <= ALLOWED, markup.tags - ALLOWED
        assert [name for name, _ in markup.attributes if name.startswith("on")] == []
        assert [
            value for name, value in markup.attributes if name in ("src", "action", "srcdoc", "poster")
        ] == []
        addresses = [value for name, value in markup.attributes if name in ("href", "xlink:href")]
        assert [address for address in addresses if not address.startswith(("http://", "https://"))] == []
        styles = [value for name, value in markup.attributes if name == "style"]
        assert [style for style in styles if "url" in style or "position" in style] == []
        assert "default-src 'none'" in html.split("</head>")[0]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_a_browser_runs_no_script_and_asks_nobody(
    store: Store, tmp_path: Path, beacon: tuple[str, list[str]]
) -> None:
    address, called = beacon
    run = await hold(store, hostile_team(address), preset="full", rounds=1, min_ideas=3)
    _, page = await seen(store, run)
    pages = {
        "report.html": page,
        "own.html": await artifact(store, run, "report.html"),
        "ui.html": await artifact(store, run, "ui-creator.html"),
    }
    for name, html in pages.items():
        (tmp_path / name).write_text(html)
        dom = browse(tmp_path / name)
        assert "data-ran=" not in dom, name
        assert called == [], name
        assert len(dom) > 5_000, "the page was read"
        assert printed(tmp_path / name).startswith(b"%PDF"), name
        assert called == [], name


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_the_browser_would_show(tmp_path: Path, beacon: tuple[str, list[str]]) -> None:
    """The same look at a page that does run a script and does fetch."""
    address, called = beacon
    page = tmp_path / "bad.html"
    page.write_text(f"<p>x</p><script>{RAN}</script><img src='{address}/img.png'>")
    assert "data-ran=" in browse(page)
    assert called == ["/img.png"]


# ── the ui_creator's page ──


@pytest.mark.parametrize(
    "reply",
    [
        "<h1>Hello</h1>",
        "```html\n<h1>Hello</h1>\n```",
        "<!doctype html><html><head><title>T</title></head><body class=x><h1>Hello</h1></body></html>",
    ],
)
def test_the_page_is_found_in_a_reply(reply: str) -> None:
    page = made_safe(reply, "topic")
    assert "<h1>Hello</h1>" in page
    assert page.count("<body") == 1
    assert "written by a model" in page


def test_a_reply_in_markdown_becomes_a_page_too() -> None:
    assert "<h2>Result</h2>" in made_safe("## Result\n\nIt is *good*.", "topic")


def test_harmless_colours_stay_and_other_styles_go() -> None:
    page = made_safe('<p style="color: teal; position: fixed; background: url(http://x)">a</p>', "topic")
    assert 'style="color:teal"' in page.replace(": teal", ":teal")
    assert "position: fixed" not in page.split("<main")[1]
    assert "http://x" not in page


@pytest.mark.parametrize("reply", ["", "   ", "<script>x</script>", "<style>p{}</style>"])
def test_nothing_is_left_of_a_page_that_says_nothing(reply: str) -> None:
    assert made_safe(reply, "topic") == ""
