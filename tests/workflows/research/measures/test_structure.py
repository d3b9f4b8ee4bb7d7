"""What an article of each kind has to have, and what is told when it has not."""

from __future__ import annotations

import pytest

from podium.workflows.research.measures.structure import description_of, keywords, seo, structure, title_of

GOOD = """# How solar power changes the grid

Solar power is cheap now. It changes how grids are run [@s1].

## Solar power today

It grows.

## What storage adds

It lasts.

## Conclusion

It goes on.
"""
REPORT = GOOD.replace("## Solar power today", "## Summary\n\nShort.\n\n## Findings")


@pytest.mark.parametrize(
    ("text", "kind"), [(GOOD, "article"), (GOOD, "blog_post"), (REPORT, "research_report")]
)
def test_a_well_built_text_of_each_kind_has_the_full_score(text: str, kind: str) -> None:
    assert structure(text, kind).findings == ()
    assert structure(text, kind).score == 1.0


@pytest.mark.parametrize(
    ("text", "kind", "finding", "score"),
    [
        (GOOD.replace("# How solar power changes the grid\n", "", 1), "article", "There is no title.", 5 / 6),
        (GOOD + "\n# Another\n", "article", "There are several titles.", 5.5 / 6),
        ("Text.\n\n" + GOOD, "article", "The title is not at the top.", 5.5 / 6),
        (
            GOOD.replace("\nSolar power is cheap now. It changes how grids are run [@s1].\n", ""),
            "article",
            "There is no introduction before the first section.",
            5 / 6,
        ),
        (GOOD.replace("## Solar power today", ""), "article", "2 of 3 sections.", (5 + 2 / 3) / 6),
        (GOOD.replace("Conclusion", "Prices"), "article", "There is no conclusion.", 5 / 6),
        (GOOD.replace("\nIt goes on.\n", ""), "article", "There is no conclusion.", 5 / 6),
        (
            GOOD.replace("It grows.", "#### Deep\n\nIt grows."),
            "article",
            "1 of 5 headings skip a level.",
            5.8 / 6,
        ),
        (
            GOOD.replace("It grows.", "word " * 161),
            "article",
            "1 of 4 paragraphs have more than 160 words.",
            5.75 / 6,
        ),
        (
            GOOD.replace("It grows.", "word " * 121),
            "blog_post",
            "1 of 4 paragraphs have more than 120 words.",
            5.75 / 6,
        ),
        (
            REPORT.replace("## Summary", "## Prices"),
            "research_report",
            "A research report has a section with a summary.",
            7 / 8,
        ),
        (
            REPORT.replace("## Findings", "## Prices"),
            "research_report",
            "A research report has a section with the findings.",
            7 / 8,
        ),
    ],
)
def test_what_is_missing_is_reported_and_costs_its_share(
    text: str, kind: str, finding: str, score: float
) -> None:
    found = structure(text, kind)
    assert found.findings == (finding,)
    assert found.score == pytest.approx(score)


def test_a_first_section_may_be_the_introduction() -> None:
    text = GOOD.replace("\nSolar power is cheap now. It", "\n## Introduction\n\nIt")
    assert structure(text, "article").score == 1.0


def test_references_may_follow_the_conclusion() -> None:
    assert structure(GOOD + "\n## References\n\n1. A\n", "article").score == 1.0


@pytest.mark.parametrize("text", ["", "# Title", "```\ncode\n```", "\n\n"])
def test_no_text_no_structure(text: str) -> None:
    assert structure(text, "article").score == 0.0
    assert structure(text, "article").findings == ("There is no text.",)


def test_an_unknown_kind_is_judged_as_an_article() -> None:
    assert structure(GOOD, "poem") == structure(GOOD, "article")


# ── being found ──


TOPIC = "How does solar power change the grid?"


def test_keywords_are_the_words_that_somebody_would_search_for() -> None:
    assert keywords(TOPIC) == {"solar", "power", "change", "grid"}
    assert keywords("What is it?") == {"what", "is", "it"}, "a topic of nothing else keeps its words"
    assert keywords("") == frozenset()


def filled(text: str) -> str:
    """With enough other words for the topic's to be rare."""
    return text.replace("It lasts.", "Batteries hold energy for the night and hand it out again. " * 8)


def test_an_article_that_can_be_found_has_the_full_score() -> None:
    assert seo(filled(GOOD), TOPIC).findings == ("The first paragraph is too short for a description.",)
    longer = filled(GOOD).replace("cheap now.", "cheap now in most of the countries where the sun shines.")
    assert seo(longer, TOPIC).score == 1.0


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (("# How solar power changes the grid", ""), "There is no title."),
        (
            ("# How solar power changes the grid", "# Grid"),
            "The title has 4 characters; 20 to 65 are shown whole.",
        ),
        (
            ("# How solar power changes the grid", "# A very nice day by the sea"),
            "The title does not name the topic.",
        ),
        (
            ("Solar power is cheap now. It changes how grids are run", "It is cheap."),
            "The first words do not name the topic.",
        ),
        (("## Solar power today", "## Today"), "No heading has a word of the topic."),
        ((" [@s1]", ""), "Nothing links to a source."),
        (("It grows.", "Solar grid. " * 60), "The topic's words are used too often."),
    ],
)
def test_what_could_be_better_is_reported(change: tuple[str, str], finding: str) -> None:
    found = seo(filled(GOOD).replace(*change), TOPIC)
    assert finding in found.findings
    assert found.score < 1


@pytest.mark.parametrize(("text", "topic"), [("", TOPIC), ("x", ""), ("", ""), ("日本語", "日本")])
def test_anything_can_be_judged(text: str, topic: str) -> None:
    assert 0 <= seo(text, topic).score <= 1


def test_the_description_is_the_beginning_of_the_first_paragraph() -> None:
    assert description_of(GOOD) == "Solar power is cheap now. It changes how grids are run."
    first = "This sentence is rather long and tells a lot about what the article has to say, truly. "
    assert description_of(f"# T\n\n{first}{'And more of it. ' * 20}").startswith(first.strip())
    endless = description_of("word " * 100)
    assert len(endless) <= 160
    assert endless.endswith("word …")
    assert len(description_of("x" * 500)) <= 160
    assert description_of("") == ""


def test_the_title() -> None:
    assert title_of(GOOD) == "How solar power changes the grid"
    assert title_of("## Not this\n\ntext") == ""
