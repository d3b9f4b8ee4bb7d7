"""The report: everything that it has to tell, from the log alone, and nothing that could do harm."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.report.facts import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.report.presentation import Presentation
from podium.workflows import presentation_of
from podium.workflows.council.charts import concept_map, radar
from podium.workflows.council.discussion import CRITERIA, Discussion, Idea, plain
from podium.workflows.council.page import made_safe
from podium.workflows.council.report import CouncilPresentation
from podium.workflows.council.telling import lineage, orders, ranking
from tests.workflows.council.hostile import RAN, hostile_team, texts
from tests.workflows.council.team import Team, hold, idea, ideas, scores, selection

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


async def seen(store: Store, run: RunResult) -> tuple[Presentation, str]:
    """What a later process sees of a run, and the page that it makes of it."""
    shown = presentation_of("council")
    events = [row.to_event(run.run_id) for row in await store.read(run.run_id)]
    for event in events:
        shown.apply(event)
    facts = facts_of(events, output=run.output, shown=shown)
    return shown, to_html(facts, shown.sections(alive=False))


async def artifact(store: Store, run: RunResult, name: str) -> str:
    found = next(one for one in run.artifacts if one.name == name)
    return (await store.get_blob(found.blob)).decode()


SCRIPT = {
    "ideate": {
        "ideas": [
            idea("Bike lanes", "Paint them.", category="streets"),
            idea("Bus for free", "For a year.", category="transport"),
            idea("Wider lanes", "Really wide.", category="streets", refines="I1"),
        ]
    },
    "validate": scores(I1=7.5, I2=6, I3=8),
    "select": selection("I1", "It is the simplest."),
    "critique": {
        "text": "Doubts.",
        "risks": [
            {"risk": "Shops complain", "idea": "I1", "severity": "high", "mitigation": "talk to them"},
            {"risk": "Too dear", "idea": "I2", "severity": "low"},
        ],
        "open_questions": ["Who pays?"],
    },
    "implement": {
        "text": "Do it.",
        "next_steps": [{"step": "Measure the road", "idea": "I3", "effort": "a day"}],
    },
    "research": {
        "text": "Facts.",
        "evidence": [{"claim": "Lanes help", "source": "A study", "link": "https://e.org/x"}],
    },
}


async def test_the_report_tells_everything_that_it_has_to(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), "How to get about", preset="full", rounds=1, min_ideas=3)
    _, page = await seen(store, run)
    text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    for heading in (
        "Its five scores", "Runners-up", "Next steps", "Open questions and risks", "All ideas", "Comparison",
        "Concept map", "Evidence", "The journey", "What it cost", "How it came about",
    ):  # fmt: skip
        assert f">{heading}</h2>" in text, heading
    assert text.index("Wider lanes") < text.index("Its five scores"), "the answer comes first"
    assert "The team leader preferred <strong>I1</strong> Bike lanes" in text
    assert "Shops complain" in text.split("Risks of the recommended idea")[1].split("of other ideas")[0]
    assert "Too dear" in text.split("of other ideas")[1]
    assert "Measure the road" in text
    assert "Who pays?" in text
    assert 'href="https://e.org/x"' in text
    assert "? not checked" in text
    assert "worked from its model alone" in text
    assert 'aria-label="Wider lanes: feasibility 8, innovation 8' in text
    assert "3 ideas in 2 categories, 1 of them refinements" in text
    assert "<script" not in page
    assert re.search(r"""(?:src|href)=["'](?!https://e\.org/x)""", page) is None


async def test_the_report_of_the_run_itself_tells_the_same_and_what_it_cost(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), preset="full", rounds=1, min_ideas=3)
    own = await artifact(store, run, "report.html")
    _, page = await seen(store, run)
    for heading in ("Its five scores", "Runners-up", "All ideas", "Concept map", "The journey"):
        ours, theirs = (one.split(f"<h2>{heading}</h2>")[1].split("</section>")[0] for one in (own, page))
        assert ours == theirs
    assert "11 calls" in own


