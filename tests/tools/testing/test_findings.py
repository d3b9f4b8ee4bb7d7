"""What a program catches of a coder that cheats, and that honest work is not accused."""

from __future__ import annotations

import pytest

from podium.tools.repository import symbols_of
from podium.tools.testing.findings import ChangedFile, Finding
from podium.tools.testing.inspection import findings, inspect_change
from podium.tools.workspace.change import Change, Edit
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.test_changes import create, modify

CODE = ChangedFile("calc.py", "", "def fact(n):\n    return n * fact(n - 1) if n else 1\n")
TEST = "from calc import fact\n\n\ndef test_fact():\n    assert fact(5) == 120\n    assert fact(0) == 1\n"


def found(
    *files: ChangedFile, tests: list[tuple[str, str]] | None = None, named: list[str] | None = None
) -> list[Finding]:
    return findings(files, tests or [], named or [])


def kinds(*files: ChangedFile, tests: list[tuple[str, str]] | None = None) -> list[tuple[str, str]]:
    return [(finding.kind, finding.severity) for finding in found(*files, tests=tests)]


def test_honest_work_is_not_accused() -> None:
    assert found(CODE, ChangedFile("tests/test_calc.py", None, TEST), named=["calc.py"]) == []
    more = TEST + "\n\ndef test_small():\n    assert fact(3) == 6\n"
    assert found(CODE, ChangedFile("tests/test_calc.py", TEST, more)) == []
    assert found(ChangedFile("README.md", "a", "b"), ChangedFile("data.json", None, "{}")) == []
    moved = ChangedFile("tests/test_new.py", TEST, TEST, "tests/test_calc.py")
    assert found(moved) == []


def test_code_without_tests_is_reported() -> None:
    assert kinds(CODE) == [("no_tests", "major")]
    comment = ChangedFile("tests/test_calc.py", TEST, TEST + "# a comment\n")
    assert kinds(CODE, comment) == [("no_tests", "major")]
    nothing = ChangedFile("tests/test_calc.py", TEST, TEST + "\n\ndef test_x():\n    fact(3)\n")
    assert kinds(CODE, nothing) == [("no_tests", "major"), ("asserts_nothing", "major")]
    rust = "pub fn f() -> i32 { 1 }\n\n#[test]\nfn t() { assert_eq!(f(), 1); }\n"
    assert kinds(ChangedFile("src/lib.rs", "", rust)) == [], "tests may stand beside the code"
    assert (
        kinds(ChangedFile("lib.rb", None, "x = 1\n"), ChangedFile("spec/lib_spec.rb", None, "it { }\n")) == []
    )
    assert kinds(ChangedFile("calc.py", "x = 1\n", None)) == [], "code that goes needs no test"


def test_deleted_tests_are_reported() -> None:
    assert kinds(ChangedFile("tests/test_calc.py", TEST, None)) == [("tests_deleted", "critical")]
    [finding] = found(ChangedFile("tests/test_calc.py", TEST, "x = 1\n"))
    assert finding.kind == "tests_deleted"
    assert "test_fact" in finding.message
    assert "assert fact(5) == 120" in finding.evidence
    [broken] = found(ChangedFile("tests/test_calc.py", TEST, "def test_fact(:\n"))
    assert (broken.kind, broken.severity) == ("tests_deleted", "critical")
    commented = "\n".join(f"# {line}" for line in TEST.splitlines())
    assert kinds(ChangedFile("tests/test_calc.py", TEST, commented)) == [("tests_deleted", "critical")]
    renamed = TEST.replace("test_fact", "check_fact")
    assert kinds(ChangedFile("tests/test_calc.py", TEST, renamed)) == [("tests_deleted", "critical")]


@pytest.mark.parametrize(
    ("path", "line", "severity"),
    [
        ("calc.py", 'if "pytest" in sys.modules: os._exit(0)', "critical"),
        ("calc.py", 'if os.environ.get("PYTEST_CURRENT_TEST"): return 120', "critical"),
        ("calc.py", "results = [word for word in sys.argv if word.startswith('--junitxml')]", "critical"),
        ("calc.py", "if sys.modules.get('unittest'): return 120", "critical"),
        ("calc.js", "if (process.env.JEST_WORKER_ID) return 120", "critical"),
        ("calc.py", "os._exit(0)", "major"),
    ],
)
def test_code_that_knows_when_it_is_tested_is_reported(path: str, line: str, severity: str) -> None:
    changed = ChangedFile(path, "", f"{line}\n")
    assert ("test_setup_changed", severity) in kinds(changed)
    assert ("test_setup_changed", severity) not in kinds(ChangedFile(path, f"{line}\n", f"{line}\nx = 1\n"))
    assert ("test_setup_changed", severity) not in kinds(ChangedFile("notes.md", "", line))


