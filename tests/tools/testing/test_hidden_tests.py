"""Tests that are left out, emptied or weakened close the gate; honest changes do not."""

from __future__ import annotations

import pytest

from podium.tools.testing.cases import is_test_file
from podium.tools.testing.findings import ChangedFile, Finding, changed_tests, removed_tests
from podium.tools.testing.inspection import findings

TEST = """\
import pytest
from calc import fact, half

ROWS = [(3, 6), (4, 24)]


def check(function):
    assert function(2) == 2
    assert function(6) == 720


def test_fact():
    assert fact(5) == 120
    assert fact(0) == 1


def test_half():
    assert half(3) == pytest.approx(1.5, abs=0.001)
    assert abs(half(1) - 0.5) < 1e-6


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (2, 2), (3, 6)])
def test_rows(n, expected):
    assert fact(n) == expected


def test_table():
    for n, expected in ROWS:
        assert fact(n) == expected


def test_error():
    with pytest.raises(ValueError, match="negative"):
        fact(-1)


def test_helper():
    check(fact)


class TestClass:
    def test_inside(self):
        assert fact(1) == 1
"""
PATH = "tests/test_calc.py"
SUITE = [(PATH, TEST), ("tests/unit/test_more.py", TEST)]


def closing(*files: ChangedFile) -> list[Finding]:
    """The critical findings in a project that has tests, and those that close the gate as major ones."""
    changed = {file.path for file in files}
    old = [(path, text) for path, text in SUITE if path not in changed]
    after = [(file.path, file.after) for file in files if file.after and is_test_file(file.path)]
    severe = {"asserts_nothing": "major", "tests_skipped": "major"}
    return [
        finding
        for finding in findings(files, [*old, *after])
        if finding.severity in ("critical", severe.get(finding.kind))
    ]


def edited(old: str, new: str, count: int = -1) -> ChangedFile:
    assert old in TEST
    return ChangedFile(PATH, TEST, TEST.replace(old, new, count))


FACT = "    assert fact(5) == 120\n    assert fact(0) == 1\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def test_fact", "@pytest.mark.skip\ndef test_fact"),
        ("def test_fact", "@pytest.mark.skipif(True, reason='')\ndef test_fact"),
        ("def test_fact", "@pytest.mark.xfail\ndef test_fact"),
        ("def test_fact", "@unittest.skip('later')\ndef test_fact"),
        ("import pytest\n", "import pytest\n\npytest.importorskip('nowhere')\n"),
        ("import pytest\n", "import pytest\n\nnowhere = pytest.importorskip('nowhere')\n"),
        ("import pytest\n", "import pytest\n\npytest.skip('x', allow_module_level=True)\n"),
        ("import pytest\n", "import pytest\n\nif True:\n    pytest.skip('x', allow_module_level=True)\n"),
        ("import pytest\n", "import pytest\n\npytestmark = pytest.mark.skip\n"),
        (FACT, "    pytest.skip('later')\n" + FACT),
        (FACT, "    n = 5\n    pytest.skip('later')\n" + FACT),
        (FACT, "    if True:\n        pytest.skip('later')\n" + FACT),
        (FACT, "    raise unittest.SkipTest\n" + FACT),
        ("class TestClass:\n", "class TestClass:\n    __test__ = False\n\n"),
        ("class TestClass:\n", "class TestClass:\n    def __init__(self):\n        pass\n\n"),
        ("def check(function):\n", "def check(function):\n    pytest.skip('later')\n"),
    ],
)
def test_skipped(old: str, new: str) -> None:
    assert "tests_skipped" in [finding.kind for finding in closing(edited(old, new))]


@pytest.mark.parametrize(
    "body",
    [
        "    pass\n",
        "    return\n" + FACT,
        "    n = 5\n    return\n" + FACT,
        "    assert True\n    assert 1 == 1\n",
        "    if False:\n        assert fact(5) == 120\n        assert fact(0) == 1\n",
        "    if not True:\n        assert fact(5) == 120\n        assert fact(0) == 1\n",
        "    while 0:\n        assert fact(5) == 120\n        assert fact(0) == 1\n",
        "    for _ in []:\n        assert fact(5) == 120\n        assert fact(0) == 1\n",
        "    try:\n        assert fact(5) == 120\n    except AssertionError:\n        pass\n",
        "    try:\n        assert fact(5) == 120\n    except Exception:\n        print('oh')\n",
        "    with contextlib.suppress(AssertionError):\n        assert fact(5) == 120\n",
    ],
)
def test_emptied(body: str) -> None:
    assert closing(edited(FACT, body))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fact(5) == 120", "fact(5) in (120, 5)"),
        ("fact(5) == 120", "fact(5) is not None"),
        ("fact(5) == 120", "fact(5)"),
        ("fact(5) == 120", "fact(5) == 120 or fact(5) == 5"),
        ("fact(5) == 120", "isinstance(fact(5), int)"),
        ("abs=0.001", "abs=10"),
        ("< 1e-6", "< 5"),
        ("(1, 1), (2, 2), (3, 6)", "(1, 1)"),
        ("ROWS = [(3, 6), (4, 24)]", "ROWS = [(3, 6)]"),
        ("pytest.raises(ValueError", "pytest.raises(Exception"),
        ("pytest.raises(ValueError", "pytest.raises((ValueError, TypeError)"),
        (', match="negative"', ""),
        ("    assert function(6) == 720\n", ""),
        ("function(6) == 720", "function(6) is not None"),
    ],
)
def test_weakened(old: str, new: str) -> None:
    assert "tests_weakened" in [finding.kind for finding in closing(edited(old, new))]


