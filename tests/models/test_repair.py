"""Data is found in a reply wherever it lies, and what is wrong with it is said readably."""

from __future__ import annotations

import json
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine import codec
from podium.models.repair import Mismatch, ParsedReply, find, mended, repair_note, with_correction


class Point(msgspec.Struct):
    x: int
    label: str = ""


class Idea(pydantic.BaseModel):
    title: str
    score: float = pydantic.Field(ge=0, le=1)
    tags: list[str] = []


def value(text: str, kind: Any) -> Any:
    parsed = find(text, kind)
    assert isinstance(parsed, ParsedReply), parsed
    again = codec.reader(kind)(parsed.data)
    assert again == parsed.value, "what the log will hold is what was read"
    return again


def error(text: str, kind: Any) -> str:
    parsed = find(text, kind)
    assert isinstance(parsed, Mismatch), parsed
    return parsed.error


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        '  \n{"x": 1}\n ',
        '```json\n{"x": 1}\n```',
        '```\n{"x": 1}\n```',
        'Sure!\n\n```JSON\n{"x": 1}\n```\nHope this helps {really}.',
        'Here it is: {"x": 1}',
        '{"x": 1} as you wished.',
        'As [1] says (see {a}), the answer is {"x": 1}; compare {"x": "no"}.',
        'An open { brace first, then {"x": 1}',
        '```json\n{"x": 1}',
        'Draft: {"x": "one"}\nFinal: {"x": 1}',
        '{"label": "a } in a string \\" and a {", "x": 1} done',
        '<think>{"x": "?"}</think>{"x": 1}',
    ],
)
def test_the_json_is_found(text: str) -> None:
    assert value(text, Point).x == 1


def test_what_is_found_is_plain_json_without_decoration() -> None:
    assert find('```json\n{\n  "x": 1\n}\n```', Point) == ParsedReply(b'{"x":1}', Point(1))


def test_arrays_and_plain_values_are_found_too() -> None:
    assert value("The list: [1, 2, 3].", list[int]) == [1, 2, 3]
    assert value("42", int) == 42
    assert value("true", bool) is True
    assert value('{"a": [1]}', dict[str, list[int]]) == {"a": [1]}
    assert value("[]", Any) == []


def test_a_bare_word_can_be_a_choice_or_a_text_with_rules() -> None:
    assert value(" approve\n", Literal["approve", "reject"]) == "approve"
    assert value("short", Annotated[str, msgspec.Meta(max_length=5)]) == "short"
    assert "maybe" in error("maybe", Literal["approve", "reject"])
    assert error("maybe", Any) == "The reply holds no JSON."


def test_an_error_names_the_field_for_msgspec_and_for_pydantic() -> None:
    assert error('{"x": "one"}', Point) == "`x` must be a whole number, not text."
    shown = error('{"title": 3, "score": 7}', Idea)
    assert "title" in shown
    assert "score" in shown
    assert "not 7" in shown
    assert "https://" not in shown
    assert "\n" not in shown


def test_many_errors_are_counted_and_not_all_listed() -> None:
    shown = error(json.dumps([{"title": 1, "score": 9}] * 20), list[Idea])
    assert "34 more problems" in shown
    assert len(shown) < 1500


def test_the_error_is_about_the_json_that_was_meant() -> None:
    assert "`x` must be a whole number" in error(
        'As [1] says: {"x": "one", "label": "the one that was meant"} [2]', Point
    )
    assert "`x` must be a whole number" in error('{"x": "one"} and some prose after it', Point)


def test_broken_json_is_called_broken() -> None:
    assert "not valid JSON: it is truncated" in error('{"x": 1, "label": "never clo', Point)
    assert "not valid JSON" in error('{"x": 1,, }', Point)


def test_what_json_itself_forbids_is_refused() -> None:
    assert isinstance(find('{"score": NaN, "title": "a"}', Idea), Mismatch)


