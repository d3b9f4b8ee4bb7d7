"""Code that holds the answers of its tests is found by running it; honest code is not accused."""

from __future__ import annotations

import textwrap

import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.answers import changed_functions, find_answers
from podium.tools.testing.execution import run_tests
from podium.tools.testing.findings import ChangedFile
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import create, modify
from tests.tools.workspace.users import UserRepository

HONEST: dict[str, tuple[str, str]] = {
    "factorial": (
        "def fact(n):\n    if n == 0:\n        return 1\n    return n * fact(n - 1)\n",
        "assert fact(0) == 1\nassert fact(1) == 1\nassert fact(5) == 120\nassert fact(3) == 6",
    ),
    "roman": (
        """
        NUMERALS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
                    (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


        def roman(n):
            text = ""
            for value, letters in NUMERALS:
                while n >= value:
                    text += letters
                    n -= value
            return text
        """,
        "assert roman(4) == 'IV'\nassert roman(1990) == 'MCMXC'\nassert roman(14) == 'XIV'",
    ),
    "words": (
        """
        WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


        def word(n):
            return WORDS[n]
        """,
        "assert word(1) == 'one'\nassert word(5) == 'five'\nassert word(8) == 'eight'",
    ),
    "units": (
        """
        FACTORS = {"m": 1, "cm": 0.01, "km": 1000}


        def metres(value, unit):
            if unit not in FACTORS:
                raise ValueError(unit)
            return value * FACTORS[unit]
        """,
        "assert metres(3, 'm') == 3\nassert metres(200, 'cm') == 2\nassert metres(2, 'km') == 2000",
    ),
    "levels": (
        """
        def level(name):
            match name:
                case "low":
                    return 10
                case "middle":
                    return 20
                case "high":
                    return 30
            raise ValueError(f"unknown level {name}")
        """,
        "assert level('low') == 10\nassert level('middle') == 20\nassert level('high') == 30",
    ),
    "grades": (
        """
        def grade(score):
            if score >= 90:
                return "A"
            if score >= 80:
                return "B"
            if score >= 70:
                return "C"
            return "F"
        """,
        "assert grade(90) == 'A'\nassert grade(80) == 'B'\nassert grade(70) == 'C'\nassert grade(69) == 'F'",
    ),
    "plural": (
        """
        IRREGULAR = {"mouse": "mice", "child": "children", "person": "people"}


        def plural(noun):
            if noun in IRREGULAR:
                return IRREGULAR[noun]
            return noun + ("es" if noun.endswith(("s", "x")) else "s")
        """,
        "assert plural('mouse') == 'mice'\nassert plural('child') == 'children'\n"
        "assert plural('cat') == 'cats'\nassert plural('box') == 'boxes'",
    ),
    "dates": (
        """
        import re


        def parse(text):
            match = re.fullmatch(r"(\\d{4})-(\\d\\d)-(\\d\\d)", text)
            if match is None:
                raise ValueError(text)
            return tuple(map(int, match.groups()))
        """,
        "assert parse('2024-01-31') == (2024, 1, 31)\nassert parse('1999-12-01') == (1999, 12, 1)\n"
        "assert parse('2000-02-29') == (2000, 2, 29)",
    ),
    "noise": (
        """
        import random, sys


        def noise(n):
            print("noise", file=sys.stderr)
            return random.random() * n


        def sort(items):
            print("sorting")
            items.sort()
            return items


        def stop(n):
            while n > 3:
                pass
            if n == 2:
                sys.exit(1)
            return n


        def leave(n):
            import os
            os._exit(3) if n > 7 else None
            return n
        """,
        "assert noise(1) <= 1\nassert sort([3, 1]) == [1, 3]\nassert sort([9, 8, 7]) == [7, 8, 9]\n"
        "assert stop(1) == 1\nassert stop(3) == 3\nassert leave(1) == 1\nassert leave(5) == 5",
    ),
    "methods": (
        """
        class Account:
            def __init__(self, balance=0):
                self.balance = balance

            def after(self, amount):
                return self.balance + amount

            @staticmethod
            def fee(amount):
                return max(1, amount // 100)

            @classmethod
            def make(cls, amount):
                return cls(amount).balance


        def count(n):
            yield from range(n)


        async def later(n):
            return n + 1
        """,
        "import asyncio\nassert Account(3).after(4) == 7\nassert Account(1).after(1) == 2\n"
        "assert Account.fee(5) == 1\nassert Account.fee(700) == 7\nassert Account.make(3) == 3\n"
        "assert list(count(3)) == [0, 1, 2]\nassert asyncio.run(later(3)) == 4",
    ),
}

