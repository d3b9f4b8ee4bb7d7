"""The state machine: every allowed and every forbidden transition."""

from __future__ import annotations

import pytest

from podium.errors import InvalidTransitionError
from podium.workflows.research.policy import FINAL, TRANSITIONS, Phase, check_transition, is_allowed

ALLOWED = {
    ("initialized", "planning"),
    ("planning", "strategy"),
    ("strategy", "executing"),
    ("executing", "evaluating"),
    ("evaluating", "re_planning"),
    ("evaluating", "merging"),
    ("re_planning", "planning"),
    ("merging", "completed"),
    ("initialized", "failed"),
    ("planning", "failed"),
    ("strategy", "failed"),
    ("executing", "failed"),
    ("evaluating", "failed"),
    ("re_planning", "failed"),
    ("merging", "failed"),
}
"""Written out by hand, so that a slip in the table is seen."""

PAIRS = [(one, other) for one in Phase for other in Phase]
PHASES = [
    "initialized",
    "planning",
    "strategy",
    "executing",
    "evaluating",
    "re_planning",
    "merging",
    "completed",
    "failed",
]


def test_the_phases_are_those_nine_in_their_order() -> None:
    assert [str(phase) for phase in Phase] == PHASES
    assert set(TRANSITIONS) == set(Phase)


def test_an_allowed_transition_passes() -> None:
    for current, new in [pair for pair in PAIRS if (pair[0], pair[1]) in ALLOWED]:
        check_transition(current, new)
        assert is_allowed(current, new)


@pytest.mark.parametrize(("current", "new"), [pair for pair in PAIRS if (pair[0], pair[1]) not in ALLOWED])
def test_a_forbidden_transition_is_refused_by_name(current: Phase, new: Phase) -> None:
    assert not is_allowed(current, new)
    with pytest.raises(InvalidTransitionError, match=f"Cannot go from {current} to {new}\\.") as caught:
        check_transition(current, new)
    assert (caught.value.current, caught.value.new) == (current, new)
    assert caught.value.hint


def test_there_are_81_pairs_and_15_of_them_are_allowed() -> None:
    assert sum(is_allowed(current, new) for current, new in PAIRS) == len(ALLOWED) == 15
    assert len(PAIRS) == 81


def test_only_the_first_phase_can_come_first() -> None:
    check_transition(None, Phase.INITIALIZED)
    for phase in set(Phase) - {Phase.INITIALIZED}:
        with pytest.raises(InvalidTransitionError, match="from nothing"):
            check_transition(None, phase)


@pytest.mark.parametrize(
    ("current", "new"),
    [
        (Phase.INITIALIZED, Phase.EXECUTING),  # phases are not skipped
        (Phase.EXECUTING, Phase.PLANNING),  # the only way back is re-planning
        (Phase.EXECUTING, Phase.COMPLETED),  # nothing is done before it was evaluated
        (Phase.EVALUATING, Phase.COMPLETED),  # a forced completion goes through merging
    ],
)
def test_the_worked_examples_of_what_cannot_be(current: Phase, new: Phase) -> None:
    with pytest.raises(InvalidTransitionError):
        check_transition(current, new)


def test_the_last_phases_are_the_end() -> None:
    assert {Phase.COMPLETED, Phase.FAILED} == FINAL
    with pytest.raises(InvalidTransitionError) as caught:
        check_transition(Phase.COMPLETED, Phase.PLANNING)
    assert caught.value.hint == "Nothing follows completed."