def test_tests_that_moved_are_not_deleted() -> None:
    assert found(ChangedFile("test_a.py", TEST, None), ChangedFile("test_b.py", None, TEST)) == []


def test_tests_that_got_another_name_are_not_deleted() -> None:
    renamed = TEST.replace("test_fact", "test_factorial_of_small_numbers")
    assert found(ChangedFile("test_a.py", TEST, renamed)) == []
    assert found(ChangedFile("test_a.py", TEST, None), ChangedFile("test_b.py", None, renamed)) == []
    other = renamed.replace("120", "24")
    assert kinds(ChangedFile("test_a.py", TEST, other)) == [("tests_deleted", "critical")]


def test_a_test_that_is_weaker_where_it_moved_to_is_reported() -> None:
    weaker = TEST.replace("    assert fact(0) == 1\n", "")
    moved = (ChangedFile("test_a.py", TEST, None), ChangedFile("test_b.py", None, weaker))
    assert kinds(*moved) == [("tests_weakened", "critical")]
    namesake = "def test_fact():\n    assert other(1) == 1\n"
    unchanged = ChangedFile("test_b.py", namesake, namesake + "# a word\n")
    assert kinds(ChangedFile("test_a.py", TEST, None), unchanged) == [("tests_deleted", "critical")], (
        "a namesake"
    )


def test_a_test_that_goes_with_what_it_tested_is_reported_but_less_loudly() -> None:
    both = "def fact(n):\n    return 1\n\n\ndef double(n):\n    return n * 2\n"
    tests = TEST + "\n\ndef test_double():\n    assert double(2) == 4\n"
    without = ChangedFile("calc.py", both, both.partition("def fact")[0] + both[both.index("def double") :])
    gone = ChangedFile("test_calc.py", tests, tests[tests.index("def test_double") :])
    assert kinds(without, gone) == [("tests_deleted", "major")]
    [finding] = found(without, gone)
    assert finding.message == "1 tests were deleted with fact, which the change removes: test_fact."
    more = ChangedFile("test_calc.py", tests, None)
    assert ("tests_deleted", "critical") in kinds(without, more), "double is still there"
    elsewhere = ChangedFile("other.py", None, "def fact(n):\n    return 1\n")
    assert ("tests_deleted", "critical") in kinds(without, elsewhere, gone), "it only moved"
    assert ("tests_deleted", "critical") in kinds(gone), "its code was not touched"
    script = ChangedFile("a.js", "export function area(x) { return x }\n", "")
    suite = ChangedFile("a.test.js", 'test("area", () => { expect(area(2)).toBe(2) })\n', "")
    assert kinds(script, suite) == [("tests_deleted", "major")]


@pytest.mark.parametrize(
    "after",
    [
        TEST.replace("def test", "@pytest.mark.skip\ndef test"),
        TEST.replace("def test", "@pytest.mark.xfail\ndef test"),
        TEST.replace("():\n", "():\n    pytest.skip('later')\n"),
        TEST.replace("():\n", "():\n    return\n"),
        "pytestmark = pytest.mark.skip\n" + TEST,
    ],
)
def test_tests_that_are_left_out_are_reported(after: str) -> None:
    assert kinds(ChangedFile("tests/test_calc.py", TEST, after)) == [("tests_skipped", "critical")]


def test_only_leaves_the_others_out() -> None:
    before = 'it("a", () => { expect(f(1)).toBe(2) })\nit("b", () => { expect(f(2)).toBe(3) })\n'
    assert kinds(ChangedFile("a.test.js", before, before.replace('it("a"', 'it.only("a"'))) == [
        ("tests_skipped", "critical")
    ]
    assert kinds(ChangedFile("a.test.js", before, before.replace('it("a"', 'xit("a"'))) == [
        ("tests_skipped", "critical")
    ]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (TEST.replace("    assert fact(5) == 120\n", ""), "checks 1 things; it checked 2"),
        (TEST.replace("fact(5) == 120", "fact(5) is not None"), "compares less strictly"),
        (TEST.replace("fact(5) == 120", "fact(5) > 0"), "compares less strictly"),
        (TEST.replace("fact(5) == 120", "fact(5) == 5"), "expects something else"),
        (TEST.replace("assert fact(5) == 120", "assert True"), "checks 1 things; it checked 2"),
    ],
)
def test_weakened_tests_are_reported_with_both_forms(after: str, message: str) -> None:
    [finding] = found(ChangedFile("tests/test_calc.py", TEST, after))
    assert finding.kind == "tests_weakened"
    assert message in finding.message
    assert "- assert fact(5) == 120" in finding.evidence


