"""A studio as its log tells it: the fold, its lines, its lanes, and the sections of its reports."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.events import Charge, EventData, RunCompleted, RunResumed, StepCompleted, StepStarted
from podium.report.data import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.report.presentation import Line
from podium.workflows import presentation_of
from podium.workflows.delivery.events import Compared, Drafted, Edited
from podium.workflows.studio import events
from podium.workflows.studio.fold import StudioState, in_order
from podium.workflows.studio.report import StudioPresentation
from tests.report.logs import log

Entry = tuple[str, EventData]
HOSTILE = "<script>alert(1)</script>\x1b[31m"


def routed() -> Entry:
    scores: list[dict[str, Any]] = [
        {"department": "visual", "relevance": 0.9, "priority": 3, "reason": "keywords: shot"},
        {"department": "story", "relevance": 0.6, "priority": 1, "reason": "keywords: scene"},
        {"department": "audio", "relevance": 0.0, "priority": 4, "reason": "no keyword"},
    ]
    return "", events.Routed(
        team="film",
        primary="visual",
        supporting=["story"],
        mode="sequential",
        complexity="moderate",
        scores=scores,
        names={"visual": "Visual Department", "story": "Story Department"},
        needs={"visual": ["story"], "story": []},
    )


def started(key: str, specialists: int = 1, *missing: str) -> Entry:
    return key, events.DepartmentStarted(
        department=key,
        name=f"{key.capitalize()} Department",
        complexity="moderate",
        specialists=specialists,
        missing=list(missing),
    )


def specialist(key: str, name: str, threshold: float = 80, configured: float = 80) -> Entry:
    return key, events.SpecialistStarted(
        department=key,
        specialist=name,
        name=f"{name.capitalize()} Specialist",
        threshold=threshold,
        configured=configured,
    )


def graded(key: str, name: str, attempt: int, score: float | None, decision: str) -> Entry:
    return f"{key}/{name}/attempt", events.SpecialistGraded(
        department=key,
        specialist=name,
        attempt=attempt,
        score=score,
        threshold=80,
        decision=decision,
        feedback="too vague",
    )


def retried(key: str, name: str, attempt: int, *, afresh: bool = False) -> Entry:
    return f"{key}/{name}", events.SpecialistRetried(
        department=key, specialist=name, attempt=attempt, most=4, afresh=afresh
    )


def reviewed(key: str, name: str, score: float, status: str, error: str = "") -> Entry:
    return f"{key}/{name}", events.SpecialistReviewed(
        department=key,
        specialist=name,
        team="film",
        agent_id=f"{key}-{name}-specialist",
        score=score,
        threshold=80,
        status=status,
        notes=f"note on {name}",
        attempts=2,
        error=error,
    )


def completed(key: str, score: float = 92.0, *flags: str) -> Entry:
    return key, events.DepartmentCompleted(
        department=key,
        name=f"{key.capitalize()} Department",
        score=score,
        formula_score=score,
        accepted=1,
        specialists=1,
        flags=list(flags),
    )


def failed(key: str, error: str = "the head failed 4 times", reason: str = "error") -> Entry:
    return key, events.DepartmentFailed(
        department=key, name=f"{key.capitalize()} Department", error=error, reason=reason
    )


def conflict(what: str) -> Entry:
    return "", events.ConflictFound(
        id="c1", round=1, kind="direct", severity="high", departments=["story", "visual"], description=what
    )


STORY = [
    routed(),
    started("story"),
    specialist("story", "plot"),
    graded("story", "plot", 1, 58, "discard"),
    retried("story", "plot", 2, afresh=True),
    graded("story", "plot", 2, 88.5, "accept"),
    reviewed("story", "plot", 88.5, "revision-needed"),
    completed("story"),
]


def shown(*entries: Entry) -> StudioPresentation:
    made = StudioPresentation()
    for event in log(*entries):
        made.apply(event)
    return made


def lines(*entries: Entry) -> list[Line]:
    """What the live view would print of the studio's own events."""
    made, drawn = StudioPresentation(), list[Line]()
    state: Any = None
    for event in log(*entries):
        made.apply(event)
        line = made.line(event, state)
        if line is not None and not made.is_hidden(event):
            drawn.append(line)
    return drawn


def test_departments_stand_in_the_order_of_their_dependencies() -> None:
    assert list(shown(routed()).fold.departments) == ["story", "visual"]
    assert in_order(["a", "b", "c"], {"a": ["c"], "c": ["b"]}) == ["b", "c", "a"]
    assert in_order(["a", "b"], {"a": ["b"], "b": ["a"]}) == ["a", "b"], "a circle does not hang it"


def test_the_lines_read_as_a_story() -> None:
    shown = [(line.mark, line.indent, line.what, line.notes) for line in lines(*STORY)]
    assert shown == [
        ("▸", 0, "routed to visual 0.9, story 0.6", ("sequential", "moderate")),
        ("○", 0, "Story Department: 1 specialist", ()),
        ("·", 1, "Plot Specialist discarded: too vague", ("58 (needs 80)",)),
        ("↻", 1, "Plot Specialist starts afresh, attempt 2 of 4", ()),
        ("~", 1, "Plot Specialist accepted with remarks", ("88.5 (needs 80)",)),
        ("✓", 0, "Story Department: 1 of 1 specialist accepted", ("score 92",)),
    ]