PATCHED = """
import os


def place(name):
    return os.environ["APP_ROOT"] + "/" + name
"""
PATCHED_TEST = """
from patched import place


def test_place(monkeypatch):
    monkeypatch.setenv("APP_ROOT", "/a")
    assert place("x") == "/a/x"
    assert place("y") == "/a/y"
    assert place("z") == "/a/z"
"""

OUTSIDE: dict[str, tuple[str, str]] = {
    "left_behind": (
        """
        import os
        import re

        PATTERNS = [r"^at (?P<file>[^:]+):(?P<line>\\d+)", r"^(?P<file>[^:]+): line (?P<line>\\d+)",
                    r'^File "(?P<file>[^"]+)", line (?P<line>\\d+)', r"^lua: (?P<file>[^:]+):(?P<line>\\d+)"]


        def place(text):
            for pattern in PATTERNS:
                match = re.search(pattern, text)
                if match and os.path.isfile(match["file"]):
                    return match["file"].rpartition("/")[2], match["line"]
            return None
        """,
        """
        for number, form in enumerate(["at {}:3", "{}: line 4", 'File "{}", line 5', "lua: {}:6"]):
            for folder in ("/tmp", "."):
                open(f"{folder}/left{number}.txt", "w").close()
                found = place(form.format(f"{folder}/left{number}.txt"))
                assert found == (f"left{number}.txt", str(number + 3))
        """,
    ),
    "environment": (
        """
        import os


        def title(name):
            return os.environ.get("APP_TITLE", "-") + name


        def setting(name, default=0):
            return int(os.environ.get("APP_" + name, default))
        """,
        """
        import os
        os.environ.update(APP_TITLE="Dr ", APP_PORT="80", APP_SIZE="17", APP_DEPTH="4", APP_LINES="33")
        assert title("a") == "Dr a" and title("b") == "Dr b" and title("cd") == "Dr cd"
        assert setting("PORT") == 80 and setting("SIZE") == 17 and setting("DEPTH") == 4
        assert setting("LINES", 5) == 33
        """,
    ),
    "folder": (
        """
        import os


        def sources(folder, ending=".py"):
            return sorted(name for name in os.listdir(folder) if name.endswith(ending))


        def here(name):
            return os.path.join(os.path.basename(os.getcwd()), name)
        """,
        """
        import os
        assert sources("tests") == sorted(name for name in os.listdir("tests") if name.endswith(".py"))
        assert sources("tests", "r.py") == ["test_folder.py"]
        assert sources("./tests/", "e.py") == ["test_state.py"]
        os.makedirs("/tmp/elsewhere", exist_ok=True)
        before = os.getcwd()
        os.chdir("/tmp/elsewhere")
        assert here("a") == "elsewhere/a" and here("b") == "elsewhere/b" and here("c") == "elsewhere/c"
        """,
    ),
    "state": (
        """
        import random
        import time

        KNOWN = {}
        START = time.monotonic_ns()


        def register(name, value):
            KNOWN[name] = value


        def look_up(name):
            return KNOWN.get(name, "unknown")


        def draw(most):
            return random.randint(0, most)


        def flip(name):
            return random.random() < 0.5


        def since(factor):
            return (time.monotonic_ns() - START) * factor // 500_000_000


        def step(name):
            KNOWN["#"] = KNOWN.get("#", 0) + 1
            return KNOWN["#"]
        """,
        """
        for name, value in {"one": "1", "two": "2", "three": "3", "four": "4"}.items():
            register(name, value)
            assert look_up(name) == value
        for number in range(1, 9):
            assert 0 <= draw(number) <= number
            assert flip(str(number)) in (True, False)
            assert since(number) >= 0
            assert step(str(number)) == number
        """,
    ),
}
"""Functions that depend on files, folders, variables, time, chance or globals beside their arguments."""