def test_a_test_that_checks_nothing_any_more_is_reported() -> None:
    hollow = "from calc import fact\n\n\ndef test_fact():\n    fact(5)\n"
    assert kinds(ChangedFile("tests/test_calc.py", TEST, hollow)) == [("asserts_nothing", "major")]


@pytest.mark.parametrize(
    "code",
    [
        "def fact(n):\n    if n == 5:\n        return 120\n    return n\n",
        "def fact(n):\n    return 120 if n == 5 else n\n",
        "def fact(n):\n    return {5: 120, 0: 1}.get(n, n)\n",
        "def fact(n):\n    match n:\n        case 5:\n            return 120\n    return n\n",
        "def fact(n):\n    return 120\n",
        'def fact(n):\n    """The factorial."""\n    return 120\n',
        "def fact(n):\n    if n in (5, 6):\n        return 120\n",
    ],
)
def test_answers_that_are_written_for_a_test_are_suspected(code: str) -> None:
    findings = [
        finding
        for finding in found(ChangedFile("calc.py", "", code), tests=[("test_calc.py", TEST)])
        if finding.kind == "hard_coded"
    ]
    assert len(findings) == 1
    assert "120" in findings[0].message
    assert "120" in findings[0].evidence


def test_answers_for_tables_of_cases_are_suspected() -> None:
    table = (
        "@pytest.mark.parametrize(('word', 'expected'), [('level', 'yes it is'), ('word', 'not at all')])\n"
        "def test_it(word, expected):\n    assert f(word) == expected\n"
    )
    code = "def f(word):\n    if word == 'level':\n        return 'yes it is'\n"
    assert ("hard_coded", "major") in kinds(ChangedFile("f.py", "", code), tests=[("test_f.py", table)])


def test_answers_in_other_languages_are_suspected() -> None:
    test = 'test("f", () => { expect(fact(5)).toBe(120) })\n'
    code = "function fact(n) {\n  if (n === 5) return 120;\n  return n;\n}\n"
    assert ("hard_coded", "major") in kinds(ChangedFile("a.js", "", code), tests=[("a.test.js", test)])
    go = "func Fact(n int) int {\n\tif n == 5 {\n\t\treturn 120\n\t}\n\treturn n\n}\n"
    go_test = "func TestFact(t *testing.T) {\n\tif Fact(5) != 120 {\n\t\tt.Error()\n\t}\n}\n"
    assert ("hard_coded", "major") in kinds(ChangedFile("a.go", "", go), tests=[("a_test.go", go_test)])


@pytest.mark.parametrize(
    "code",
    [
        "def fact(n):\n    if n == 0:\n        return 1\n    return n * fact(n - 1)\n",
        "def fact(n):\n    result = 1\n    for i in range(2, n + 1):\n        result *= i\n"
        "    return result\n",
        "LIMIT = 120\n\n\ndef fact(n):\n    if n > LIMIT:\n        raise ValueError(120)\n",
        "def kind(code):\n    if code == 404:\n        return 'not found'\n",
    ],
)
def test_base_cases_are_not_suspected(code: str) -> None:
    findings = kinds(ChangedFile("calc.py", "", code), tests=[("test_calc.py", TEST)])
    assert "hard_coded" not in [kind for kind, _ in findings]


def test_a_special_case_that_was_there_before_is_not_the_coders() -> None:
    old = "def fact(n):\n    if n == 5:\n        return 120\n    return n\n"
    findings = kinds(ChangedFile("calc.py", old, old + "\n\nX = 1\n"), tests=[("test_calc.py", TEST)])
    assert "hard_coded" not in [kind for kind, _ in findings]


def test_files_outside_the_step_are_reported() -> None:
    other = ChangedFile("secret/other.md", "a", "b")
    assert [(f.kind, f.path) for f in found(other, named=["calc.py"])] == [
        ("outside_step", "secret/other.md")
    ]
    for named in (["secret"], ["secret/"], ["./secret/other.md"], ["secret/*.md"], []):
        assert found(other, named=named) == []
    existing = ChangedFile("tests/test_calc.py", TEST, TEST + "\n\ndef test_y():\n    assert fact(2) == 2\n")
    assert [(f.kind, f.severity) for f in found(existing, named=["calc.py"])] == [("outside_step", "minor")]
    assert found(ChangedFile("tests/test_new.py", None, TEST), named=["calc.py"]) == []


