"""Scripted answers of `build`.

It knows a handful of functions by heart. The first version of each has a mistake that its tests find, so that
the fix cycle can be seen. A goal that is none of them is refused before anything is touched: once, and with
what can be done instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.sample_values import LABEL

_FILE = re.compile(r"\b(?:in|into|to|called)\s+[`'\"]?((?:[\w-]+/)*[a-zA-Z_]\w*\.py)\b")
_OTHERWISE = re.compile(
    r"\b(?:fix|change|rewrite|remove|refactor|rename|improve|faster|docs?)\b", re.IGNORECASE
)
"""What else may be wanted of a file that is named."""


@dataclass(frozen=True)
class Piece:
    """One function: how it is recognised, what is written, what is wrong with it at first."""

    name: str
    words: str
    """A pattern that a goal for it matches."""
    signature: str
    doc: str
    first: str
    """The body with the mistake."""
    then: str
    """The body as it should be."""
    mistake: str
    cases: tuple[tuple[str, str], ...]
    """Arguments and results; the last of them finds the mistake."""
    edges: tuple[tuple[str, str], ...]
    module: str = ""
    folder: str = ""

    @property
    def file(self) -> str:
        return f"{self.folder}{self.module or self.name}.py"

    @property
    def test_file(self) -> str:
        return f"{self.folder}test_{self.module or self.name}.py"

    @property
    def wrong(self) -> str:
        return self._function(self.first)

    @property
    def right(self) -> str:
        return self._function(self.then)

    def _function(self, body: str) -> str:
        lines = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
        return f'"""{self.doc}"""\n\n\ndef {self.name}{self.signature}:\n    """{self.doc}"""\n{lines}\n'

    @property
    def tests(self) -> str:
        return self._tests({"gives_what_is_expected": self.cases})

    @property
    def all_tests(self) -> str:
        return self._tests({"gives_what_is_expected": self.cases, "at_the_edges": self.edges})

    def _tests(self, groups: dict[str, tuple[tuple[str, str], ...]]) -> str:
        parts = [f"from {self.module or self.name} import {self.name}\n"]
        for name, cases in groups.items():
            lines = "\n".join(f"    assert {self.name}({args}) == {result}" for args, result in cases)
            parts.append(f"\n\ndef test_{self.name}_{name}():\n{lines}\n")
        return "".join(parts)


PIECES = (
    Piece(
        "add", r"\badds?\b.*\bnumbers?\b|\bsum of (two|2)\b", "(a, b)", "The sum of two numbers.",
        "return abs(a) + abs(b)", "return a + b", "Negative numbers lose their sign",
        (("2, 3", "5"), ("-2, 3", "1")), (("0, 0", "0"), ("0.5, 0.25", "0.75")),
    ),
    Piece(
        "reverse_words", r"\brevers\w*\b.*\bwords?\b", "(text)", "The words of a text in the opposite order.",
        "return text[::-1]", 'return " ".join(reversed(text.split()))', "Letters are reversed, not words",
        (('"one two"', '"two one"'), ('"a b c"', '"c b a"')), (('""', '""'), ('"  one   two "', '"two one"')),
    ),
    Piece(
        "is_prime", r"(?:\b|_)primes?\b", "(number)", "Whether a whole number is prime.",
        "return all(number % divisor for divisor in range(2, number))",
        "if number < 2:\n    return False\n"
        "return all(number % divisor for divisor in range(2, int(number**0.5) + 1))",
        "0 and 1 are taken for primes", (("7", "True"), ("9", "False"), ("1", "False")),
        (("0", "False"), ("2", "True"), ("-7", "False")),
    ),
    Piece(
        "fizzbuzz", r"\bfizz\s*-?buzz\b", "(number)", "Fizz, Buzz, FizzBuzz or the number as text.",
        'if number % 3 == 0:\n    return "Fizz"\nif number % 5 == 0:\n    return "Buzz"\nreturn str(number)',
        'words = ("Fizz" if number % 3 == 0 else "") + ("Buzz" if number % 5 == 0 else "")\n'
        "return words or str(number)",
        "Multiples of both are only Fizz",
        (("3", '"Fizz"'), ("5", '"Buzz"'), ("7", '"7"'), ("15", '"FizzBuzz"')),
        (("30", '"FizzBuzz"'), ("1", '"1"')),
    ),
    Piece(
        "slugify", r"\bslug\w*\b", "(title)", "A title as a part of a web address.",
        'return title.lower().replace(" ", "-")',
        'words = "".join(letter if letter.isalnum() else " " for letter in title.lower()).split()\n'
        'return "-".join(words)',
        "Signs other than spaces stay in it",
        (('"Hello World"', '"hello-world"'), ('"It is: here!"', '"it-is-here"')),
        (('""', '""'), ('"  a  b  "', '"a-b"')),
    ),
    Piece(
        "factorial", r"\bfactorials?\b", "(number)", "The product of all whole numbers from 1 to this one.",
        "result = 0\nfor factor in range(1, number + 1):\n    result *= factor\nreturn result",
        "result = 1\nfor factor in range(1, number + 1):\n    result *= factor\nreturn result",
        "The product begins with 0", (("1", "1"), ("5", "120")), (("0", "1"), ("10", "3628800")),
    ),
    Piece(
        "fibonacci", r"\bfibonacci\b", "(place)", "A number of the Fibonacci sequence 0, 1, 1, 2.",
        "before, now = 0, 1\nfor _ in range(place):\n    before, now = now, before + now\nreturn now",
        "now, after = 0, 1\nfor _ in range(place):\n    now, after = after, now + after\nreturn now",
        "It is one place too far", (("1", "1"), ("6", "8"), ("0", "0")), (("2", "1"), ("30", "832040")),
    ),
    Piece(
        "is_palindrome", r"(?:\b|_)palindromes?\b", "(text)", "Whether a text reads the same backwards.",
        "return text == text[::-1]",
        "letters = [letter.lower() for letter in text if letter.isalnum()]\nreturn letters == letters[::-1]",
        "Capitals and spaces count",
        (('"level"', "True"), ('"lever"', "False"), ('"Never odd or even"', "True")),
        (('""', "True"), ('"No, it is not"', "False")),
    ),
)  # fmt: skip


def find_piece(goal: str) -> Piece | None:
    """The function that a goal asks for, in the file that it names."""
    named = _FILE.search(goal)
    if not re.search(r"\bfunctions?\b|\bfizz\s*-?buzz\b", goal, re.IGNORECASE) and (
        named is None or _OTHERWISE.search(goal)
    ):
        return None
    piece = next((one for one in PIECES if re.search(one.words, goal, re.IGNORECASE | re.DOTALL)), None)
    if piece is None or named is None:
        return piece
    folder, _, file = named[1].rpartition("/")
    return replace(piece, module=file.removesuffix(".py"), folder=f"{folder}/" if folder else "")


def known() -> str:
    *most, last = [f"`{piece.name}`" for piece in PIECES]
    return f"{', '.join(most)} and {last}"


CANNOT = (
    f"A rehearsal can only build small functions that it knows by heart, and this is none of them: {known()}."
)
INSTEAD = (
    "To see a whole build, ask for one of them: “Write a function that adds two numbers in calc.py with "
    "tests”. For your own goal choose a model with --model, also when you resume this run; `podium models` "
    "lists them."
)
_SECTION = r"^# {title}[^\n]*\n(.*?)(?=^# |\Z)"


def knows(goal: str) -> bool:
    """Whether it is one of the functions."""
    return find_piece(goal) is not None


@rehearses("build", "plan")
def rehearse_plan(call: Call) -> dict[str, Any]:
    piece = _piece(call)
    if piece is None:
        sorry = f"{LABEL} A rehearsal cannot plan this; it only knows {known()}."
        return {
            "analysis": sorry,
            "steps": [_step("Nothing that can be rehearsed"), _step("Nothing more than that")],
        }
    return {
        "analysis": f"{LABEL} {piece.name} goes into {piece.file}, its tests into {piece.test_file}.",
        "steps": [
            {
                "description": f"Write {piece.name} in {piece.file} with tests", "complexity": "simple",
                "depends_on": [], "files": [piece.file],
                "evidence": f"the tests in {piece.test_file} pass",
            },
            {
                "description": f"Test the edge cases of {piece.name}", "complexity": "simple",
                "depends_on": [1], "files": [piece.file, piece.test_file],
                "evidence": "the edge cases are tested and pass",
            },
        ],
    }  # fmt: skip


rehearses("build", "revise_plan")(rehearse_plan)
rehearses("build", "subplan")(rehearse_plan)


@rehearses("build", "code")
def rehearse_code(call: Call) -> dict[str, Any]:
    """The first step with its mistake, the second with more tests."""
    piece = _piece(call)
    if piece is None:
        return {"status": "blocked", "blocked_reason": f"{LABEL} a rehearsal cannot write this"}
    if "edge cases" in _section(call, "Step "):
        changes = [_whole(piece.test_file, piece.all_tests, "modify")]
        return _coded(f"More tests for {piece.name}", changes, "the edge cases are tested")
    changes = [_whole(piece.file, piece.wrong), _whole(piece.test_file, piece.tests)]
    return _coded(f"{piece.name} and its tests", changes, f"{piece.test_file} tests it")


@rehearses("build", "fix")
def rehearse_fix(call: Call) -> dict[str, Any]:
    piece = _piece(call)
    if piece is None:
        return {"status": "blocked", "blocked_reason": f"{LABEL} a rehearsal cannot write this"}
    return _coded(
        f"{piece.name} put right", [_whole(piece.file, piece.right, "modify")], "its tests pass now"
    )


@rehearses("build", "test_review")
def rehearse_review(call: Call) -> dict[str, Any]:
    return {"summary": f"{LABEL} The tests call the function with plain and with odd inputs.", "findings": [],
            "edge_cases": []}  # fmt: skip


@rehearses("build", "fix_plan")
def rehearse_fix_plan(call: Call) -> dict[str, Any]:
    piece = _piece(call)
    file = piece.file if piece is not None else "the code"
    return {"diagnosis": f"{LABEL} {piece.mistake if piece else 'A test fails'}.",
            "instructions": [f"Put {file} right, so that the tests pass."], "files": [file]}  # fmt: skip


def _verification(call: Call) -> dict[str, Any]:
    if _piece(call) is not None:
        return {"verified": True, "score": 90, "issues": [], "recommendation": "continue",
                "reason": f"{LABEL} as it should be"}  # fmt: skip
    sorry = f"a rehearsal cannot judge or do this; it only knows {known()}"
    return {
        "verified": False,
        "score": 40,
        "issues": [sorry],
        "recommendation": "abort",
        "reason": f"{LABEL} {sorry}",
    }


for _task in ("verify_plan", "verify_code", "verify_test", "verify_step", "verify_goal"):
    rehearses("build", _task)(_verification)


def _step(description: str) -> dict[str, Any]:
    return {"description": description, "complexity": "simple", "depends_on": [], "files": [], "evidence": ""}


def _whole(path: str, content: str, action: str = "create") -> dict[str, Any]:
    return {"path": path, "action": action, "content": content}


def _coded(summary: str, changes: list[dict[str, Any]], evidence: str) -> dict[str, Any]:
    return {"status": "done", "summary": f"{LABEL} {summary}", "changes": changes, "evidence": evidence}


def _piece(call: Call) -> Piece | None:
    return find_piece(_section(call, "Goal"))


def _section(call: Call, title: str) -> str:
    found = re.search(_SECTION.format(title=title), call.prompt, re.DOTALL | re.MULTILINE)
    return found[1].strip() if found else ""
