"""Search-and-replace blocks, line ends and encodings: what is not spoken of stays byte for byte."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tools.workspace.change import Edit
from podium.tools.workspace.edits import EditError, decoded, edited, rewritten

CODE = b"def one():\n    return 1\n\n\ndef two():\n    return 2\n"


def test_a_block_that_fits_once_is_replaced() -> None:
    assert edited(CODE, [Edit("    return 1\n", "    return 11\n")]) == CODE.replace(
        b"return 1\n", b"return 11\n"
    )


def test_blocks_are_applied_one_after_the_other() -> None:
    result = edited(b"a", [Edit("a", "b"), Edit("b", "c")])
    assert result == b"c"


def test_a_block_that_fits_twice_is_refused_with_the_lines() -> None:
    with pytest.raises(EditError, match=r"Block 2 fits more than once \(lines 2, 6\)"):
        edited(CODE, [Edit("one", "uno"), Edit("    return ", "    yield ")])


def test_blocks_that_overlap_themselves_fit_more_than_once() -> None:
    with pytest.raises(EditError, match="more than once"):
        edited(b"aaa", [Edit("aa", "b")])


def test_a_block_that_fits_nowhere_is_reported_with_the_nearest_text() -> None:
    with pytest.raises(EditError) as caught:
        edited(CODE, [Edit("def two():\n    return 3\n", "")])
    assert "The nearest text is, from line 5:\ndef two():\n    return 2" in str(caught.value)


def test_a_block_that_differs_in_spaces_is_reported_so() -> None:
    with pytest.raises(EditError, match="differs in spaces or line ends, from line 1"):
        edited(CODE, [Edit("def one():\n  return 1\n", "x")])


@pytest.mark.parametrize(
    ("edit", "why"), [(Edit("", "x"), "no text to search"), (Edit("one", "one"), "changes nothing")]
)
def test_a_block_without_sense_is_refused(edit: Edit, why: str) -> None:
    with pytest.raises(EditError, match=why):
        edited(CODE, [edit])


def test_the_nearest_text_of_a_large_file_is_found_in_bounded_work() -> None:
    large = "\n".join(f"line {n} of many" for n in range(9_000)).encode()
    with pytest.raises(EditError, match="line 4242 of many"):
        edited(large, [Edit("line 4242 of many\nline 4243 of mani", "x")])
    with pytest.raises(EditError, match="Read the file again"):
        edited(large * 10, [Edit("nowhere", "x")])


def test_windows_line_ends_stay_though_the_block_has_others() -> None:
    old = b"one\r\ntwo\r\nthree\r\n"
    assert edited(old, [Edit("one\ntwo\n", "1\n2\n")]) == b"1\r\n2\r\nthree\r\n"
    assert rewritten(old, "a\nb\n") == b"a\r\nb\r\n"
    assert rewritten(old, "a\r\nb\r\n") == b"a\r\nb\r\n"


def test_mixed_line_ends_are_left_as_they_are() -> None:
    assert edited(b"one\r\ntwo\nthree\r\n", [Edit("two\n", "2\n")]) == b"one\r\n2\nthree\r\n"


def test_a_file_that_is_not_utf8_keeps_its_other_bytes() -> None:
    old = "Käse = 1\nx = 2\n".encode("latin-1")
    assert edited(old, [Edit("x = 2", "x = 3")]) == old.replace(b"x = 2", b"x = 3")
    with pytest.raises(EditError, match="beyond ASCII"):
        edited(old, [Edit("x = 2", "ö = 3")])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_text_is_edited_in_its_encoding(encoding: str) -> None:
    bom = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else codecs.BOM_UTF16_BE
    old = bom + "grün\r\nblau\r\n".encode(encoding)
    assert edited(old, [Edit("blau", "rot")]) == bom + "grün\r\nrot\r\n".encode(encoding)


def test_the_mark_at_the_beginning_stays() -> None:
    old = codecs.BOM_UTF8 + b"a\n"
    assert edited(old, [Edit("a", "b")]) == codecs.BOM_UTF8 + b"b\n"
    assert rewritten(old, "c\n") == codecs.BOM_UTF8 + b"c\n"


def test_a_binary_file_is_not_edited() -> None:
    assert decoded(b"\x89PNG\0\0") is None
    with pytest.raises(EditError, match="binary"):
        edited(b"\x89PNG\0\0", [Edit("P", "Q")])


@given(st.binary(max_size=200))
def test_any_text_comes_back_byte_for_byte(data: bytes) -> None:
    text = decoded(data)
    if text is not None:
        assert text.bytes_of(text.text) == data


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_an_edit_changes_its_own_place_only(before: bytes, after: bytes) -> None:
    data = before + b"<<the place>>" + after
    if decoded(data) is not None and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert edited(data, [Edit("<<the place>>", "new")]) == before + b"new" + after
