"""The words that a request is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.models.sample_values import keywords, number, pick, slug, without_codes


def test_common_words_say_nothing() -> None:
    assert keywords("Write a short poem about the lighthouse and its keeper.") == [
        "short",
        "poem",
        "lighthouse",
        "keeper",
    ]


def test_the_section_that_is_the_request_counts_before_the_template() -> None:
    prompt = """
    # Your work
    Grade the output below with a score for consistency, relevance and quality.

    ## Request
    Maya finds a letter in the lighthouse

    ## Output
    Something entirely different
    """
    assert keywords(prompt) == ["Maya", "finds", "letter", "lighthouse"]
    assert keywords("Consider carefully.\nTopic: tidal power plants\n") == ["tidal", "power", "plants"]


def test_an_empty_section_falls_back_to_the_whole_prompt() -> None:
    assert "Grade" in keywords("Grade severely.\n\n## Request\n\n## Output")


def test_words_of_every_script_are_words() -> None:
    assert keywords("Un été à Besançon, naïveté") == ["été", "Besançon", "naïveté"]
    assert keywords("日本語の物語") == ["日本語の物語"]


@given(st.text())
def test_there_is_always_a_word(prompt: str) -> None:
    words = keywords(prompt)
    assert 1 <= len(words) <= 12
    assert all(0 < len(word) <= 40 for word in words)


def test_small_words_of_english_and_german_are_left_out() -> None:
    assert keywords("Bitte ein Wochenende in Köln für unsere Freunde") == ["Wochenende", "Köln", "Freunde"]
    assert keywords("A man with a hat goes to war") == ["hat", "goes", "war"]


@pytest.mark.parametrize(
    "steered",
    [
        "\x1b[31mPlan\x1b[0m a trip",
        "[1;31mPlan[0m a trip",
        "\x1b]0;title\x07Plan a trip",
        "\x9b31mPlan a trip",
        "\x1b]8;;http://evil.example\x1b\\Plan\x1b]8;;\x1b\\ a trip",
    ],
)
def test_codes_for_a_terminal_are_no_words(steered: str) -> None:
    assert without_codes(steered) == "Plan a trip"
    assert keywords(steered) == ["Plan", "trip"]


def test_brackets_that_are_no_codes_stay() -> None:
    assert without_codes("a wall [5m] tall, see [1] and x[3]") == "a wall [5m] tall, see [1] and x[3]"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Köln & Düsseldorf", "koeln-duesseldorf"),
        ("Größe", "groesse"),
        ("A\u0308rger", "aerger"),
        ("naïve Façade", "naive-facade"),
        ("draußen im Gebirge übernachten", "draussen-im-gebirge"),
        ("Donaudampfschifffahrtsgesellschaft", "donaudampfschifffahrtsge"),
        ("日本", ""),
    ],
)
def test_a_short_name_has_umlauts_spelt_out_and_whole_words(text: str, name: str) -> None:
    assert slug(text, 24) == name


def test_choices_depend_on_the_seed_alone() -> None:
    assert number("a", 1) == 9331952569449725121
    assert pick("abc", "seed") == pick("abc", "seed")
    assert len({number("a", index) for index in range(100)}) == 100
