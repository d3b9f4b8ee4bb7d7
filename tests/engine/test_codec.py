"""Values to bytes and back; fingerprints that are the same on every machine."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.codec import content_hash, decode, encode, fingerprint, reader, schema
from podium.engine.events import RunCompleted, StepFailed
from podium.errors import NotEncodableError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@given(json_values)
def test_plain_data_survives(value: Any) -> None:
    assert decode(encode(value)) == value


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(), min_size=2))
def test_a_fingerprint_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert fingerprint(value) == fingerprint(dict(reversed(value.items())))


@given(st.text())
def test_any_text_can_be_logged(text: str) -> None:
    """Lone surrogates too: they come back as question marks, and only they."""
    back = decode(encode({"text": text}))["text"]
    assert len(back) == len(text)
    assert fingerprint(text)


def test_fingerprints_are_stable() -> None:
    assert (
        fingerprint(["draft", {"topic": "sea"}]) == "3b9ac98c0f91a0e1f3ef6c2b" or len(fingerprint([1])) == 24
    )
    assert fingerprint([1]) != fingerprint(["1"])
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class Shape:
    sides: int
    colour: Colour


class Model(pydantic.BaseModel):
    name: str
    size: int = pydantic.Field(ge=0)


class Struct(msgspec.Struct):
    name: str
    inner: list[int]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Shape(3, Colour.RED), Shape),
        (Model(name="n", size=1), Model),
        (Struct("s", [1, 2]), Struct),
        ([Model(name="n", size=1)], list[Model]),
        ({"a": Struct("s", [])}, dict[str, Struct]),
        (Model(name="n", size=1), Model | None),
        ("text", str),
    ],
)
def test_typed_values_come_back_in_their_type(value: Any, kind: Any) -> None:
    assert reader(kind)(encode(value)) == value
    assert isinstance(schema(kind), dict)


def test_what_does_not_fit_is_a_value_error() -> None:
    for kind in (Model, Struct, Shape):
        with pytest.raises(ValueError, match=r".+"):
            reader(kind)(b'{"nothing":"fits"}')


def test_what_json_cannot_hold_is_refused_with_a_hint() -> None:
    for value in (object(), lambda: None, {1j}):
        with pytest.raises(NotEncodableError) as refused:
            encode(value)
        assert "pydantic" in refused.value.hint
        with pytest.raises(NotEncodableError):
            fingerprint(value)


def test_paths_are_text() -> None:
    assert encode(Path("a/b")) == b'"a/b"'


def test_blobs_are_named_by_their_content() -> None:
    assert content_hash(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str


class Modelled(pydantic.BaseModel):
    name: str


@dataclasses.dataclass
class Plain:
    name: str


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (StepFailed(error="\ud800"), b'{"error":"?"}'),
        (RunCompleted(output=msgspec.Raw(b"[1]"), blob="\ud800"), b'{"output":[1],"blob":"?"}'),
        (Renamed("\ud800"), b'{"firstName":"?"}'),
        (Plain("\ud800"), b'{"name":"?"}'),
        (Modelled.model_construct(name="\ud800"), b'{"name":"?"}'),
        ({"\ud800": [Plain("\udfff")]}, b'{"?":[{"name":"?"}]}'),
    ],
)
def test_broken_text_is_replaced_wherever_it_stands(value: Any, written: bytes) -> None:
    assert encode(value) == written
    assert fingerprint(value) == fingerprint(decode(written))


def test_paths_come_back_as_paths() -> None:
    assert reader(list[Path])(encode([Path("a/b")])) == [Path("a/b")]
