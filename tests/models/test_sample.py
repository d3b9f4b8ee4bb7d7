"""Whatever type a workflow asks for, a rehearsal can answer it."""

from __future__ import annotations

import enum
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.engine import codec
from podium.models.sample_values import Words
from podium.models.sampler import sample

WORDS = ["storm", "lighthouse", "keeper", "letter", "harbour"]


class Mood(enum.Enum):
    CALM = "calm"
    TENSE = "tense"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


# ── msgspec ──


class Grade(msgspec.Struct):
    quality: Annotated[float, msgspec.Meta(ge=0, le=1)]
    points: Annotated[int, msgspec.Meta(gt=0, lt=100, multiple_of=5)]
    feedback: str
    suggestions: list[str]
    verdict: Literal["accept", "revise", "discard"]
    mood: Mood = Mood.CALM
    level: Level = Level.LOW


class Circle(msgspec.Struct, tag="circle"):
    radius: Annotated[float, msgspec.Meta(gt=0)]


class Group(msgspec.Struct, tag="group"):
    parts: Annotated[list[Circle | Group], msgspec.Meta(min_length=1)]


class Node(msgspec.Struct, rename="camel"):
    node_id: str
    next_node: Node | None = None
    child_nodes: list[Node] = []


class Rich(msgspec.Struct):
    code: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{2}-\d{4}$")]
    short: Annotated[str, msgspec.Meta(min_length=3, max_length=5)]
    long: Annotated[str, msgspec.Meta(min_length=700)]
    pair: tuple[int, str]
    many: tuple[float, ...]
    unique: Annotated[set[int], msgspec.Meta(min_length=4)]
    moods: frozenset[Mood]
    table: dict[str, list[int]]
    data: bytes
    ident: uuid.UUID
    price: Decimal
    lasts: timedelta
    day: date
    anything: Any
    nothing: None
    flag: bool
    either: int | str | None


class Empty(msgspec.Struct, forbid_unknown_fields=True):
    pass


# ── pydantic ──


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = pydantic.Field(default=9, ge=1, le=9)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    friends: list[Pet] = []


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]


