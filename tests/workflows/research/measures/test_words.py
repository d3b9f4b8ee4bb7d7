"""Words and sentences: what counts as one, and whom a citation belongs to."""

from __future__ import annotations

import pytest

from podium.workflows.research.measures.markup import Block, blocks_of, ids_of
from podium.workflows.research.measures.text import (
    count_words,
    length_score,
    reading_minutes,
    sentences_in,
    words_in,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("one two", 2),
        ("don't co-operate", 2),
        ("1,000 and 3.5 %", 3),
        ("", 0),
        ("日本語", 3),
        ("naïve café", 2),
        ("a_b", 2),
        ("—", 0),
        ("word " * 1000, 1000),
    ],
)
def test_words(text: str, count: int) -> None:
    assert len(words_in(text)) == count


def test_what_a_reader_reads_is_counted() -> None:
    text = (
        "# Title\n\nThree words here [@s1].\n\n- two items\n\n| not | this |\n|---|---|\n| a | b |\n\n`code`"
    )
    assert count_words(text) == 6


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        (
            "Dr. Smith met J. R. Lee at 5.30 p.m. sharp. Then she left.",
            ["Dr. Smith met J. R. Lee at 5.30 p.m. sharp.", "Then she left."],
        ),
        (
            "It rose (see Fig. 3). He said “go.” She went.",
            ["It rose (see Fig. 3).", "He said “go.”", "She went."],
        ),
        (
            "Costs, e.g. rent, rise. Smith et al. found more.",
            ["Costs, e.g. rent, rise.", "Smith et al. found more."],
        ),
        ("彼は来た。彼女も来た！", ["彼は来た。", "彼女も来た！"]),
        ("It is 3.5 times v2.0.1 of x.y", ["It is 3.5 times v2.0.1 of x.y"]),
        ("Bread, milk, etc. They paid.", ["Bread, milk, etc.", "They paid."]),
        ("... !", []),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert sentences_in(text) == sentences


def test_a_citation_behind_the_full_stop_belongs_to_the_sentence_before() -> None:
    (block,) = blocks_of("It rose.[@s1] It fell. [@s2; @s3] It stood [@s4]. End.")
    assert [one.count("\ue000") for one in sentences_in(block.text)] == [1, 1, 1, 0]


def test_blocks_are_what_a_reader_sees() -> None:
    text = "# T\n\np *one*\ntwo\n\n- item\n\n> said [@s1]\n\n"
    text += "| h | |\n|---|---|\n| c | 5 [@s2] |\n\n```\nx = 1\n```\n"
    assert blocks_of(text) == (
        Block("heading", "T", 1),
        Block("paragraph", "p one two"),
        Block("item", "item"),
        Block("quote", "said \ue000s1\ue001", quoted=True),
        Block("row", "h"),
        Block("row", "c · 5 \ue000s2\ue001", headings=("h", "")),
        Block("code", "x = 1\n"),
    )


def test_definitions_of_links_and_images_are_texts() -> None:
    texts = [one.text for one in blocks_of("[@s1]: https://evil.example\n\n![x](https://evil.example/a.png)")]
    assert texts == ["\ue000s1\ue001: https://evil.example", "!x"]


def test_nobody_can_write_our_own_marks() -> None:
    (block,) = blocks_of("a \ue000s1\ue001 b")
    assert block.text == "a s1 b"


@pytest.mark.parametrize(
    ("citation", "ids"),
    [
        ("[@s1]", ["s1"]),
        ("[@s3; @s7]", ["s3", "s7"]),
        ("[@s3, @s7]", ["s3", "s7"]),
        ("[@S3;@s3]", ["s3"]),
        ("[@s3, p. 12]", ["s3"]),
        ("[@ s3]", []),
        ("[@3]", []),
    ],
)
def test_ids_of_a_citation(citation: str, ids: list[str]) -> None:
    assert ids_of(citation) == ids


@pytest.mark.parametrize(
    ("words", "target", "score"),
    [
        (2000, 2000, 1.0),
        (1800, 2000, 1.0),
        (2200, 2000, 1.0),
        (2150, 2000, 1.0),
        (1000, 2000, 1 - 0.4 / 0.9),
        (3000, 2000, 1 - 0.4 / 0.9),
        (0, 2000, 0.0),
        (4000, 2000, 0.0),
        (9000, 2000, 0.0),
        (5, 0, 1.0),
    ],
)
def test_length_against_the_target(words: int, target: int, score: float) -> None:
    assert length_score(words, target) == pytest.approx(score)


def test_reading_time() -> None:
    assert [reading_minutes(words) for words in (0, 1, 220, 221, 2200)] == [0, 1, 1, 2, 10]
