"""`resume`, `cancel`, `answer`, `fork`, `replay`: what is done to a run from outside."""

from __future__ import annotations

import signal
import subprocess

from tests.cli.shell import FLOWS, Shell


def drive_patiently(podium: Shell) -> tuple[subprocess.Popen[bytes], str]:
    """A run of `patient` in another process that stands in its second step; and its id."""
    driver = podium.start("run", f"{FLOWS}:patient", str(podium.folder), "--events")
    assert driver.stdout is not None
    for line in driver.stdout:
        if b'"step.started"' in line and b'"path":"wait"' in line:
            break
    return driver, podium("runs", "--json").json["runs"][0]["run_id"]


def test_a_killed_run_is_resumed_and_repeats_nothing_that_was_finished(podium: Shell) -> None:
    driver, run_id = drive_patiently(podium)
    driver.kill()
    driver.communicate()
    assert podium("runs", "--json").json["runs"][0]["status"] == "paused"
    (podium.folder / "go").touch()
    assert podium("resume", run_id, "--json").json["output"] == "done"
    assert (podium.folder / "marks").read_text() == "ran\n"


def test_a_run_that_somebody_drives_is_refused_with_the_holder(podium: Shell) -> None:
    driver, run_id = drive_patiently(podium)
    output = podium("resume", run_id, code=2)
    assert str(driver.pid) in output.err
    assert f"podium events {run_id} --follow" in output.err


def test_take_over_fences_the_other_process(podium: Shell) -> None:
    driver, run_id = drive_patiently(podium)
    driver.send_signal(signal.SIGSTOP)
    (podium.folder / "go").touch()
    assert podium("resume", run_id, "--take-over", "--json").json["output"] == "done"
    driver.send_signal(signal.SIGCONT)
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode == 1
    assert b"taken over" in errors
    events = podium("events", run_id, "--json").lines
    assert [event["type"] for event in events].count("run.completed") == 1


def test_a_finished_run_cannot_be_resumed_but_forked(podium: Shell) -> None:
    run_id = podium.run("say", "x")["run_id"]
    output = podium("resume", run_id, code=2)
    assert "nothing to resume" in output.err
    assert f"podium fork {run_id}" in output.err


def test_new_totals_are_checked_and_go_on_from_what_was_spent(podium: Shell) -> None:
    marks = podium.folder / "marks"
    run_id = podium.run("costly", str(marks), "--max-usd", "0.5", code=4)["run_id"]
    assert "--max-usd must be" in podium("resume", run_id, "--max-usd", "-1", code=2).err
    assert podium("resume", run_id, "--max-usd", "0.75", "--json", code=4).json["usage"]["calls"] == 3
    assert podium("resume", run_id, "--max-usd", "5", "--json").json["output"] == "spent"
    assert marks.read_text() == "ran\n" * 4


def test_a_resumed_run_is_introduced_with_its_new_totals(podium: Shell) -> None:
    podium.run("costly", str(podium.folder / "marks"), "--max-usd", "0.5", code=4)
    assert podium("resume", "last", "--max-usd", "5").out.splitlines()[1].endswith("at most $5.00")


def test_cancel_ends_a_run_in_another_process(podium: Shell) -> None:
    driver, run_id = drive_patiently(podium)
    assert podium("cancel", run_id, "--reason", "wrong folder", "--json").json["status"] == "cancelled"
    driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "cancelled" in podium("cancel", run_id, code=2).err


def test_cancel_of_a_waiting_run_needs_no_driver(podium: Shell) -> None:
    run_id = podium.run("asking", "x", code=5)["run_id"]
    assert f"Run {run_id} is cancelled." in podium("cancel", run_id).out


def test_an_answer_drives_the_run_on(podium: Shell) -> None:
    run_id = podium.run("asking", "x", code=5)["run_id"]
    first = podium("answer", run_id, "approve", code=5)
    assert "Under which name?" in first.out
    assert f"podium answer {run_id} TEXT" in first.out
    assert podium("answer", run_id, "Ada L.", "--json").json["output"] == "approve as Ada L."


def test_a_detached_answer_waits_in_the_inbox(podium: Shell) -> None:
    run_id = podium.run("asking", "x", code=5)["run_id"]
    assert podium("answer", run_id, "reject", "--detach", "--json").json["answer"] == "reject"
    assert podium("runs", "--json").json["runs"][0]["status"] == "waiting"
    assert "Under which name?" in podium("resume", run_id, code=5).out


