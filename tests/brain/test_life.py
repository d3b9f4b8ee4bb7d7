"""Life and death: who counts as dead, who acts, and where the dead may speak."""

from __future__ import annotations

import pytest

from tests.brain.facts import canon, clashes

DEATHS = [
    "Marcus | status | dead",
    "Marcus | fate | killed in the storm",
    "Marcus | dies | in the fire",
    "Marcus | killed by | the captain",
    "Marcus | is | dead",
    "Marcus | was killed | during the storm",
    "Marcus | is dead | true",
    "Marcus | cause of death | drowning",
    "Marcus | date of death | 12 March 1987",
]


def test_a_dead_character_who_speaks_is_a_critical_contradiction() -> None:
    for death in DEATHS:
        (clash,) = clashes(death, "Marcus | says | We should leave.")
        assert clash.severity == "critical"
        assert "Marcus is dead in canon" in clash.reason


@pytest.mark.parametrize(
    "act", ["speaks to", "walks into", "quietly opens", "dialogue", "is running", "dances with"]
)
def test_any_act_of_the_dead_is_found(act: str) -> None:
    assert clashes("Marcus | status | dead", f"Marcus | {act} | Elena")


def test_an_act_in_the_past_weighs_less() -> None:
    (clash,) = clashes("Marcus | status | dead", "Marcus | said | We should leave.")
    assert clash.severity == "high"


@pytest.mark.parametrize(
    "text",
    [
        "Scene 7 | action | Marcus walks in and shakes the rain off",
        "Elena | talks to | then Marcus answers",
        "Scene 9 | dialogue | Marcus (softly): We should go.",
    ],
)
def test_an_act_of_the_dead_in_what_is_reported_of_others_is_found(text: str) -> None:
    (clash,) = clashes("Marcus | status | dead", text, kind="scene")
    assert clash.severity == "critical"


@pytest.mark.parametrize(
    "text",
    [
        "Marcus | says | Hello, in a flashback",
        "Marcus | appears in | Elena's dream",
        "the ghost of Marcus | says | Boo",
        "Scene 7 | action | Elena remembers how Marcus walks in",
        "Elena | reads | a letter: Marcus says that he is sorry",
        "Marcus | eye colour | blue",
        "Marcus | buried in | the churchyard",
        "Scene 7 | action | Elena walks past the grave of Marcus",
    ],
)
def test_the_dead_may_be_remembered(text: str) -> None:
    assert clashes("Marcus | status | dead", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Marcus | fate | almost dead",
        "Marcus | death | faked",
        "Marcus | status | presumed dead",
        "Marcus | status | alive",
        "Marcus | killed | the captain",
        "Marcus | father's death | in 1990",
        "Marcus | fear | death",
        "Marcus | wife | dead",
        "Marcus | is dead | no",
    ],
)
def test_who_may_live_is_not_dead(text: str) -> None:
    assert clashes(text, "Marcus | says | Hello") == []


def test_a_return_that_canon_shows_is_believed() -> None:
    known = canon("Marcus | status | dead", "Marcus | survives | the storm after all")
    assert clashes(known, "Marcus | says | Hello") == []


def test_a_death_that_is_new_contradicts_nothing_said_before() -> None:
    assert clashes("Marcus | says | Hello", "Marcus | dies | in the storm") == []


def test_the_dead_are_known_by_their_other_names_too() -> None:
    known = canon("Marcus Hale | nickname | Mac", "Marcus Hale | status | dead")
    assert clashes(known, "Mac | whispers | Come closer.")
    assert clashes(known, "Scene 2 | action | Mac whispers something")
    assert clashes(known, "Marcus | whispers | Come closer.")
