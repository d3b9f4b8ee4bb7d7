"""The article as people get it: readable citations, cards with the words of the source, and one page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from podium.workflows.research.article import cards_of, content_of, html_of, quoted, to_page, to_record
from podium.workflows.research.contracts import Claim, QualityScore
from podium.workflows.research.measures.citations import marks_of
from tests.workflows.browser import Markup
from tests.workflows.research.measures.sources import source
from tests.workflows.research.result import ARTICLE, SOURCES, TEXTS, claims, result


def words_of(html: str) -> str:
    """What a reader reads."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("</head>")[2] or html).split())


def card(html: str, number: int) -> str:
    return html.split(f'id="e{number}"')[1].split("</li>")[0]


# ── Markdown ──


def test_the_markdown_has_readable_citations_and_references() -> None:
    text = content_of(ARTICLE, SOURCES)
    assert text.startswith("# How batteries are changing the electricity grid\n")
    assert "two years before [1]." in text
    assert "[2, 3]" in text
    assert "@s" not in text
    assert "\n## References\n\n1. International Energy Agency. *Global storage outlook 2024.*" in text
    assert "8. *Fleet report: four summers.* 2024. Document operators/fleet-report.pdf." in text


def test_an_article_that_cites_nobody_has_no_references() -> None:
    assert content_of("# T\n\nText.", SOURCES) == "# T\n\nText.\n"


# ── evidence ──


def test_a_citation_leads_to_the_card_of_its_sentence_and_back() -> None:
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    assert '<sup class="group" id="c1">[<a class="cite verified" href="#e1"' in html
    assert 'class="back" href="#c1"' in card(html, 1)
    found = Markup()
    found.feed(html)
    names = set(found.values("id"))
    assert {one[1:] for one in found.values("href") if one.startswith("#")} <= names


def test_a_card_shows_the_exact_words_within_their_passage() -> None:
    shown = card(html_of(ARTICLE, SOURCES, claims(), TEXTS), 1)
    assert (
        "<mark>Storage built into the grid passed 90 gigawatts worldwide in 2023</mark>, more than" in shown
    )
    assert "Grid-scale batteries had another record year. <mark>" in shown
    assert "✓</span> verified" in shown
    assert 'href="https://www.energy-agency.example/reports/storage-2024"' in shown


def test_a_quotation_that_a_line_end_broke_is_marked_as_it_stands_in_the_source() -> None:
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    assert "<mark>between 250 and 400 dollars per kilo-\nwatt-hour</mark>, all included" in html


def test_only_the_source_that_holds_the_words_has_the_verdict() -> None:
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    marked = html.split('id="c2"')[1].split("</sup>")[0]
    assert re.findall(r'class="cite (\w+)"', marked) == ["verified", "unchecked"]
    assert "also cited" in card(html, 2)
    assert card(html, 2).index("Calendar and cycle") < card(html, 2).index("Planning notes")


def test_doubtful_claims_are_marked_by_sign_word_and_colour() -> None:
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    assert '<a class="cite contradicted"' in html
    assert "✗</span> contradicted" in html
    assert "?</span> not verified" in html
    assert 'aria-label="Source 7, not verified: open the passage"' in html


def test_a_document_of_the_corpus_is_no_link() -> None:
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    assert "<cite>Planning notes: storage at the harbour</cite>" in html
    assert 'href="corpus:' not in html


def test_without_a_fact_checker_a_card_says_so_and_shows_what_the_search_said() -> None:
    html = html_of("It rose [@s4].", SOURCES, [], TEXTS)
    assert "not checked" in card(html, 1)
    assert "A search said of the first one" in card(html, 1)
    assert "Frequency response." in card(html, 1)


def test_a_claim_without_words_says_so() -> None:
    bare = source(1, snippet="")
    html = html_of("It rose [@s1].", [bare], [Claim(id="c1", text="It rose.", source_ids=["s1"])], {})
    assert "No words of a source are tied to this claim." in card(html, 1)


def test_without_the_kept_text_a_card_shows_the_bare_quotation() -> None:
    assert quoted("", "the words", 5, 9) == quoted("short", "the words", 3, 99)
    assert quoted("", "the words", 5, 9).quote == "the words"


@pytest.mark.parametrize(
    "odd",
    [
        "It said: “... done. ” [@s1]. Then more. [@s2]",
        "... [@s1] Then more. [@s2]",
        "“ ” [@s1]! ? [@s2]",
        "[@s1] [@s2]",
    ],
)
def test_a_citation_beside_no_word_still_has_its_place(odd: str) -> None:
    """A page numbers every citation: one that was left out would make the others lead elsewhere."""
    assert [mark.source_ids for mark in marks_of(odd)] == [("s1",), ("s2",)]
    assert html_of(odd, SOURCES, claims(), TEXTS).count('class="cite') >= 2


def test_two_sentences_that_say_the_same_share_a_card() -> None:
    cards = cards_of(marks_of("So [@s1].\n\nSo [@s2].\n\nOther [@s1]."), SOURCES, [], {})
    assert [[one.id for one in card.sources] for card in cards.values()] == [["s1", "s2"], ["s1"]]


@pytest.mark.parametrize(
    ("style", "label"),
    [
        ("numeric", "[1]"),
        ("apa", "( International Energy Agency, 2024 )"),
        ("chicago", "Agency 2024 )"),
        ("mla", "( International Energy Agency )"),
        ("unheard-of", "[1]"),
    ],
)
def test_every_style_in_html(style: str, label: str) -> None:
    text = words_of(html_of("It rose [@s1].", SOURCES, [], TEXTS, style))
    assert label in text.replace("[ 1 ]", "[1]")


