"""The four complete examples and the four execution patterns, with a scripted model and a clock that does not
wait. Qualities come out as they are written: what a program measures is taken as it is, and the model's own
grades make up the rest."""

from __future__ import annotations

from typing import Any

import pytest

from podium.engine.log import Store
from podium.workflows.research.policy import WORKERS
from tests.workflows.research.crew import Crew, Shelves, half_checked, study, tuned

ONCE = ["initialized", "planning", "strategy", "executing", "evaluating", "merging", "completed"]
AGAIN = ["re_planning", "planning", "strategy", "executing", "evaluating"]
EIGHT = {
    "web_search",
    "academic_search",
    "news_search",
    "content_synthesizer",
    "article_writer",
    "fact_checker",
    "editor",
    "citation_formatter",
}


def phases_of(output: dict[str, Any]) -> list[str]:
    return [one["to"] for one in output["phase_history"]]


# ── the four complete examples ──


async def test_example_1_perfect_at_the_first_try(store: Store) -> None:
    logged = await tuned(
        store,
        [0.92],
        complexity=0.3,
        topic="What is Python programming?",
        content_type="blog_post",
        length=1000,
        tone="casual",
        depth="light",
        max_usd=2.0,
        min_sources=4,
    )
    assert logged.result.status == "completed"
    assert logged.workers == [["web_search", "article_writer", "editor", "fact_checker"]]
    assert len(logged.all("plan_optimized")[0]["plan"]["steps"]) == 3
    assert logged.all("plan_optimized")[0]["changes"] == [], "under budget: nothing to optimize"
    assert logged.qualities == [0.92]
    assert logged.phases == phases_of(logged.output) == ONCE
    assert logged.output["status"] == "completed"
    assert logged.output["quality"]["factual_quality"] == 1.0, "facts are checked at every complexity"
    assert logged.output["metrics"]["iteration_count"] == 1
    assert logged.output["warnings"] == []


async def test_example_2_one_iteration_adds_academic_scraper_and_citation_formatter(store: Store) -> None:
    logged = await tuned(
        store,
        [0.72, 0.89],
        {"fact_check": [half_checked(0.4), half_checked(1.0)]},
        complexity=0.45,
        knobs=("tone", "grammar"),
        topic="AI in healthcare 2024",
        length=2000,
        min_sources=10,
        min_quality=0.85,
        max_usd=5.0,
    )
    assert logged.qualities == [0.72, 0.89]
    first, second = logged.workers
    assert set(first) == {
        "web_search",
        "news_search",
        "content_synthesizer",
        "article_writer",
        "fact_checker",
        "editor",
    }
    assert set(second) - set(first) == {"academic_search", "web_scraper", "citation_formatter"}
    assert set(first) <= set(second), "nobody is lost"
    assert (
        "count 0.70, target 0.85. Only 7 sources cited (need 10)." in logged.all("evaluated")[0]["feedback"]
    )
    assert logged.all("plan_created", iteration=2)[0]["answers"] == logged.all("evaluated")[0]["feedback"]
    assert len(logged.output["sources"]) == 14
    assert logged.phases == [*ONCE[:5], *AGAIN, "merging", "completed"]
    assert (logged.output["status"], logged.output["metrics"]["iteration_count"]) == ("completed", 2)


