"""Briefs: from flags, files and programs; every problem in one answer, and nothing started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.workflows.research.brief import BriefError, read_brief
from podium.workflows.research.contracts import Brief
from podium.workflows.research.flow import WORKFLOW
from tests.workflows.research.crew import Crew, study, workflow_of


def problems(request: Any = "a topic", **options: Any) -> list[str]:
    with pytest.raises(BriefError) as caught:
        read_brief(request, options)
    return caught.value.problems


def test_the_defaults() -> None:
    brief, places = read_brief("AI trends", {})
    assert brief == Brief(
        topic="AI trends",
        content_type="article",
        length=1500,
        tone="neutral",
        depth="standard",
        min_sources=10,
        preferred_sources=[],
        min_quality=0.8,
        max_usd=5.0,
        time_limit=1200.0,
        sources=["web", "academic", "news", "social"],
    )
    assert places == {"corpus": "", "online": True}


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("length", 499, "length must be 500 to 10,000 words, not 499"),
        ("length", 10_001, "length must be 500 to 10,000 words, not 10,001"),
        ("length", "many", "length must be a whole number, not 'many'"),
        ("length", 1000.5, "length must be a whole number, not 1000.5"),
        ("content_type", "poem", "content_type must be article, blog_post or research_report, not 'poem'"),
        ("depth", "abyss", "depth must be light, standard or deep, not 'abyss'"),
        ("tone", "x" * 61, "tone must have 1 to 60 characters, not 61"),
        ("min_sources", 0, "min_sources must be 1 to 100, not 0"),
        ("min_quality", 1.01, "min_quality must be 0 to 1, not 1.01"),
        ("min_quality", True, "min_quality must be a number, not True"),
        ("max_usd", 0.49, "max_usd must be 0.5 to 50 US dollars, not 0.49"),
        ("max_usd", 51, "max_usd must be 0.5 to 50 US dollars, not 51"),
        ("time_limit", 59, "time_limit must be 60 to 7,200 seconds, not 59"),
        ("time_limit", 7201, "time_limit must be 60 to 7,200 seconds, not 7,201"),
        ("time_limit", "soon", "time_limit must be a time such as 90s or 15m, not 'soon'"),
        ("citation_style", "harvard", "citation_style must be apa, mla, chicago or numeric, not 'harvard'"),
        (
            "preferred_sources",
            "tv",
            "preferred_sources must be web, academic, news, social or corpus, not 'tv'",
        ),
        ("lenght", 900, "there is no lenght (did you mean length?)"),
    ],
)
def test_each_problem_is_reported_in_words(option: str, value: Any, said: str) -> None:
    assert problems(**{option: value}) == [said]


@pytest.mark.parametrize("value", [500, 10_000, "1500"])
def test_the_limits_themselves_are_allowed(value: Any) -> None:
    assert read_brief("x", {"length": value})[0].length == int(value)


def test_a_topic_has_1_to_500_characters() -> None:
    assert read_brief("x" * 500, {})[0].topic == "x" * 500
    assert problems("x" * 501) == ["topic must have 1 to 500 characters, not 501"]
    assert problems("") == ["it has no topic"]
    assert problems({"length": 900}) == ["it has no topic"]
    assert problems(17) == ["the topic must be text, not int"]


def test_all_problems_come_in_one_answer() -> None:
    found = problems("x" * 501, length=5, min_sources=-3, content_type="poem", max_usd=0.1, tone="  " * 40)
    assert len(found) == 6
    with pytest.raises(BriefError, match=r"The brief has 2 problems: length .*; depth .*") as caught:
        read_brief("x", {"length": 5, "depth": "abyss"})
    assert "Nothing was started" in caught.value.hint


def test_contradictions_are_problems_too(tmp_path: Path) -> None:
    assert problems(preferred_sources="corpus") == [
        "corpus sources are preferred, but not enabled (give --corpus)"
    ]
    assert problems(preferred_sources="academic", corpus=str(tmp_path)) == [
        "academic sources are preferred, but not enabled (give --online)"
    ]
    assert problems(online=False) == ["no source is enabled: give --corpus, or leave out --no-online"]
    brief, _ = read_brief("x", {"preferred_sources": "academic", "corpus": str(tmp_path), "online": True})
    assert brief.sources == ["corpus", "web", "academic", "news", "social"]


def test_a_corpus_must_be_a_folder(tmp_path: Path) -> None:
    assert problems(corpus=str(tmp_path / "none")) == [f"corpus: there is no folder {tmp_path}/none"]


# ── files and programs ──

TOML = """\
topic = "From a file"
length = 900
tone = "casual"
preferred_sources = ["academic"]
time-limit = "15m"
"""
YAML = "topic: From a file\nlength: 900\ntone: casual\npreferred_sources: [academic]\ntime_limit: 15m\n"
JSON = json.dumps(
    {
        "topic": "From a file",
        "length": 900,
        "tone": "casual",
        "preferred_sources": ["academic"],
        "time_limit": 900,
    }
)


@pytest.mark.parametrize(
    ("name", "text"), [("b.toml", TOML), ("b.yaml", YAML), ("b.yml", YAML), ("b.json", JSON)]
)
def test_a_file_of_any_kind_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    brief, _ = read_brief("", {"brief": str(file)})
    assert (brief.topic, brief.length, brief.tone) == ("From a file", 900, "casual")
    assert (brief.preferred_sources, brief.time_limit) == (["academic"], 900)


def test_flags_count_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "b.toml"
    file.write_text(TOML)
    brief, _ = read_brief("Mine", {"brief": str(file), "length": 700})
    assert (brief.topic, brief.length, brief.tone) == ("Mine", 700, "casual")


def test_a_file_may_leave_out_the_draft_and_the_editor(tmp_path: Path) -> None:
    (tmp_path / "brief.toml").write_text('topic = "AI trends"\nfloor = false\neditor = "no"\n')
    with pytest.raises(BriefError, match="a problem: editor must be true or false, not 'no'"):
        WORKFLOW.prepare("", {"brief": str(tmp_path / "brief.toml")})
    (tmp_path / "brief.toml").write_text('topic = "AI trends"\nfloor = false\n')
    options = WORKFLOW.prepare("", {"brief": str(tmp_path / "brief.toml"), "editor": False}).options
    assert (options["floor"], options["editor"]) == (False, False)
    assert "floor" not in WORKFLOW.prepare("AI trends", {}).options


def test_an_estimate_says_what_comes_on_top() -> None:
    assert "cost extra" in " ".join(WORKFLOW.estimate("AI trends", {}).lines)
    alone = WORKFLOW.estimate("AI trends", {"floor": False, "editor": False})
    assert "cost extra" not in " ".join(alone.lines)


def test_a_path_in_a_file_is_meant_from_where_the_file_lies(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    file = tmp_path / "b.toml"
    file.write_text('topic = "x"\ncorpus = "notes"\n')
    assert read_brief("", {"brief": str(file)})[1]["corpus"] == str(tmp_path / "notes")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("b.toml", "topic = ", "cannot be read"),
        ("b.yaml", "a: [1", "cannot be read"),
        ("b.yaml", "a: &x [1]\nb: *x\n", "aliases are not allowed"),
        ("b.json", "{", "cannot be read"),
        ("b.json", "[1]", "must contain names and values"),
        ("b.txt", "topic", "its name must end in .toml, .yaml or .json"),
        ("b.toml", "#" * 200_000, "it is larger than 100 kB"),
        ("b.yaml", "[" * 20_000, "cannot be read (it is nested more than 50 deep)"),
        ("b.yaml", "a: {" * 20_000, "cannot be read (it is nested more than 50 deep)"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_of_the_problems(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    found = problems("x", brief=str(file), length=3)
    assert said in found[0]
    assert found[1].startswith("length must be")
    assert problems("x", brief=str(tmp_path / "none.toml"))[0].endswith("(No such file or directory)")


async def test_a_program_may_give_the_whole_brief(store: Store) -> None:
    result = await podium.run(
        workflow_of(), {"topic": "AI trends", "length": 800, "min_sources": 4}, model=Crew(), store=store
    )
    assert result.status == "completed"
    row = await store.get(result.run_id)
    assert row.request == "AI trends"


async def test_an_invalid_brief_starts_nothing(store: Store) -> None:
    with pytest.raises(BriefError):
        await podium.run("research", "x", store=store, options={"length": 5, "max_usd": 0.1})
    assert await store.list_runs() == []


async def test_a_file_that_changes_later_changes_nothing(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(JSON)
    logged = await study(store, Crew(), "", brief=str(file))
    created = next(data for _, kind, data in logged.rows if kind == "run.created")
    assert "brief" not in created["options"]
    assert (created["options"]["length"], created["request"]) == (900, "From a file")


# ── its ceilings are the run's ──


async def test_money_and_time_of_the_brief_are_the_ceilings_of_the_run(store: Store) -> None:
    logged = await study(store, Crew())
    created = next(data for _, kind, data in logged.rows if kind == "run.created")
    assert created["budget"] == {"usd": 5.0, "seconds": 1200.0}


async def test_a_budget_of_the_program_is_part_of_the_brief(store: Store) -> None:
    logged = await study(store, Crew(), budget=podium.Budget(usd=2.0, seconds=900.0, calls=50))
    created = next(data for _, kind, data in logged.rows if kind == "run.created")
    assert created["budget"] == {"usd": 2.0, "seconds": 900.0, "calls": 50}
    assert created["options"]["max_usd"] == 2.0
    short = await study(store, Crew(), budget=podium.Budget(usd=0.55))
    assert len(short.workers[0]) == 3, "a short limit gets a smaller plan"


async def test_of_two_ceilings_the_lower_one_holds(store: Store) -> None:
    logged = await study(store, Crew(), budget=podium.Budget(usd=2.0), max_usd=4.0)
    created = next(data for _, kind, data in logged.rows if kind == "run.created")
    assert created["budget"]["usd"] == 2.0


# ── what it would take ──


def test_an_estimate_shows_plan_time_and_cost(tmp_path: Path) -> None:
    found = WORKFLOW.estimate("AI trends", {})
    assert (found.data["estimated_cost_usd"], found.data["estimated_time_s"]) == (2.4, 1020)
    assert found.data["brief"]["topic"] == "AI trends"
    assert [step["workers"] for step in found.data["plan"]["steps"]][1] == ["content_synthesizer"]
    text = "\n".join(found.lines)
    assert "$2.40 of $5.00" in text
    assert "17m 00s of 20m 00s" in text
    assert "nothing was run" in text


def test_an_estimate_shows_what_the_strategy_would_do() -> None:
    data = WORKFLOW.estimate("AI trends", {"max_usd": 1.5}).data
    assert data["estimated_cost_usd"] <= 1.5
    assert data["optimization"]["cheaper"]
    assert data["optimization"]["cost_saved_usd"] > 0


def test_an_estimate_refuses_what_a_run_would_refuse() -> None:
    with pytest.raises(BriefError):
        WORKFLOW.estimate("AI trends", {"length": 3})


@pytest.mark.parametrize(
    ("name", "text"),
    [("b.toml", "length = 1500\n"), ("b.json", '{"length": 1500}'), ("b.yaml", "length: 1500\n")],
)
def test_a_file_with_the_mark_that_some_editors_write_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert read_brief("x", {"brief": str(tmp_path / name)})[0].length == 1500