def test_the_title_is_left_to_the_page_and_sections_have_names() -> None:
    html = html_of(ARTICLE, SOURCES, claims(), TEXTS)
    assert "<h1" not in html
    assert re.findall(r'<h2 id="(part-\d)">', html) == [f"part-{number}" for number in range(1, 5)]


# ── the pages ──


def record(**changed: Any) -> str:
    made = result(**changed)
    return to_record(
        made,
        topic="How do batteries change the grid?",
        run_id="run42",
        rehearsal=False,
        models=["some:model"],
        texts=TEXTS,
    )


def page(**changed: Any) -> str:
    made = result(**changed)
    return to_page(made, topic="How do batteries change the grid?", run_id="run42", rehearsal=False)


def test_the_page_is_the_article_alone() -> None:
    text = words_of(page())
    parts = ("How batteries are changing the electricity grid", "Ten years ago", "References", "Evidence")
    places = [text.index(one) for one in parts]
    assert places == sorted(places)
    for logged in (
        "completed",
        "Quality",
        "88",
        "Worth knowing",
        "Iteration",
        "some:model",
        "token",
        "phases",
    ):
        assert logged not in text, logged
    assert "podium artifacts run42 record.html -o record.html" in text


def test_the_record_holds_the_rest_in_the_order_of_interest() -> None:
    text = words_of(
        record(
            missing=["what it costs"],
            unsupported=["who pays for it"],
            comparison={"preferred": "draft", "why": ["B names the price."]},
        )
    )
    places = [
        text.index(one)
        for one in (
            "Record: How batteries are changing the electricity grid",
            "✓ completed",
            "Worth knowing",
            "What is missing",
            "what it costs",
            "who pays for it",
            "Beside a direct draft",
            "B names the price.",
            "Quality 88 %",
            "Where the sources disagree",
            "What was not confirmed",
            "Sources 3 web",
            "Iterations Iteration 1",
            "How it came about",
        )
    ]
    assert places == sorted(places)
    assert "Ten years ago" not in text
    assert "8 sources cited" in text


def test_the_record_says_how_it_came_about() -> None:
    text = words_of(record())
    for logged in (
        "How do batteries change the grid?",
        "run42",
        "some:model",
        "$3.20, 48.2k tokens, 49s",
        "2 of at most 3: +23 points (0.65 → 0.88)",
        "13 completed, 4 kept, 1 skipped, 2 retries",
        "start plan strategy work evaluation new plan plan strategy work evaluation merge done",
        "Generated after 2 iterations",
        "News search unavailable: the feed did not answer.",
    ):
        assert logged in text


def test_a_rehearsal_says_so_at_the_top() -> None:
    made = to_page(result(), topic="t", run_id="r", rehearsal=True)
    assert words_of(made).startswith("Rehearsal.")
    assert "Rehearsal" not in words_of(page())


def test_bars_have_text_alternatives() -> None:
    html = record()
    assert html.count("<svg") == html.count('role="img" aria-label="')
    assert 'aria-label="Article 94 percent"' in html
    assert 'aria-label="quality 65 percent; 80 were asked for"' in html


def test_both_sides_of_a_contradiction_are_shown_in_their_passages() -> None:
    text = record().split("Where the sources disagree</h2>")[1].split("</section>")[0]
    assert (
        "Fleet report. <mark>Capacity fades by about two percent a year in our fleet</mark>, measured" in text
    )
    assert "conditions <mark>the capacity lost less than one percent a year</mark>. At 45" in text


def test_sources_are_reported_with_type_date_and_how_they_were_read() -> None:
    text = words_of(record().split("<h2>Sources</h2>")[1].split("</section>")[0])
    assert (
        "2 Calendar and cycle ageing of 96 cells over three years academic 2024-01-18 Mira van der Berg"
        in text
    )
    assert "3 Planning notes: storage at the harbour corpus no date planning/harbour-storage.md" in text
    assert "only its snippet was read" in text
    assert "found by tavily read 2026-11-15" in text


def test_iterations_show_what_the_next_plan_changed() -> None:
    text = words_of(record().split("<h2>Iterations</h2>")[1].split("</section>")[0])
    assert "Iteration 1 6 workers, expected $2.40 and 17m 00s ! 65%" in text
    assert "Only 7 of 10 sources." in text
    assert "added: Academic search, Full texts, Citations" in text
    assert "✓ 88%" in text


def test_a_partial_result_says_so() -> None:
    low = QualityScore(overall=0.78, threshold=0.8, article_quality=0.7)
    text = words_of(record(status="partial", quality=low))
    assert "◐ partial" in text
    assert "78 % ! below the 80% asked for" in text
    assert "not measured: no worker covered it" in text


def test_the_record_lists_all_warnings() -> None:
    text = words_of(record(warnings=[f"w{n}" for n in range(5)]))
    assert all(f"w{n}" in text for n in range(5))
    assert "Worth knowing" not in record(warnings=[])


def test_a_result_without_an_article_has_a_page_too() -> None:
    made = result().model_copy(update={"article": None, "quality": None, "plan_history": [], "claims": []})
    text = words_of(to_page(made, topic="t", run_id="r", rehearsal=False))
    assert "There is no article." in text


@pytest.mark.parametrize("made", [page, record])
def test_the_pages_are_self_contained(made: Callable[[], str]) -> None:
    html = made()
    assert "<script" not in html
    assert not re.search(r"@import|url\(|<link|<img|<iframe", html)
    assert "@media print" in html
    assert "prefers-color-scheme: dark" in html


def test_a_paragraph_whose_first_sentence_was_taken_out_begins_without_a_space() -> None:
    code = "```\na\n\n indented\n```"
    shown = content_of(f"# Title\n\n The rest stays.\n\n{code}\n\n- one\n\n  more\n", [])
    assert shown == f"# Title\n\nThe rest stays.\n\n{code}\n\n- one\n\n  more\n"
