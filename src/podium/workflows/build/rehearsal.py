"""Scripted answers of `build`: a handful of functions.

The first version of each function has a mistake that its tests find, to show the fix cycle. Any other goal is
refused before anything is touched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.models.rehearsal import rehearses, section
from podium.models.sample_values import LABEL

_FILE = re.compile(r"\b(?:in|into|to|called)\s+[`'\"]?((?:[\w-]+/)*[a-zA-Z_]\w*\.py)\b")
_OTHERWISE = re.compile(
    r"\b(?:fix|change|rewrite|remove|refactor|rename|improve|faster|docs?)\b", re.IGNORECASE
)
"""Words of a goal that wants something else than a new function in the file."""


@dataclass(frozen=True)
class Piece:
    """A function with its tests."""

    name: str
    words: str
    """A pattern that a goal for it matches."""
    signature: str
    doc: str
    first: str
    """The body with the mistake."""
    then: str
    """The body without it."""
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
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        return f'"""{self.doc}"""\n\n\ndef {self.name}{self.signature}:\n    """{self.doc}"""\n{lines}\n'

    @property
    def tests(self) -> str:
        return f"from {self.module or self.name} import {self.name}\n" + self._test("results", self.cases)

    @property
    def all_tests(self) -> str:
        return self.tests + self._test("edge_cases", self.edges)

    def _test(self, name: str, cases: tuple[tuple[str, str], ...]) -> str:
        lines = "\n".join(f"    assert {self.name}({args}) == {result}" for args, result in cases)
        return f"\n\ndef test_{self.name}_{name}():\n{lines}\n"


PIECES = (
    Piece(
        "add",
        r"\badds?\b.*\bnumbers?\b|\bsum of (two|2)\b",
        "(a, b)",
        "The sum of two numbers.",
        "return abs(a) + abs(b)",
        "return a + b",
        "Negative numbers lose their sign",
        (("2, 3", "5"), ("-2, 3", "1")),
        (("0, 0", "0"), ("0.5, 0.25", "0.75")),
    ),
    Piece(
        "is_prime",
        r"(?:\b|_)primes?\b",
        "(number)",
        "Whether a whole number is prime.",
        "return all(number % divisor for divisor in range(2, number))",
        "if number < 2:\n    return False\n"
        "return all(number % divisor for divisor in range(2, int(number**0.5) + 1))",
        "0 and 1 are taken for primes",
        (("7", "True"), ("9", "False"), ("1", "False")),
        (("0", "False"), ("2", "True"), ("-7", "False")),
    ),
    Piece(
        "fizzbuzz",
        r"\bfizz\s*-?buzz\b",
        "(number)",
        "Fizz, Buzz, FizzBuzz or the number as text.",
        'if number % 3 == 0:\n    return "Fizz"\nif number % 5 == 0:\n    return "Buzz"\nreturn str(number)',
        'words = ("Fizz" if number % 3 == 0 else "") + ("Buzz" if number % 5 == 0 else "")\n'
        "return words or str(number)",
        "Multiples of both are only Fizz",
        (("3", '"Fizz"'), ("5", '"Buzz"'), ("7", '"7"'), ("15", '"FizzBuzz"')),
        (("30", '"FizzBuzz"'), ("1", '"1"')),
    ),
)


def find_piece(goal: str) -> Piece | None:
    """Return the function that a goal asks for, in the file that it names."""
    named = _FILE.search(goal)
    if not re.search(r"\bfunctions?\b|\bfizz\s*-?buzz\b", goal, re.IGNORECASE) and (
        named is None or _OTHERWISE.search(goal)
    ):
        return None
    piece = next((known for known in PIECES if re.search(known.words, goal, re.IGNORECASE | re.DOTALL)), None)
    if piece is None or named is None:
        return piece
    folder, _, file = named[1].rpartition("/")
    return replace(piece, module=file.removesuffix(".py"), folder=f"{folder}/" if folder else "")


KNOWN = ", ".join(f"`{piece.name}`" for piece in PIECES)
CANNOT = (
    f"A rehearsal can only build small functions that it knows by heart, and this is none of them: {KNOWN}."
)
INSTEAD = (
    "To see a whole build, ask for one of them: “Write a function that adds two numbers in calc.py with "
    "tests”. For your own goal choose a model with --model, also when you resume this run; `podium models` "
    "lists them."
)


def knows(goal: str) -> bool:
    return find_piece(goal) is not None


@rehearses("build", "plan")
def rehearse_plan(call: Call) -> dict[str, Any] | None:
    piece = _piece(call)
    if piece is None:
        return None
    return {
        "analysis": f"{LABEL} {piece.name} goes into {piece.file}, its tests into {piece.test_file}.",
        "steps": [
            {
                "description": f"Write {piece.name} in {piece.file} with tests",
                "complexity": "simple",
                "depends_on": [],
                "files": [piece.file],
                "evidence": f"the tests in {piece.test_file} pass",
            },
            {
                "description": f"Test the edge cases of {piece.name}",
                "complexity": "simple",
                "depends_on": [1],
                "files": [piece.file, piece.test_file],
                "evidence": "the edge cases are tested and pass",
            },
        ],
    }


rehearses("build", "revise_plan")(rehearse_plan)
rehearses("build", "subplan")(rehearse_plan)


@rehearses("build", "code")
def rehearse_code(call: Call) -> dict[str, Any] | list[ToolCall]:
    """Write the first step with its mistake, the second with more tests; `fix` corrects the mistake."""
    piece = _piece(call)
    if piece is None:
        return {"status": "blocked", "blocked_reason": f"{LABEL} a rehearsal cannot write this"}
    if call.task == "fix":
        if len(call.messages) == 1:
            return [
                ToolCall("write_file", {"path": piece.file, "content": piece.right}),
                ToolCall("run_tests"),
            ]
        summary, files = f"{piece.name} corrected", dict[str, str]()
    elif "edge cases" in section(call.prompt, "Step "):
        summary, files = f"More tests for {piece.name}", {piece.test_file: piece.all_tests}
    else:
        summary = f"{piece.name} and its tests"
        files = {piece.file: piece.wrong, piece.test_file: piece.tests}
    action = "create" if len(files) > 1 else "modify"
    changes = [{"path": path, "action": action, "content": content} for path, content in files.items()]
    return {
        "status": "done",
        "summary": f"{LABEL} {summary}",
        "why": f"{LABEL} {piece.mistake}." if call.task == "fix" else f"{LABEL} {piece.doc}",
        "changes": changes,
        "evidence": f"{piece.test_file} tests it",
    }


rehearses("build", "fix")(rehearse_code)


@rehearses("build", "test_review")
def rehearse_review(call: Call) -> dict[str, Any]:
    summary = f"{LABEL} The tests call the function with plain and with odd inputs."
    return {"summary": summary, "findings": [], "edge_cases": []}


@rehearses("build", "fix_plan")
def rehearse_fix_plan(call: Call) -> dict[str, Any]:
    piece = _piece(call)
    file, mistake = (piece.file, piece.mistake) if piece is not None else ("the code", "A test fails")
    instructions = [f"Correct {file}, so that the tests pass."]
    return {"diagnosis": f"{LABEL} {mistake}.", "instructions": instructions, "files": [file]}


def _verification(call: Call) -> dict[str, Any]:
    known = _piece(call) is not None
    reason = "as it should be" if known else f"a rehearsal cannot judge this; it only knows {KNOWN}"
    return {
        "verified": known,
        "score": 90 if known else 40,
        "issues": [] if known else [reason],
        "recommendation": "continue" if known else "abort",
        "reason": f"{LABEL} {reason}",
    }


@rehearses("build", "verify_step")
def rehearse_step_verification(call: Call) -> dict[str, Any]:
    verdict = _verification(call)
    score, met = verdict["score"], verdict["verified"]
    every = {**verdict, "code_score": score, "review_score": score, "goal_score": score, "goal_met": met}
    wanted = (call.schema or {}).get("properties", every)
    return {name: value for name, value in every.items() if name in wanted}


for _task in ("verify_plan", "verify_goal"):
    rehearses("build", _task)(_verification)


def _piece(call: Call) -> Piece | None:
    return find_piece(section(call.prompt, "Goal"))