async def test_what_the_log_tells_is_what_the_run_returned(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), preset="full", rounds=1, passes=1, min_ideas=3)
    shown, _ = await seen(store, run)
    assert isinstance(shown, CouncilPresentation)
    held = shown.council.discussion
    rows = ranking(held)
    assert {row["id"]: row["score"] for row in rows} == {
        one["id"]: one["score"] for one in run.output["ideas"]
    }
    assert [one.id for one in held.messages] == [m["id"] for m in run.output["messages"]]
    assert held.final_idea is not None
    assert held.final_idea.id == run.output["final_idea"]["id"]


async def test_a_council_that_ran_out_of_budget_is_shown_as_it_stands(store: Store) -> None:
    run = await hold(store, Team(), preset="extended", budget=Budget(calls=10))
    shown, page = await seen(store, run)
    assert "Idea 1" in page
    assert "partial" in page
    assert shown.summary().startswith("5 ideas · 1 round · winner")


@pytest.mark.parametrize("calls", [10, 15, 17])
async def test_the_report_of_a_council_that_went_on_is_that_of_one_that_never_stopped(
    store: Store, calls: int
) -> None:
    """Stopped in a round, before the selection, before the page: what the log tells is what was returned."""
    team = Team()
    first = await hold(store, team, preset="extended", budget=Budget(calls=calls))
    assert first.status == "partial"
    handle = await podium.resume(first.run_id, model=team, store=store, budget=Budget(calls=90))
    run = await handle.result()
    shown, _ = await seen(store, run)
    assert isinstance(shown, CouncilPresentation)
    held = shown.council.discussion
    assert run.status == "completed"
    assert plain(held.ideas) == run.output["ideas"]
    assert plain(held.messages) == run.output["messages"]
    assert plain(held.final_idea) == run.output["final_idea"]


async def test_markdown_and_json_tell_it_too(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), preset="full", rounds=1, min_ideas=3)
    shown = presentation_of("council")
    events = [row.to_event(run.run_id) for row in await store.read(run.run_id)]
    for event in events:
        shown.apply(event)
    sections = shown.sections(alive=False)
    text = to_markdown(facts_of(events, output=run.output, shown=shown), sections)
    assert "| 1 | I3 | Wider lanes (refines I1) | streets | 1 | 8 | 8 | 8 | 8 | 8 | 8 |" in text
    assert "## Next steps\n\n1. Measure the road (I3, Wider lanes), a day" in text
    assert "- **high** (I1, Bike lanes): Shops complain What helps: talk to them." in text
    assert [one.name for one in sections] == [
        "recommended", "runners_up", "next_steps", "doubts", "ideas", "comparison", "concept_map", "evidence",
        "journey",
    ]  # fmt: skip


async def test_ideas_without_scores_are_shown_without_charts(store: Store) -> None:
    run = await hold(store, Team({"ideate": ideas("a", "b", "c")}), roles="leader,ideation")
    _, page = await seen(store, run)
    assert "The ideas were not scored" in page
    assert 'class="radar' not in page
    assert "Comparison</h2>" not in page


# ── the parts ──


def test_a_table_is_sorted_by_every_column_without_a_script() -> None:
    made = [
        Idea(
            id=f"I{nth}",
            title=title,
            description="",
            criteria=dict.fromkeys(CRITERIA, score),
            score=score,
            round=nth,
        )
        for nth, (title, score) in enumerate((("b", 5.0), ("a", 9.0), ("c", 7.0)), 1)
    ]
    made[0].criteria = {**dict.fromkeys(CRITERIA, 5.0), "impact": 10.0}
    held = Discussion(topic="x", ideas=made)
    by = {order["by"]: [row["id"] for row in order["rows"]] for order in orders(ranking(held))}
    assert by["score"] == ["I2", "I3", "I1"]
    assert by["impact"] == ["I1", "I2", "I3"]
    assert by["title"] == ["I2", "I1", "I3"]
    assert by["round"] == ["I1", "I2", "I3"]
    assert set(by) == {"score", *CRITERIA, "title", "category", "round"}