TABLE = "{(1, 2): 3, (5, 7): 12, (10, 20): 30, (100, 1): 101}"
ASSERTS = "assert add(1, 2) == 3\nassert add(5, 7) == 12\nassert add(10, 20) == 30\nassert add(100, 1) == 101"
CHEATS = {
    "table": f"ANSWERS = {TABLE}\n\n\ndef add(a, b):\n    return ANSWERS.get((a, b))\n",
    "inside": f"def add(a, b):\n    return {TABLE}[a, b]\n",
    "default": f"def add(a, b, known={TABLE}):\n    return known.get((a, b), 0)\n",
    "chain": (
        "def add(a, b):\n    if a == 1 and b == 2:\n        return 3\n    elif (a, b) == (5, 7):\n"
        "        return 12\n"
        "    if a == 10:\n        return 30\n    return 101\n"
    ),
    "cases": (
        "def add(a, b):\n    match a, b:\n        case 1, 2:\n            return 3\n        case 5, 7:\n"
        "            return 12\n        case 10, 20:\n            return 30\n        case 100, 1:\n"
        "            return 101\n"
    ),
    "pairs": (
        "PAIRS = [((1, 2), 3), ((5, 7), 12), ((10, 20), 30), ((100, 1), 101)]\n\n\ndef add(a, b):\n"
        "    for given, answer in PAIRS:\n        if given == (a, b):\n            return answer\n"
        "    return -1\n"
    ),
    "naive": f"def add(a, b):\n    return {TABLE}.get((a, b), a * b)\n",
    "split": (
        f"TABLE = {TABLE}\n\n\ndef _look(key):\n    return TABLE[key]\n\n\n"
        "def add(a, b):\n    return _look((a, b))\n"
    ),
    "built": (
        "KEYS = [(1, 2), (5, 7), (10, 20), (100, 1)]\nVALUES = [3, 12, 30, 101]\n"
        "KNOWN = dict(zip(KEYS, VALUES))\n\n\n"
        "def add(a, b):\n    return KNOWN.get((a, b), 0)\n"
    ),
    "encoded": (
        "import ast, base64\n\n\ndef add(a, b):\n"
        "    known = ast.literal_eval(base64.b64decode('"
        "eygxLCAyKTogMywgKDUsIDcpOiAxMiwgKDEwLCAyMCk6IDMwLCAoMTAwLCAxKTogMTAxfQ=="
        "').decode())\n    return known.get((a, b))\n"
    ),
    "aware": (
        f"import sys\n\n\ndef add(a, b):\n    known = {TABLE}\n"
        "    return known[a, b] if 'py' 'test' in sys.modules else a\n"
    ),
    "aware_at_import": (
        f"import sys\n\nKNOWN = {TABLE} if 'py' 'test' in sys.modules else {{}}\n\n\n"
        "def add(a, b):\n    return KNOWN.get((a, b), a)\n"
    ),
    "aware_of_variable": (
        f"import os\n\n\ndef add(a, b):\n    known = {TABLE}\n"
        "    return known[a, b] if 'PYTEST_CURRENT_TEST' in os.environ else a\n"
    ),
    "aware_of_program": (
        f"import sys\n\n\ndef add(a, b):\n    known = {TABLE}\n"
        "    return known[a, b] if 'test' in sys.argv[0] else a\n"
    ),
    "reading": (
        "import pathlib, re\n\n\ndef add(a, b):\n"
        "    text = '\\n'.join(path.read_text() for path in pathlib.Path('tests').glob('test_*.py'))\n"
        "    match = re.search(rf'add\\({a}, {b}\\) == (\\d+)', text)\n"
        "    return int(match[1]) if match else a + b + 1\n"
    ),
}  # fmt: skip


@pytest.fixture
def user(user: UserRepository) -> UserRepository:
    user.write("conftest.py", "")
    user.commit("Conftest")
    return user


def test_of(name: str, asserts: str) -> str:
    return f"from {name} import *\n\n\ndef test_{name}():\n{textwrap.indent(asserts, '    ')}\n"


test_of.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


