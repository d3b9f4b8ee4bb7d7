"""The breaker and the pace of a provider, on a clock that the test moves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from podium.models.model import ModelFault
from podium.models.provider_limits import (
    APART_S,
    FIRST_REST_S,
    LONGEST_REST_S,
    OPENS_AFTER,
    AllProviderLimits,
    Breaker,
    RequestPace,
)


class Clock:
    """Time that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def broken(clock: Clock) -> Breaker:
    breaker = Breaker("openai", clock)
    for _ in range(OPENS_AFTER):
        breaker.gave_up(breaker.check())
    return breaker


def refused(breaker: Breaker) -> str:
    with pytest.raises(ModelFault) as caught:
        breaker.check()
    assert (caught.value.kind, caught.value.calls, caught.value.retry) == ("resting", 0, False)
    return str(caught.value)


def test_a_provider_that_is_down_is_left_alone_with_a_clear_sentence() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now += 10
    assert refused(breaker) == (
        "openai is not being called now: 3 calls in a row failed for good. It is tried again in 20 s"
    )


def test_an_answer_in_between_starts_the_count_anew() -> None:
    breaker = Breaker("openai", Clock())
    for _ in range(3):
        for _ in range(OPENS_AFTER - 1):
            breaker.gave_up()
        breaker.answered()
    breaker.check()


def test_after_a_rest_one_call_looks_whether_it_is_back() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now += FIRST_REST_S
    assert breaker.check() is True
    assert breaker.check(trial=True) is True, "the trial call may make all its attempts"
    assert "as soon as a trial call has ended" in refused(breaker)
    breaker.answered()
    breaker.check()
    breaker.check()


def test_a_failed_trial_makes_the_next_rest_longer_up_to_a_limit() -> None:
    clock = Clock()
    breaker = broken(clock)
    rest = FIRST_REST_S
    for _ in range(6):
        clock.now += rest
        breaker.gave_up(breaker.check())
        rest = min(2 * rest, LONGEST_REST_S)
        assert f"in {rest:.0f} s" in refused(breaker)
    breaker.answered()
    for _ in range(OPENS_AFTER):
        breaker.gave_up()
    assert f"in {FIRST_REST_S:.0f} s" in refused(breaker), "after an answer it begins small again"


def test_a_trial_that_was_stopped_lets_the_next_one_look() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now += FIRST_REST_S
    assert breaker.check() is True
    breaker.left()
    assert breaker.check() is True


def test_calls_from_before_that_give_up_later_change_nothing() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now += FIRST_REST_S
    assert breaker.check() is True
    breaker.gave_up()
    assert "as soon as a trial call has ended" in refused(breaker)
    breaker.answered()
    assert breaker.check() is False


def test_requests_keep_to_their_pace_over_a_minute() -> None:
    clock = Clock()
    pace = RequestPace(requests=60, clock=clock)
    went = 0
    for _ in range(600):
        while pace.take(0) == 0:
            went += 1
        clock.now += 0.1
    assert 60 <= went <= 60 + 6 + 1, "the rate, and the burst of a tenth of a minute at the start"


def test_those_who_wait_are_reported_different_times() -> None:
    clock = Clock()
    pace = RequestPace(requests=60, clock=clock)
    while pace.take(0) == 0:
        pass
    waits = [pace.take(0) for _ in range(5)]
    assert [later - earlier for earlier, later in pairwise(waits)] == pytest.approx([1.0] * 4)


def test_those_who_wait_get_their_turn() -> None:
    clock = Clock()
    pace = RequestPace(requests=600, clock=clock)
    due = [clock.now] * 200
    went = 0
    while due:
        due.sort()
        clock.now = max(clock.now, due.pop(0))
        wait = pace.take(0)
        went += wait == 0
        if wait:
            due.append(clock.now + wait)
    assert went == 200
    assert clock.now - 1000 <= 200 / 10 + 5


def test_tokens_keep_to_their_pace_and_are_corrected_afterwards() -> None:
    clock = Clock()
    pace = RequestPace(tokens=6000, clock=clock)
    assert pace.take(600) == 0
    assert pace.take(300) == pytest.approx(3.0)
    pace.correct(-500)
    assert pace.take(300) == 0


def test_a_call_larger_than_any_bucket_still_goes() -> None:
    clock = Clock()
    pace = RequestPace(tokens=600, clock=clock)
    assert pace.take(5000) == 0
    wait = pace.take(10)
    assert wait > 400, "what it used has to be waited for"
    clock.now += wait
    assert pace.take(10) == 0


def test_runs_of_a_process_share_the_guard_of_a_provider() -> None:
    guards = AllProviderLimits()
    assert guards.of("openai", "", None, None) is guards.of("openai", "", None, None)
    assert guards.of("openai", "", None, None) is not guards.of("anthropic", "", None, None)
    assert guards.of("openai", "here", None, None) is not guards.of("openai", "there", None, None)


# ── a provider that asks to wait ──


def test_a_provider_without_limits_is_never_waited_for() -> None:
    pace = RequestPace(clock=Clock())
    assert [pace.take(10**9) for _ in range(1000)] == [0.0] * 1000


def test_while_a_provider_asks_to_wait_everybody_waits() -> None:
    clock = Clock()
    pace = RequestPace(clock=clock)
    assert pace.hold(30) == pytest.approx(30)
    assert pace.take(1) > 30
    clock.now += 29
    assert 0 < pace.held() < 2
    clock.now += 1
    assert (pace.held(), pace.take(1)) == (0, 0)


def test_those_whom_a_provider_makes_wait_come_back_one_after_the_other() -> None:
    pace = RequestPace(clock=Clock())
    waits = [pace.hold(5), *(pace.held() for _ in range(4))]
    assert [later - earlier for earlier, later in pairwise(waits)] == pytest.approx([APART_S] * 4)
    slow = RequestPace(requests=60, clock=Clock())
    waits = [slow.hold(5), *(slow.take(0) for _ in range(4))]
    assert [later - earlier for earlier, later in pairwise(waits)] == pytest.approx([1.0] * 4)


def test_a_shorter_wait_does_not_end_a_longer_one() -> None:
    clock = Clock()
    pace = RequestPace(clock=clock)
    pace.hold(30)
    pace.hold(1)
    clock.now += 20
    assert pace.held() > 0
    clock.now += 10
    assert pace.held() == 0