async def test_example_3_three_iterations_end_as_partial_with_the_warning(store: Store) -> None:
    logged = await tuned(
        store,
        [0.78, 0.83, 0.87],
        complexity=0.9,
        topic="Quantum computing future predictions",
        content_type="research_report",
        length=3000,
        min_sources=20,
        min_quality=0.90,
        max_usd=10.0,
        time_limit=3600.0,
    )
    assert logged.qualities == [0.78, 0.83, 0.87]
    assert logged.phases == [*ONCE[:5], *AGAIN, *AGAIN, "merging", "completed"]
    assert (logged.result.status, logged.result.stop_reason) == ("partial", "quality below target")
    assert logged.result.exit_code == 3
    assert logged.output["status"] == "partial"
    warning = "Quality 0.87 is below the target of 0.90 after 3 of 3 iterations."
    assert warning in logged.output["warnings"]
    assert warning in logged.result.warnings
    assert any("--min-quality" in note for note in logged.output["system_notes"])
    assert logged.output["article"]["content"].startswith("# What was counted")
    assert logged.all("evaluated")[-1]["decision"] == "force_complete"
    assert logged.output["metrics"]["improvement"] == "+9 points (0.78 → 0.87)"


async def test_example_4_an_optional_worker_is_lost_and_a_critical_one_saved(store: Store) -> None:
    failing: list[Any] = [RuntimeError("overloaded"), RuntimeError("rate limit"), None]
    logged = await tuned(
        store, [0.85], {"write_article": failing}, failing={"news_search": 99}, min_sources=10
    )
    assert (logged.result.status, logged.qualities) == ("completed", [0.85])
    assert set(logged.workers[0]) == EIGHT
    (skipped,) = logged.all("worker_skipped")
    assert (skipped["worker"], skipped["attempts"]) == ("news_search", 3)
    retried = logged.all("worker_retried", worker="article_writer")
    assert [(one["attempt"], one["wait_s"]) for one in retried] == [(2, 2.0), (3, 4.0)]
    assert logged.all("worker_completed", worker="article_writer")[0]["attempts"] == 3
    assert sorted(logged.clock.waits) == [2.0, 2.0, 4.0, 4.0]
    (warning,) = logged.output["warnings"]
    assert warning.startswith("News search unavailable")
    assert logged.output["metrics"]["tasks"] == {"completed": 7, "skipped": 1}
    assert logged.output["metrics"]["retries"] == 4


# ── the four execution patterns ──


async def test_pattern_1_linear_with_the_eight_workers_in_four_steps(store: Store) -> None:
    logged = await tuned(store, [0.91])
    (plan,) = [one["plan"] for one in logged.all("plan_optimized")]
    assert [(step["name"], len(step["workers"]), step["mode"]) for step in plan["steps"]] == [
        ("Research", 3, "parallel"),
        ("Analysis", 1, "sequential"),
        ("Writing", 1, "sequential"),
        ("Quality", 3, "parallel"),
    ]
    assert (plan["estimated_cost"], plan["estimated_time"]) == (2.4, 17 * 60)
    assert logged.phases == ONCE
    assert logged.qualities == [0.91]
    assert logged.all("evaluated")[0]["decision"] == "complete"


async def test_pattern_2_a_single_iteration_shows_its_improvement_in_points(store: Store) -> None:
    logged = await tuned(store, [0.65, 0.88], {"fact_check": [half_checked(0.3), half_checked(1.0)]})
    assert logged.phases == [*ONCE[:5], *AGAIN, "merging", "completed"]
    assert logged.output["metrics"]["improvement"] == "+23 points (0.65 → 0.88)"
    assert [round(one["quality"], 2) for one in logged.output["plan_history"]] == [0.65, 0.88]
    assert [one["plan"]["plan_id"] for one in logged.output["plan_history"]] == ["plan_001", "plan_002"]


async def test_pattern_3_forced_after_three_executions(store: Store) -> None:
    logged = await tuned(store, [0.65, 0.72, 0.78], {"fact_check": half_checked(0.5)})
    assert logged.qualities == [0.65, 0.72, 0.78]
    assert logged.phases.count("executing") == 3
    assert logged.phases.count("re_planning") == 2
    assert logged.output["status"] == "partial"