class Band(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", alias_generator=lambda name: name.upper())
    goal: str
    steps: list[Band] = pydantic.Field(min_length=0, max_length=3)


class Sum(pydantic.BaseModel):
    left: Sum | int
    right: Sum | int


class Everything(pydantic.BaseModel):
    text: Annotated[str, pydantic.StringConstraints(pattern=r"^(red|green)-[a-f0-9]+$", max_length=12)]
    score: float = pydantic.Field(gt=0, lt=1)
    count: int = pydantic.Field(gt=3, multiple_of=7)
    ratio: float = pydantic.Field(multiple_of=0.25, ge=0.5)
    negative: int = pydantic.Field(lt=-10)
    exact: Decimal
    when: datetime
    at: time
    day: date
    lasts: timedelta
    ident: pydantic.UUID4
    site: pydantic.HttpUrl
    address: IPv4Address
    network: IPv6Network
    file: Path
    secret: pydantic.SecretStr
    blob: pydantic.Base64Bytes
    parsed: pydantic.Json[Any]
    moods: dict[Mood, int]
    choices: dict[Literal["a", "b"], int]
    keyed: dict[Annotated[str, pydantic.StringConstraints(pattern=r"^x\d+$")], int]
    pair: tuple[int, str, Mood]
    pets: list[Pet] = pydantic.Field(min_length=3)
    numbers: set[int] = pydantic.Field(min_length=5)
    nested: list[list[dict[str, list[float]]]]
    one: Literal[7]
    maybe: Literal["yes", None]
    union: list[int] | dict[str, int] | None


TRUTHFUL = [
    Grade,
    Circle | Group,
    Group,
    Node,
    Rich,
    Empty,
    list[Grade],
    dict[str, Grade],
    Literal["a", "b"],
    int,
    bool,
    float,
    Mood,
    list[Mood],
    tuple[int, str],
    dict[str, Any],
    Any,
    dict,
    list,
    Cat,
    Dog,
    list[Pet],
    Band,
    Sum,
    Everything,
    list[Everything],
    Sum | None,
]
"""Types whose schema tells everything that they want."""


class Ledger(pydantic.BaseModel):
    by_year: dict[int, float]
    notes: dict[int, str] = {}


class Meeting(msgspec.Struct):
    moment: datetime
    other: datetime | None = None


def make(kind: Any, seed: str, *, cautious: bool = False) -> bytes:
    return codec.encode(sample(codec.schema(kind), Words(WORDS, seed), cautious=cautious))


@settings(max_examples=300)
@given(kind=st.sampled_from(TRUTHFUL), seed=st.text(max_size=8), cautious=st.booleans())
def test_a_sample_fits_its_type(kind: Any, seed: str, cautious: bool) -> None:
    data = make(kind, seed, cautious=cautious)
    codec.reader(kind)(data)
    assert len(data) < 200_000


@pytest.mark.parametrize("kind", [Ledger])
def test_what_a_schema_hides_is_met_by_a_cautious_sample(kind: Any) -> None:
    with pytest.raises(ValueError, match="int"):
        codec.reader(kind)(make(kind, "s"))
    codec.reader(kind)(make(kind, "s", cautious=True))


def test_moments_are_guessed_by_their_name() -> None:
    class Event(msgspec.Struct):
        created_at: datetime
        date: datetime

    read = codec.reader(Event)(make(Event, "s"))
    assert isinstance(read.created_at, datetime)
    assert isinstance(read.date, datetime)


def test_the_same_seed_gives_the_same_sample_and_another_another() -> None:
    assert make(Everything, "a") == make(Everything, "a")
    assert make(Grade, "a") != make(Grade, "b")


def test_fields_and_items_differ_and_use_the_words() -> None:
    value = sample(codec.schema(list[Grade]), Words(WORDS, "s"))
    texts = [text for grade in value for text in (grade["feedback"], *grade["suggestions"])]
    assert len(texts) == len(set(texts)) == 6
    assert all(any(word in text for word in WORDS) for text in texts)


def test_scores_lie_in_the_upper_part_of_their_range() -> None:
    value = sample(codec.schema(Grade), Words(WORDS, "s"))
    assert 0.7 <= value["quality"] <= 0.95
    assert value["points"] % 5 == 0


def test_a_discriminated_list_shows_its_alternatives() -> None:
    pets = sample(codec.schema(list[Pet]), Words(WORDS, "s"))
    assert {pet["kind"] for pet in pets} == {"cat", "dog"}


def test_a_recursive_type_is_filled_and_ends() -> None:
    tree = sample(codec.schema(Node), Words(WORDS, "s"))
    assert tree["childNodes"][0]["nodeId"]
    depth, level = 0, tree
    while level.get("childNodes"):
        level, depth = level["childNodes"][0], depth + 1
    assert 1 <= depth <= 10


def test_a_type_without_an_end_stops() -> None:
    inner = {"$ref": "#/$defs/A"}
    endless = {"type": "object", "required": ["a", "b"], "properties": {"a": inner, "b": inner}}
    assert set(sample({**inner, "$defs": {"A": endless}}, Words(WORDS, "s"))) == {"a", "b"}


@given(
    low=st.integers(-1000, 1000),
    width=st.integers(0, 50),
    kind=st.sampled_from(["integer", "number"]),
    seed=st.text(max_size=3),
)
def test_bounds_hold(low: int, width: int, kind: str, seed: str) -> None:
    value = sample({"type": kind, "minimum": low, "maximum": low + width}, Words(WORDS, seed))
    assert low <= value <= low + width
    inner = sample(
        {"type": kind, "exclusiveMinimum": low, "exclusiveMaximum": low + width + 2}, Words(WORDS, seed)
    )
    assert low < inner < low + width + 2


@given(
    fewest=st.integers(0, 400),
    extra=st.integers(0, 40),
    words=st.lists(st.text("äb ", min_size=1), min_size=1),
)
def test_lengths_hold(fewest: int, extra: int, words: list[str]) -> None:
    schema = {"type": "string", "minLength": fewest, "maxLength": fewest + extra}
    assert fewest <= len(sample(schema, Words(words, "s"))) <= fewest + extra


def test_the_rest_of_json_schema() -> None:
    words = Words(WORDS, "s")
    assert sample({"type": ["null", "integer"]}, words) >= 1
    assert sample({"allOf": [{"type": "integer"}, {"minimum": 50}]}, words) >= 50
    assert isinstance(sample({"items": {"type": "integer"}}, words), list)
    assert isinstance(sample({"additionalProperties": {"type": "integer"}}, words), dict)
    assert len(sample({"type": "object", "minProperties": 5}, words)) == 5
    assert sample({"type": "object", "additionalProperties": False}, words) == {}
    assert len(sample({"type": "array", "maxItems": 1}, words)) == 1
    assert sample({"enum": [None]}, words) is None
    assert sample(
        {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"], "maxProperties": 1},
        words,
    )
