"""Ctrl-C, SIGTERM and a reader that goes away: the run is paused, and can be resumed."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import COMMAND, FLOWS, Shell


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_call_finish_pauses_and_prints_how_to_go_on(
    podium: Shell, number: signal.Signals
) -> None:
    driver = podium.start("run", f"{FLOWS}:patient", str(podium.folder), PODIUM_PAUSE_GRACE="1m")
    assert driver.stdout is not None
    output = ""
    for line in driver.stdout:
        output += line.decode()
        if b"marked" in line:
            driver.send_signal(number)
        if b"Pausing" in line:
            (podium.folder / "go").touch()
    assert driver.wait(60) == 130
    run_id = podium("runs", "--json").json["runs"][0]["run_id"]
    assert "calls in flight get 60 s to finish" in output
    assert "■ paused" in output
    assert f"podium resume {run_id}" in output
    events = podium("events", run_id, "--json").lines
    assert [event["path"] for event in events if event["type"] == "step.completed"] == ["mark", "wait"]
    assert events[-1]["type"] == "run.paused"
    (podium.folder / "go").unlink()
    assert podium("resume", run_id, "--json").json["output"] == "done"
    assert (podium.folder / "marks").read_text() == "ran\n"
    assert (podium.folder / "ends").read_text() == "ran\n"


def test_a_second_signal_stops_at_once_and_with_json_there_is_still_one_object(podium: Shell) -> None:
    driver = podium.start("run", f"{FLOWS}:patient", str(podium.folder), "--json")
    while not (podium.folder / "marks").exists():
        assert driver.poll() is None
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGTERM)
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert b'"status":"paused"' in out
    assert err == b""
    assert podium("runs", "--json").json["runs"][0]["status"] == "paused"


def test_an_interrupt_out_of_a_model_function_still_gives_one_object_and_leaves_a_run(podium: Shell) -> None:
    output = podium(
        "run", f"{FLOWS}:chain", "x", "--model", f"python:{FLOWS}:press_ctrl_c", "--json", code=130
    )
    assert output.json["error"] == "Interrupted."
    assert "podium resume last" in output.json["hint"]
    assert "Traceback" not in output.err
    assert podium("resume", "last", "--model", "rehearsal", "--json").json["status"] == "completed"


def test_watching_ends_quietly_with_a_signal(podium: Shell) -> None:
    podium.start("run", f"{FLOWS}:patient", str(podium.folder))
    while not podium("runs", "--status", "running", "--json").json["runs"]:
        pass
    watcher = podium.start("events", "last", "--follow", "--json")
    assert watcher.stdout is not None
    assert watcher.stdout.readline()
    watcher.send_signal(signal.SIGINT)
    _, err = watcher.communicate(timeout=60)
    assert (watcher.returncode, err) == (130, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("flag", ["--json", "--quiet", "--concurrency=2"])
def test_output_that_cannot_be_written_is_reported_in_a_sentence(podium: Shell, flag: str) -> None:
    with Path("/dev/full").open("wb") as full:
        completed = subprocess.run(
            [*COMMAND, "run", f"{FLOWS}:say", "x", flag],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=podium.folder,
            env=podium.env,
            check=False,
        )
    assert completed.returncode == 4
    assert completed.stderr.startswith(b"Error: The output cannot be written: the disk is full.\nHint: ")
    assert b"Traceback" not in completed.stderr


def test_a_reader_that_goes_away_pauses_the_run(podium: Shell) -> None:
    driver = podium.start("run", f"{FLOWS}:patient", str(podium.folder), "--twice", "--events")
    assert driver.stdout is not None
    for line in driver.stdout:
        if b'"path":"wait"' in line:
            break
    driver.stdout.close()
    (podium.folder / "go").touch()
    assert driver.wait(60) == 141
    assert driver.stderr is not None
    assert driver.stderr.read() == b""
    assert podium("runs", "--json").json["runs"][0]["status"] == "paused"
    assert podium("events", "last", "--json").lines[-1]["type"] == "run.paused"