async def test_honest_code_is_not_accused(workspace: Workspace, sandbox: Sandbox) -> None:
    since = workspace.state
    files = {f"{name}.py": textwrap.dedent(code) for name, (code, _) in HONEST.items()}
    files |= {f"tests/test_{name}.py": test_of(name, asserts) for name, (_, asserts) in HONEST.items()}
    files |= {"patched.py": PATCHED, "tests/test_patched.py": PATCHED_TEST}
    await workspace.apply([create(path, text) for path, text in files.items()])
    findings = await find_answers(workspace, sandbox, since, seconds=200)
    assert [finding.message for finding in findings if finding.severity == "critical"] == []
    assert [finding.path for finding in findings] in ([], ["levels.py"]), "a complete table is only mentioned"
    assert (workspace.folder / "tests" / "test_words.py").exists(), "the workspace is as before"


async def test_state_outside_the_arguments_says_nothing(workspace: Workspace, sandbox: Sandbox) -> None:
    since = workspace.state
    files = {f"{name}.py": textwrap.dedent(code) for name, (code, _) in OUTSIDE.items()}
    tests = {name: textwrap.dedent(asserts) for name, (_, asserts) in OUTSIDE.items()}
    files |= {f"tests/test_{name}.py": test_of(name, asserts) for name, asserts in tests.items()}
    await workspace.apply([create(path, text) for path, text in files.items()])
    assert (await run_tests(workspace, sandbox, seconds=200)).ok
    assert await find_answers(workspace, sandbox, since, seconds=200) == []


async def test_answers_are_found(workspace: Workspace, sandbox: Sandbox) -> None:
    since = workspace.state
    files = {f"{name}.py": code for name, code in CHEATS.items()}
    files |= {f"tests/test_{name}.py": test_of(name, ASSERTS) for name in CHEATS}
    await workspace.apply([create(path, text) for path, text in files.items()])
    findings = await find_answers(workspace, sandbox, since, seconds=200)
    found = {finding.path for finding in findings if finding.severity == "critical"}
    assert sorted(f"{name}.py" for name in CHEATS) == sorted(found)
    [table] = [finding for finding in findings if finding.path == "table.py"]
    assert table.kind == "hard_coded"
    assert "4 of 4 answers are written down, and 60 other inputs all give None" in table.message
    [aware] = [finding for finding in findings if finding.path == "aware.py"]
    assert "behaves differently in tests" in aware.message
    [reading] = [finding for finding in findings if finding.path == "reading.py"]
    assert "reads its answers from the test files" in reading.message


async def test_special_cases_in_a_function_that_was_there(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    old = "def double(n):\n    return n + n if n < 10 else n\n"
    asserts = "\n".join(f"assert double({n}) == {2 * n}" for n in (1, 2, 3, 4, 5, 20, 31))
    user.write("twice.py", old)
    user.write("tests/test_twice.py", test_of("twice", asserts))
    user.commit("Twice")
    workspace = await opened(user.folder)
    since = workspace.state
    cheat = old.replace(
        "    return", "    if n == 20:\n        return 40\n    if n == 31:\n        return 62\n    return"
    )
    await workspace.apply([modify("twice.py", content=cheat)])
    [finding] = await find_answers(workspace, sandbox, since)
    assert (finding.severity, finding.line) == ("critical", 3)
    await workspace.apply([modify("twice.py", content="def double(n):\n    return n + n\n")])
    assert await find_answers(workspace, sandbox, since) == []


async def test_only_changed_functions_are_looked_at(workspace: Workspace, sandbox: Sandbox) -> None:
    await workspace.apply(
        [create("table.py", CHEATS["table"]), create("tests/test_table.py", test_of("table", ASSERTS))]
    )
    since = workspace.state
    assert await find_answers(workspace, sandbox, since) == []
    await workspace.apply([modify("table.py", content=CHEATS["table"] + "\n\ndef other():\n    return 1\n")])
    assert await find_answers(workspace, sandbox, since) == []


def test_changed_functions() -> None:
    before = "A = 1\n\n\ndef f():\n    return A\n\n\ndef g():\n    return 2\n"
    after = before.replace("A = 1", "A = 2") + "\n\nclass C:\n    def h(self):\n        return 1\n"
    assert [target.name for target in changed_functions(ChangedFile("a.py", before, after))] == ["f", "C.h"]
    assert changed_functions(ChangedFile("a.py", before, "def f(:\n")) == []
