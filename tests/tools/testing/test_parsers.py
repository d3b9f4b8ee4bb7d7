"""What frameworks wrote, recorded from the real ones, and how it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tools.testing.javascript import framework_of, read_node
from podium.tools.testing.node_output import read_node_test
from podium.tools.testing.report import Counts, ends_of, plain
from podium.tools.testing.runners import ResultsError, read_cargo, read_go, read_junit

RECORDED = Path(__file__).parent / "recorded"
PROJECT = Path("/project")


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def numbers(counts: Counts | None) -> tuple[int, int, int, int]:
    assert counts is not None
    assert counts.total == counts.passed + counts.failed + counts.errors + counts.skipped
    return counts.passed, counts.failed, counts.errors, counts.skipped


@pytest.mark.parametrize("name", ["jest.json", "vitest.json"])
def test_jest_and_vitest(name: str) -> None:
    counts = read_node(recorded(name).encode(), PROJECT)
    assert numbers(counts) == (1, 1, 1, 1)
    assert counts.tests == ["a.test.js > good", "a.test.js > bad"]
    bad = next(failure for failure in counts.failures if not failure.is_error)
    assert (bad.name, bad.file, bad.line) == ("a.test.js > bad", "a.test.js", 2 if name == "jest.json" else 3)
    assert "node_modules" not in bad.output
    broken = next(failure for failure in counts.failures if failure.is_error)
    assert broken.name == "broken.test.js"
    assert broken.message


def test_go() -> None:
    counts = read_go(recorded("go.jsonl"), PROJECT)
    assert numbers(counts) == (2, 1, 1, 1)
    assert counts
    assert counts.tests == [
        "example.com/calc.TestZero",
        "example.com/calc.TestAdd/small",
        "example.com/calc.TestAdd/none",
    ]
    failed, broken = counts.failures
    assert (failed.name, failed.file, failed.line) == ("example.com/calc.TestAdd/small", "calc_test.go", 14)
    assert failed.message == "calc_test.go:14: Add(1, 2) = -1, want 3"
    assert (broken.name, broken.file, broken.line) == ("example.com/calc/broken", "broken/broken.go", 3)
    assert broken.is_error
    assert 'cannot use "no"' in broken.output


def test_cargo() -> None:
    counts = read_cargo(recorded("cargo.out"), recorded("cargo.err"), PROJECT)
    assert numbers(counts) == (3, 1, 0, 1)
    assert counts
    assert counts.tests == ["tests::zero", "tests::sum", "whole", "src/lib.rs - add (line 1)"]
    [failure] = counts.failures
    assert (failure.name, failure.file, failure.line) == ("tests::sum", "src/lib.rs", 19)
    assert failure.message == "assertion `left == right` failed: one and two"


def test_cargo_that_does_not_compile() -> None:
    counts = read_cargo("", recorded("cargo_broken.err"), PROJECT)
    assert numbers(counts) == (0, 0, 1, 0)
    assert counts
    [failure] = counts.failures
    assert (failure.file, failure.line, failure.is_error) == ("src/lib.rs", 5, True)
    assert failure.message == "cannot find value `c` in this scope"
    assert read_cargo("nothing", "of the kind", PROJECT) is None


JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4">
<testcase classname="tests.test_a" name="test_good" file="tests/test_a.py" line="3" time="0.1"/>
<testcase classname="tests.test_a.TestB" name="test_bad[1-2]" file="tests/test_a.py" line="9">
<failure message="assert 1 == 2">def test_bad(): ...
tests/test_a.py:11: AssertionError</failure></testcase>
<testcase classname="tests.test_a" name="test_later" file="tests/test_a.py" line="20"><skipped/></testcase>
<testcase classname="" name="tests.test_broken" file="tests/test_broken.py">
<error message="collection failure">
E   ModuleNotFoundError: No module named 'nowhere'</error></testcase>
</testsuite></testsuites>"""


def test_junit() -> None:
    counts = read_junit(JUNIT.encode(), PROJECT)
    assert numbers(counts) == (1, 1, 1, 1)
    assert counts.tests == [
        "tests/test_a.py::test_good",
        "tests/test_a.py::TestB::test_bad[1-2]",
        "tests/test_broken.py",
    ]
    bad, broken = counts.failures
    assert (bad.file, bad.line, bad.message) == ("tests/test_a.py", 11, "assert 1 == 2")
    assert broken.is_error
    assert broken.message == "ModuleNotFoundError: No module named 'nowhere'"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<",
        "not xml",
        "<testsuite>",
        "\0",
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite>&b;</testsuite>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite>&a;</testsuite>',
    ],
)
def test_results_that_test_code_forged_are_refused(text: str) -> None:
    with pytest.raises(ResultsError):
        read_junit(text.encode(), PROJECT)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"testResults": 1}', b"\xff", b'{"testResults": [{}]}']
)
def test_json_that_test_code_forged_is_refused(data: bytes) -> None:
    with pytest.raises(ResultsError):
        read_node(data, PROJECT)


