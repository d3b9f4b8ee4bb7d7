"""Every rule and number: who works, in which steps, what it takes, how good it is, what is done about it."""

from __future__ import annotations

import pytest

from podium.workflows.research.agents import agent_of
from podium.workflows.research.contracts import Brief, Plan
from podium.workflows.research.plan_rules import (
    PlanLimits,
    estimate_complexity,
    first_plan,
    make_plan,
    next_plan,
    optimize,
    step_of,
    waves,
    with_estimates,
)
from podium.workflows.research.policy import (
    ANSWERS,
    ATTEMPTS,
    FALLBACKS,
    NEEDING,
    PARTS,
    SEARCHES,
    WAITS,
    WEIGHTS,
    WORKERS,
    by_priority,
    choose,
    components,
    count_score,
    decide,
    diversity_score,
    improvement,
    level_of,
    overall,
    redone,
    required_workers,
    wanted_count,
)

PLENTY = PlanLimits(50, 7200)
EIGHT = by_priority(WORKERS)[:8]
SEED_PLAN = (
    "web_search",
    "academic_search",
    "news_search",
    "content_synthesizer",
    "article_writer",
    "fact_checker",
    "editor",
    "citation_formatter",
)


def plan_of(*workers: str) -> Plan:
    return make_plan(1, 0.6, by_priority(set(workers)))


# ── the table ──


def test_there_are_seventeen_workers_with_priorities_of_their_own() -> None:
    assert len(WORKERS) == 17
    assert sorted(one.priority for one in WORKERS.values()) == list(range(1, 18))
    by_category = {
        kind: {one.name for one in WORKERS.values() if one.category == kind}
        for kind in ("research", "analysis", "writing", "quality")
    }
    assert [len(names) for names in by_category.values()] == [5, 3, 3, 6]


def test_who_is_critical_and_who_is_optional() -> None:
    critical = {one.name for one in WORKERS.values() if one.criticality == "critical"}
    optional = {one.name for one in WORKERS.values() if one.criticality == "optional"}
    assert critical == {"article_writer"}
    assert optional == {"social_media", "seo_optimizer", "readability_checker", "plagiarism_checker"}


def test_the_plan_of_eight_costs_2_40_and_takes_17_minutes() -> None:
    assert set(EIGHT) == set(SEED_PLAN)
    plan = make_plan(1, 0.6, EIGHT)
    assert plan.estimated_cost == 2.40
    assert plan.estimated_time == 17 * 60
    assert [(one.name, one.mode, one.estimated_time / 60, one.estimated_cost) for one in plan.steps] == [
        ("Research", "parallel", 5, 0.50),
        ("Analysis", "sequential", 2, 0.30),
        ("Writing", "sequential", 6, 0.90),
        ("Quality", "parallel", 4, 0.70),
    ]


# ── complexity and choice ──


@pytest.mark.parametrize(
    ("complexity", "level"),
    [
        (0.0, "simple"),
        (0.39, "simple"),
        (0.3999999, "simple"),
        (0.4, "medium"),
        (0.69, "medium"),
        (0.6999999, "medium"),
        (0.7, "complex"),
        (1.0, "complex"),
    ],
)
def test_the_edges_of_complexity(complexity: float, level: str) -> None:
    assert level_of(complexity) == level


RANGES = ((3, 5, (0.0, 0.2, 0.39)), (6, 10, (0.4, 0.55, 0.69)), (11, 17, (0.7, 0.85, 1.0)))


def test_each_level_has_its_range() -> None:
    for depth in ("light", "standard", "deep"):
        for least, most, complexities in RANGES:
            for complexity in complexities:
                assert least <= wanted_count(complexity, depth) <= most


def test_more_complex_topics_get_more_workers_up_to_all() -> None:
    counts = [wanted_count(value / 100, "standard") for value in range(101)]
    assert counts == sorted(counts)
    assert (counts[0], counts[60], counts[100]) == (3, 8, 17)
    assert wanted_count(0.3, "light") == 3
    assert wanted_count(0.45, "standard") == 6