async def test_pattern_4_a_lost_critical_worker_fails_the_run_with_partial_results(store: Store) -> None:
    crew = Crew({"write_article": [RuntimeError("timeout"), RuntimeError("error"), RuntimeError("error")]})
    logged = await study(store, crew)
    assert (logged.result.status, logged.result.exit_code) == ("failed", 1)
    assert logged.phases == ["initialized", "planning", "strategy", "executing", "failed"]
    error = logged.output["error"]
    assert error["type"] == "WorkerExecutionError"
    assert error["message"] == "article_writer failed after 3 attempts: RuntimeError: error"
    assert error["phase"] == "executing"
    assert error["execution_id"] == "exec_20241125_143001"
    results = logged.output["partial_results"]
    assert {one["worker"] for one in results["research_results"]} == {
        "web_search",
        "news_search",
        "academic_search",
    }
    assert results["analysis_results"][0]["worker"] == "content_synthesizer"
    assert len(results["sources"]) == 14
    assert results["cost_incurred"] == 0
    assert logged.clock.waits == [2.0, 4.0]
    assert crew.counted["edit"] == 0, "nothing is done after it"
    (failed,) = logged.all("worker_failed")
    assert (failed["worker"], failed["attempts"]) == ("article_writer", 3)


# ── what is kept, tried again, and stood in for ──


async def test_work_that_the_new_plan_keeps_is_not_done_again(store: Store) -> None:
    shelves = Shelves()
    crew = Crew(
        {
            "fact_check": [half_checked(0.2), half_checked(1.0)],
            "judge": [{"coverage": 0.9, "tone": 0.2}, None],
        }
    )
    logged = await study(store, crew, shelves=shelves, min_quality=0.85)
    assert logged.phases.count("executing") == 2
    kept = {one["worker"] for one in logged.all("worker_completed", kept=True)}
    assert {"web_search", "news_search", "academic_search"} <= kept
    asked = [worker for worker, _ in shelves.asked if worker != "read"]
    assert len(asked) == len(set(shelves.asked) - {one for one in shelves.asked if one[0] == "read"})
    assert crew.counted["write_article"] == 2
    assert logged.all("worker_started", worker="web_search", iteration=2) == []
    assert set(logged.all("plan_created", iteration=2)[0]["kept"]) == kept


async def test_without_new_sources_the_analysis_is_kept_too(store: Store) -> None:
    """A tone that was missed is mended by writer and editor; nobody searches or reads again."""
    crew = Crew({"judge": [{"coverage": 0.9, "tone": 0.0}, None], "edit": [{"grammar": 0.3}, None]})
    logged = await study(store, crew, min_quality=0.9)
    assert logged.phases.count("executing") == 2
    assert crew.counted["synthesize"] == 1
    assert crew.counted["write_article"] == crew.counted["edit"] == crew.counted["fact_check"] == 2


async def test_searches_look_further_when_nobody_can_be_added_who_finds_more(store: Store) -> None:
    shelves = Shelves({"web_search": 1, "news_search": 1, "academic_search": 1})
    gaps = [{"coverage": 0.9, "tone": 0.9, "missing": [gap]} for gap in ("prices", "doses", "dates")]
    logged = await study(store, Crew({"judge": gaps}), shelves=shelves, min_sources=30, min_quality=0.95)
    first = [query for worker, query in shelves.asked if worker == "web_search"]
    assert logged.phases.count("executing") == 3
    assert len(first) > 2, "more queries than in the first iteration"


async def test_academic_search_falls_back_to_web_search(store: Store) -> None:
    shelves = Shelves(failing={"academic_search": 99})
    logged = await study(store, Crew(), shelves=shelves)
    (done,) = logged.all("worker_completed", worker="academic_search")
    assert (done["fallback"], done["attempts"]) == ("web_search", 3)
    assert "Academic search unavailable, web_search is used instead." in logged.output["warnings"]
    assert logged.result.status == "completed"


