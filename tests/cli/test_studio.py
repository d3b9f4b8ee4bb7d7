"""A studio on the command line: its lines, its output, its team."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.shell import Shell

WORKED = "Create a dramatic opening scene with Aladdin stealing bread"
REHEARSAL = ("--model", "rehearsal")


def test_a_studio_is_reported_in_lines_and_ends_with_the_deliverable(podium: Shell) -> None:
    output = podium("run", "studio", WORKED, *REHEARSAL).out
    assert "▸ routed to story 0.85, character 0.65, visual 0.5, audio 0.35" in output
    assert re.search(r"↻ \w+ Specialist tries again, attempt 2 of 4", output)
    assert output.index("✓ Character Department") < output.index("○ Visual Department")
    assert "✓ completed" in output
    assert f"# {WORKED}" in output
    assert "4 departments · 8 of 8 specialists accepted" in output
    assert '"routing"' not in output, "data is not told"
    assert "clock" not in output, "nor are steps that nobody wants to know about"


def test_json_is_the_whole_output_and_quiet_is_the_deliverable(podium: Shell) -> None:
    output = podium("run", "studio", WORKED, *REHEARSAL, "--json").json["output"]
    assert set(output) == {
        "routing",
        "departments",
        "conflicts",
        "overall_quality",
        "deliverable",
        "missing",
        "comparison",
        "errors",
    }
    assert podium("run", "studio", WORKED, *REHEARSAL, "--quiet").out.startswith(f"# {WORKED}\n")
    lanes = podium("show", "last").out
    assert "✓ Story Department" in lanes


def test_every_report_of_a_studio(podium: Shell) -> None:
    podium("run", "studio", WORKED, *REHEARSAL, "--quiet")
    podium("report", "last", "-o", "studio.html")
    page = (podium.folder / "studio.html").read_text()
    assert page.index("would write one document") < page.index("<h2>The studio</h2>")
    assert "## The studio" in podium("report", "last", "--format", "md").out
    data = json.loads(podium("report", "last", "--format", "json").out)
    assert data["sections"]["studio"]["departments"][0]["status"] == "completed"
    podium("artifacts", "last", "deliverable.html", "-o", "d.html")
    assert "<script" not in (podium.folder / "d.html").read_text()
    podium("artifacts", "last", "record.html", "-o", "r.html")
    assert "Overall quality" in (podium.folder / "r.html").read_text()


def test_the_options_are_flags_with_help(podium: Shell) -> None:
    output = podium("run", "studio", "--help").out
    flags = "team departments router specialists synthesis-rounds batch-grading adaptive project"
    for flag in (f"--{name}" for name in [*flags.split(), "no-floor", "no-editor"]):
        assert flag in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--departments", "stroy"), "There is no department stroy"),
        (("--team", "nobody"), "There is no team nobody"),
        (("--approve", "plan"), "no gate plan"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(podium: Shell, words: tuple[str, ...], message: str) -> None:
    output = podium("run", "studio", "x", *REHEARSAL, *words, code=2)
    assert message in output.err
    assert "Traceback" not in output.err


def test_a_project_is_reported_facts_that_wait_for_a_review(podium: Shell) -> None:
    words = ("run", "studio", "Create character Aladdin", "--project", "bread", *REHEARSAL)
    podium(*words, "--quiet")
    assert "worked on by: Character Department" in podium("brain", "review", "last").out
    podium("brain", "review", "last", "--accept", "all")
    assert podium(*words, "--json").json["status"] == "completed"
    refused = podium("run", "studio", "x", "--project", " ", *REHEARSAL, code=2)
    assert "not the name of a project" in refused.err


def test_the_card_suggests_a_review_where_facts_wait_for_one(podium: Shell) -> None:
    words = ("run", "studio", "Create character Aladdin", "--project", "bread", *REHEARSAL)
    output = podium(*words).out
    run_id = podium("runs", "--json").json["runs"][0]["run_id"]
    assert re.search(rf"^review +podium brain review {run_id}$", output, re.MULTILINE)
    assert f"podium brain review {run_id}" in podium("show", run_id).out
    podium("brain", "review", run_id, "--accept", "all")
    assert "brain review" not in podium(*words).out, "nothing is new"
    assert "brain review" not in podium("run", "studio", "Create character Aladdin", *REHEARSAL).out


OUT = """
import os