def test_surrogates_are_replaced_and_pairs_are_kept() -> None:
    assert value('{"x": 1, "label": "a\\ud800b"}', Point).label == "a\ufffdb"
    assert value('{"x": 1, "label": "\\ud83d\\ude00"}', Point).label == "😀"
    assert value('{"x": 1, "label": "\\\\ud800"}', Point).label == "\\ud800"
    assert value('{"x": 1, "label": "\ud800"}', Point).label == "?"


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "[" * 1_000_000,
        '{"' * 500_000,
        '\\"' * 500_000,
        "{" + '\\"' * 500_000 + "\\",
        "{]" * 500_000,
        "```\n" * 250_000,
        "[" * 100_000 + "]" * 100_000,
        '"' * 999_999,
        "\n" + " " * 1_000_000,
        '{"a":' * 100_000,
        "{}" * 500_000,
        "```json" + "a" * 1_000_000,
        "\x00" * 1_000_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_hostile_replies_are_refused_with_bounded_work(text: str) -> None:
    assert isinstance(find(text, Point), Mismatch)
    assert isinstance(find(text, Idea), Mismatch)


def test_deep_nesting_and_long_replies_are_read() -> None:
    deep = "[" * 200 + "]" * 200
    parsed = find(deep, Any)
    assert isinstance(parsed, ParsedReply)
    assert parsed.data == deep.encode()
    long = {"title": "x" * 1_000_000, "score": 0.5}
    assert len(value(f"Here:\n{json.dumps(long)}\nDone.", Idea).title) == 1_000_000


@given(st.text())
def test_random_text_never_crashes(text: str) -> None:
    for kind in (Point, Idea, list[int], Literal["a"], Any):
        parsed = find(text, kind)
        if isinstance(parsed, Mismatch):
            assert parsed.error
        else:
            assert codec.reader(kind)(parsed.data) == parsed.value  # what was found does fit


@given(st.lists(st.sampled_from(['{"x":1}', "{", "}", "[", "]", '"', "\\", "```", "\n", "json", "x", ","])))
def test_random_brackets_never_crash(parts: list[str]) -> None:
    text = "".join(parts)
    parsed = find(text, Point)
    assert isinstance(parsed, Mismatch) or codec.reader(Point)(parsed.data).x == 1


PROSE = st.text(st.characters(blacklist_characters='{}[]"`\\', blacklist_categories=("Cs",)), max_size=40)
JSON = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
)


@given(before=PROSE, data=JSON, after=PROSE, indent=st.none() | st.integers(0, 3))
def test_any_object_between_any_prose_is_found(
    before: str, data: dict[str, Any], after: str, indent: int | None
) -> None:
    text = json.dumps(data, indent=indent)
    assert value(f"{before}{text}{after}", dict[str, Any]) == data
    assert value(f"{before}\n```json\n{text}\n```\n{after}", dict[str, Any]) == data


def test_the_repair_prompt_holds_the_question_the_reply_and_the_error() -> None:
    prompt = with_correction("Grade this.", repair_note('{"x": "one"}', "Expected `int`."))
    assert prompt.startswith("Grade this.")
    assert '{"x": "one"}' in prompt
    assert "Expected `int`." in prompt


def test_a_very_long_reply_is_cut_in_the_repair_prompt() -> None:
    assert len(repair_note("x" * 1_000_000, "e")) < 10_000


# ── slightly broken ──


class Node(msgspec.Struct):
    name: str
    children: list[Node] = []


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1,}',
        '{"x": 1, "label": "a",\n}',
        "{'x': 1}",
        "{'x': 1, 'label': 'it\\'s \"fine\"'}",
        '{"x": 1 // the first\n}',
        '{/* a point */ "x": 1}',
        '{"x": 1, # the first\n "label": "a # b // c /* d"}',
        '{x: 1, label: "a"}',
        '{"x": 1, "label": "two\nlines\tand a tab"}',
        '{"x": 1',
        '{"x": 1, "label": "a"',
        '```json\n{"x": 1,}\n```',
        '```json\n{"x": 1\n```',
        "Sure, it's {'x': 1,} and that's all.",
    ],
)
def test_what_is_slightly_broken_is_mended(text: str) -> None:
    assert value(text, Point).x == 1


