"""Scores and verdicts of a rehearsal are marked as made up, wherever they are shown."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from podium.report.words import SCORES_MADE_UP, scored
from tests.cli.shell import Shell

CORPUS = str(Path(__file__).parents[2] / "examples" / "corpus")
RUNS = {
    "studio": ("run", "studio", "A lullaby for a robot", "--departments", "story,audio"),
    "council": ("run", "council", "Names for a bakery"),
    "research": ("run", "research", "How much caffeine is safe in a day", "--corpus", CORPUS),
}
TITLES = {"studio": ["The studio"], "council": ["All ideas", "Comparison"], "research": ["Quality"]}


def run(podium: Shell, workflow: str) -> str:
    return podium(*RUNS[workflow], "--model", "rehearsal").out


@pytest.mark.parametrize("workflow", ["studio", "research"])
def test_the_terminal_card_marks_the_quality(podium: Shell, workflow: str) -> None:
    card = re.compile(r"^✓ completed .* quality [\d.]+ \(made up\)$", re.MULTILINE)
    assert card.search(run(podium, workflow))
    assert card.search(podium("show", "last").out)


SCORES = {
    "studio": r"\d \(needs \d+\)|score \d|the team's quality",
    "council": r"◆|★",
    "research": r"claims? verified|Quality:|quality \d|accuracy \d",
}


@pytest.mark.parametrize("workflow", RUNS)
def test_live_lines_mark_every_score(podium: Shell, workflow: str) -> None:
    live = run(podium, workflow).partition("✓ completed")[0]
    lines = [line for line in live.splitlines() if re.search(SCORES[workflow], line)]
    assert lines
    assert [line for line in lines if "(made up)" not in line] == []
    events = podium("events", "last").out
    assert all(line in events for line in lines), "the log and the browser show the same lines"


@pytest.mark.parametrize("workflow", RUNS)
def test_reports_mark_the_parts_with_scores_and_the_quality(podium: Shell, workflow: str) -> None:
    run(podium, workflow)
    text = podium("report", "last", "--format", "md").out
    podium("report", "last", "-o", "report.html")
    page = (podium.folder / "report.html").read_text()
    for title in TITLES[workflow]:
        assert f"## {title}\n\n*{SCORES_MADE_UP}*" in text
        assert f'<h2>{title}</h2>\n<p class="warn">{SCORES_MADE_UP}</p>' in page
    if workflow != "council":
        assert re.search(r"quality [\d.]+ \(made up\) · ", text)
        assert re.search(r"<span>quality [\d.]+ \(made up\)</span>", page)


def test_the_reports_of_a_build_mark_its_gates(podium: Shell) -> None:
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "Start")):
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
        subprocess.run(["git", *identity, *words], cwd=podium.folder, check=True)
    goal = "Write a function that adds two numbers in calc.py with tests"
    podium("run", "build", goal, "--model", "rehearsal", "--max-calls", "8", code=None)
    assert f"## Gates\n\n*{SCORES_MADE_UP}*" in podium("report", "last", "--format", "md").out


def test_the_record_of_a_studio_marks_every_score(podium: Shell) -> None:
    run(podium, "studio")
    text = podium("artifacts", "last", "record.md").out
    page = podium("artifacts", "last", "record.html").out
    assert re.search(r"^\*\*Overall quality [\d.]+ \(made up\)\*\*", text, re.MULTILINE)
    assert len(re.findall(r"^\*Score [\d.]+ \(made up\) · ", text, re.MULTILINE)) == 2
    assert re.search(r"Overall quality <b>[\d.]+ \(made up\)</b>", page)
    assert not re.search(r'<b class="n">[\d.]+</b>', page)


def test_the_record_of_a_research_marks_quality_and_verified_claims(podium: Shell) -> None:
    run(podium, "research")
    page = podium("artifacts", "last", "record.html").out
    assert re.search(r"<span>quality \d+% \(made up\)</span>", page)
    assert re.search(r"<span>\d+ of \d+ claims verified \(made up\)</span>", page)
    assert f'<h2>Quality</h2>\n<p class="warn">{SCORES_MADE_UP}</p>' in page


def test_the_report_that_a_council_writes_marks_its_scores(podium: Shell) -> None:
    run(podium, "council")
    assert SCORES_MADE_UP in podium("artifacts", "last", "report.html").out


def test_scores_of_a_model_are_not_marked() -> None:
    assert (scored("quality 87", False), scored("quality 87", True)) == ("quality 87", "quality 87 (made up)")
