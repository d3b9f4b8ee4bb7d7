"""Paths can always be taken apart again, whatever names are made of."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.branch import joined, quoted

names = st.text(st.characters(codec="utf-8"), min_size=1)


@given(names)
def test_a_quoted_name_is_one_part_and_comes_back(name: str) -> None:
    part = quoted(name)
    assert not set(part) & set("/#[]")
    assert unquote(part) == name


@given(names, names, st.integers(1, 5))
def test_names_numbers_and_keys_never_collide(a: str, b: str, n: int) -> None:
    keyed, numbered = joined("p", a, 0, b), joined("p", a, n, None)
    assert keyed != numbered
    if a != b:
        assert joined("p", a, n, None) != joined("p", b, n, None)


def test_the_shape_of_paths() -> None:
    assert joined("", "plan", 1, None) == "plan"
    assert joined("story/dialogue", "grade", 2, None) == "story/dialogue/grade#2"
    assert joined("story", "scene", 0, "act 1") == "story/scene[act 1]"


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        quoted("")