def test_an_answer_to_a_run_whose_driver_was_killed_says_that_nobody_drives_it(podium: Shell) -> None:
    driver, run_id = drive_patiently(podium)
    driver.kill()
    driver.wait(60)
    output = podium("answer", run_id, "approve", code=2).err
    assert "no open question" in output
    assert "It is paused" in output


def test_an_answer_that_is_no_choice_is_refused(podium: Shell) -> None:
    run_id = podium.run("asking", "x", code=5)["run_id"]
    output = podium("answer", run_id, "maybe", code=2)
    assert "approve, reject" in output.err
    assert "no open question" in podium("answer", podium.run("say", "x")["run_id"], "approve", code=2).err
    assert "Publish it?" in podium("answer", run_id, "approve", "--question", "nowhere", code=2).err


def test_fork_lists_the_steps_suggests_the_nearest_and_takes_an_edited_reply(podium: Shell) -> None:
    run_id = podium.run("chain", "rain", "--rounds", "1")["run_id"]
    assert podium("fork", run_id, "--json").json["steps"] == ["draft", "polish/improve"]
    assert "polish/improve" in podium("fork", run_id).out
    assert "polish/improve" in podium("fork", run_id, "--at", "polish/improv", code=2).err
    (podium.folder / "reply.txt").write_text("my own draft\n")
    forked = podium("fork", run_id, "--at", "draft", "--reply", "reply.txt", "--json").json
    assert forked["status"] == "completed"
    steps = {step["path"]: step for step in podium("show", forked["run_id"], "--json").json["steps"]}
    assert steps["draft"]["edited"]
    assert podium("show", forked["run_id"], "draft", "--json").json["result"] == "my own draft"
    assert podium("show", forked["run_id"], "--json").json["parent"] == run_id
    assert "my own draft" in podium("show", forked["run_id"], "polish/improve", "--json").json["prompt"]


def test_fork_with_another_prompt_or_model(podium: Shell) -> None:
    run_id = podium.run("chain", "rain")["run_id"]
    (podium.folder / "prompt.txt").write_text("Draft snow")
    forked = podium("fork", run_id, "--at", "draft", "--prompt", "prompt.txt", "--json").json["run_id"]
    assert podium("show", forked, "draft", "--json").json["prompt"] == "Draft snow"
    other = podium(
        "fork", run_id, "--at", "polish/improve", "--model", f"python:{FLOWS}:reply", "--json"
    ).json
    assert podium("show", other["run_id"], "polish/improve", "--json").json["result"] == "from python"
    output = podium("fork", run_id, "--at", "draft", "--model", "rehearsal", "--prompt", "prompt.txt", code=2)
    assert "cannot be combined" in output.err
    assert "missing.txt" in podium("fork", run_id, "--at", "draft", "--reply", "missing.txt", code=2).err


def test_replay_finds_the_same_result_without_a_call(podium: Shell) -> None:
    run_id = podium.run("chain", "rain")["run_id"]
    assert "same result" in podium("replay", run_id).out
    assert podium("replay", run_id, "--json").json["same"] is True
    failed = podium.run("failing", "x", code=1)["run_id"]
    assert podium("replay", failed, "--json").json["same"] is True


def test_replay_says_where_changed_code_differs(podium: Shell) -> None:
    text = (
        "import podium\n\ndef work(x: int) -> int:\n    return x\n\n"
        "@podium.workflow\nasync def flow(run, request):\n    return await run.step('work', work, 1)\n"
    )
    (podium.folder / "mine.py").write_text(text)
    run_id = podium("run", "mine.py", "x", "--json").json["run_id"]
    (podium.folder / "mine.py").write_text(text.replace("work, 1", "work, 22"))
    output = podium("replay", run_id, "--json", code=1)
    assert output.json["same"] is False
    assert output.json["diverged_at"] == "work"
    assert "work" in podium("replay", run_id, code=1).out


def test_replay_of_a_run_that_is_not_over_is_refused(podium: Shell) -> None:
    run_id = podium.run("asking", "x", code=5)["run_id"]
    assert "only a run that came to its end" in podium("replay", run_id, code=2).err
