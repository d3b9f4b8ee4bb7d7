"""What a workflow may bring to be shown in its own way, and that everything looks as before without it."""

from __future__ import annotations

from typing import Any

from podium.engine.events import Event, RunCompleted, RunCreated, StepCompleted, StepStarted
from podium.engine.state import RunState
from podium.report.data import facts_of
from podium.report.event_lines import line_of
from podium.report.html import MOST_ARTIFACTS, MOST_STEPS, to_html
from podium.report.presentation import GENERIC, Line, Presentation, Section
from podium.workflows import presentation_of
from tests.report.logs import log


class Loud(Presentation):
    """Tells steps in its own words and keeps quiet about the run."""

    def line(self, event: Event, state: RunState) -> Line | None:
        return Line("mine", "result", indent=2) if event.type == "step.started" else None

    def is_hidden(self, event: Event) -> bool:
        return event.type == "step.completed"

    def deliverable(self, output: Any) -> str | None:
        return output["text"]


RUN = log(
    ("", RunCreated(workflow="flow", request="r")),
    ("a", StepStarted()),
    ("a", StepCompleted()),
    ("", RunCompleted(output={"text": "# Read *me*", "rest": [1]})),
)


def test_a_workflows_own_line_goes_before_the_generic_one() -> None:
    state = RunState.of(RUN)
    assert line_of(RUN[1], state, Loud()) == Line("mine", "result", indent=2)
    assert line_of(RUN[1], state).what == "started"


def test_a_line_that_others_show_is_only_in_the_whole_log() -> None:
    state = RunState.of(RUN)
    assert line_of(RUN[2], state).weight == "routine"
    assert line_of(RUN[2], state, Loud()).weight == "trace"


def test_the_deliverable_takes_the_place_of_the_data() -> None:
    assert "<em>me</em>" in to_html(facts_of(RUN, shown=Loud()))
    assert "&#34;rest&#34;" in to_html(facts_of(RUN))


def test_a_workflow_without_a_presentation_gets_the_generic_one() -> None:
    assert presentation_of("/somewhere/flow.py:flow") is GENERIC
    assert (GENERIC.summary(), GENERIC.drawing(12, alive=True), GENERIC.sections(alive=False)) == ("", [], [])
    assert GENERIC.deliverable("text") == "text"
    assert GENERIC.deliverable({"text": "x"}) is None


def test_sections_come_from_the_workflows_own_templates_and_fold_the_steps() -> None:
    section = Section(
        name="part",
        title="My part",
        data={},
        markdown=lambda: "text",
        package="podium.report",
        template="report.css",
        style="report.css",
    )
    page = to_html(facts_of(RUN), [section])
    assert "<h2>My part</h2>" in page
    assert "How it went, step by step" in page
    assert "How it went, step by step" not in to_html(facts_of(RUN))


def test_tables_of_very_large_runs_are_cut_with_what_went_wrong_kept() -> None:
    many = [(f"s{n}", StepStarted()) for n in range(MOST_STEPS + 50)]
    completed = [(path, StepCompleted()) for path, _ in many[:-1]]
    page = to_html(facts_of(log(("", RunCreated(workflow="flow", request="r")), *many, *completed)))
    assert page.count('<td class="path">') == MOST_STEPS
    assert f"s{MOST_STEPS + 49}</td>" in page
    assert "50 more steps went well" in page
    assert MOST_ARTIFACTS < MOST_STEPS