def test_trouble_is_loud() -> None:
    shown = lines(
        routed(),
        started("story"),
        specialist("story", "plot"),
        reviewed("story", "plot", 0, "rejected", "gone"),
        failed("story"),
        started("visual", 0, "Story Department: the head failed"),
        (
            "visual",
            events.Synthesized(
                department="visual",
                inputs=2,
                rounds=1,
                fallback="Colour Specialist",
                contradictions=[],
                decisions=[],
            ),
        ),
        completed("visual", 90, "partial_synthesis_failure"),
        failed("visual", "no calls left", "budget"),
    )
    weights = {line.what: line.weight for line in shown}
    assert weights["Plot Specialist rejected: gone"] == "warning"
    assert weights["Story Department failed: the head failed 4 times"] == "failure"
    assert (
        weights["Visual Department: the head alone, without Story Department: the head failed"] == "warning"
    )
    assert weights["no synthesis: the work of the Colour Specialist stands in"] == "warning"
    assert weights["Visual Department stopped: no calls left"] == "warning"


def test_the_lanes_show_chips_with_score_against_threshold_and_dots_for_retries() -> None:
    made = shown(*STORY)
    drawn = [(line.mark, line.what, line.notes) for line in made.drawing(10, alive=True)]
    assert drawn == [
        ("✓", "Story Department  Plot ~88.5/80·", ("score 92",)),
        ("○", "Visual Department  waits for story", ("waiting",)),
    ]
    begun = shown(
        *STORY, started("visual"), specialist("visual", "colour"), ("visual/brief", StepStarted(kind="ask"))
    )
    lane = begun.drawing(10, alive=True)[1]
    assert (lane.mark, lane.what, lane.notes) == ("●", "Visual Department  Colour …", ("brief",))
    assert begun.drawing(10, alive=False)[1].notes == ("interrupted",)


def test_a_small_screen_keeps_the_lanes_that_move() -> None:
    made = shown(*STORY, started("visual"))
    assert [line.what for line in made.drawing(1, alive=True)] == ["… 2 more"]
    assert made.drawing(0, alive=True) == []
    two = shown(*STORY, started("visual"), ("validate", StepStarted(kind="ask"))).drawing(2, alive=True)
    assert [line.mark for line in two] == ["●", " "]


def test_what_a_department_cost_is_found_by_its_path() -> None:
    cost = Charge(usd=0.5, calls=2)
    answered = StepCompleted(result=msgspec.Raw(b'"x"'), charge=cost)
    made = shown(*STORY, ("story/plot/attempt/execute", answered), ("aggregate", answered))
    assert made.fold.departments["story"].charge == cost
    assert made.fold.departments["visual"].charge == Charge()


def test_a_resumed_run_goes_on_with_what_was_stopped() -> None:
    made = shown(*STORY, started("visual"), failed("visual", "no calls left", "budget"), ("", RunResumed()))
    assert made.fold.departments["visual"].status == "working"
    assert made.fold.departments["story"].status == "completed"
    lost = shown(routed(), started("story"), failed("story"), ("", RunResumed()))
    assert lost.fold.departments["story"].status == "failed", "a handled failure is not told again"


def test_the_summary_counts_what_matters() -> None:
    assert shown(*STORY, failed("visual"), conflict("the door")).summary() == (
        "1 of 2 departments done · 1 of 1 specialist accepted · 1 retry · 1 conflict"
    )
    assert StudioPresentation().summary() == ""


def test_reports_begin_with_the_deliverable_and_show_how_it_came_about() -> None:
    resolved = ("", events.ConflictResolved(id="c1", round=1, by="story", reason=f"cheaper {HOSTILE}"))
    event = conflict(f"the door {HOSTILE}")
    output: dict[str, Any] = {"deliverable": "# The answer\n\n*Well.*", "routing": {}}
    entries = [*STORY, failed("visual", f"gone {HOSTILE}"), event, resolved]
    made = shown(*entries)
    events_log = log(*entries, ("", RunCompleted(output=output)))
    facts = facts_of(events_log, shown=made)
    sections = made.sections(alive=False)
    page, text = to_html(facts, sections), to_markdown(facts, sections)
    assert page.index("<em>Well.</em>") < page.index("The studio") < page.index("Plot Specialist")
    assert "<script>alert" not in page
    assert "\x1b" not in page + text
    for logged in ("Plot Specialist", "58", "88.5", "Story Department", "the door", "cheaper"):
        assert logged in page
        assert logged in text
    assert text.index("# The answer") < text.index("## The studio")
    (section,) = sections
    assert section.data["departments"][0]["specialists"][0]["tried"][0]["decision"] == "discard"