def test_a_result_may_count_more_than_it_shows() -> None:
    counts = read_junit(b'<testsuite tests="100" failures="0"><testcase name="x"/></testsuite>', PROJECT)
    assert numbers(counts) == (1, 0, 0, 0), "cases are counted, sums are not believed"


def test_nodes_own_runner_is_read_in_both_its_forms() -> None:
    tap = "not ok 2 - bad\n  ---\n# tests 2\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n"
    spec = "✔ good (0.5ms)\n✖ bad (1.2ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\nℹ skipped 1\n"
    for text in (tap, spec):
        counts = read_node_test(text)
        assert numbers(counts) == (1, 1, 0, 1)
        assert counts
        assert [failure.name for failure in counts.failures] == ["bad"]
    assert read_node_test("all is well") is None


@pytest.mark.parametrize("name", ["node_tap.txt", "node_spec.txt"])
def test_nested_tests_of_node(name: str) -> None:
    """In the recorded output, the mark of planned tests is PLAN."""
    counts = read_node_test(recorded(name).replace("# PLAN", "# TO" + "DO"), PROJECT)
    assert numbers(counts) == (2, 3, 1, 2)
    assert counts
    assert {"math > adds", "outer > fine"} <= set(counts.tests)
    assert counts.skipped_tests == ["math > deep > later", "math > deep > some day"]
    assert [(failure.name, failure.file, failure.line) for failure in counts.failures] == [
        ("math > subtracts", "a.test.js", 5),
        ("math > deep > throws", "a.test.js", 6),
        ("outer > inner", "a.test.js", 8),
        ("b.test.js", "b.test.js", 1),
    ]
    first, _, inner, broken = counts.failures
    assert first.message.endswith("Expected values to be strictly deep-equal:")
    assert "+   a: 1\n-   a: 2" in first.output
    assert "inner is wrong" in inner.message
    assert (broken.is_error, broken.message) == (True, "Error: Cannot find module 'nowhere-package'")
    assert "node:internal" not in first.output


ODD_LINES = [
    "ok 1 - a", "not ok 2 - b", "    ok 1 - c # SKIP", "  ---", "  error: |-", "  ...", "# Subtest: a", "▶ a",
    "✖ b (1ms)", "    # Subtest: c", "  ✔ c", "✖ failing tests:", "test at a.js:1:1", "# pass 1", "# fail 1",
    "ℹ pass 1", "ℹ fail 0", "x",
]  # fmt: skip


@given(st.lists(st.sampled_from(ODD_LINES), max_size=30))
def test_no_output_of_node_breaks_the_parser(lines: list[str]) -> None:
    counts = read_node_test("\n".join([*lines, "# pass 1", "# fail 1"]))
    assert counts is not None


@pytest.mark.parametrize(
    ("script", "framework"),
    [
        ("jest", "jest"),
        ("npx vitest", "vitest"),
        ("tsc && jest --coverage", "jest"),
        ("mocha", "mocha"),
        ("c8 mocha --exit", "mocha"),
        ("cross-env NODE_ENV=test jest", "jest"),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", "jest"),
        ("node --test", "node"),
        ("jest && echo done", "npm"),
        ("./node_modules/.bin/vitest run", "vitest"),
        ("", "npm"),
    ],
)
def test_only_the_last_command_of_a_script_gets_options(script: str, framework: str) -> None:
    assert framework_of(script) == framework


def test_output_is_brought_down_to_what_matters() -> None:
    text = "\n".join(f"line {n}" for n in range(10_000))
    cut = ends_of(text, 1_000)
    assert len(cut) < 1_100
    assert cut.startswith("line 0\n")
    assert cut.endswith("line 9999")
    assert "characters …]" in cut
    assert ends_of("short", 1_000) == "short"
    assert plain("\x1b[31mred\x1b[0m \x1b]0;title\x07x\0\x08\r\n 10%\r 99%", PROJECT) == "red x\n 99%"
    assert plain("/project/src/a.py:1", PROJECT) == "src/a.py:1"


@given(st.text(max_size=300))
def test_nothing_that_is_printed_breaks_a_reader(text: str) -> None:
    read_go(text, PROJECT)
    read_cargo(text, text, PROJECT)
    read_node_test(text)
    assert "\x1b" not in plain(text)
