"""Contradictions that need no model: which pairs of facts are found, how they weigh, and which are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.brain import Fact
from podium.brain.contradictions import Canon, find_contradictions
from tests.brain.facts import canon, clashes

CONTRADICTIONS = [
    ("Elena | eye colour | green", "Elena | eye colour | blue", "high"),
    ("Elena | eye colour | green", "elena | eyes | blue", "high"),
    ("Elena | Eye_Color | green", "Elena | eyeColor | brown", "high"),
    ("Elena | has | green eyes", "Elena | eye color | blue", "high"),
    ("Elena | appearance | tall, with green eyes and black hair", "Elena | eyes | grey", "high"),
    ("Elena | hair colour | black", "Elena | is | a tall woman with red hair", "medium"),
    ("Elena | age | 34", "Elena | is | 35 years old", "high"),
    ("Elena | date of birth | 12 March 1987", "Elena | born | 1988", "high"),
    ("Elena | born in | Lisbon", "Elena | birthplace | Porto", "high"),
    ("Elena | job | lighthouse keeper", "Elena | works as | teacher", "medium"),
    ("Elena | husband | Tomas", "Elena | is married to | Marcus", "high"),
    ("Dr. Elena Marsh | mother | Ida", "Elena Marsh | mother | Vera", "high"),
    ("the Lighthouse | height | 40 m", "Lighthouse | height | 35 metres", "high"),
    ("Elena | status | alive", "Elena | status | dead", "medium"),
]


def test_another_value_of_the_same_thing_contradicts() -> None:
    for known, new, severity in CONTRADICTIONS:
        (clash,) = clashes(known, new)
        assert clash.severity == severity
        assert clash.canon.id == "0"
        assert clash.reason.endswith(".")


@pytest.mark.parametrize("name", ["The keeper", "An Old Man", "Mrs Marsh", "One of Them"])
def test_articles_titles_and_common_words_of_a_name_name_nobody(name: str) -> None:
    known = canon(f"{name} | age | 60", "Lamp | weight | 4 kg")
    assert known.mentioned("the lamp of an engine, one of those that Mrs Bell made for them") == ["lamp"]
    assert known.beginning_with("the") == known.beginning_with("an ") == []
    assert known.resolve(name) in known.mentioned(f"What does {name} want?")


PEACEFUL = [
    ("Elena | eye colour | green", "Elena | eyes | emerald"),
    ("Elena | eye colour | green", "Tomas | eye colour | blue"),
    ("Elena | eye colour | green", "Elena | hair colour | blue"),
    ("Elena | hair | long", "Elena | hair colour | black"),
    ("Elena | likes | tea", "Elena | likes | coffee"),
    ("Elena | friend | Tomas", "Elena | friend | Marcus"),
    ("Elena | wears | a red coat", "Elena | wears | a blue coat"),
    ("Elena | location | harbour", "Elena | location | lamp room"),
    ("Elena | mood | cheerful", "Elena | mood | sad"),
    ("Elena | says | Good night", "Elena | says | Good morning"),
    ("Elena | is | a lighthouse keeper", "Elena | is | stubborn"),
    ("Elena | age | about 30", "Elena | age | 32"),
    ("Elena | height | 180 cm", "Elena | height | 5'11\""),
    ("Elena | occupation | lighthouse keeper", "Elena | job | keeper of the lighthouse"),
]


def test_what_goes_together_is_left_alone() -> None:
    for known, new in PEACEFUL:
        assert clashes(known, new) == []


def test_a_place_has_one_location_a_person_has_many() -> None:
    known = canon("Lighthouse | location | north coast", kind="place")
    assert clashes(known, "Lighthouse | location | southern bay", kind="place")
    assert not clashes(known, "Lighthouse | location | southern bay", kind="object")


@pytest.mark.parametrize("kind", ["place", "object", "scene", "rule", "other"])
def test_opposite_sides_are_no_two_locations_of_one_thing(kind: str) -> None:
    known = canon("Lighthouse | location | east", kind=kind)
    assert clashes(known, "Lighthouse | location | west", kind=kind)
    assert clashes(known, "Lighthouse | location | the west of the island", kind=kind)
    assert not clashes(known, "Lighthouse | location | east", kind=kind)


def test_a_person_walks_from_east_to_west() -> None:
    assert clashes("Elena | location | east", "Elena | location | west") == []


def test_a_rule_of_the_world_weighs_more() -> None:
    known = canon("magic | price | a memory", kind="rule")
    (clash,) = clashes(known, "magic | price | a drop of blood", kind="rule")
    assert clash.severity == "high"


def test_other_names_mean_the_same_person() -> None:
    known = canon("Elena Marsh | also known as | Ellie", "Elena Marsh | eye colour | green")
    for name in ("Ellie", "ELLIE", "Elena Marsh", "Elena", "Marsh"):
        assert clashes(known, f"{name} | eyes | blue"), name


def test_facts_under_a_nickname_belong_to_the_person() -> None:
    known = canon("Elena Marsh | nickname | Ellie", "Ellie | eye colour | green")
    assert clashes(known, "Elena Marsh | eye colour | blue")


def test_a_first_name_that_two_people_bear_means_nobody_for_certain() -> None:
    known = canon("Elena Marsh | eye colour | green", "Elena Reed | eye colour | brown")
    assert clashes(known, "Elena | eye colour | blue") == []


def test_a_nickname_as_a_value_is_no_other_person() -> None:
    known = canon("Elena Marsh | nickname | Ellie", "Tomas | mother | Elena Marsh")
    assert clashes(known, "Tomas | mother | Ellie") == []
    assert clashes(known, "Tomas | mother | Vera")


def test_names_in_a_circle_end() -> None:
    known = canon("A | alias | B", "B | alias | A", "A | eye colour | green")
    assert clashes(known, "B | eye colour | blue")


def test_names_without_letters_are_names_too() -> None:
    known = canon("🦊 | eye colour | green", "??? | status | dead")
    assert clashes(known, "🦊 | eyes | blue")
    assert not clashes(known, "🐺 | eyes | blue")
    assert clashes(known, "??? | says | Hello")


def test_a_fact_does_not_contradict_itself() -> None:
    known = canon("Elena | eye colour | green")
    assert clashes(known, "Elena | eye colour | blue", id="0") == []


def test_one_pair_is_reported_once_with_what_weighs_most() -> None:
    known = canon("Marcus | status | dead")
    (clash,) = clashes(known, "Marcus | status | alive")
    assert clash.severity == "critical"


FACTS = st.builds(
    Fact,
    subject=st.text() | st.sampled_from(["Elena", "Elena Marsh", "Marcus"]),
    predicate=st.text() | st.sampled_from(["eyes", "alias", "status", "dies", "says", "is"]),
    value=st.text() | st.sampled_from(["green", "Elena", "dead", "alive", "Marcus walks in", "34 years old"]),
    kind=st.sampled_from(["character", "scene", "place"]),
)


@given(st.lists(FACTS, max_size=6), st.lists(FACTS, max_size=3))
def test_whatever_facts_say_the_rules_come_to_an_end(known: list[Fact], new: list[Fact]) -> None:
    canon = Canon(known)
    for clash in find_contradictions(new, canon):
        assert clash.new in new
        assert clash.canon in known
        assert clash.reason
    assert all(name.strip() for name in canon.names())
    canon.mentioned(" ".join(fact.value for fact in new))
