"""The words that a request is about."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podium.models.words import keywords, number, pick


def test_common_words_say_nothing() -> None:
    assert keywords("Write a short poem about the lighthouse and its keeper.") == [
        "short", "poem", "lighthouse", "keeper",
    ]  # fmt: skip


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
    found = keywords(prompt)
    assert 1 <= len(found) <= 12
    assert all(0 < len(word) <= 24 for word in found)


def test_choices_depend_on_the_seed_alone() -> None:
    assert number("a", 1) == 9331952569449725121
    assert pick("abc", "seed") == pick("abc", "seed")
    assert len({number("a", index) for index in range(100)}) == 100
