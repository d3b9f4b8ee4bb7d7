"""How a research run is told while it goes and afterwards: its lines, the strip with workers and sources,
and the report that another process makes of its log."""

from __future__ import annotations

from typing import Any

import pytest

from podium.engine.events import Event
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.report.data import facts_of
from podium.report.event_lines import line_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.report.presentation import Line, Presentation
from podium.workflows import presentation_of
from podium.workflows.research import events
from podium.workflows.research.report import ResearchPresentation
from podium.workflows.research.report_data import against
from tests.payloads import payloads
from tests.report.logs import log
from tests.workflows.research.crew import Crew, Shelves, half_checked, study, tuned

Seen = list[tuple[Line, list[Line]]]


async def read(store: Store, run: RunResult) -> list[Event]:
    return [row.to_event(run.run_id) for row in await store.read(run.run_id)]


async def watch(store: Store, run: RunResult, most: int = 12) -> Seen:
    """Every line that the live view shows, and the picture at that moment."""
    shown, state = presentation_of("research"), RunState()
    seen: Seen = []
    for event in await read(store, run):
        state.apply(event)
        shown.apply(event)
        line = line_of(event, state, shown)
        if line.weight != "trace":
            seen.append((line, shown.drawing(most, alive=True)))
    return seen


async def report(store: Store, run: RunResult) -> tuple[Presentation, str, str, dict[str, Any]]:
    """What another process makes of the log: presentation, HTML, Markdown, and the data of the sections."""
    shown = presentation_of("research")
    found = await read(store, run)
    for event in found:
        shown.apply(event)
    facts = facts_of(found, output=run.output, shown=shown)
    sections = shown.sections(alive=False)
    html = to_html(facts, sections, shown.answer(run.output))
    return shown, html, to_markdown(facts, sections), {one.name: one.data for one in sections}


# ── lines ──


async def test_lines_show_plans_workers_verdicts_and_the_end(store: Store) -> None:
    logged = await tuned(store, [0.75, 0.88], {"fact_check": [half_checked(0.3), half_checked(1.0)]})
    lines = [line for line, _ in await watch(store, logged.result)]
    said = [line.what for line in lines]
    assert said[0] == "8 workers in 4 steps, medium topic"
    assert lines[0].notes == ("≈ $2.40", "≈ 17m 00s")
    assert "Web search: 4 found" in said
    assert "Synthesis: 1 point, 1 section" in said
    assert any(one.startswith("Fact checking: 4 of 14 claims verified") for one in said)
    assert any(one.startswith("Article writing: 1,") and one.endswith("cites 14 sources") for one in said)
    low = next(line for line in lines if line.what.startswith("Quality:"))
    assert (low.weight, low.mark, low.notes) == ("warning", "!", ("0.75 (needs 0.80)",))
    assert "Iteration 1 was not good enough: planning again" in said
    assert any(one.startswith("Iteration 2: ") and "kept as they are" in one for one in said)
    assert "Web search: kept" in said
    assert said[-1].startswith("Merged: 1,")
    assert lines[-1].notes == ("quality 0.88", "+13 points (0.75 → 0.88)")


async def test_retries_a_loss_and_its_warning_are_reported_once(store: Store) -> None:
    script = {"write_article": [RuntimeError("overloaded"), RuntimeError("rate limit"), None]}
    logged = await study(store, Crew(script), shelves=Shelves(failing={"news_search": 99}))
    lines = [line for line, _ in await watch(store, logged.result)]
    lost = [line for line in lines if "News search unavailable" in line.what]
    assert [(line.weight, line.mark, line.notes) for line in lost] == [
        ("warning", "!", ("after 3 attempts",))
    ]
    again = [line for line in lines if line.what.startswith("Article writing tries again")]
    assert [line.notes[0] for line in again] == ["attempt 2 of 3", "attempt 3 of 3"]
    assert "in 2 s: RuntimeError: overloaded" in again[0].what
    saved = next(line for line in lines if line.what.startswith("Article writing: "))
    assert saved.notes == ("attempt 3",)


async def test_a_fallback_is_reported_as_one(store: Store) -> None:
    logged = await study(store, Crew(), shelves=Shelves(failing={"academic_search": 3}))
    lines = [line for line, _ in await watch(store, logged.result)]
    assert any(
        line.what.startswith("Academic search failed, Web search stands in") and line.weight == "warning"
        for line in lines
    )


async def test_a_lost_critical_worker_is_a_failure(store: Store) -> None:
    logged = await study(store, Crew({"write_article": RuntimeError("down")}))
    lines = [line for line, _ in await watch(store, logged.result)]
    failed = [line.what for line in lines if line.weight == "failure"]
    assert failed[0] == "Article writing failed, and nothing goes on without it: RuntimeError: down"