def test_open_conflicts_stand_at_the_top_of_a_report() -> None:
    entries = [*STORY, conflict("the door")]
    made = shown(*entries)
    facts = facts_of(log(*entries, ("", RunCompleted(output={"deliverable": "# The answer"}))), shown=made)
    sections = made.sections(alive=False)
    for text in (to_html(facts, sections), to_markdown(facts, sections)):
        assert text.index("the door") < text.index("Plot Specialist")


def test_a_route_by_a_model_and_a_failed_synthesis_are_reported() -> None:
    path, route = routed()
    assert isinstance(route, events.Routed)
    by_model = msgspec.structs.replace(route, router="model", doubt="only a name")
    shown = lines((path, by_model), started("story"), completed("story", 48, "partial_synthesis_failure"))
    assert shown[0].notes[-1] == "by a model, because only a name"
    assert (shown[-1].mark, shown[-1].weight) == ("~", "warning")
    late = lines(routed(), conflict("the door"), ("", events.Validated(round=3, conflicts=1)))
    assert late[-1].what == "1 conflict left open"


def test_a_run_that_was_not_routed_yet_has_nothing_to_show() -> None:
    made = StudioPresentation()
    assert (made.sections(alive=True), made.drawing(5, alive=True), made.deliverable(None)) == ([], [], None)


def test_the_presentation_is_found_by_the_workflows_name() -> None:
    assert isinstance(presentation_of("studio"), StudioPresentation)
    assert StudioState.of(log(*STORY)).departments["story"].score == 92


def test_draft_editor_and_comparison_are_drawn_and_reported() -> None:
    for task, what in (("floor/draft", "direct draft"), ("delivery/edit_result", "editor")):
        drawn = shown(routed(), (task, StepStarted(kind="ask"))).drawing(10, alive=True)
        assert drawn[-1].what == what
    made = shown(
        *STORY,
        conflict("the door"),
        ("floor", Drafted(artifact="a1", points=["one", "two"])),
        ("", events.Aggregated(quality=80, departments=2, failed=0, unresolved=1)),
        ("delivery", Edited(parts=3, missing=["the end"], changes=2)),
        ("delivery", Compared(preferred="draft", why=[f"It ends {HOSTILE}"])),
    )
    (section,) = made.sections(alive=False)
    assert section.data["replaced"] is True
    assert section.data["checks"][:2] == [
        "Direct draft: 2 points that a complete result contains.",
        "Editor: 3 parts of the request checked, 1 still missing, 2 passages changed.",
    ]
    assert section.data["conflicts"][0]["in_result"].startswith("It concerns the team's text")
    assert "<script>" not in section.markdown()


def test_a_later_deliverable_forgets_the_checks_of_an_earlier_one() -> None:
    together = ("", events.Aggregated(quality=80, departments=2, failed=0, unresolved=0))
    made = shown(*STORY, together, ("delivery", Edited(parts=1)), ("", RunResumed(after="partial")), together)
    assert made.sections(alive=True)[0].data["checks"] == []


def test_where_the_direct_draft_is_the_result_scores_are_shown_as_the_teams() -> None:
    together = ("", events.Aggregated(quality=80, departments=2, failed=0, unresolved=0))
    assert lines(*STORY, together)[-1].notes == ("the team's quality 80",)
    for preferred, replaced in (("draft", True), ("team", False)):
        entries = [*STORY, completed("visual", 90), together, ("delivery", Compared(preferred=preferred))]
        made = shown(*entries)
        assert made.summary().startswith("the direct draft is the result; of the team: 2 dep") is replaced
        last = made.drawing(10, alive=False)[-1]
        assert (last.what == "The direct draft is the result; these scores are the team's") is replaced
        assert len(made.drawing(10, alive=False)) == 2 + replaced
        quality = None if replaced else 80.0
        completed_row = ("", RunCompleted(output={"deliverable": "# The answer"}, quality=quality))
        facts, sections = facts_of(log(*entries, completed_row), shown=made), made.sections(alive=False)
        page, text = to_html(facts, sections).replace("&#39;", "'"), to_markdown(facts, sections)
        assert ("the direct draft is the result; of the team" in page) is replaced
        assert ("The direct draft is the result; quality of the team's text 80" in text) is replaced
        assert ("overall quality <b>80</b>" in page) is not replaced


def test_the_line_of_a_check_says_how_many_conflicts_are_settled() -> None:
    def line(conflicts: int, low: int = 0) -> str:
        return lines(routed(), ("", events.Validated(round=1, conflicts=conflicts, low=low)))[-1].what

    assert line(3, low=1) == "2 conflicts to settle, round 1; 1 of low severity listed"
    assert line(1, low=1) == "1 conflict of low severity listed"
    assert line(1) == "1 conflict to settle, round 1"


def test_a_synthesis_counts_what_the_head_decided() -> None:
    def line(decisions: list[str]) -> str:
        made = events.Synthesized(
            department="story", inputs=2, rounds=1, fallback="", contradictions=["eyes"], decisions=decisions
        )
        return lines(routed(), ("story", made))[-1].what

    assert line(["the roof", "his age"]) == "synthesis of 2 parts, 2 contradictions decided"
    assert line([]) == "synthesis of 2 parts"
