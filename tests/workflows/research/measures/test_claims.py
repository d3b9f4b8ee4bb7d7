"""Claims of an article, and where quotations stand in a source."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.workflows.research.measures.citations import (
    Mark,
    Sentence,
    marks_of,
    needs_source,
    split_claims,
    unmarked,
    unsourced_in,
    with_marks_inside,
)
from podium.workflows.research.measures.quotes import excerpt, locate

# ── claims ──


def test_sentences_that_cite_and_sentences_that_should_are_claims() -> None:
    text = (
        "# Title of 2024\n\nSolar grew by 30 percent [@s1]. It is nice. "
        "Prices fell to 4 dollars. Why 5 of them?\n\n"
        "- Experts agree on this [@s2; @s3]\n\n> Said in 1999 [@s4].\n\n```\nx = 5 in code\n```"
    )
    assert split_claims(text) == [
        Sentence("Solar grew by 30 percent.", ("s1",)),
        Sentence("Prices fell to 4 dollars."),
        Sentence("Experts agree on this", ("s2", "s3")),
        Sentence("Said in 1999.", ("s4",)),
    ]


def test_a_row_of_a_table_that_cites_is_one_claim() -> None:
    text = "| System | Price |\n|---|---|\n| Iron air | $20 [@s7] |\n| Other | $30 |\n"
    assert split_claims(text) == [Sentence("Iron air · $20", ("s7",), "System: Iron air · Price: $20")]


def test_a_cell_keeps_its_column_heading_beside_empty_and_unsourced_cells() -> None:
    text = "|  | Price [@s1] | Age | Use |\n|---|---|---|---|\n| Iron air | | 5 years † | grids [@s7] |\n"
    row = split_claims(text)[-1]
    assert (row.text, row.labelled) == ("Iron air · grids", "Iron air · Use: grids")
    assert split_claims("Iron air costs $20 [@s7].")[0].labelled == ""


MARKED = (
    "Lost updates become errors.† The code is 40001 [@s1]. `dpkg` asks †. It compares both [@s2].\n\n"
    "| Level | Skew |\n|---|---|\n| Two | possible † |\n| Three | none [@s1] |\n\n"
    "† What has no number is general knowledge.\n"
)


def test_general_knowledge_is_no_claim_and_joins_no_other_sentence() -> None:
    text = with_marks_inside(MARKED)
    assert split_claims(text) == [
        Sentence("The code is 40001.", ("s1",)),
        Sentence("It compares both.", ("s2",)),
        Sentence("Three · none", ("s1",), "Level: Three · Skew: none"),
    ]
    assert unsourced_in(text) == ["Lost updates become errors.", "dpkg asks.", "Two · possible"]
    assert [one.sentence for one in marks_of(text)] == [
        "The code is 40001.",
        "It compares both.",
        "Three · none",
    ]


def test_a_cell_of_general_knowledge_is_no_part_of_its_rows_claim() -> None:
    text = "| a | b | c |\n|---|---|---|\n| Upgrade | kept [@s4] | you are asked † |\n"
    assert split_claims(text) == [Sentence("Upgrade · kept", ("s4",), "a: Upgrade · b: kept")]


def test_readers_see_no_marks_but_one_line_that_says_what_has_no_citation() -> None:
    seen = unmarked(with_marks_inside(MARKED))
    assert "†" not in seen
    assert seen.startswith("Lost updates become errors. The code is 40001 [@s1]. `dpkg` asks. It compares")
    assert seen.endswith("| Three | none [@s1] |\n\n*What has no number is general knowledge.*\n")
    assert unmarked("Nothing is marked [@s1].\n") == "Nothing is marked [@s1].\n"


def test_an_ellipsis_between_words_ends_no_sentence() -> None:
    text = "Use SELECT ... FOR UPDATE before 3 of them [@s1]. Wait … Then 4 go on [@s2]."
    assert [one.text for one in split_claims(text)] == [
        "Use SELECT ... FOR UPDATE before 3 of them.",
        "Wait … Then 4 go on.",
    ]


def test_a_claim_that_is_written_twice_is_one() -> None:
    assert split_claims("It is so [@s1].\n\nIt is so [@s2].") == [Sentence("It is so.", ("s1", "s2"))]


@pytest.mark.parametrize(
    ("sentence", "needed"),
    [
        ("It rose by half a million people.", True),
        ("According to them it rose again.", True),
        ("In 2019 it was closed.", True),
        ("Researchers found that it helps.", True),
        ("It is a nice day.", False),
        ("Is it 5 or 6 of them?", False),
        ("See section 3 for more.", False),
        ("Python 3 is a language.", False),
        ("Only 5.", False),
        ("", False),
    ],
)
def test_what_needs_a_source(sentence: str, needed: bool) -> None:
    assert needs_source(sentence) is needed


def test_marks_are_all_citations_in_the_order_of_reading_with_their_sentence() -> None:
    text = "One [@s1] and [@s2]. Two.[@s3]\n\n| a | 5% [@s4] |\n|---|---|\n\n### Head [@s5]\n\n`[@s6]`"
    assert marks_of(text) == [
        Mark(("s1",), "One and."),
        Mark(("s2",), "One and."),
        Mark(("s3",), "Two."),
        Mark(("s4",), "a · 5%"),
        Mark(("s5",), "Head"),
    ]


# ── where quotations stand ──

TEXT = (
    "The quick brown fox—said “Mr. Fox”—jumps over the well-\nknown lazy dog’s 1,000 bones in 1990–2000.\n\n"
    "  A ﬁne exam-\n  ple of cafe\u0301 cul\u00adture: it’s 5% of $3.50 there. 日本語のテキストです。"
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("quick brown fox", "quick brown fox"),
        ("QUICK   Brown\nFox", "quick brown fox"),
        ("\"said 'Mr Fox' - jumps\"", "said “Mr. Fox”—jumps"),
        ("well-known lazy dog's 1000 bones", "well-\nknown lazy dog’s 1,000 bones"),
        ("in 1990-2000", "in 1990–2000"),
        ("a fine example of café culture", "A ﬁne exam-\n  ple of cafe\u0301 cul\u00adture"),
        ("its 5% of $3.50", "it’s 5% of $3.50"),
        ("テキスト", "テキスト"),
        ("“quick brown fox”", "quick brown fox"),
        ("quick brown … lazy dog's", "quick brown fox—said “Mr. Fox”—jumps over the well-\nknown lazy dog’s"),
        ("quick brown [...] well-known", "quick brown fox—said “Mr. Fox”—jumps over the well-\nknown"),
        ("2000. A fine", "1990–2000.\n\n  A ﬁne"),
        ("1990–2000", "1990–2000"),
    ],
)
def test_a_quotation_is_found_whatever_became_of_it(quote: str, found: str) -> None:
    place = locate(quote, TEXT)
    assert place is not None
    start, end = place
    assert TEXT[start:end].endswith(found.removeprefix("1990–"))
    assert TEXT[start:end] in (found, found.removeprefix("1990–"))


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "  ",
        "...",
        "“”",
        "quick fox",
        "uick brown",
        "brown fo",
        "lazy … quick",
        "5 of $3.50",
        "3.5",
        "1,00",
        "fox fox",
        "quick brown … nowhere",
        "\x00",
        "x" * 30_000,
    ],
)
def test_what_does_not_stand_there_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


def test_a_sign_is_part_of_a_figure() -> None:
    assert locate("5 % of", "about 5% of them") is not None
    assert locate("5 of them", "about 5% of them") is None
    assert locate("$5", "costs €5") is None
    assert locate("3.5", "costs 3,5 or 35") is None


def test_parts_of_a_quotation_must_stand_near_each_other() -> None:
    near, far = "begin here " + "x " * 100 + "end there", "begin here " + "x " * 2000 + "end there"
    assert locate("begin here … end there", near) == (0, len(near))
    assert locate("begin here … end there", far) is None
    assert locate("begin here … end there", f"{far[:4001]} {near}") is not None


WORDS = st.lists(st.text(alphabet="abcdefgh", min_size=1, max_size=6), min_size=3, max_size=40)


@given(WORDS, st.data())
def test_any_row_of_words_is_found_after_any_change_that_keeps_the_words(
    words: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    spaces = st.sampled_from([" ", "\n", "  \t", " — ", ", ", ". ", " “", "” ", "\u00a0", " (", ") "])
    text = "".join(word + data.draw(spaces) for word in words)
    quote = "".join(
        data.draw(st.sampled_from([word, word.upper()])) + data.draw(spaces) for word in words[first:last]
    )
    place = locate(quote, text)
    assert place is not None
    assert re.findall(r"[a-h]+", text[slice(*place)]) == words[first:last]


@given(st.text(max_size=80), st.text(max_size=300))
def test_anything_can_be_looked_for_in_anything(quote: str, text: str) -> None:
    place = locate(quote, text)
    assert place is None or 0 <= place[0] < place[1] <= len(text)


@given(st.text(min_size=1, max_size=120))
def test_a_text_with_words_is_found_in_itself(text: str) -> None:
    if any(map(str.isalnum, text)):
        assert locate(text, f"Before it.\n{text}\nAfter it.") is not None


@given(st.text(alphabet="aeé\u0301ñ\u0303 xyz", min_size=4, max_size=60))
def test_normal_forms_of_unicode_are_one(text: str) -> None:
    composed, apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    if any(map(str.isalnum, text)) and text[0].isalnum():
        assert (locate(composed, f"( {apart} )") is None) == (locate(apart, f"( {composed} )") is None)


@pytest.mark.parametrize(
    "piece", ["a", "a ", "-", "a-", "a-\n", "'", "a'", "…", "a … ", ".", "1,", "\u0301", "\u00ad", "日", "% "]
)
def test_repeated_pieces_are_read_in_one_go(piece: str) -> None:
    """Hundreds of thousands of characters: whatever took the square of them would not end."""
    text = piece * (400_000 // len(piece))
    locate(piece * 5_000 + "z", text)
    locate("z" + piece * 5_000, text)
    assert locate("nowhere to be found", text) is None


def test_many_quotations_in_one_long_source() -> None:
    chance = random.Random(1)
    words = [f"w{chance.randrange(3000)}" for _ in range(50_000)]
    text = " ".join(words)
    for first in range(0, 40_000, 200):
        quote = "  ".join(words[first : first + 15]).upper()
        assert locate(quote, text) is not None


# ── the passage around ──


def test_the_passage_around_a_quotation() -> None:
    text = "one two three four five six seven eight nine ten"
    start = text.index("five")
    assert excerpt(text, start, start + 4, around=9) == ("… four ", "five", " six …")
    assert excerpt(text, 0, 3, around=500) == ("", "one", text[3:])
    assert "".join(excerpt(text, start, start + 4, around=500)) == text


def test_a_passage_in_one_endless_word() -> None:
    assert excerpt("x" * 1000, 400, 410, around=50) == ("…", "x" * 10, "…")
