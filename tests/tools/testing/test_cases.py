"""Which tests a file holds, what they check, and which are left out: in four languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tools.testing.cases import cases_of, is_code, is_source, is_test_file

PYTHON = """
import unittest, pytest
from contextlib import suppress

def helper(value):
    assert value > 0

def test_plain(): assert f(1) == 2
def test_helper(): helper(f(1))
def test_raises():
    with pytest.raises(ValueError):
        f("x")
async def test_async(): assert await g()
class TestX:
    def test_method(self): assert f(1)
    @pytest.mark.skip(reason="later")
    def test_skipped(self): assert f(1)
class Old(unittest.TestCase):
    def test_old(self): self.assertEqual(f(1), 2)
    def test_quits(self): self.skipTest("no")
def test_mock(mock): mock.assert_called_once_with(1)
def test_nothing(): f(1)
def test_true(): assert True
def test_same(): assert x == x
def test_tuple(): assert (f(1) == 2, "always true")
def test_or(): assert f(1) or True
def test_constants(): assert 1 + 1 == 2
def test_swallowed():
    try:
        assert f(1) == 2
    except Exception:
        pass
def test_swallowed_bare():
    try:
        assert f(1) == 2
    except:
        print("never mind")
def test_reraised():
    try:
        f(1)
    except ValueError:
        raise AssertionError("no")
def test_suppressed():
    with suppress(AssertionError):
        assert f(1) == 2
def test_dead():
    if False:
        assert f(1) == 2
def test_returns(): return
@unittest.skipIf(True, "x")
def test_skip_if(): assert f(1)
@pytest.mark.xfail
def test_xfail(): assert f(1)
def not_a_test(): assert f(1)
"""

NOTHING = {
    "test_nothing",
    "test_true",
    "test_same",
    "test_tuple",
    "test_or",
    "test_constants",
    "test_swallowed",
    "test_swallowed_bare",
    "test_suppressed",
    "test_dead",
    "test_returns",
}
SKIPPED = {"TestX.test_skipped", "Old.test_quits", "test_returns", "test_skip_if", "test_xfail"}


def test_python_tests_are_read_from_their_syntax() -> None:
    cases = cases_of("tests/test_a.py", PYTHON) or []
    assert {case.name for case in cases if not case.asserts} - {"Old.test_quits"} == NOTHING
    assert {case.name for case in cases if case.skipped} == SKIPPED
    assert len(cases) == 23
    assert "not_a_test" not in {case.name for case in cases}


@pytest.mark.parametrize(
    "top", ["pytestmark = pytest.mark.skip", "pytest.skip('x', allow_module_level=True)", "__test__ = False"]
)
def test_a_python_file_can_leave_all_its_tests_out(top: str) -> None:
    [case] = cases_of("test_a.py", f"import pytest\n{top}\n\n\ndef test_x():\n    assert f(1)\n") or []
    assert case.skipped


def test_a_file_that_is_no_python_has_no_tests_that_could_be_reported() -> None:
    assert cases_of("test_a.py", "def test_x(:\n") is None
    assert cases_of("a.txt", "def test_x(): pass") is None


JAVASCRIPT = """
describe("sums", () => {
  it("adds (a, b)", () => { expect(add(1, 2)).toBe(3); expect(add(0, 0)).toBe(0) })
  test('nothing', () => { add(1, 2) }) // expect(1)
  it("true", () => { expect(true).toBe(true) })
  it.skip("skipped", () => { expect(add(1)).toBe(1) })
  xit("old", () => { expect(add(1)).toBe(1) })
  test.each([[1, 2]])("each %d", (a, b) => { expect(a).toBeLessThan(b) })
  it("brackets )", () => { const s = ")"; expect(s).toBe(")") })
  it(`assert`, () => { assert.equal(add(1), 1) })
})
unit("not a test", () => {})
"""


def test_javascript_tests_are_read_by_their_shape() -> None:
    cases = {case.name: case for case in cases_of("a.test.ts", JAVASCRIPT) or []}
    assert list(cases) == [
        "adds (a, b)",
        "nothing",
        "true",
        "skipped",
        "old",
        "each %d",
        "brackets )",
        "assert",
    ]
    assert {name for name, case in cases.items() if not case.asserts} == {"nothing", "true"}
    assert {name for name, case in cases.items() if case.skipped} == {"skipped", "old"}


GO = """
func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 { t.Errorf("wrong %d", 1) }
}

func TestNothing(t *testing.T) {
	Add(1, 2) // t.Error("x")
}

func TestLater(t *testing.T) { t.Skip("later"); t.Error("x") }

func helper(t *testing.T) { t.Error("x") }
"""

RUST = """
#[test]
fn adds() { assert_eq!(add(1, 2), 3); }
#[test]
fn nothing() { add(1, 2); }
#[test]
fn trivial() { assert!(true); assert_eq!(x, x); }
#[test]
#[ignore]
fn later() { assert!(f()); }
#[tokio::test]
#[should_panic(expected = "x")]
async fn panics() { f(); }
fn helper() { assert!(f()); }
"""


def test_go_and_rust_tests_are_read_by_their_shape() -> None:
    go = {case.name: (bool(case.asserts), case.skipped) for case in cases_of("a_test.go", GO) or []}
    assert go == {"TestAdd": (True, False), "TestNothing": (False, False), "TestLater": (True, True)}
    rust = {case.name: (bool(case.asserts), case.skipped) for case in cases_of("src/lib.rs", RUST) or []}
    assert rust == {
        "adds": (True, False),
        "nothing": (False, False),
        "trivial": (False, False),
        "later": (True, True),
        "panics": (True, False),
    }


@pytest.mark.parametrize(
    ("path", "test", "code"),
    [
        ("src/a.py", False, True),
        ("tests/a.py", True, True),
        ("test_a.py", True, True),
        ("a_test.go", True, True),
        ("src/a.test.tsx", True, True),
        ("__tests__/a.js", True, True),
        ("conftest.py", True, True),
        ("README.md", False, False),
        ("tests/data.json", True, False),
        ("src/contest.py", False, True),
        ("Makefile", False, False),
        ("a.rs", False, True),
        ("latest/a.py", False, True),
        ("spec/x_spec.rb", True, True),
    ],
)
def test_files_are_reported_apart_by_their_names(path: str, test: bool, code: bool) -> None:
    assert (is_test_file(path), is_code(path), is_source(path)) == (test, code, code and not test)


@given(
    st.sampled_from(["a.py", "a.test.js", "a_test.go", "a.rs"]),
    st.text("it(\"test'`{}/*\\\n fn#[]_:.expect", max_size=200),
)
def test_no_text_breaks_a_reader(path: str, text: str) -> None:
    cases = cases_of(path, text)
    assert cases is None or all(1 <= case.line <= len(text.splitlines()) + 1 for case in cases)
