"""A change is judged by the test runs before and after it."""

from __future__ import annotations

import pytest

from podium.tools.testing.comparison import compare
from podium.tools.testing.report import TestReport

A, B, C = "tests/test_a.py::test_a", "tests/test_a.py::test_b", "tests/test_c.py::TestC::test_c"


def report(
    passed: list[str] | None = None,
    failed: list[str] | None = None,
    skipped: list[str] | None = None,
    *,
    errors: int = 0,
    **fields: object,
) -> TestReport:
    passed, failed, skipped = passed or [], failed or [], skipped or []
    values: dict[str, object] = {
        "command": "pytest",
        "framework": "pytest",
        "exit_code": 1 if failed else 0,
        "ok": bool(passed) and not failed,
        "passed": len(passed),
        "failed": len(failed) - errors,
        "errors": errors,
        "skipped": len(skipped),
        "total": len(passed) + len(failed) + len(skipped),
        "counted": True,
        "tests": sorted(passed + failed),
        "failed_tests": failed,
        "skipped_tests": skipped,
    }
    return TestReport(**{**values, **fields})  # pyright: ignore[reportArgumentType]


def test_a_red_test_that_turns_green_is_fixed() -> None:
    comparison = compare(report([A], [B]), report([A, B]))
    assert (comparison.fixed, comparison.ok, comparison.problems()) == ([B], True, [])


def test_a_test_that_failed_before_is_not_blamed_on_the_change() -> None:
    comparison = compare(report([A], [B, C]), report([A, C], [B], reason="1 failed"))
    assert comparison.still_failing == [B]
    assert comparison.fixed == [C]
    assert comparison.ok


def test_a_test_that_fails_since_the_change() -> None:
    comparison = compare(report([A, B]), report([A], [B, C]))
    assert comparison.new_failures == [B, C]
    assert comparison.problems() == [f"2 tests fail since the change: {B}, {C}"]


@pytest.mark.parametrize("before", [report([A, B]), report([A], [B]), report([A], [], [B])])
def test_a_test_that_is_not_collected_any_more(before: TestReport) -> None:
    comparison = compare(before, report([A]))
    assert comparison.missing == [B]
    assert not comparison.ok
    assert compare(before, report([A, C])).missing == [B], "another test is no replacement"


@pytest.mark.parametrize("before", [report([A, B]), report([A], [B])])
def test_a_test_that_is_skipped_now(before: TestReport) -> None:
    assert compare(before, report([A], [], [B])).newly_skipped == [B]
    assert compare(report([A], [], [B]), report([A], [], [B])).ok, "it was skipped before"


def test_tests_that_are_moved_or_removed_with_reason_are_not_missing() -> None:
    assert compare(report([A, B]), report([A, "tests/test_new.py::test_b"])).ok
    assert compare(report([A, f"{B}[1-2]"]), report([A]), removed=["test_b"]).ok
    assert not compare(report([A, f"{B}[1-2]"]), report([A])).ok
    fewer_rows = compare(report([f"{B}[1]", f"{B}[2]"]), report([f"{B}[1]"]))
    assert fewer_rows.missing == [f"{B}[2]"]


def test_a_new_case_of_a_parametrized_test_may_rename_the_others() -> None:
    before = report([f"{A}[x{number}-{value}]" for number, value in enumerate("abd")], [f"{A}[x3-e]"])
    after = report([f"{A}[x{number}-{value}]" for number, value in enumerate("abcd")], [f"{A}[x4-e]"])
    comparison = compare(before, after)
    assert (comparison.missing, comparison.new_failures) == ([], [])
    assert comparison.still_failing == [f"{A}[x4-e]"]
    repaired = report([f"{A}[x{number}-{value}]" for number, value in enumerate("abcde")])
    assert compare(before, repaired).fixed == [f"{A}[x3-e]"]
    fewer = report([f"{A}[x0-a]"], [f"{A}[x1-e]"])
    assert compare(before, fewer).missing == [f"{A}[x1-b]", f"{A}[x2-d]", f"{A}[x3-e]"]


def test_a_file_that_could_not_be_collected_and_now_is() -> None:
    before = report([C], ["tests/test_a.py"], errors=1)
    comparison = compare(before, report([A, B, C]))
    assert (comparison.fixed, comparison.missing, comparison.ok) == (["tests/test_a.py"], [], True)
    again = compare(report([A, B, C]), before)
    assert (again.new_failures, again.missing) == (["tests/test_a.py"], [])
    assert compare(before, report([C])).missing == ["tests/test_a.py"], "the broken file was only removed"


def test_other_frameworks_names() -> None:
    go = compare(report(["m/a.TestX"], ["m/b"], errors=1), report(["m/a.TestX", "m/b.TestY"]))
    assert go.fixed == ["m/b"]
    assert go.ok
    jest = compare(report(["a.test.js > sum adds"]), report(["b.test.js > sum adds"]))
    assert jest.ok


def test_equal_names_are_counted() -> None:
    """Cargo prints the same name for tests of two binaries."""
    comparison = compare(report(["works", "works"]), report(["works"]))
    assert comparison.fewer == 1
    assert comparison.problems() == ["1 fewer tests are collected than before the change"]


def test_names_that_were_cut_off_are_not_missing() -> None:
    assert compare(report([A, B]), report([A], total=30_000)).missing == []
    unnamed = report([], ["b"], total=5), report([], [], total=4, ok=True)
    assert compare(*unnamed).fewer == 1


def test_a_run_that_fails_without_a_failing_test() -> None:
    stopped = report([], ok=False, counted=False, reason="The tests were stopped after 9 s.")
    assert compare(report([A]), stopped).broken == "The tests were stopped after 9 s."
    assert not compare(stopped, stopped).ok, "an unknown result is no success"
    gate = report([A], ok=False, exit_code=1, reason="The tests ended with exit code 1.")
    assert compare(gate, gate).ok, "a coverage threshold that was missed before"
    assert not compare(report([A]), gate).ok


def test_a_project_that_had_no_tests() -> None:
    nothing = TestReport(command="", framework="", exit_code=None, ok=False, reason="There are no tests.")
    assert compare(nothing, report([A])).ok
    assert compare(nothing, report([A], [B])).new_failures == [B]
    assert not compare(nothing, nothing).ok
    make = report([], counted=False, ok=True, framework="make")
    assert compare(make, make).ok
