"""What counts as copied: eight words in a row, unless they are quoted and cited."""

from __future__ import annotations

import random

import pytest

from podium.workflows.research.measures.quotes import ROW, overlap

SOURCE = "Before it. The quick brown fox jumps over the lazy dog near the river bank. And after it."
COPIED = "The quick brown fox jumps over the lazy dog near the river bank"
OWN = "Here we say something else in words that nobody else has used before today."


def test_what_is_written_by_oneself_is_not_copied() -> None:
    assert overlap(OWN, {"s1": SOURCE}).share == 0.0
    assert overlap(OWN, {}).passages == ()


def test_a_copied_sentence_is_found_with_its_place_in_the_source() -> None:
    found = overlap(f"{OWN} {COPIED}.", {"s1": "nothing", "s2": SOURCE})
    (passage,) = found.passages
    assert (passage.text, passage.source_id) == (COPIED, "s2")
    assert SOURCE[passage.start : passage.end] == COPIED
    assert found.share == 13 / (14 + 13)


def test_case_punctuation_and_line_ends_hide_nothing() -> None:
    text = COPIED.upper().replace(" ", ",\n", 3)
    assert overlap(text, {"s1": SOURCE}).share == 1.0


def test_fewer_words_than_a_row_are_chance() -> None:
    words = COPIED.split()
    assert overlap(" ".join(words[: ROW - 1]), {"s1": SOURCE}).share == 0.0
    assert overlap(" ".join(words[:ROW]), {"s1": SOURCE}).share == 1.0


@pytest.mark.parametrize(
    "text",
    [
        f"She wrote “{COPIED}” there [@s1].",
        f'She wrote "{COPIED}" [@s1].',
        f"> {COPIED} [@s1]",
        f"« {COPIED} » [@s1]",
    ],
)
def test_what_is_quoted_and_cited_is_not_copied(text: str) -> None:
    assert overlap(text, {"s1": SOURCE}).share == 0.0


@pytest.mark.parametrize("text", [f"She wrote “{COPIED}” there.", f"> {COPIED}", f"{COPIED} [@s1]."])
def test_a_quotation_without_citation_is_copied_and_so_is_a_citation_without_quote_marks(text: str) -> None:
    (passage,) = overlap(text, {"s1": SOURCE}).passages
    assert passage.text.endswith(COPIED)


def test_headings_and_code_are_not_compared() -> None:
    assert overlap(f"# {COPIED}\n\n```\n{COPIED}\n```\n\n{OWN}", {"s1": SOURCE}).share == 0.0


def test_the_same_words_of_two_sources_are_counted_once() -> None:
    found = overlap(COPIED, {"s1": SOURCE, "s2": SOURCE})
    assert found.share == 1.0
    assert [one.source_id for one in found.passages] == ["s1"]


def test_two_passages_of_two_sources_are_reported_in_the_order_of_reading() -> None:
    other = "A completely different text that has at least ten words in it"
    found = overlap(f"{other}. {COPIED}.", {"s1": SOURCE, "s2": other})
    assert [one.source_id for one in found.passages] == ["s2", "s1"]


@pytest.mark.parametrize(
    ("text", "source"), [("", ""), ("a " * 50, "a " * 5000), ("日本語" * 9, "日本語" * 9), ("!", "?")]
)
def test_any_texts_can_be_compared(text: str, source: str) -> None:
    found = overlap(text, {"s1": source})
    assert 0 <= found.share <= 1
    assert all(0 <= one.start < one.end <= len(source) for one in found.passages)


def test_a_whole_library_is_compared() -> None:
    """50 sources of 50,000 words each; a comparison of every row with every row would never end."""
    chance = random.Random(4)
    words = [f"w{number}" for number in range(4000)]
    texts = {f"s{number}": " ".join(chance.choices(words, k=50_000)) for number in range(50)}
    copied = " ".join(texts["s37"].split()[20_000:20_050])
    own = " ".join(chance.choices(words, k=2000))
    (passage,) = overlap(f"{own}. {copied}.", texts).passages
    assert (passage.source_id, texts["s37"][passage.start : passage.end]) == ("s37", copied)