def test_what_strategy_changed_is_reported_and_nothing_if_it_changed_nothing() -> None:
    known: dict[str, Any] = {"iteration": 1, "plan": {"steps": []}, "cheaper": []}
    unchanged = events.PlanOptimized(**known, removed=[], changes=[], time_saved=0, cost_saved=0)
    changed = events.PlanOptimized(
        **known,
        removed=["seo_optimizer"],
        changes=["SEO optimization is left out."],
        time_saved=660,
        cost_saved=1.4,
    )
    first, second = log(("", unchanged), ("", changed))
    assert ResearchPresentation().own_line(first) is None
    assert ResearchPresentation().own_line(second) == Line(
        "SEO optimization is left out.", "warning", ("saves $1.40", "saves 11m 00s"), "─", 1
    )


@pytest.mark.parametrize("number", range(40))
def test_no_text_of_a_model_reaches_the_terminal_as_more_than_one_safe_line(number: int) -> None:
    bad = payloads("http://beacon.invalid")[number] + "\n\x1b[31mred\x1b[0m\u202e"
    base: dict[str, Any] = {
        "iteration": 1,
        "worker": bad,
        "task_id": "t",
        "step": 0,
        "attempts": 3,
        "error": bad,
    }
    logged: list[events.ResearchEvent] = [
        events.PhaseChanged(iteration=1, from_="executing", to="failed", time="", reason=bad),
        events.WorkerSkipped(**base, warning=bad),
        events.WorkerFailed(**base, error_type="X"),
        events.WorkerRetried(iteration=1, worker=bad, attempt=2, most=3, wait_s=2, error=bad),
        events.WorkerCompleted(
            iteration=1,
            worker=bad,
            task_id="t",
            step=0,
            category="x",
            attempts=1,
            fallback=bad,
            result={"found": bad, "cites": bad, "flesch": bad, "missing": bad, "claims": bad, "score": bad},
        ),
        events.Evaluated(
            iteration=1,
            quality=0.5,
            threshold=0.8,
            components={bad: 0.5},
            parts={},
            decision="continue",
            should_continue=True,
            feedback=[bad],
            issues=[],
        ),
    ]
    for event in log(*(("", one) for one in logged)):
        line = ResearchPresentation().own_line(event)
        assert line is not None
        assert not {"\n", "\x1b", "\u202e"} & set(line.what), line.what


@pytest.mark.parametrize(
    ("value", "threshold", "logged"),
    [
        (0.88, 0.8, ("0.88", "0.80")),
        (0.9662, 0.97, ("0.966", "0.970")),
        (0.79996, 0.8, ("0.79996", "0.8")),
        (0.8, 0.8, ("0.80", "0.80")),
        (0.97001, 0.97, ("0.97", "0.97")),
    ],
)
def test_a_quality_below_its_threshold_never_looks_like_it(
    value: float, threshold: float, logged: tuple[str, str]
) -> None:
    assert against(value, threshold) == logged


# ── the picture ──


async def test_the_picture_shows_phases_sources_and_workers(store: Store) -> None:
    logged = await study(store, Crew(), min_sources=10)
    seen = await watch(store, logged.result)
    begun = next(drawn for line, drawn in seen if line.what.startswith("Web search"))
    assert begun[0].what == "plan ✓ → strategy ✓ → work ● → evaluation ○ → merge ○"
    assert begun[1].what.endswith(" · iteration 1 of 3")
    rows = [line.what.split() for line in begun]
    research = next(row for row in rows if row[0] == "Research")
    assert {"✓", "●"} <= set(research)
    assert next(line.what for line in begun if line.what.startswith("Writing")).endswith("○ Article writing")
    end = seen[-1][1]
    assert end[0].what.startswith("plan ✓ → strategy ✓ → work ✓ → evaluation ✓")
    assert end[1].what.startswith("14 of 10 sources ▓▓▓▓▓▓▓▓▓▓ · iteration 1 of 3 · quality 0.9")


async def test_laps_keep_their_qualities_and_kept_work_is_marked(store: Store) -> None:
    logged = await tuned(store, [0.75, 0.88], {"fact_check": [half_checked(0.3), half_checked(1.0)]})
    end = (await watch(store, logged.result))[-1][1]
    assert end[1].what.endswith("iteration 2 of 3 · quality 0.75 → 0.88")
    assert any("= Web search" in line.what for line in end)


async def test_a_failed_run_shows_where(store: Store) -> None:
    logged = await study(store, Crew({"write_article": RuntimeError("down")}))
    shown, _, _, _ = await report(store, logged.result)
    drawn = shown.drawing(12, alive=False)
    assert drawn[0].what == "plan ✓ → strategy ✓ → work ✗ → evaluation ○ → merge ○"
    assert drawn[0].weight == "failure"
    assert any("✗ Article writing (3)" in line.what for line in drawn)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 12])
