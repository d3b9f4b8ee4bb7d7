"""One event, one line."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import pytest

from podium.engine.events import (
    EVENT_TYPES,
    ArtifactCreated,
    BudgetExhausted,
    BudgetLeased,
    Charge,
    Event,
    EventData,
    RunAnswered,
    RunCreated,
    RunFailed,
    RunPaused,
    RunStarted,
    RunWaiting,
    RunWarned,
    StepCompleted,
    StepFailed,
    StepRetried,
    StepStarted,
    UnknownData,
)
from podium.engine.state import RunState
from podium.models.events import ModelAttempted, ModelFellBack, ModelRepaired
from podium.report.event_lines import line_of
from podium.report.presentation import LINES, Line, line_for
from tests.report.logs import BEGIN, log


def last_line(*entries: tuple[str, EventData]) -> Line:
    events = log(*entries)
    return line_of(events[-1], RunState.of(events))


def test_a_finished_ask_shows_who_what_cost_and_time() -> None:
    line = last_line(
        ("draft", StepStarted(kind="ask", about={"agent": "writer"})),
        ("draft", ModelAttempted(attempt=1, model="m", ok=True, charge=Charge(usd=0.0123, calls=1))),
        ("draft", StepCompleted(result=msgspec.Raw(b'"Rain\\nfalls"'))),
    )
    assert line == Line("writer: Rain falls", "routine", ("$0.0123", "2.0s"), "✓")


def test_a_finished_step_shows_its_result_or_that_it_is_done() -> None:
    result = msgspec.Raw(b'{"score":86,"reason":"clear\\nand doable","tags":[],"next":null}')
    line = last_line(("a", StepStarted()), ("a", StepCompleted(result=result)))
    assert line.what == "score 86 · reason clear and doable · tags []"
    assert last_line(("a", StepStarted()), ("a", StepCompleted())).what == "done"
    assert last_line(("a", StepStarted()), ("a", StepCompleted(edited=True))).what == "done (edited)"
    assert last_line(("a", StepStarted(kind="clock")), ("a", StepCompleted())).weight == "trace"


@pytest.mark.parametrize(
    ("data", "what", "weight"),
    [
        (RunWaiting(question="Publish?", choices=["yes", "no"]), "Publish? [yes / no]", "attention"),
        (RunAnswered(answer="yes", by="ann"), "answered: yes (by ann)", "result"),
        (RunWarned(message="thin \x1b[31mice"), "thin ice", "warning"),
        (RunFailed(error="broke"), "failed: broke", "trace"),
        (StepRetried(attempt=1, error="429", wait_s=2.0), "attempt 1 failed, again in 2.0s: 429", "warning"),
        (RunPaused(reason="paused by web"), "paused by web", "trace"),
        (RunPaused(reason="the disk is full"), "paused: the disk is full", "trace"),
        (BudgetExhausted(kind="usd", limit=1, spent=0.9), "money budget used up: $0.90 of $1.00", "warning"),
        (
            BudgetExhausted(kind="calls", limit=20, spent=18, kept=2),
            "calls budget used up: 18 of 20, 2 kept back for the end",
            "warning",
        ),
        (BudgetExhausted(kind="calls", limit=20, spent=20), "calls budget used up: 20 of 20", "warning"),
        (ModelAttempted(attempt=1, model="m", ok=False, error="boom"), "m failed: boom", "warning"),
        (
            ModelRepaired(attempt=1, error="no score", raw="{}"),
            "reply did not fit, asked again: no score",
            "routine",
        ),
        (
            ModelFellBack(from_model="a", to_model="b", error="down"),
            "a gave up, b takes over: down",
            "warning",
        ),
        (
            ArtifactCreated(id="1", name="a.md", media_type="text/markdown", bytes=1200, blob="x"),
            "a.md (text/markdown)",
            "result",
        ),
    ],
    ids=lambda value: value.type if isinstance(value, EventData) else "",
)
def test_what_events_say(data: EventData, what: str, weight: str) -> None:
    line = last_line(("somewhere", data))
    assert (line.what, line.weight) == (what, weight)


def test_a_failed_step_names_the_error() -> None:
    line = last_line(("a", StepStarted()), ("a", StepFailed(error_type="ValueError", error="no \x07luck")))
    assert (line.what, line.weight, line.mark) == ("ValueError: no luck", "failure", "✗")
    again = StepFailed(error_type="ValueError", error="ValueError: no luck")
    assert last_line(("a", StepStarted()), ("a", again)).what == "ValueError: no luck"


def test_what_nobody_shows_is_shown_with_its_data() -> None:
    line = last_line(("n", UnknownData(unknown_type="moon.landed", fields={"site": "sea", "empty": ""})))
    assert "site sea" in line.what
    assert "empty" not in line.what


def test_inherited_events_are_marked_and_quiet() -> None:
    line = last_line(("a", RunWarned(message="old", inherited=True)))
    assert (line.weight, line.notes) == ("trace", ("inherited",))


def test_the_quiet_events_of_a_run_are_traces() -> None:
    assert last_line(("", RunCreated(workflow="w", request="r"))) == Line("created: r", "trace")
    assert last_line(("", RunStarted())).weight == "trace"
    assert last_line(("a", StepStarted(about={"agent": "ann"}))) == Line("started ann", "trace")
    assert last_line(("a", ModelAttempted(attempt=1, model="m", ok=True))).weight == "trace"
    assert last_line(("", BudgetLeased(lease=Charge(usd=1.0)))).weight == "trace"


def test_every_event_of_the_specification_is_reported() -> None:
    spoken = {name for name in EVENT_TYPES if name.split(".")[0] in ("run", "step", "artifact")}
    assert spoken <= set(LINES)


class MoonLanded(EventData, frozen=True, kw_only=True):
    type: ClassVar[str] = "test_moon.landed"
    score: float = 0.0


def test_a_workflow_s_own_events_go_by_their_last_name() -> None:
    state = RunState()
    state.workflow = "/srv/flows/moon.py:test_moon"
    event = Event(1, "r", BEGIN, "moon", MoonLanded.type, MoonLanded(score=0.87))
    assert line_of(event, state).what == "landed: score 0.87"


def test_a_workflow_adds_lines_for_its_own_events() -> None:
    event = Event(1, "r", BEGIN, "moon", MoonLanded.type, MoonLanded(score=0.87))
    assert line_of(event, RunState()).what == "test_moon.landed: score 0.87"

    @line_for("test_moon.landed")
    def landed(event: Event, state: RunState) -> Line | None:
        return (
            Line("landed", "result", (f"{event.data.score:.2f}",))
            if isinstance(event.data, MoonLanded)
            else None
        )

    try:
        assert line_of(event, RunState()) == Line("landed", "result", ("0.87",))
        assert landed(event, RunState()) is not None
    finally:
        del LINES["test_moon.landed"]
