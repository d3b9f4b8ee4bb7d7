"""Research on the command line: what it would take, what is refused, and what it writes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.shell import Shell

CORPUS = str(Path(__file__).parents[2] / "examples" / "corpus")
TOPIC = "How much caffeine is safe in a day"
OFFLINE = ("--corpus", CORPUS, "--model", "rehearsal")


def test_an_estimate_shows_plan_time_and_cost_and_runs_nothing(podium: Shell) -> None:
    output = podium("run", "research", TOPIC, "--estimate")
    assert re.search(
        r"1\. Research\s+parallel\s+5m 00s\s+\$0\.50\s+web_search, news_search, academic_search", output.out
    )
    assert "time  17m 00s of 20m 00s" in output.out
    assert "cost  $2.40 of $5.00" in output.out
    assert "nothing was run" in output.out
    assert podium("runs", "--json").json == {"runs": []}


def test_an_estimate_is_one_json_object_too(podium: Shell) -> None:
    data = podium("run", "research", TOPIC, "--max-usd", "1.5", "--estimate", "--json").json
    assert data["estimated_cost_usd"] <= 1.5
    assert data["plan"]["steps"][0]["workers"]
    assert data["brief"]["max_usd"] == 1.5


def test_other_workflows_have_no_such_flag(podium: Shell) -> None:
    output = podium("run", "tree", "x", "--estimate", code=2)
    assert "no option --estimate" in output.err


def test_every_problem_of_a_brief_is_reported_at_once_and_nothing_starts(podium: Shell) -> None:
    output = podium(
        "run",
        "research",
        TOPIC,
        "--length",
        "5",
        "--tone",
        "x" * 80,
        "--max-usd",
        "0.55",
        "--preferred-sources",
        "corpus",
        "--min-quality",
        "good",
        code=2,
    )
    for problem in (
        "The brief has 4 problems",
        "--length must be 500 to 10,000 words, not 5",
        "--tone must have 1 to 60",
        "corpus sources are preferred, but not enabled",
        "--min-quality must be a number, not 'good'",
    ):
        assert problem in output.err
    assert "Traceback" not in output.err
    assert podium("runs", "--json").json == {"runs": []}


def test_a_brief_comes_from_a_file_without_a_topic_on_the_line(podium: Shell) -> None:
    (podium.folder / "brief.toml").write_text(
        f'topic = "{TOPIC}"\nlength = 600\ncitation_style = "apa"\ncorpus = "{CORPUS}"\n'
    )
    output = podium("run", "research", "--brief", "brief.toml", "--model", "rehearsal", "--json")
    data = output.json
    assert data["output"]["article"]["title"] == TOPIC
    assert "(The Wired Bean Blog, 2018)" in data["output"]["article"]["content"]
    assert podium("runs", "--json").json["runs"][0]["request"] == TOPIC
    podium("run", "research", code=2)


def test_research_over_a_folder_writes_an_article_with_its_sources(podium: Shell) -> None:
    output = podium("run", "research", TOPIC, *OFFLINE, "--length", "700")
    assert f"# {TOPIC}" in output.out
    assert "Rehearsal" in output.out
    assert "contradict each other" in output.out
    data = podium("show", "last", "--json").json
    assert data["workflow"] == "research"
    podium("report", "last", "-o", "page.html")
    assert "caffeine-limits.md" in (podium.folder / "page.html").read_text()


def test_below_the_wanted_quality_the_exit_code_is_3(podium: Shell) -> None:
    output = podium(
        "run", "research", TOPIC, *OFFLINE, "--length", "700", "--min-quality", "1", "--json", code=3
    )
    assert (output.json["status"], output.json["stop_reason"]) == ("partial", "quality below target")
    assert output.json["output"]["metrics"]["iteration_count"] == 3
    assert any("below the target of 1.00" in warning for warning in output.json["warnings"])


def test_a_plan_waits_for_a_person(podium: Shell) -> None:
    output = podium("run", "research", TOPIC, *OFFLINE, "--approve", "plan", "--json", code=5)
    podium("answer", output.json["run_id"], "approve")
    assert podium("runs", "--json").json["runs"][0]["status"] == "completed"


def test_the_help_shows_the_limits(podium: Shell) -> None:
    output = podium("run", "research", "--help").out
    for word in (
        "--content-type",
        "--min-sources",
        "--preferred-sources",
        "--corpus",
        "--estimate",
        "500 to 10,000",
    ):
        assert word in output


def test_an_empty_folder_is_no_corpus(podium: Shell) -> None:
    (podium.folder / "empty").mkdir()
    output = podium("run", "research", TOPIC, "--corpus", "empty", "--model", "rehearsal", code=1)
    assert "contains no readable document" in output.err + output.out
    assert "Traceback" not in output.err