async def test_a_low_terminal_gets_no_more_lines_than_it_has(store: Store, most: int) -> None:
    logged = await study(store, Crew())
    assert all(len(drawn) <= most for _, drawn in await watch(store, logged.result, most))


def test_a_run_that_has_not_begun_has_no_picture() -> None:
    shown = presentation_of("research")
    assert shown.drawing(12, alive=True) == []
    assert shown.sections(alive=True) == []
    assert shown.summary() == ""


# ── the report ──


async def test_the_report_shows_the_article_with_its_evidence_and_how_it_came_about(store: Store) -> None:
    logged = await tuned(store, [0.75, 0.88], {"fact_check": [half_checked(0.3), half_checked(1.0)]})
    shown, html, markdown, data = await report(store, logged.result)
    assert shown.summary() == "14 sources · 2 iterations"
    assert '<a class="cite verified" href="#e1"' in html
    assert "<mark>" in html
    assert "<script" not in html
    assert set(data) == {"quality", "sources", "iterations", "workers"}
    assert data["iterations"][1]["added"] == ["Full texts"]
    assert [round(lap["quality"], 2) for lap in data["iterations"]] == [0.75, 0.88]
    assert data["sources"][0]["number"] == 1
    for heading in ("## Quality", "## Sources", "## Iterations", "## Workers", "## References"):
        assert heading in markdown
    assert "**0.88**, meets the 0.80 asked for." in markdown
    assert html.count("@media print") == 2, "each file of styles stands there once"


async def test_sources_are_counted_as_cited_and_what_is_missing_is_a_section(store: Store) -> None:
    text = "# Few\n\n## Part\n\nThe web report 1 counted 10 cases of it in one year. [@s1]"
    thin = {"coverage": 0.75, "tone": 0.9, "missing": ["prices"]}
    logged = await study(store, Crew({"write_article": text, "judge": thin}), min_quality=0.1)
    shown, html, markdown, data = await report(store, logged.result)
    assert shown.summary() == "1 source · 1 iteration"
    assert len(logged.output["sources"]) == 14
    assert data["missing"] == {"coverage": 0.75, "missing": ["prices"], "unsupported": [], "unsourced": []}
    assert "The article was judged to cover 75% of the request." in markdown
    assert "The article was judged to cover 75% of the request." in html


async def test_the_files_to_open_first_are_the_article_and_the_record(store: Store) -> None:
    logged = await study(store, Crew())
    shown, _, _, _ = await report(store, logged.result)
    names = {one.id: one.name for one in logged.result.artifacts}
    assert [names[one] for one in shown.leading(logged.output)] == [
        "article.html",
        "article.md",
        "record.html",
    ]


async def test_a_failed_run_has_a_report_of_what_it_found(store: Store) -> None:
    logged = await study(store, Crew({"write_article": RuntimeError("down")}))
    _, html, markdown, data = await report(store, logged.result)
    assert len(data["sources"]) == 14
    assert [one["status"] for one in data["workers"] if one["worker"] == "article_writer"] == ["failed"]
    assert "article_writer failed after 3 attempts" in html
    assert "RuntimeError: down" in markdown
    assert "Web report 1" in html


async def test_doubtful_claims_are_reported(store: Store) -> None:
    logged = await study(store, Crew({"fact_check": half_checked(0.5)}), min_quality=0.1)
    _, html, markdown, data = await report(store, logged.result)
    assert data["doubts"]["verdicts"] == {"verified": 7, "unverified": 7}
    assert "What was not confirmed" in html
    assert "- ? not verified: " in markdown


ODD: list[Any] = [
    None, "text", [], {}, {"article": 5}, {"sources": "x", "claims": [1], "quality": []},
    {"sources": [{}], "claims": [{}], "contradictions": [{}], "article": {"cited": None}},
    {"sources": [{"relevance": "high", "authors": None, "url": 7}], "partial_results": {"article": 5}},
]  # fmt: skip


@pytest.mark.parametrize("output", ODD)
def test_any_output_of_a_log_can_be_shown(output: Any) -> None:
    """A log may be of another version, or edited."""
    shown = presentation_of("research")
    for event in log(
        ("", events.PhaseChanged(iteration=1, from_="", to="initialized", time="2026-01-01T00:00:00"))
    ):
        shown.apply(event)
    found = log(("", events.PhaseChanged(iteration=1, from_="", to="initialized", time="")))
    facts = facts_of(found, output=output, shown=shown)
    sections = shown.sections(alive=False)
    assert to_html(facts, sections, shown.answer(output))
    assert to_markdown(facts, sections)
