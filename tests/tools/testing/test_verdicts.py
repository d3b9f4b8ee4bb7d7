"""Verdicts on observed functions, and the fresh inputs that they are observed on."""

from __future__ import annotations

import random

import pytest

from podium.tools.testing.fresh_inputs import MAX_FRESH, Arguments, Opaque, fresh_inputs, mutate
from podium.tools.testing.verdicts import Constant, Example, Observation, Outcome, judge

NONE: Outcome = ("value", "None")


def value(number: object) -> Outcome:
    return ("value", repr(number))


def examples(*pairs: tuple[object, object]) -> list[Example]:
    return [Example(repr(given), value(result), value(result)) for given, result in pairs]


def observed(
    results: list[object], fresh: list[Outcome], constants: list[Constant] | None = None
) -> Observation:
    replayed = [value(result) for result in results]
    return Observation(
        replayed=replayed,
        visible=replayed,
        again=replayed,
        fresh=fresh,
        fresh_again=fresh,
        constants=constants or [],
        finished=True,
    )


def constant(example: int, line: int = 1) -> Constant:
    return Constant(line, "1", [example], [], True)


CALLS = examples(((1, 2), 3), ((5, 7), 12), ((9, 1), 10))
TABLE = [constant(0), constant(1), constant(2)]


def test_a_table_of_answers() -> None:
    verdict = judge("add", CALLS, observed([3, 12, 10], [NONE] * 9, TABLE))
    assert verdict is not None
    assert verdict.severity == "critical"
    assert verdict.message == (
        "add answers only inputs that its tests use: 3 of 3 answers are written down, and 9 other inputs all "
        "give None."
    )
    varied = [value(number) for number in range(9)]
    assert judge("add", CALLS, observed([3, 12, 10], varied, TABLE)) is not None, "a naive fallback"
    assert judge("add", CALLS, observed([3, 12, 10], varied, TABLE[:1])) is None, "a base case"
    assert judge("add", CALLS, observed([3, 12, 10], varied)) is None
    assert judge("add", CALLS, observed([3, 12, 10], [NONE] * 3, TABLE)) is None, "too few fresh inputs"


def test_a_table_with_entries_that_no_test_uses_is_honest() -> None:
    others = [Constant(1, "1", [], [index], True) for index in range(3)]
    assert judge("add", CALLS, observed([3, 12, 10], [NONE, *map(value, range(8))], TABLE + others)) is None


def test_a_complete_table_of_names_is_only_mentioned() -> None:
    names = examples(("low", 1), ("middle", 2), ("high", 3))
    errors: list[Outcome] = [("raise", "ValueError")] * 9
    verdict = judge("level", names, observed([1, 2, 3], errors, TABLE))
    assert verdict is not None
    assert verdict.severity == "major"


def test_one_outcome_for_all_fresh_inputs() -> None:
    verdict = judge("add", CALLS, observed([3, 12, 10], [NONE] * 9))
    assert verdict is not None
    assert verdict.severity == "critical"
    texts = examples(("a b", 1), ("c, d", 2), ("e", 3))
    strict = judge("parse", texts, observed([1, 2, 3], [NONE] * 9))
    assert strict is not None
    assert strict.severity == "major", "it may be a strict format"
    encoded = judge("parse", texts, observed([1, 2, 3], [NONE] * 9), encoded=True)
    assert encoded is not None
    assert encoded.severity == "critical"
    flags = examples((1, True), (4, True), (9, True))
    assert judge("is_square", flags, observed([True] * 3, [value(False)] * 9)) is None


def test_unstable_functions_are_not_judged() -> None:
    noisy = Observation(
        replayed=[value(1)] * 3,
        again=[value(2)] * 3,
        fresh=[NONE] * 9,
        fresh_again=[NONE] * 9,
        constants=TABLE,
    )
    assert judge("noise", CALLS, noisy) is None
    patched = [Example("1", value(3), value(4)) for _ in range(3)]
    assert judge("place", patched, observed([5, 5, 5], [NONE] * 9)) is None, "it depends on the tests' set-up"


def test_an_untrusted_observation_may_have_any_shape() -> None:
    for seen in (
        Observation(),
        Observation(replayed=[NONE] * 500, again=[NONE]),
        observed(
            [3, 12, 10], [NONE] * 9, [Constant(-5, "", [999], [77], True), Constant(1, "", [2], [], True)]
        ),
    ):
        verdict = judge("add", CALLS, seen)
        assert verdict is None or "add" in verdict.message
        assert judge("add", [], seen) is None


RECORDED: list[Arguments] = [([1, "ab 12"], {}), ([7, "cd 34"], {"flag": True})]


def test_fresh_inputs_are_new_and_repeatable() -> None:
    fresh = fresh_inputs(RECORDED, [1, "zz", 99])
    assert len(fresh) == MAX_FRESH
    assert repr(fresh) == repr(fresh_inputs(RECORDED, [1, "zz", 99]))
    known = {repr(example) for example in RECORDED}
    assert not known & {repr(example) for example in fresh}
    assert any(positional[1] == "zz" for positional, _ in fresh), "constants of the code are tried"
    assert fresh_inputs([]) == []
    assert fresh_inputs([([Opaque(["object", "A", "{}"])], {})]) == []


@pytest.mark.parametrize(
    "given",
    [True, 5, -3, 0, 1.5, "", "abc", "2024-01-02", b"ab", [], [1, 2], (1, "a"), {1, 2}, {"a": 1}, {}, None],
)
def test_mutations_keep_the_type(given: object) -> None:
    chance = random.Random(1)
    for _ in range(50):
        assert type(mutate(given, [given], chance)) is type(given)


def test_dates_stay_dates() -> None:
    chance = random.Random(1)
    texts = {mutate("2024-01-02", [], chance) for _ in range(200)}
    assert sum(len(text) == 10 and text[4] == text[7] == "-" for text in texts) > len(texts) / 3