async def answer(call):
    if call.path.startswith("story/") and os.environ.get("OUT"):
        raise RuntimeError("the story department is out")
    return {"validate": {"conflicts": []}}.get(call.task, f"{call.task} by {call.agent}")
"""


def test_a_failed_department_is_tried_again_by_a_fork_and_resume_says_so(podium: Shell) -> None:
    (podium.folder / "out.py").write_text(OUT)
    words = (
        "--departments",
        "story,audio",
        "--specialists",
        "never",
        "--no-floor",
        "--no-editor",
        "--model",
        "python:out.py:answer",
    )
    output = podium("run", "studio", "x", *words, code=3, OUT="1").out
    run_id = podium("runs", "--json").json["runs"][0]["run_id"]
    again = f"podium fork {run_id} --at story/head_execute"
    assert re.search(rf"^try again +{again}$", output, re.MULTILINE)
    refused = podium("resume", run_id, code=2)
    assert "partial (department failed)" in refused.err
    assert "resuming it would change nothing" in refused.err
    assert again in refused.err
    assert podium("show", run_id, "--json").json["status"] == "partial"
    result = podium(*again.split()[1:], "--json").json
    assert (result["status"], len(result["output"]["departments"])) == ("completed", 2)


def test_resume_says_what_else_can_be_done_where_a_person_has_said_no(podium: Shell) -> None:
    podium("run", "studio", "x", *REHEARSAL, "--approve", "route", code=5)
    podium("answer", "last", "reject", code=None)
    podium("resume", "last", code=None)
    refused = podium("resume", "last", code=2)
    assert "partial (route rejected)" in refused.err
    assert re.search(r"List the steps .* `podium fork \w+`", refused.err)


# ── podium team ──


def test_team_show_lists_everybody_and_json_is_the_whole_team(podium: Shell) -> None:
    output = podium("team", "show").out
    assert re.search(r"visual +Visual Department +needs character, story", output)
    assert re.search(r"appearance +Appearance Specialist +65", output)
    team = podium("team", "show", "software", "--json").json
    assert set(team["departments"]) == {"product", "design", "engineering", "marketing", "support"}


def test_team_init_check_and_use(podium: Shell) -> None:
    podium("team", "init", "mine.yaml", "--from", "software")
    assert podium("team", "check", "mine.yaml").out == "✓ software: 5 departments, 18 specialists\n"
    assert "already exists" in podium("team", "init", "mine.yaml", code=2).err
    path = podium.folder / "mine.yaml"
    path.write_text(path.read_text().replace("name: Support\n", "name: Support\n    colour: red\n", 1))
    wrong = podium("team", "check", "mine.yaml", code=2)
    assert re.search(
        r"✗ mine\.yaml, line \d+: departments\.support\.colour: there is no such field", wrong.out
    )
    flaws = podium("team", "check", "mine.yaml", "--json", code=2).json["flaws"]
    assert flaws[0]["line"] == path.read_text().splitlines().index("    colour: red") + 1
    refused = podium("run", "studio", "x", *REHEARSAL, "--team", "mine.yaml", code=2)
    assert "departments.support.colour: there is no such field" in refused.err


def test_a_run_keeps_its_team_when_the_file_changes_or_goes(podium: Shell) -> None:
    podium("team", "init", "mine.yaml")
    stopped = podium(
        "run", "studio", WORKED, *REHEARSAL, "--team", "mine.yaml", "--max-calls", "6", "--json", code=4
    )
    assert stopped.json["stop_reason"] == "budget"
    Path(podium.folder / "mine.yaml").unlink()
    assert podium("resume", "last", "--max-calls", "100", "--json").json["status"] == "completed"


def test_team_stats_shows_how_everybody_did(podium: Shell) -> None:
    assert "The team film has no graded run yet." in podium("team", "stats").out
    for _ in range(5):
        podium("run", "studio", WORKED, *REHEARSAL, "--quiet")
    assert "add --rehearsals" in podium("team", "stats").out
    output = podium("team", "stats", "--rehearsals").out
    assert re.search(r"Plot Specialist +5 +\d+ +100% +80 +\d+", output)
    agents = podium("team", "stats", "--rehearsals", "--json").json["agents"]
    plot = next(entry for entry in agents if entry["agent"] == "story-plot-specialist")
    assert (plot["results"], plot["threshold"]) == (5, 80)
    assert abs(plot["suggested"] - 80) <= 15
