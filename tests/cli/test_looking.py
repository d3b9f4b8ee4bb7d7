"""`runs`, `show`, `events`, `artifacts`, `report`: reading a log, for people and for programs."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from contextlib import closing

import pytest

from tests.cli.shell import FLOWS, Shell


def test_runs_lists_the_newest_first_with_filters(podium: Shell) -> None:
    ids = [podium.run(flow, "x", code=None)["run_id"] for flow in ("say", "failing", "say")]
    listed = podium("runs", "--json").json["runs"]
    assert [run["run_id"] for run in listed] == ids[::-1]
    assert {"run_id", "workflow", "request", "status", "created_at", "cost_usd"} <= set(listed[0])
    assert [run["run_id"] for run in podium("runs", "--status", "failed", "--json").json["runs"]] == [ids[1]]
    assert [run["run_id"] for run in podium("runs", "--workflow", "say", "--json").json["runs"]] == [
        ids[2],
        ids[0],
    ]
    assert [run["run_id"] for run in podium("runs", "--limit", "1", "--json").json["runs"]] == [ids[2]]
    table = podium("runs").out
    assert all(run_id in table for run_id in ids)
    assert "✗ failed" in table


def test_runs_shows_no_time_of_a_run_that_was_killed_before_any_was_recorded(podium: Shell) -> None:
    podium("run", f"{FLOWS}:killed", "x", code=-signal.SIGKILL)
    (line,) = [line for line in podium("runs").out.splitlines() if "killed" in line]
    assert " – " in line
    assert "0ms" not in line


def test_runs_of_an_empty_store_says_how_to_start(podium: Shell) -> None:
    assert "podium run" in podium("runs").out
    assert podium("runs", "--json").json == {"runs": []}


def test_show_shows_everything_about_one_run(podium: Shell) -> None:
    result = podium.run("chain", "rain", "--rounds", "2", "--max-calls", "9")
    out = podium("show", result["run_id"]).out
    expected = ["✓ completed", "at most 9 calls", "rounds=2", "draft", "polish#2/", "improve", "writer"]
    expected += ["! only a test", '"tone": "dry"', "text.md", f"podium report {result['run_id']}"]
    assert [part for part in expected if part not in out] == []


def test_show_takes_the_beginning_of_an_id_and_the_newest_run(podium: Shell) -> None:
    first = podium.run("say", "one")["run_id"]
    last = podium.run("say", "two")["run_id"]
    assert podium("show", first[:8], "--json").json["run_id"] == first
    assert podium("show", "last", "--json").json["run_id"] == last
    assert podium("show", "--json").json["run_id"] == last


def test_show_as_json_holds_result_and_steps(podium: Shell) -> None:
    run_id = podium.run("chain", "rain")["run_id"]
    data = podium("show", run_id, "--json").json
    assert data["output"]["request"] == "rain"
    assert [step["path"] for step in data["steps"]] == ["draft", "polish/improve"]
    assert data["steps"][0]["about"]["agent"] == "writer"
    assert data["options"] == {}


def test_show_shows_what_each_agent_cost_on_each_model(podium: Shell) -> None:
    run_id = podium.run("chain", "rain", "--model-for", f"author=python:{FLOWS}:reply")["run_id"]
    [cost] = podium("show", run_id, "--json").json["costs"]
    assert (cost["agent"], cost["calls"], cost["cost_usd"]) == ("writer", 2, 0.0)
    assert cost["model"] == "python:flows.py:reply"
    [row] = [line for line in podium("show", run_id).out.splitlines() if line.endswith("free")]
    assert row.split()[:3] == ["writer", "python:flows.py:reply", "2"]
    assert "tokens in" not in podium("show", podium.run("say", "x")["run_id"]).out


def test_show_shows_what_a_workflows_own_steps_cost(podium: Shell) -> None:
    run_id = podium.run("costly", str(podium.folder / "marks"))["run_id"]
    [cost] = podium("show", run_id, "--json").json["costs"]
    assert (cost["agent"], cost["model"], cost["cost_usd"]) == ("steps", None, 1.0)


def test_show_output_prints_the_result_alone(podium: Shell) -> None:
    run_id = podium.run("say", "hello")["run_id"]
    assert podium("show", run_id, "--output").out == "# Heard\n\nhello\n"


def test_show_of_a_step_holds_prompt_and_reply(podium: Shell) -> None:
    run_id = podium.run("chain", "rain", "--model", f"python:{FLOWS}:reply")["run_id"]
    out = podium("show", run_id, "draft").out
    assert "Draft rain" in out
    assert "from python" in out
    output = podium("show", run_id, "draf", code=2)
    assert "Did you mean draft?" in output.err


def test_show_of_a_failed_run_says_why_and_how_to_go_on(podium: Shell) -> None:
    run_id = podium.run("failing", "x", code=1)["run_id"]
    out = podium("show", run_id).out
    assert "✗ failed" in out
    assert "no luck" in out
    assert f"podium resume {run_id}" in out


def test_show_of_a_waiting_run_holds_the_question_and_the_commands(podium: Shell) -> None:
    run_id = podium.run("asking", "x", code=5)["run_id"]
    out = podium("show", run_id).out
    assert "Publish it?" in out
    assert f"podium answer {run_id} approve" in out
    [question] = podium("show", run_id, "--json").json["questions"]
    assert question["choices"] == ["approve", "reject"]
    assert question["details"] == {"text": "x"}


def test_a_waiting_run_shows_what_its_question_is_about(podium: Shell) -> None:
    output = podium("run", f"{FLOWS}:asking", "a long\ntext", code=5).out
    for out in (output, podium("show", "last").out):
        assert "text: a long\ntext" in out


def test_nobody_works_on_the_steps_of_a_run_that_was_killed(podium: Shell) -> None:
    driver = podium.start("run", f"{FLOWS}:patient", str(podium.folder), "--json")
    while not (podium.folder / "marks").exists():
        assert driver.poll() is None
    while len(podium("show", "--json").json["steps"]) < 2:
        assert driver.poll() is None
    assert podium("show", "--json").json["steps"][1]["status"] == "running"
    driver.kill()
    driver.communicate()
    assert [step["status"] for step in podium("show", "--json").json["steps"]] == ["completed", "interrupted"]
    assert "■ wait" in podium("show").out
    assert podium("show", "last", "wait", "--json").json["status"] == "interrupted"
    assert podium("report", "--json").json["steps"][1]["status"] == "interrupted"


@pytest.mark.parametrize("ceiling", [["--max-calls", "3"], []])
def test_calls_lost_in_a_crash_are_shown_as_of_unknown_outcome(podium: Shell, ceiling: list[str]) -> None:
    model = f"python:{FLOWS}:never_answer"
    driver = podium.start("run", f"{FLOWS}:chain", "x", "--model", model, *ceiling)
    while not (podium.folder / "asked").exists():
        assert driver.poll() is None
    while not podium("events", "last", "--json").out.count('"budget.reserved"'):
        assert driver.poll() is None
    driver.kill()
    driver.wait(60)
    note = "1 call of unknown outcome"
    assert note in podium("show", "last").out
    usage = podium("show", "last", "--json").json["usage"]
    assert (usage["calls"], usage["unknown_calls"]) == (1, 1)
    out = podium("resume", "last", "--model", "rehearsal").out
    assert "outcome of a call unknown" in out
    assert note in out
    assert note in podium("report", "last", "--format", "md").out
    usage = podium("show", "last", "--json").json["usage"]
    assert (usage["calls"], usage["unknown_calls"]) == (3, 1)


def test_many_steps_fit_one_screen(podium: Shell) -> None:
    run_id = podium.run("counting", "x")["run_id"]
    out = podium("show", run_id).out
    assert "and 199 more" in out
    assert len(out.splitlines()) < 24
    assert len(podium("show", run_id, "--all").out.splitlines()) > 200


def test_suggested_commands_name_a_store_that_was_given(podium: Shell) -> None:
    out = podium("run", f"{FLOWS}:say", "x", "--store", "other.sqlite").out
    suggested = next(line for line in out.splitlines() if "podium show" in line).split("podium ", 1)[1]
    assert "--store" in suggested
    assert "✓ completed" in podium(*suggested.split()).out


def test_events_are_lines_for_people_and_json_for_programs(podium: Shell) -> None:
    run_id = podium.run("chain", "rain")["run_id"]
    events = podium("events", run_id, "--json").lines
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "run.created"
    assert podium("events", run_id, "--json", "--after", "3").lines == events[3:]
    people = podium("events", run_id).out.splitlines()
    assert len(people) == len(events)
    assert "completed" in people[-1]
    assert len(podium("events", run_id, "--after", "3").out.splitlines()) == len(events) - 3


def test_follow_shows_what_another_process_does_and_ends_with_the_run(podium: Shell) -> None:
    driver = podium.start("run", f"{FLOWS}:patient", str(podium.folder), "--json")
    while not (podium.folder / "marks").exists():
        assert driver.poll() is None
    follower = podium.start("events", "last", "--follow", "--json")
    assert follower.stdout is not None
    seen: list[str] = []
    for line in follower.stdout:
        event = json.loads(line)
        seen.append(event["type"])
        if event["type"] == "step.started" and event["path"] == "wait":
            (podium.folder / "go").touch()
    assert follower.wait(60) == 0
    assert seen[0] == "run.created"
    assert seen[-1] == "run.completed"
    assert driver.wait(60) == 0


def test_follow_of_a_finished_run_ends_at_once(podium: Shell) -> None:
    run_id = podium.run("say", "x")["run_id"]
    assert podium("events", run_id, "--follow", "--json").lines[-1]["type"] == "run.completed"


def test_artifacts_are_listed_printed_and_saved(podium: Shell) -> None:
    run_id = podium.run("chain", "rain")["run_id"]
    [listed] = podium("artifacts", run_id, "--json").json["artifacts"]
    assert listed["name"] == "text.md"
    assert "text.md" in podium("artifacts", run_id).out
    assert podium("artifacts", run_id, "text.md").out == "# rain\n"
    assert podium("artifacts", run_id, listed["id"]).out == "# rain\n"
    podium("artifacts", run_id, "-o", "made")
    podium("artifacts", run_id, "text.md", "-o", "one.md")
    assert (podium.folder / "made" / "text.md").read_text() == "# rain\n"
    assert (podium.folder / "one.md").read_text() == "# rain\n"
    assert "Did you mean text.md?" in podium("artifacts", run_id, "text.mb", code=2).err


def test_many_artifacts_of_one_name_are_counted(podium: Shell) -> None:
    """A list of equal names tells nobody anything; `artifacts` says where each was made."""
    output = podium("run", f"{FLOWS}:notes", "rain").out
    card = output[output.index("✓ completed") :]
    assert "notes.md" not in card
    assert "artifact  all.md  " in card
    assert re.search(r"\n +6 more artifacts: podium artifacts \w+\n", card)


def test_an_artifacts_name_cannot_leave_the_folder(podium: Shell) -> None:
    run_id = podium.run("hostile", "x")["run_id"]
    podium("artifacts", run_id, "-o", "a/b/c")
    assert (podium.folder / "a" / "b" / "c" / "escape.md").exists()
    assert not (podium.folder / "a" / "escape.md").exists()


def test_artifacts_with_long_names_are_all_saved(podium: Shell) -> None:
    run_id = podium.run("long_names", "rain")["run_id"]
    podium("artifacts", run_id, "-o", "made")
    saved = sorted((podium.folder / "made").iterdir())
    assert [file.read_text() for file in saved if file.suffix == ".md"] == ["other", "rain", "rain"]
    assert len(saved) == 4
    assert {file.stat().st_mode & 0o777 for file in saved} == {0o600}


def test_an_artifact_that_cannot_be_saved_does_not_stop_the_others(podium: Shell) -> None:
    run_id = podium.run("long_names", "rain")["run_id"]
    (podium.folder / "made" / "last.txt").mkdir(parents=True)
    with closing(sqlite3.connect(podium.folder / "podium.sqlite")) as db:
        (blob,) = db.execute("SELECT digest FROM blob WHERE data = CAST('other' AS BLOB)").fetchone()
        db.execute("DELETE FROM blob WHERE digest = ?", (blob,))
        db.commit()
    output = podium("artifacts", run_id, "-o", "made", code=1)
    assert "last.txt was not saved: Is a directory." in output.err
    assert "second.md was not saved: The store has no blob" in output.err
    assert "2 of 4 artifacts could not be saved." in output.err
    assert len(output.out.splitlines()) == 2


def test_reports_in_every_format(podium: Shell) -> None:
    run_id = podium.run("say", "hello <b>you</b>")["run_id"]
    podium("report", run_id, "-o", "out/report.html")
    page = (podium.folder / "out" / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h1>Heard</h1>" in page
    assert "<b>you</b>" not in page
    assert "# Heard" in podium("report", run_id).out
    assert podium("report", run_id, "--format", "json").json["output"].startswith("# Heard")
    assert podium("report", run_id, "--json").json["run_id"] == run_id
    written = podium("report", run_id, "-o", "r.md", "--json").json
    assert written["format"] == "md"
    assert (podium.folder / "r.md").read_text().startswith("# hello")
    assert podium("report", run_id, "-o", "out/report.html/x.md", code=2).err


def test_a_report_and_a_result_show_what_was_spent_in_the_same_words(podium: Shell) -> None:
    made = podium.run("costly", str(podium.folder / "marks"))
    data = podium("report", made["run_id"], "--format", "json").json
    assert data["usage"] == made["usage"] == podium("show", made["run_id"], "--json").json["usage"]
    assert data["usage"]["cost_usd"] == 1.0
    assert data["steps"][0]["usage"] == {
        "calls": 1,
        "input_tokens": 100,
        "output_tokens": 0,
        "cost_usd": 0.25,
        "unpriced_calls": 0,
        "unknown_calls": 0,
    }
    assert data["by_agent"] == {"steps": data["usage"]}
    assert data["costs"] == [{"agent": "steps", "model": None, "usage": data["usage"]}]
    assert data["saved"] == dict.fromkeys(data["usage"], 0)
    assert '"usd"' not in podium("report", made["run_id"], "--format", "json").out


def test_hostile_text_never_steers_a_terminal(podium: Shell) -> None:
    output = podium("run", f"{FLOWS}:hostile", "x")
    run_id = podium("runs", "--json").json["runs"][0]["run_id"]
    texts = [
        output.out,
        podium("show", run_id).out,
        podium("events", run_id).out,
        podium("show", run_id, "speak").out,
    ]
    texts.append(podium("run", f"{FLOWS}:failing", "x", code=1).out)
    for text in texts:
        assert "safe red" in text
        assert not set(text) & set("\x1b\x07\x9b\u202e")
