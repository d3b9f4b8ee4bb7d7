"""The rehearsal really builds what it knows, offline, and says honestly when it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import podium
from podium.engine.log import Store
from podium.workflows.build.answer_checks import hard_coded_answers
from podium.workflows.build.rehearsal import PIECES, Piece, find_piece
from tests.workflows.build.team import CHECK, GOAL, WORKFLOW, Team, git, go_on, repository


@pytest.mark.parametrize(
    ("goal", "name", "file"),
    [
        ("write a function that adds two numbers in calc.py with tests", "add", "calc.py"),
        ("I need an is_prime function in lib/primes.py", "is_prime", "lib/primes.py"),
        ("Implement FizzBuzz with tests", "fizzbuzz", "fizzbuzz.py"),
        ("fizzbuzz in lib/game.py", "fizzbuzz", "lib/game.py"),
        ("Implement is_prime in numbers.py", "is_prime", "numbers.py"),
    ],
)
def test_goals_of_a_known_shape_are_recognised(goal: str, name: str, file: str) -> None:
    piece = find_piece(goal)
    assert piece is not None
    assert (piece.name, piece.file) == (name, file)


@pytest.mark.parametrize(
    "goal",
    [
        "Rewrite the parser in Rust",
        "Make the login page faster",
        "add dark mode",
        "fix is_prime in numbers.py",
    ],
)
def test_other_goals_are_not(goal: str) -> None:
    assert find_piece(goal) is None


def run_tests_of(piece: Piece, source: str, tests: str) -> bool:
    """Whether a piece passes its tests, in this process: it is our own code."""
    names: dict[str, object] = {}
    exec(source, names)
    exec(tests.partition("\n")[2], names)
    try:
        for name, test in list(names.items()):
            if name.startswith("test_") and callable(test):
                test()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_every_piece_is_wrong_at_first_its_tests_notice_and_then_it_is_right(piece: Piece) -> None:
    assert run_tests_of(piece, piece.wrong, piece.tests) is False
    assert run_tests_of(piece, piece.right, piece.tests) is True
    assert run_tests_of(piece, piece.right, piece.all_tests) is True
    assert hard_coded_answers({piece.file: piece.wrong}, {piece.test_file: piece.tests}) == []


async def test_a_known_goal_is_built_tested_and_committed(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    goal = "Write a function that says whether a number is prime, in primes.py, with tests"
    made = await podium.run("build", goal, model="rehearsal", store=store, options={"workspace": str(folder)})
    assert (made.status, made.rehearsal) == ("completed", True)
    assert made.output["tests"]["passed"] == 2
    assert made.output["state"]["metrics"]["fixCycles"] == 1
    names: dict[str, object] = {}
    exec(git(folder, "show", f"{made.output['branch']}:primes.py"), names)
    is_prime = names["is_prime"]
    assert callable(is_prime)
    assert [number for number in range(20) if is_prime(number)] == [2, 3, 5, 7, 11, 13, 17, 19]


async def test_an_unknown_goal_is_refused_once_with_what_can_be_done_instead(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    options = {"workspace": str(folder)}
    made = await podium.run(
        "build", "Rewrite the parser in Rust", model="rehearsal", store=store, options=options
    )
    assert made.status == "failed"
    assert made.error.startswith("A rehearsal can only build small functions that it knows by heart")
    assert all(piece.name in made.error for piece in PIECES)
    assert "--model" in made.hint
    assert (made.usage.calls, made.warnings, made.output["commits"]) == (0, [], [])
    assert git(folder, "branch", "--format=%(refname:short)") == "main"
    log_text = "".join(row.data.decode() for row in await store.read(made.run_id))
    assert log_text.count("by heart") == 1


async def test_what_cannot_be_rehearsed_goes_on_with_a_model(store: Store, tmp_path: Path) -> None:
    options = {"workspace": str(repository(tmp_path / "project")), "test_command": CHECK}
    made = await podium.run(WORKFLOW, GOAL, model="rehearsal", store=store, options=options)
    assert made.status == "failed"
    ended = await go_on(store, made.run_id, Team())
    assert (ended.status, len(ended.output["commits"])) == ("completed", 2)
    replayed = await podium.replay(made.run_id, workflow=WORKFLOW, store=store)
    assert replayed.output == ended.output