def test_requirements_bring_workers_beyond_the_range() -> None:
    assert set(required_workers("neutral", 10, ["academic"])) == {"academic_search"}
    assert "citation_formatter" in required_workers("Academic", 10, [])
    assert {"academic_search", "news_search", "web_scraper"} <= set(required_workers("neutral", 15, []))
    assert required_workers("neutral", 14, []) == {}
    chosen = choose(3, {"academic_search", "citation_formatter"}, SEARCHES)
    assert set(chosen) == {"web_search", "article_writer", "editor", "academic_search", "citation_formatter"}


def test_a_search_without_a_source_behind_it_is_never_chosen() -> None:
    chosen = choose(17, {"social_media"}, ["news_search", "web_scraper"])
    assert "news_search" in chosen
    assert not set(chosen) & {"web_search", "academic_search", "social_media"}
    assert "academic_search" in choose(3, (), ["academic_search"]), "somebody has to search"
    assert "web_scraper" not in choose(17, (), SEARCHES), "documents of a corpus are read at once"


def test_the_rules_of_an_estimate_know_simple_from_complex() -> None:
    simple = Brief(topic="What is Python programming?", content_type="blog_post", length=1000, depth="light")
    hard = Brief(
        topic="Quantum computing future predictions",
        content_type="research_report",
        length=3000,
        min_sources=20,
    )
    assert level_of(estimate_complexity(simple)) == "simple"
    assert level_of(estimate_complexity(Brief(topic="AI trends"))) == "medium"
    assert level_of(estimate_complexity(hard)) == "complex"
    assert (
        estimate_complexity(Brief(topic="x", length=10_000, depth="deep", content_type="research_report"))
        == 1
    )


# ── steps ──


def test_workers_that_need_each_other_stand_in_different_waves() -> None:
    assert waves(["web_search", "news_search", "web_scraper"]) == [
        ["web_search", "news_search"],
        ["web_scraper"],
    ]
    assert waves(["article_writer", "introduction_writer", "conclusion_writer"]) == [
        ["article_writer", "introduction_writer"],
        ["conclusion_writer"],
    ]
    assert len(waves(["fact_checker", "editor", "citation_formatter"])) == 1


def test_the_planner_makes_a_step_sequential_when_somebody_waits_for_another() -> None:
    plan = plan_of("web_search", "news_search", "web_scraper", "article_writer", "editor")
    research = plan.steps[0]
    assert research.mode == "sequential"
    assert research.workers[-1] == "web_scraper"


def test_a_plan_never_has_fewer_than_three_workers() -> None:
    tight = first_plan(Brief(topic="x", max_usd=0.61), 1.0, SEARCHES, PlanLimits(0.61, 468))
    assert len(tight.workers) == 3
    assert "article_writer" in tight.workers
    assert any("Left out to keep to the limits" in note for note in tight.notes)


# ── the strategy ──


def test_nine_one_after_the_other_take_28_minutes_and_side_by_side_17() -> None:
    plan = plan_of(*SEED_PLAN, "social_media")
    slow = with_estimates(
        plan.model_copy(update={"steps": [step_of(step.workers, "sequential") for step in plan.steps]})
    )
    assert slow.estimated_time == 28 * 60
    assert slow.estimated_time - make_plan(1, 0.6, EIGHT).estimated_time == 11 * 60


def test_steps_are_spread_so_that_nobody_waits_without_need() -> None:
    plan = plan_of(
        "web_search",
        "news_search",
        "web_scraper",
        "article_writer",
        "introduction_writer",
        "conclusion_writer",
        "editor",
    )
    found = optimize(plan, PLENTY)
    assert [(one.workers, one.mode) for one in found.plan.steps] == [
        (["web_search", "news_search"], "parallel"),
        (["web_scraper"], "sequential"),
        (["article_writer", "introduction_writer"], "parallel"),
        (["conclusion_writer"], "sequential"),
        (["editor"], "sequential"),
    ]
    assert found.time_saved == 120 + 90
    assert found.cost_saved == 0
    assert len(found.changes) == 2


