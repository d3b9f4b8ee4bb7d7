"""What the rehearsal model answers for a build: small functions, really written, really tested.

It knows a handful of functions by heart. The first version of each has a mistake that its tests find, so that
the fix cycle can be seen. A goal that is none of them is refused before anything is touched: once, and with
what can be done instead.
"""

from __future__ import annotations

import re
from typing import Any

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.values import LABEL
from podium.workflows.build.repertoire import Piece, find_piece, known

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
