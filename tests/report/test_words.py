"""Words and numbers for people; and nothing that could steer a terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.report.words import (
    ago,
    amount,
    clock,
    count,
    duration,
    model_name,
    money,
    one_line,
    outline,
    pretty,
    safe,
    sentence,
    size,
    without_marks,
)

FORBIDDEN = set(map(chr, [*range(9), *range(11, 32), *range(127, 160)])) | set("\u202a\u202e\u2066\u2069")


@pytest.mark.parametrize(
    ("hostile", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPsixel\x1b\\after", "after"),
        ("\x9b31mred", "red"),
        ("a\x1b[2Jb\x1b[1;1Hc", "abc"),
        ("over\rwritten\r\nend", "over\nwritten\nend"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b]52;c;ZXZpbA==\x07x", "x"),
        ("\u202eabc\u2069", "abc"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("bell\x07 back\x08 null\x00", "bell back null"),
        ("unfinished \x1b[31", "unfinished "),
        ("unfinished \x1b]0;ti", "unfinished "),
        ("\x1b\x1b[31mx", "x"),
        ("emoji 👩‍🔬 ok", "emoji 👩‍🔬 ok"),
    ],
)
def test_escape_sequences_are_removed(hostile: str, clean: str) -> None:
    assert safe(hostile) == clean


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x1b[]()0;m\x07\x9b\\P^_"))))
def test_no_text_keeps_a_control_character(text: str) -> None:
    assert not set(safe(text)) & FORBIDDEN
    assert "\n" not in one_line(text)


def test_one_line_is_short_and_flat() -> None:
    assert one_line("  a\n\n b\tc ") == "a b c"
    assert one_line("abcdefgh", 5) == "abcd…"
    assert one_line("\x1b[31m" * 1000 + "x", 5) == ""


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("## Choice\n**I2** is *best*: see `plan.md`", "Choice\nI2 is best: see plan.md"),
        ("- one\n- **two**\n* [three](https://example.org/a_b)", "one\n· two\n· three"),
        ("> quoted __words__ and ~~gone~~ ones", "quoted words and gone ones"),
        ("```python\nx = 1\n```\nafter", "\nx = 1\n\nafter"),
        ("![chart](chart.png) rises", "chart rises"),
        (
            "2 * 3 * 4, snake_case_name, C#, a - b, 5 > 3, [1]",
            "2 * 3 * 4, snake_case_name, C#, a - b, 5 > 3, [1]",
        ),
        ("**open and *unbalanced", "**open and *unbalanced"),
    ],
)
def test_marks_of_markdown_are_removed(marked: str, plain: str) -> None:
    assert without_marks(marked) == plain


def test_numbers() -> None:
    assert [money(x) for x in (0, 0.0012, 0.18, 1234.5)] == ["$0.00", "$0.0012", "$0.18", "$1,234.50"]
    assert [count(x, "call") for x in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]
    assert [amount(x) for x in (12, 9_999, 12_345, 1_500_000)] == ["12", "9999", "12.3k", "1.5M"]
    assert [size(x) for x in (12, 12_345, 5_000_000)] == ["12 B", "12.3 kB", "5.0 MB"]
    assert [duration(x) for x in (0.04, 1.44, 12, 185, 7_800)] == ["40ms", "1.4s", "12s", "3m 05s", "2h 10m"]
    assert [clock(x) for x in (42, 3_723)] == ["0:42", "1:02:03"]


def test_times_ago() -> None:
    now = datetime(2030, 1, 2, tzinfo=UTC)
    past = [now - timedelta(seconds=seconds) for seconds in (1, 30, 120, 7_200, 200_000)]
    assert [ago(when, now) for when in past] == ["just now", "30s ago", "2m ago", "2h ago", "2d ago"]


def test_sentences_and_values() -> None:
    assert [sentence(x) for x in ("no", "no.", "why?", "")] == ["no.", "no.", "why?", ""]
    assert pretty("as it is") == "as it is"
    assert pretty({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'


def test_data_in_passing_reads_like_words() -> None:
    assert (
        outline({"score": 86, "reason": "clear\nand doable", "next": None})
        == "score 86 · reason clear and doable"
    )
    assert outline(["one", {"x": 1}]) == 'one · {"x":1}'
    assert outline("as it\nis") == "as it is"
    assert len(outline({"text": "word " * 500, "more": 1})) <= 90 + len(" · more 1")


def test_a_model_of_ones_own_is_named_without_its_folders() -> None:
    assert model_name("python:/srv/ann/team/mine.py:answer") == "python:mine.py:answer"
    assert model_name("openai/gpt:x") == "openai/gpt:x"