def test_a_plan_within_its_limits_is_left_as_it_is() -> None:
    plan = make_plan(1, 0.6, EIGHT)
    found = optimize(plan, PlanLimits(2.40, 1020))
    assert (found.plan, found.changes, found.removed) == (plan, [], [])


def test_over_budget_optional_workers_go_in_order_and_no_further_than_needed() -> None:
    workers = (*SEED_PLAN, "social_media", "seo_optimizer", "plagiarism_checker", "readability_checker")
    whole = plan_of(*workers)
    assert round(whole.estimated_cost, 2) == 2.80
    assert optimize(whole, PlanLimits(2.70, 7200)).removed == ["social_media"]
    assert optimize(whole, PlanLimits(2.60, 7200)).removed == ["social_media", "seo_optimizer"]
    everybody = ["social_media", "seo_optimizer", "plagiarism_checker", "readability_checker"]
    found = optimize(whole, PlanLimits(2.40, 7200))
    assert found.removed == everybody
    assert (found.plan.estimated_cost, found.cost_saved, found.plan.cheaper) == (2.40, 0.4, [])


def test_then_cheaper_models_and_never_somebody_critical() -> None:
    found = optimize(plan_of(*SEED_PLAN, "seo_optimizer"), PlanLimits(2.0, 7200))
    assert found.removed == ["seo_optimizer"]
    assert found.plan.cheaper == ["article_writer"], "the most expensive one first"
    assert set(found.plan.workers) == set(SEED_PLAN)
    least = optimize(make_plan(1, 0.6, EIGHT), PlanLimits(0.01, 1))
    assert "article_writer" in least.plan.workers
    assert set(least.plan.workers) == set(SEED_PLAN), "nobody but optional workers is ever removed"
    assert "may not be enough" in least.changes[-1]


def test_the_last_of_a_step_stays_even_if_it_is_optional() -> None:
    plan = plan_of("web_search", "article_writer", "seo_optimizer")
    assert optimize(plan, PlanLimits(0.1, 7200)).removed == []
    both = plan_of("web_search", "article_writer", "seo_optimizer", "plagiarism_checker")
    assert optimize(both, PlanLimits(0.1, 7200)).removed == ["seo_optimizer"]


def test_over_time_only_what_saves_time_is_done() -> None:
    """An optional check that runs beside a longer one saves no second."""
    found = optimize(plan_of(*SEED_PLAN, "seo_optimizer"), PlanLimits(50, 900))
    assert found.removed == []
    assert found.plan.cheaper == ["article_writer"]
    assert found.time_saved == 144


def test_kept_work_takes_nothing() -> None:
    kept = {"web_search", "academic_search", "news_search", "content_synthesizer"}
    found = optimize(make_plan(2, 0.6, EIGHT), PlanLimits(1.61, 7200), kept)
    assert found.plan.cheaper == []


def test_short_limits_get_a_plan_that_still_checks_facts() -> None:
    brief = Brief(topic="AI trends", sources=["web", "academic", "news", "social"])
    plan = first_plan(brief, 0.9, [*SEARCHES, "web_scraper"], PlanLimits(0.5, 60))
    assert plan.workers == ["web_search", "article_writer", "fact_checker"]
    assert plan.notes[0].startswith("Left out to keep to the limits of the brief: ")


# ── retries ──


def test_three_attempts_two_and_four_seconds_apart() -> None:
    assert (ATTEMPTS, WAITS) == (3, (2.0, 4.0))
    assert FALLBACKS == {
        "academic_search": "web_search",
        "web_scraper": "snippets",
        "fact_checker": "warning",
    }


def test_the_engine_tries_a_workers_call_only_once() -> None:
    """Its retries would come on top of the three attempts."""
    for worker in [one.name for one in WORKERS.values() if one.asks]:
        assert agent_of(worker).attempts == 1
        assert agent_of(worker, cheaper=True).profile == "fast"


def test_a_reply_has_room_for_the_whole_article() -> None:
    assert agent_of("article_writer", words=10_000).max_tokens > 20_000
    assert agent_of("article_writer", words=500).max_tokens < 5_000


# ── quality ──