def test_mending_keeps_what_strings_say() -> None:
    assert value('{"x": 1, "label": "a, } // b\', c",}', Point).label == "a, } // b', c"
    assert value("{'x': 1, 'label': 'say \"yes\", don\\'t'}", Point).label == 'say "yes", don\'t'
    assert value('{"x": 1, "label": "one\ntwo",}', Point).label == "one\ntwo"


def test_words_of_python() -> None:
    assert value('{"a": True, "b": False, "c": None}', dict[str, Any]) == {"a": True, "b": False, "c": None}


@pytest.mark.parametrize(
    "text",
    [
        '{"x": }',
        '{"x": 1, "label": ',
        '{"x": 1, "label": "cut of',
        '{"x": one}',
        '{"x": 1,, "label": "a"}',
        '{"x": 1 "label": "a"}',
        '{,"x": 1}',
        '{"x": 1]',
        '{"x" 1}',
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert error(text, Point)


def test_an_open_bracket_is_closed_and_not_searched_for_a_part() -> None:
    text = '{"name": "root", "children": [{"name": "leaf", "children": []}'
    assert value(text, Node) == Node("root", [Node("leaf")])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "root", "children": [{"name": "leaf", "children": []}',
        '[{"name": "a"}, {"name": "b"}, ',
        '```json\n{"name": "root", "children": [{"name": "leaf"}',
        '{"children": [{"name": "a"}], "name": "cu',
    ],
)
def test_a_part_of_a_reply_that_was_cut_off_is_not_the_answer(text: str) -> None:
    assert isinstance(find(text, Node, whole=False), Mismatch)


def test_a_reply_that_was_cut_off_after_its_data_is_fine() -> None:
    assert find('{"name": "a"} and then I', Node, whole=False) == ParsedReply(b'{"name":"a"}', Node("a"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_mending_never_changes_what_is_json(data: Any) -> None:
    text = json.dumps([data])
    assert [json.loads(repaired) for repaired in islice(mended(text, close=True), 1)] == [[data]]


@given(st.text(alphabet="{}[]:,'\"\\/*# ax1\n", max_size=60))
def test_mending_ends_whatever_it_is_given(text: str) -> None:
    for repaired in mended(text, close=True):
        assert repaired[0] in "{["


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{'a':" * 50_000, "[1," * 100_000, "/*" * 100_000 + "{", '{"' * 50_000]
)
def test_mending_takes_bounded_work(text: str) -> None:
    assert isinstance(find(text, Point), Mismatch)


def test_a_bare_word_is_judged_by_the_check_too() -> None:
    kind = Literal["yes", "no"]
    assert isinstance(find("yes", kind, check=lambda word: ""), ParsedReply)
    parsed = find("yes", kind, check=lambda word: f"{word} is not wanted")
    assert parsed == Mismatch("yes is not wanted")


def test_a_valid_reply_is_found_however_long_it_is() -> None:
    parsed = find(json.dumps({"title": "x" * 4_200_000, "score": 0.5}), Idea)
    assert isinstance(parsed, ParsedReply)
    assert len(parsed.value.title) == 4_200_000


def test_a_very_long_reply_is_not_mended() -> None:
    broken = '{"title": "' + "x" * 300_000 + '", "score": 0.5,}'
    assert isinstance(find(broken, Idea), Mismatch)
    assert isinstance(find(broken.replace("x" * 300_000, "x"), Idea), ParsedReply)


@pytest.mark.parametrize("reply", ["Two ideas: {a bike} and {Büsse}", "Here: {nothing}"])
def test_what_is_no_json_is_quoted_as_text(reply: str) -> None:
    """Pydantic hands the bytes that it could not read to its error; a person reads text."""
    parsed = find(reply, Idea)
    assert isinstance(parsed, Mismatch)
    assert "b'" not in parsed.error
    assert parsed.error.startswith("It is not valid JSON")
