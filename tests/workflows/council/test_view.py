"""How a council is told while it is held: lines by round and speaker, and the picture above the footer."""

from __future__ import annotations

import subprocess
import sys

from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.report.event_lines import line_of
from podium.report.presentation import Line
from podium.workflows import presentation_of
from podium.workflows.council.policy import NAMES
from tests.workflows.council.team import Team, hold, ideas, scores, selection

Seen = list[tuple[Line, list[Line]]]


async def watch(store: Store, run: RunResult) -> Seen:
    """Every line that the live view shows, and the picture at that moment."""
    shown, state = presentation_of("council"), RunState()
    seen: Seen = []
    for row in await store.read(run.run_id):
        event = row.to_event(run.run_id)
        state.apply(event)
        shown.apply(event)
        line = line_of(event, state, shown)
        if line.weight != "trace":
            seen.append((line, shown.drawing(12, alive=True)))
    return seen


async def test_lines_show_rounds_speakers_ideas_scores_and_the_winner(store: Store) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": scores(I1=5, I2=9, I3=7), "select": selection("I1")}
    )
    run = await hold(store, team, preset="extended", rounds=1, min_ideas=3)
    lines = [line.what for line, _ in await watch(store, run) if line.mark != "✓"]
    assert lines == [
        "Kickoff: 6 members, 1 round",
        "Team Leader: Team Leader on kickoff.",
        "Round 1 of 1",
        "Researcher: What is known. Evidence: · A fact (no source; not checked) (1 evidence card)",
        "Ideation Specialist: 3 new ideas",
        "I1 a",
        "I2 b",
        "I3 c",
        "Critic: What could go wrong.",
        "Ideation Specialist to Critic: Ideation Specialist on rebut.",
        "Critic to Ideation Specialist: What could go wrong.",
        "Team Leader: Team Leader on synthesize.",
        "Validation and selection",
        "I1 a",
        "I2 b",
        "I3 c",
        "Moderator: scores",
        "Team Leader: because it is the best",
        "Winner: I2 b; the leader preferred I1",
        "Visualization",
        "UI Creator: a page of its own",
    ]


async def test_a_warning_is_reported_once(store: Store) -> None:
    run = await hold(store, Team({"critique": RuntimeError("no line")}), preset="extended", rounds=1)
    lines = [line for line, _ in await watch(store, run) if "no line" in line.what]
    assert [(line.weight, line.mark) for line in lines] == [("warning", "!")]


async def test_the_picture_has_rounds_as_columns_and_speakers_as_rows(store: Store) -> None:
    team = Team({"round-2/critique": RuntimeError("x"), "round-2/critique#2": RuntimeError("x")})
    run = await hold(store, team, preset="full", rounds=3)
    seen = await watch(store, run)
    start = next(drawn for line, drawn in seen if line.what == "Round 2 of 3")
    assert start[0].what == "round 2 of 3 · 5 ideas"
    rows = {line.what: line.mark for line in start[1:]}
    assert set(rows) == set(NAMES.values())
    assert (rows["Researcher"], rows["Moderator"]) == ("✓ ○ ○ ·", "· · · ○")
    end = {line.what: line.mark for line in seen[-1][1]}
    assert end["Critic"] == "✓ ✗ ✓ ·"
    best = [line for line in seen[-1][1] if line.mark == "◆"]
    assert [line.notes[0] for line in best] == ["8.00", "7.90", "7.80"]


async def test_a_small_picture_keeps_what_matters(store: Store) -> None:
    run = await hold(store, Team(), preset="full", rounds=1)
    shown = presentation_of("council")
    assert shown.drawing(12, alive=True) == []
    for row in await store.read(run.run_id):
        shown.apply(row.to_event(run.run_id))
    assert [len(shown.drawing(most, alive=False)) for most in (0, 1, 3, 12)] == [0, 1, 3, 11]


def test_looking_at_a_council_loads_nothing_heavy() -> None:
    code = "import sys, podium.workflows as w; w.presentation_of('council'); print(*sys.modules)"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not {"pydantic", "jinja2", "nh3", "markdown_it"} & set(completed.stdout.split())