def test_the_radar_draws_each_score_on_its_axis() -> None:
    drawn = radar(
        Idea(id="I1", title="x", description="", criteria=dict.fromkeys(CRITERIA, 10.0), score=10.0)
    )
    assert drawn is not None
    assert drawn["shape"] == drawn["rings"][-1]
    none = radar(Idea(id="I1", title="x", description="", criteria=dict.fromkeys(CRITERIA, 0.0), score=0.0))
    assert none is not None
    assert set(none["shape"].split()) == {"110,92"}
    assert radar(Idea(id="I1", title="x", description="")) is None


def test_the_map_holds_every_idea_once_and_its_refinements() -> None:
    made = [
        Idea(id=f"I{nth}", title=f"t{nth}", description="", category=f"c{nth % 3}") for nth in range(1, 8)
    ]
    made.append(Idea(id="I8", title="t8", description="", refines="I2"))
    drawn = concept_map(Discussion(topic="A topic " * 30, ideas=made))
    assert drawn is not None
    assert len(drawn["ideas"]) == 8
    assert len({one["y"] for one in drawn["ideas"]}) == 8, "none lies on another"
    assert [one["said"] for one in drawn["refinements"]] == ["I8 refines I2"]
    assert len(drawn["topic"]) <= 5


def test_what_an_idea_refines_belongs_to_it_even_in_a_circle() -> None:
    made = [
        Idea(id="I1", title="a", description="", refines="I3"),
        Idea(id="I2", title="b", description="", refines="I1"),
        Idea(id="I3", title="c", description="", refines="I2"),
    ]
    assert lineage(Discussion(topic="x", ideas=made), "I3") == ["I3", "I2", "I1"]


# ── hostile texts ──


class _Beacon(BaseHTTPRequestHandler):
    """Remembers who called."""

    called: list[str]

    def do_GET(self) -> None:
        self.called.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


@pytest.fixture
def beacon() -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should ever ask, and the list of those who did."""
    called: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Beacon", (_Beacon,), {"called": called}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", called
    server.shutdown()
    server.server_close()
    thread.join()


def test_there_are_twenty_hostile_texts() -> None:
    assert len(set(texts("http://x"))) == 20


class Markup(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


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
        found = Markup()
        found.feed(html.split("</head>")[1])
        assert found.tags <= ALLOWED, found.tags - ALLOWED
        assert [name for name, _ in found.attributes if name.startswith("on")] == []
        assert [
            value for name, value in found.attributes if name in ("src", "action", "srcdoc", "poster")
        ] == []
        addresses = [value for name, value in found.attributes if name in ("href", "xlink:href")]
        assert [one for one in addresses if not one.startswith(("http://", "https://"))] == []
        styles = [value for name, value in found.attributes if name == "style"]
        assert [one for one in styles if "url" in one or "position" in one] == []
        assert "default-src 'none'" in html.split("</head>")[0]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("size", ["1280,1000", "390,844"])
async def test_a_browser_runs_no_script_and_asks_nobody(
    store: Store, tmp_path: Path, beacon: tuple[str, list[str]], size: str
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
        dom = _browse(tmp_path / name, size)
        assert "data-ran=" not in dom, name
        assert called == [], name
        assert len(dom) > 5_000, "the page was read"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_the_browser_would_tell(tmp_path: Path, beacon: tuple[str, list[str]]) -> None:
    """The same look at a page that does run a script and does fetch."""
    address, called = beacon
    page = tmp_path / "bad.html"
    page.write_text(f"<p>x</p><script>{RAN}</script><img src='{address}/img.png'>")
    assert "data-ran=" in _browse(page, "390,844")
    assert called == ["/img.png"]


def _browse(page: Path, size: str) -> str:
    """The page's DOM after a real browser has opened it."""
    profile = page.parent / "profile"
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        f"--user-data-dir={profile}", f"--window-size={size}", "--virtual-time-budget=2000", "--dump-dom",
        page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


# ── the ui_creator's page ──


@pytest.mark.parametrize(
    "reply",
    ["<h1>Hello</h1>", "```html\n<h1>Hello</h1>\n```", "<!doctype html><html><head><title>T</title></head>"
     "<body class=x><h1>Hello</h1></body></html>"],
)  # fmt: skip
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