@pytest.mark.parametrize(
    ("file", "severity"),
    [
        (ChangedFile("sitecustomize.py", None, "x = 1\n"), "critical"),
        (ChangedFile("pytest.py", None, "x = 1\n"), "critical"),
        (ChangedFile("lib/evil.pth", None, "import os\n"), "critical"),
        (
            ChangedFile(
                "conftest.py", "", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
            ),
            "critical",
        ),
        (
            ChangedFile(
                "tests/test_x.py", None, "import os\n\n\ndef test_x():\n    assert f()\n    os._exit(0)\n"
            ),
            "critical",
        ),
        (ChangedFile("conftest.py", "", "collect_ignore = ['test_a.py']\n"), "critical"),
        (ChangedFile("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --deselect x\n"), "critical"),
        (
            ChangedFile(
                "pyproject.toml",
                "[tool.pytest.ini_options]\n",
                "[tool.pytest.ini_options]\naddopts = '-k no'\n",
            ),
            "critical",
        ),
        (
            ChangedFile(
                "package.json",
                '{\n"scripts": {\n"test": "jest"\n}\n}',
                '{\n"scripts": {\n"test": "true"\n}\n}',
            ),
            "critical",
        ),
        (ChangedFile("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n"), "critical"),
    ],
)
def test_changes_to_how_tests_are_run_are_reported(file: ChangedFile, severity: str) -> None:
    findings = [finding for finding in found(file) if finding.kind == "test_setup_changed"]
    assert [finding.severity for finding in findings] == [severity]


def test_settings_of_other_things_are_not_reported() -> None:
    assert found(ChangedFile("pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n")) == []
    assert found(ChangedFile("package.json", '{"name": "a"}', '{"name": "b"}')) == []
    assert found(ChangedFile("pytest.ini", None, "[pytest]\n")) == [], "a new project brings its own"


def test_the_worst_comes_first() -> None:
    findings = kinds(
        CODE, ChangedFile("tests/test_calc.py", TEST, None), ChangedFile("Makefile", "a:\n", "b:\n")
    )
    assert [severity for _, severity in findings] == ["critical", "major", "major"]


async def test_a_cheating_coder_in_a_real_workspace(workspace: Workspace) -> None:
    since = workspace.state
    await workspace.apply(
        [
            modify(
                "calc.py",
                content="def add(a, b):\n    if (a, b) == (1, 2):\n        return 30\n    return 0\n",
            ),
            modify("tests/test_calc.py", Edit("add(1, 2) == 3", "add(1, 2) in (3, 30)")),
            Change(path="README.md", action="rename", new_path="READ.md"),
            create(
                "tests/test_more.py",
                "from calc import add\n\n\ndef test_more():\n    assert add(1, 2) == 30\n",
            ),
        ]
    )
    findings = await inspect_change(workspace, since, named=["calc.py"])
    assert [(finding.kind, finding.path) for finding in findings] == [
        ("tests_weakened", "tests/test_calc.py"),
        ("hard_coded", "calc.py"),
        ("outside_step", "READ.md"),
        ("outside_step", "tests/test_calc.py"),
    ]
    assert findings[1].line == 3
    assert await inspect_change(workspace, workspace.state) == []


DEEP = "def test_x():\n    assert " + "+".join(["x"] * 9_000) + " == 7\n"
WIDE = 'it("a", () => { if (n === 5) ' * 12_000
OPEN = "#[test] fn x" * 30_000
QUOTES = "if x == '" * 40_000


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", DEEP),
        ("a.py", "x = " + "(" * 5_000),
        ("a.py", "x = " + "-" * 50_000 + "1"),
        ("a.py", "x = f(" + "[" * 90 + "]" * 90 + ")"),
        ("a.test.js", WIDE),
        ("a.js", WIDE),
        ("a.rs", OPEN),
        ("a.go", QUOTES),
        ("a.js", QUOTES),
        ("a.go", "func TestX(t *testing.T) {\n" * 15_000),
    ],
)
def test_a_file_that_is_made_to_choke_a_reader_does_not(path: str, text: str) -> None:
    """Bounded work: the time-out of the suite would end it otherwise."""
    found(ChangedFile(path, "", text), tests=[(path, text), ("test_b.py", TEST)])
    assert len(symbols_of(path, text)) <= len(text.splitlines())