def test_deleted_and_renamed_out_of_collection() -> None:
    assert closing(ChangedFile(PATH, TEST, None))
    assert closing(ChangedFile("tests/check_calc.py", TEST, TEST, PATH)), "as git sees it"
    assert closing(ChangedFile(PATH, TEST, None), ChangedFile("tests/calc_cases.py", None, TEST))
    assert closing(edited("def test_fact", "def check_fact"))
    assert closing(edited("class TestClass", "class Inside"))
    script = 'it("a", () => { expect(f(1)).toBe(2) })\n'
    assert closing(ChangedFile("a.cases.js", script, script, "a.test.js"))
    go = "func TestX(t *testing.T) {\n\tif F() != 1 {\n\t\tt.Error()\n\t}\n}\n"
    assert closing(ChangedFile("x_cases.go", go, go, "x_test.go"))
    assert closing(ChangedFile("x_test.go", go, "//go:build never\n\n" + go))
    rust = "#[test]\nfn t() { assert_eq!(f(), 1); }\n"
    assert closing(ChangedFile("tests/t.rs", rust, '#![cfg(feature = "never")]\n' + rust))


def settings(path: str, before: str | None, after: str) -> list[str]:
    return [finding.message for finding in closing(ChangedFile(path, before, after))]


@pytest.mark.parametrize(
    "lines",
    [
        'addopts = "-ra --deselect tests/test_calc.py::test_fact"',
        "addopts = \"-ra -k 'not fact'\"",
        'addopts = ["-ra", "-m", "not slow"]',
        'addopts = "-ra --ignore=tests/unit"',
        'addopts = "-ra --ignore-glob=*calc*"',
        'addopts = "-ra --co"',
        'addopts = "-ra -p no:python"',
        'addopts = "-ra --noconftest"',
        'addopts = "-ra"\ntestpaths = ["tests/unit"]',
        'addopts = "-ra"\npython_files = ["check_*.py"]',
        'addopts = "-ra"\npython_functions = ["check_*"]',
        'addopts = "-ra"\npython_classes = ["Check*"]',
        'addopts = "-ra"\nnorecursedirs = ["unit"]',
    ],
)
def test_settings_of_pytest_that_leave_tests_out(lines: str) -> None:
    table = "[tool.pytest.ini_options]\n"
    assert settings("pyproject.toml", table + 'addopts = "-ra"\n', table + lines + "\n")
    assert settings("pyproject.toml", "[project]\nname = 'a'\n", f"[project]\nname = 'a'\n{table}{lines}\n")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pytest.ini", None, "[pytest]\naddopts = --deselect tests/test_calc.py::test_fact\n"),
        ("pytest.ini", "[pytest]\naddopts = --doctest-modules\n", "[pytest]\naddopts = -q\n"),
        ("tox.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q\n  --ignore=tests\n"),
        ("setup.cfg", "[tool:pytest]\n", "[tool:pytest]\ntestpaths = tests/unit\n"),
        ("conftest.py", "x = 1\n", "x = 1\ncollect_ignore = ['tests/test_calc.py']\n"),
        ("conftest.py", None, "def pytest_configure(config):\n    config.option.keyword = 'no'\n"),
        (
            "conftest.py",
            "x = 1\n",
            "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef f():\n    pytest.skip()\n",
        ),
        ("jest.config.js", "module.exports = {}\n", "module.exports = { testMatch: ['**/none.js'] }\n"),
        (
            "jest.config.js",
            "module.exports = { testPathIgnorePatterns: ['dist'] }\n",
            "module.exports = {\n  testPathIgnorePatterns: [\n    'dist',\n    'calc',\n  ],\n}\n",
        ),
        ("vitest.config.ts", "test: { }\n", "test: { exclude: ['**/calc.test.ts'] }\n"),
        ("vitest.config.ts", "test: { include: ['a/**', 'b/**'] }\n", "test: { include: ['a/**'] }\n"),
        ("vitest.config.ts", "test: { }\n", "test: { passWithNoTests: true }\n"),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest || true"}}'),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest -t nothing"}}'),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest src/a.test.js"}}'),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {}}'),
        ("package.json", '{"jest": {}}', '{"jest": {"testPathIgnorePatterns": ["calc"]}}'),
        ("Makefile", "test:\n\tpytest tests\n", "test:\n\tpytest tests --ignore=tests/unit\n"),
        ("Makefile", "test:\n\tpytest tests\n", "test:\n\t-pytest tests\n"),
        ("Makefile", "ARGS = -q\ntest:\n\tpytest $(ARGS)\n", "ARGS = -q -k no\ntest:\n\tpytest $(ARGS)\n"),
        ("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = pytest -k no\n"),
        ("Cargo.toml", "[lib]\n", "[lib]\ntest = false\n"),
        ("Cargo.toml", "[package]\n", "[package]\nautotests = false\n"),
    ],
)
def test_other_settings_that_leave_tests_out(path: str, before: str | None, after: str) -> None:
    assert settings(path, before, after)