async def test_the_scraper_falls_back_to_snippets(store: Store) -> None:
    logged = await study(store, Crew(complexity=0.69), shelves=Shelves(failing={"web_scraper": 999}))
    (done,) = logged.all("worker_completed", worker="web_scraper")
    assert done["fallback"] == "snippets"
    assert "Full texts unavailable, snippets are used instead." in logged.output["warnings"]
    assert {one["full_text"] for one in logged.output["sources"]} == {False}


async def test_a_lost_fact_checker_is_a_warning_and_its_component_is_left_out(store: Store) -> None:
    logged = await study(store, Crew({"fact_check": RuntimeError("down")}))
    assert logged.result.status == "completed"
    assert any(
        one.startswith("Fact checking unavailable, no claim was checked") for one in logged.output["warnings"]
    )
    assert logged.output["quality"]["factual_quality"] is None
    assert "factual" not in logged.all("evaluated")[0]["components"]


async def test_no_research_worker_that_succeeds_fails_the_run(store: Store) -> None:
    shelves = Shelves(failing={"web_search": 99, "news_search": 99, "academic_search": 99})
    logged = await study(store, Crew(), shelves=shelves)
    assert logged.result.status == "failed"
    assert logged.output["error"]["message"].startswith("no research worker found a source: ")
    assert "web_search took longer than 15 s." in logged.result.error


async def test_searches_that_find_nothing_fail_the_run_too(store: Store) -> None:
    shelves = Shelves({"web_search": 0, "news_search": 0, "academic_search": 0})
    logged = await study(store, Crew(), shelves=shelves)
    assert logged.result.status == "failed"
    assert "the searches found nothing" in logged.result.error


async def test_the_better_of_two_versions_is_handed_over(store: Store) -> None:
    crew = Crew({"judge": [{"coverage": 0.9, "tone": 0.9}, {"coverage": 0.1, "tone": 0.1}]})
    logged = await study(store, crew, min_quality=0.99)
    assert logged.qualities[0] > logged.qualities[-1]
    assert round(logged.output["quality"]["overall"], 2) == logged.qualities[0]
    assert "The version of iteration 1 is the result: it was the best." in logged.output["system_notes"]


async def test_if_nobody_can_judge_the_topic_rules_do(store: Store) -> None:
    logged = await study(store, Crew({"assess": RuntimeError("down")}))
    assert logged.result.status == "completed"
    assert logged.all("plan_created")[0]["plan"]["complexity"] == 0.6
    assert any(one.startswith("The planner could not judge the topic") for one in logged.output["warnings"])


async def test_if_nobody_can_judge_the_article_what_is_measured_counts(store: Store) -> None:
    logged = await study(store, Crew({"judge": RuntimeError("down")}))
    assert logged.result.status == "completed"
    parts = logged.all("evaluated")[0]["parts"]
    assert "coverage" not in parts["article"]
    assert "tone" not in parts["writing"]


async def test_all_seventeen_workers_work(store: Store) -> None:
    shelves = Shelves({"social_media": 2})
    logged = await study(
        store, Crew(complexity=1.0), shelves=shelves, depth="deep", max_usd=20.0, time_limit=7200.0
    )
    assert set(logged.workers[0]) == set(WORKERS)
    assert {one["worker"] for one in logged.all("worker_completed")} == set(WORKERS)
    assert {one["kind"] for one in logged.output["sources"]} == {"web", "news", "academic", "social"}
    assert {one["full_text"] for one in logged.output["sources"]} == {True}
    assert logged.result.status == "completed"
    notes = " ".join(logged.output["system_notes"])
    for found in ("Readability: Flesch", "SEO 0", "of the words are copied from the sources"):
        assert found in notes


@pytest.mark.parametrize("task", ["write_article", "edit", "fact_check"])
async def test_the_engine_does_not_try_these_again_by_itself(store: Store, task: str) -> None:
    """Three attempts are three calls: the engine's own retries are off for workers."""
    crew = Crew({task: RuntimeError("503")})
    await study(store, crew)
    assert crew.counted[task] == 3