def test_the_formula_on_the_seeds_figures() -> None:
    quality = overall({"article": 0.94, "source": 0.89, "factual": 0.92, "writing": 0.88})
    assert quality == pytest.approx(0.9105)
    assert round(quality, 2) == 0.91
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_a_component_is_the_plain_mean_of_its_parts() -> None:
    parts = {
        "coverage": 0.9,
        "length": 0.6,
        "structure": 0.3,
        "count": 1.0,
        "diversity": 0.5,
        "citations": 0.9,
    }
    found = components(parts, {"article_writer", "web_search"})
    assert found["article"] == pytest.approx(0.6)
    assert found["source"] == pytest.approx(0.8)


def test_a_component_without_workers_is_left_out_and_the_weights_are_spread() -> None:
    parts = {"coverage": 0.8, "verified": 0.1, "grammar": 0.2, "count": 0.9}
    found = components(parts, {"article_writer", "web_search"})
    assert found == {"article": 0.8, "source": 0.9}
    assert overall(found) == pytest.approx((0.3 * 0.8 + 0.25 * 0.9) / 0.55)
    assert overall({}) == 0


@pytest.mark.parametrize(
    ("quality", "threshold", "iteration", "decision"),
    [
        (0.91, 0.80, 1, "complete"),
        (0.68, 0.80, 1, "continue"),
        (0.76, 0.80, 3, "force_complete"),
        (0.80, 0.80, 1, "complete"),
        (0.7999999, 0.80, 2, "continue"),
        (0.80, 0.80, 3, "complete"),
        (0.799999999, 0.80, 3, "force_complete"),
    ],
)
def test_the_decision_compares_unrounded(
    quality: float, threshold: float, iteration: int, decision: str
) -> None:
    assert decide(quality, threshold, iteration) == decision


def test_scores_of_sources() -> None:
    assert count_score(7, 10) == 0.7
    assert count_score(14, 10) == 1.0
    assert diversity_score({"web"}, ["web", "academic", "news"]) == pytest.approx(1 / 3)
    assert diversity_score({"web", "news", "academic", "social"}, ["web", "academic", "news", "social"]) == 1
    assert diversity_score({"corpus"}, ["corpus"]) == 1


def test_improvement_is_reported_in_points() -> None:
    assert improvement([0.65, 0.88]) == "+23 points (0.65 → 0.88)"
    assert improvement([0.78, 0.83, 0.87]) == "+9 points (0.78 → 0.87)"
    assert improvement([0.5, 0.45]) == "-5 points (0.50 → 0.45)"
    assert improvement([0.9]) == ""


# ── re-planning ──


def test_every_part_of_the_quality_has_an_answer() -> None:
    assert set(ANSWERS) == {part for parts in PARTS.values() for part in parts}
    for remedy in ANSWERS.values():
        assert {*remedy.adds, *remedy.redoes} <= set(WORKERS)


def test_too_few_sources_bring_academic_scraper_and_citation_formatter() -> None:
    six = by_priority(WORKERS)[:6]
    plan, kept, deeper = next_plan(make_plan(1, 0.45, six), ["count"], six, NEEDING, 2)
    assert set(plan.workers) - set(six) == {"academic_search", "web_scraper", "citation_formatter"}
    assert kept == {"web_search", "news_search"}
    assert not deeper
    assert plan.plan_id == "plan_002"


def test_what_a_new_worker_makes_is_used_by_everybody_who_can() -> None:
    done = set(EIGHT)
    assert redone([*EIGHT, "web_scraper"], done, ()) == {
        "web_scraper",
        "content_synthesizer",
        "article_writer",
        "fact_checker",
        "editor",
        "citation_formatter",
    }
    assert redone(EIGHT, done, {"editor"}) == {"editor"}
    assert redone(EIGHT, done - {"news_search"}, ()) >= {
        "news_search",
        "content_synthesizer",
        "article_writer",
    }


def test_with_nobody_left_to_add_the_searches_look_further() -> None:
    plan, kept, deeper = next_plan(make_plan(1, 0.6, EIGHT), ["diversity"], EIGHT, NEEDING, 2)
    assert deeper
    assert not kept & set(SEARCHES)
    assert set(plan.workers) == set(EIGHT)
