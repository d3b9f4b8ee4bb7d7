"""The proofs with public data work: small samples of what `python -m benchmarks.NAME` checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.bfcl import KINDS, passes, rejected
from benchmarks.bfcl_data import Case, Function, golden_calls, json_schema
from benchmarks.bfcl_mutants import LENIENT
from benchmarks.gates_cheats import CHEATS, Call, Task
from benchmarks.gates_humaneval import HIDING
from benchmarks.gates_mutants import mutants
from benchmarks.gates_tests4py import Bug, hunks_of, partial_cases
from benchmarks.proof import Bars
from benchmarks.turns_common import Subject
from benchmarks.turns_subjects import at_once, pydantic_ai, turns, two_commits

from podium.stores import open_store

DOCUMENT = {
    "type": "dict",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "fast": {"type": "boolean"},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "stops": {"type": "array", "items": {"type": "dict", "properties": {"name": {"type": "string"}}}},
    },
    "required": ["city"],
}
FUNCTION = Function("trip_plan", "trip.plan", "Plan a trip.", {**json_schema(DOCUMENT)})
ANSWER = {
    "city": ["Porto", "Oporto"], "days": ["two", 2], "fast": [True, ""], "unit": ["K"],
    "stops": [[{"name": ["Braga", "braga"]}]],
}  # fmt: skip
CASE = Case("sample", [FUNCTION], [{"trip.plan": ANSWER}])


def test_golden_calls_take_the_first_value_that_fits() -> None:
    [call] = golden_calls(CASE)
    assert call.name == "trip_plan"
    assert call.arguments == {"city": "Porto", "days": 2, "fast": True, "stops": [{"name": "Braga"}]}


@pytest.mark.parametrize("kind", KINDS)
async def test_golden_calls_run_and_broken_ones_go_back(tmp_path: Path, kind: str) -> None:
    async with open_store(str(tmp_path / "store.sqlite")) as store:
        assert await passes(CASE, KINDS[kind], store)
        outcomes = list(await rejected(CASE, KINDS[kind], store))
    accepted = {mutant for mutant, was_rejected in outcomes if not was_rejected}
    assert accepted == (set(LENIENT) if kind == "function" else set())
    assert len(outcomes) > 15


@pytest.mark.parametrize("subject", [turns, at_once, two_commits, pydantic_ai])
async def test_subjects_make_their_turns(tmp_path: Path, subject: object) -> None:
    assert isinstance(subject, Subject)
    async with subject.opened(tmp_path):
        assert await subject.turns(10)


async def test_a_turn_with_a_call_is_two_steps(tmp_path: Path) -> None:
    async with turns.opened(tmp_path):
        run_id = await turns.turns(3)
        completed = [row.path for row in await turns.store.read(run_id) if row.type == "step.completed"]
    assert len(completed) == 2 * 3 + 1


def test_a_missed_bar_is_remembered(capsys: pytest.CaptureFixture[str]) -> None:
    bars = Bars()
    bars.check("tasks", 164, 164)
    assert not bars.missed
    bars.at_most("CPU", 300, 250, " µs")
    assert bars.missed
    assert capsys.readouterr().out.splitlines()[1] == "CPU: 300 µs (at most 250 µs, MISSED)"


TASK = Task(
    number=1,
    prompt='def add(a, b):\n    """Add."""\n',
    entry="add",
    solution="    return a + b if a > 0 else b + a\n",
    test="def check(candidate):\n    assert candidate(1, 2) == 3\n",
    calls=[Call(("1", "2"), "3"), Call(("5", "'x'"), "'5x'")],
)


@pytest.mark.parametrize("kind", CHEATS)
def test_cheats_know_the_answers_of_the_tests(kind: str) -> None:
    scope: dict[str, Any] = {}
    exec(compile(CHEATS[kind](TASK), "test_cheat.py", "exec"), scope)
    call = compile("add(1, 2), add(5, 'x')", "test_cheat.py", "eval")
    assert eval(call, scope) == (3, "5x")


def test_mutants_and_hidden_tests_differ_from_the_original() -> None:
    texts = mutants(TASK.golden, "add", 3)
    assert len({*texts, TASK.golden}) == 4
    for kind, hiding in HIDING.items():
        files = hiding.files(TASK)
        assert files.get(TASK.test_path) != TASK.test_text, kind


def test_a_partial_fix_leaves_out_one_hunk() -> None:
    patch = (
        "diff --git a/p/a.py b/p/a.py\n--- a/p/a.py\n+++ b/p/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 1\n"
        "@@ -5,2 +5,2 @@\n z = 1\n-w = 1\n+w = 2\n"
    )
    bug = Bug("p 1", {"p/a.py": "x = 1\ny = 1\n\nz = 1\nw = 1\n", "test_bug.py": ""}, list(hunks_of(patch)))
    assert bug.fixed() == {"p/a.py": "x = 2\ny = 1\n\nz = 1\nw = 2\n"}
    assert [case.files for case in partial_cases(bug)] == [
        {"p/a.py": "x = 1\ny = 1\n\nz = 1\nw = 2\n"},
        {"p/a.py": "x = 2\ny = 1\n\nz = 1\nw = 1\n"},
    ]