ONE = TEST[TEST.index("def test_fact") : TEST.index("def test_half")]
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 5\n"
HARMLESS = (
    "[tool.pytest.ini_options]\naddopts = '-ra -q --strict-markers --cov=calc -n 2'\n"
    "markers = ['a: b']\ntestpaths = ['tests']\n"
)


@pytest.mark.parametrize(
    "file",
    [
        edited("class TestClass", "def test_new():\n    assert fact(7) == 5040\n\n\nclass TestClass"),
        edited("(3, 6)])", "(3, 6), (4, 24)])"),
        edited("abs=0.001", "abs=0.0001"),
        edited("ROWS = [(3, 6)", "ROWS = [(2, 2), (3, 6)"),
        edited("fact(5) == 120", "fact(5) == 5 * 4 * 3 * 2"),
        edited("def test_fact", "def test_factorial"),
        edited("pytest.raises(Value", "pytest.raises(Overflow"),
        ChangedFile("tests/test_new.py", None, TEST),
        ChangedFile("tests/test_new.py", None, "@pytest.mark.skipif(os.name == 'nt', reason='')\n" + ONE),
        ChangedFile("conftest.py", "x = 1\n", f"x = 1\n{FIXTURE}"),
        ChangedFile("tests/conftest.py", None, FIXTURE),
        ChangedFile("tests/helpers.py", None, "def helper():\n    return 1\n"),
        ChangedFile("pyproject.toml", "[project]\n", "[project]\ndependencies = ['six']\n"),
        ChangedFile("pyproject.toml", "[tool.ruff]\n", "[tool.ruff]\nexclude = ['tests']\n"),
        ChangedFile("pyproject.toml", "[tool.pytest.ini_options]\n", HARMLESS),
        ChangedFile("pytest.ini", None, "[pytest]\ntestpaths = tests\nasyncio_mode = auto\n"),
        ChangedFile("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest --ci"}}'),
        ChangedFile("package.json", '{"dependencies": {}}', '{"dependencies": {"a": "1"}, "files": ["b"]}'),
        ChangedFile("vitest.config.ts", "include: ['a/**']\n", "include: ['a/**', 'b/**']\n"),
        ChangedFile("Makefile", "test:\n\tpytest\n", "test:\n\tpytest -q\n\nbuild:\n\tcc || true\n"),
        ChangedFile("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ndeps = a\ncommands = pytest\n"),
        ChangedFile("Cargo.toml", "[dependencies]\n", "[dependencies]\nserde = '1'\n"),
    ],
)
def test_honest_changes(file: ChangedFile) -> None:
    assert closing(file) == []


def test_a_new_project_brings_its_own_settings() -> None:
    new = ChangedFile("pyproject.toml", None, "[tool.pytest.ini_options]\naddopts = '-m \"not slow\"'\n")
    suite = ChangedFile(PATH, None, TEST)
    assert [
        finding for finding in findings([new, suite], [(PATH, TEST)]) if finding.severity == "critical"
    ] == []


def test_edited_tests_prove_nothing() -> None:
    assert changed_tests([edited("fact(5) == 120", "fact(5) == 5")]) == {"test_fact"}
    assert changed_tests([edited("function(6) == 720", "function(6) == 6")]) == {"test_helper"}
    assert (
        changed_tests([edited("def test_fact", "def test_new():\n    assert fact(1)\n\n\ndef test_fact")])
        == set()
    )


def test_renamed_tests_may_be_missing() -> None:
    assert removed_tests([edited("def test_fact", "def test_factorial")]) == {"test_fact"}
    assert removed_tests([edited("def test_fact", "def check_fact")]) == set()
