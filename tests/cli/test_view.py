"""What the live view draws, as pure functions of a run's state."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from podium.cli.card import next_steps
from podium.cli.layout import meter, pad, row_of, shorten, shorten_path, tail
from podium.cli.live import footer_of
from podium.cli.steps import folded, tree_of
from podium.cli.store import Commands
from podium.cli.terminal import choice_of
from podium.engine.budget import Budget
from podium.engine.events import (
    BudgetExhausted,
    Charge,
    RunCreated,
    RunPartial,
    RunStarted,
    RunWaiting,
    StepStarted,
)
from podium.engine.state import RunState, StepState
from podium.report.presentation import Line, Presentation
from podium.settings import Settings
from tests.report.logs import log

NOON = datetime(2030, 1, 2, 12, 0, tzinfo=UTC)


def console(width: int, *, terminal: bool = True) -> Console:
    return Console(file=StringIO(), width=width, force_terminal=terminal, legacy_windows=False)


def state(*paths: str, budget: Budget | None = None, usage: Charge | None = None) -> RunState:
    made = RunState.of(log(*((path, StepStarted()) for path in paths)))
    made.budget = budget or Budget()
    made.usage = usage or Charge()
    return made


def test_the_footer_shows_spend_against_every_ceiling() -> None:
    limits = Budget(usd=1.0, tokens=10_000, calls=50, seconds=900)
    spent = Charge(usd=0.5, input_tokens=1000, output_tokens=500, calls=14)
    first, second = footer_of(state("story/plot", "story/dialogue", budget=limits, usage=spent), 42, 100)
    assert first == "● running 0:42 of 15:00  story/dialogue +1"
    assert second == "  $0.50 of $1.00 █████░░░░░  14 of 50 calls  1500 of 10.0k tokens  2 in flight"


def test_the_footer_without_ceilings_shows_what_there_is() -> None:
    assert footer_of(state(), 3, 80) == ("● running 0:03  ", "  $0.00  0 calls  0 in flight")
    unpriced = Charge(calls=1, unpriced_calls=1, input_tokens=5)
    assert footer_of(state(usage=unpriced), 3, 80)[1].endswith(
        "1 call  0 in flight  5 tokens  1 unpriced call"
    )


def test_the_footer_says_when_it_waits_and_when_it_pauses() -> None:
    waiting = RunState.of(log(("", RunStarted()), ("q", RunWaiting(question="Go\non?"))))
    assert footer_of(waiting, 1, 80)[0] == "? waiting 0:01  Go on?"
    assert footer_of(state("a"), 1, 80, pausing=True)[0] == "■ pausing 0:01  a"


@pytest.mark.parametrize("width", [20, 40, 59, 80, 120])
def test_the_footer_fits_any_width(width: int) -> None:
    limits = Budget(usd=1000.0, tokens=10_000_000, calls=5000, seconds=90_000)
    busy = state(*(f"a/very/long/path/漢字/{n}" for n in range(12)), budget=limits)
    heard = {"a/very/long/path/漢字/11": "words " * 40}
    assert all(cell_len(line) <= width for line in footer_of(busy, 1e5, width, heard))


def test_the_footer_shows_the_last_words_of_a_reply_being_written() -> None:
    first, _ = footer_of(state("draft"), 1, 60, {"draft": "Once upon a\ntime \x1b[31mthere"})
    assert first.startswith("● running 0:01  draft  …")
    assert first.endswith("time there")


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_a_line_never_wraps_on_a_terminal(width: int) -> None:
    line = Line("漢字 and words " * 30, notes=("$0.0123", "2.0s"))
    row = row_of(line, "a/long/path/with/many/parts/" + "x" * 80, NOON, console(width)).plain
    assert cell_len(row) <= width
    assert "$0.0123" in row
    assert ("xxx" in row) == (width >= 60), "in a cramped terminal what happened goes before where"
    assert ("2.0s" in row) == (width >= 72)


def test_nothing_is_cut_off_where_nobody_looks() -> None:
    line = Line("a long text " * 30, notes=("$0.0123",))
    row = row_of(line, "p" * 60, NOON, console(80, terminal=False)).plain
    assert ("a long text " * 30).strip() in row
    assert "p" * 60 in row


def test_lines_of_one_view_are_aligned() -> None:
    rows = [row_of(Line("x", notes=("1.0s",)), path, NOON, console(90)).plain for path in ("a", "b/c/d")]
    assert len({row.index("x") for row in rows}) == 1
    assert {len(row) for row in rows} == {90}


def test_one_figure_takes_the_room_of_one() -> None:
    row = row_of(Line("words " * 30, notes=("1.0s",)), "a", NOON, console(80)).plain
    assert row.endswith("…      1.0s")


def test_cutting_text() -> None:
    assert shorten("漢字漢字", 5) == "漢字…"
    assert shorten("abc", 3) == "abc"
    assert shorten_path("story/dialogue/grade", 14) == "…/grade"
    assert shorten_path("x" * 30, 6) == "…xxxxx"
    assert tail("one two three", 5) == "three"
    assert pad("漢", 4) == "漢  "
    assert [meter(x, 1.0, 4) for x in (0, 0.5, 1, 9)] == ["░░░░", "██░░", "████", "████"]
    assert meter(0, 0, 2) == "██"


@pytest.mark.parametrize(
    ("text", "choices", "meant"),
    [
        ("approve", ["approve", "reject"], "approve"),
        ("2", ["approve", "reject"], "reject"),
        ("REJ", ["approve", "reject"], "reject"),
        ("3", ["approve", "reject"], None),
        ("", ["approve", "reject"], None),
        ("re", ["reject", "revise"], None),
        ("anything", [], "anything"),
        ("", [], None),
    ],
)
def test_what_a_person_means(text: str, choices: list[str], meant: str | None) -> None:
    assert choice_of(text, choices) == meant


def test_steps_form_a_tree_in_the_order_in_which_they_began() -> None:
    steps = {path: StepState(path) for path in ("b/x", "a", "b/c/d/y", "b/x#2")}
    assert [(node.depth, node.name, node.step is not None) for node in tree_of(steps)] == [
        (0, "b", False),
        (1, "x", True),
        (1, "c/d/y", True),
        (1, "x#2", True),
        (0, "a", True),
    ]


def test_of_many_steps_those_that_did_not_go_well_stand_out() -> None:
    steps = {f"do#{n}": StepState(f"do#{n}", status="completed") for n in range(100)}
    steps["do#40"].status = "failed"
    steps["fetch[a]"] = steps["fetch[b]"] = StepState("fetch[a]", status="completed")
    assert [(node.name, node.more) for node in folded(tree_of(steps))] == [
        ("do#0", 39),
        ("do#40", 0),
        ("do#41", 58),
        ("fetch[a]", 1),
    ]


@pytest.mark.parametrize(
    ("met", "suggested"),
    [
        (BudgetExhausted(kind="calls", limit=0, spent=0, needed=1), "--max-calls 1"),
        (BudgetExhausted(kind="tokens", limit=10, spent=0, needed=4183), "--max-tokens 4183"),
        (BudgetExhausted(kind="usd", limit=0.5, spent=0.5, needed=0.013), "--max-usd 1"),
        (BudgetExhausted(kind="usd", limit=0.001, spent=0.0, needed=0.013), "--max-usd 0.02"),
        (BudgetExhausted(kind="usd", limit=2_000_000, spent=2_000_000), "--max-usd 4000000"),
        (BudgetExhausted(kind="seconds", limit=90, spent=90.2), "--time-limit 180s"),
    ],
)
def test_a_larger_budget_is_suggested_that_is_enough(met: BudgetExhausted, suggested: str) -> None:
    stopped = RunState.of(log(("", RunCreated(workflow="w", request="r")), ("a", met)))
    [(command, why), *_] = next_steps(stopped, "partial", Commands(Settings()))
    assert (command, why) == (f"podium resume {stopped.run_id} {suggested}", "resume")


def test_no_resume_is_offered_where_it_would_change_nothing() -> None:
    rejected = RunState.of(log(("", RunCreated(workflow="w", request="r"))))
    offered = [why for _, why in next_steps(rejected, "partial", Commands(Settings()))]
    assert offered == ["details", "report"]


@pytest.mark.parametrize("reason", ["budget", "time"])
def test_a_workflow_that_ran_out_of_its_own_time_can_go_on(reason: str) -> None:
    state = RunState.of(
        log(("", RunCreated(workflow="w", request="r")), ("", RunPartial(stop_reason=reason, output=None)))
    )
    [(command, why), *_] = next_steps(state, "partial", Commands(Settings()))
    assert (command, why) == (f"podium resume {state.run_id}", "resume")


def test_what_a_workflow_suggests_stands_first() -> None:
    class Suggests(Presentation):
        def suggestions(self) -> list[tuple[tuple[str, ...], str]]:
            return [(("brain", "review", "r1"), "review")]

    state = RunState.of(log(("", RunCreated(workflow="w", request="r"))))
    for status in ("completed", "partial"):
        first = next_steps(state, status, Commands(Settings()), Suggests())[0]
        assert first == ("podium brain review r1", "review")
    assert "review" not in [why for _, why in next_steps(state, "failed", Commands(Settings()), Suggests())]
