"""How a time limit is divided: the shares, their caps, and what steps, cycles and sub-plans get."""

from __future__ import annotations

import pytest

from podium.workflows.build.policy import (
    DEFAULT_LIMIT_S,
    allocate,
    execution_window,
    fix_cycle_budget,
    step_budget,
    subplan_budget,
)

MINUTE, HOUR = 60.0, 3600.0


def test_two_hours_by_default() -> None:
    assert DEFAULT_LIMIT_S == 2 * HOUR


@pytest.mark.parametrize(
    ("total", "planning", "execution", "verification", "reserve"),
    [
        (90, 9, 72, 9, 0),
        (15 * MINUTE, 1.5 * MINUTE, 12 * MINUTE, 1.5 * MINUTE, 0),
        (100 * MINUTE, 10 * MINUTE, 80 * MINUTE, 10 * MINUTE, 0),
        (2 * HOUR, 12 * MINUTE, 96 * MINUTE, 10 * MINUTE, 2 * MINUTE),
        (150 * MINUTE, 15 * MINUTE, 120 * MINUTE, 10 * MINUTE, 5 * MINUTE),
        (10 * HOUR, 15 * MINUTE, 480 * MINUTE, 10 * MINUTE, 95 * MINUTE),
    ],
)
def test_a_tenth_to_plan_80_percent_to_work_a_tenth_to_verify_and_what_the_caps_leave_is_reserve(
    total: float, planning: float, execution: float, verification: float, reserve: float
) -> None:
    allocation = allocate(total)
    assert (allocation.planning, allocation.execution) == pytest.approx((planning, execution))
    assert (allocation.verification, allocation.reserve) == pytest.approx((verification, reserve))
    assert (
        allocation.planning + allocation.execution + allocation.verification + allocation.reserve
        == pytest.approx(total)
    )


def test_shutdown_comes_out_of_the_reserve_where_there_is_one_else_out_of_verification() -> None:
    long, short = allocate(2 * HOUR), allocate(15 * MINUTE)
    assert (long.shutdown_comes_out_of, long.verification_left) == ("reserve", 10 * MINUTE)
    assert short.shutdown_comes_out_of == "verification"
    assert short.verification_left == pytest.approx(1.5 * MINUTE - short.shutdown)


def test_execution_takes_its_share_and_never_what_verification_and_shutdown_need() -> None:
    allocation = allocate(1000)
    assert execution_window(allocation, elapsed=0) == 800
    assert execution_window(allocation, elapsed=100) == 800
    reserved = allocation.verification_left + allocation.shutdown
    assert execution_window(allocation, elapsed=300) == pytest.approx(1000 - 300 - reserved)
    assert execution_window(allocation, elapsed=990) == 0


def test_every_step_gets_the_same_and_a_fix_cycle_at_most_30_percent_of_it() -> None:
    assert step_budget(5760, 4) == 1440
    assert step_budget(800, 1) == 800
    assert fix_cycle_budget(1440) == pytest.approx(432)


def test_a_sub_plan_gets_one_fresh_step_budget_as_far_as_execution_time_is_unused() -> None:
    assert subplan_budget(100, unused=500) == 100
    assert subplan_budget(100, unused=40) == 40
    assert subplan_budget(100, unused=-5) == 0


def test_a_later_iteration_divides_what_is_left_in_the_same_way() -> None:
    allocation = allocate(1000 - 400)
    assert (allocation.planning, allocation.execution, allocation.verification) == pytest.approx(
        (60, 480, 60)
    )


@pytest.mark.parametrize(("total", "shutdown"), [(10, 1), (30, 3), (60, 5), (300, 5), (600, 10), (7200, 120)])
def test_shutdown_takes_a_sixtieth_but_five_seconds_where_that_is_less_than_a_tenth(
    total: float, shutdown: float
) -> None:
    assert allocate(total).shutdown == pytest.approx(shutdown)
