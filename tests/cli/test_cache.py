"""`podium run --cache` and `podium cache`: what is held, what was saved, and how it is emptied."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell

FLOW = """
import podium

writer = podium.Agent("writer")


@podium.workflow
async def flow(run: podium.Run, request: str) -> list[str]:
    asked = {str(n): run.ask(writer, "draft", prompt="the same") for n in range(3)}
    return [one.unwrap() for one in (await run.gather(asked)).values()]


async def answer(call):
    with open("calls", "a") as file:
        file.write("x")
    with open("calls") as file:
        return f"reply {len(file.read())}"
"""
MODEL = "python:flow.py:answer"


def prepare(podium: Shell) -> Path:
    (podium.folder / "flow.py").write_text(FLOW)
    return podium.folder / "calls"


def run(podium: Shell, *words: str, **env: str) -> dict[str, object]:
    return podium("run", "flow.py", "x", "--model", MODEL, "--json", *words, code=0, **env).json


def test_a_second_run_is_served_from_the_cache_of_the_first(podium: Shell) -> None:
    calls = prepare(podium)
    first, second = run(podium, "--cache"), run(podium, "--cache", "--max-calls", "0")
    assert (first["output"], calls.read_text()) == (second["output"], "xxx")
    assert second["status"] == "completed"
    usage = second["usage"]
    assert isinstance(usage, dict)
    assert (usage["calls"], usage["cached_calls"]) == (0, 3)


def test_without_the_flag_nothing_is_cached_and_settings_can_ask_for_it(podium: Shell) -> None:
    calls = prepare(podium)
    run(podium)
    run(podium, PODIUM_CACHE="true")
    run(podium, PODIUM_CACHE="true")
    run(podium, "--no-cache", PODIUM_CACHE="true")
    assert len(calls.read_text()) == 9


def test_a_person_sees_what_came_from_the_cache(podium: Shell) -> None:
    prepare(podium)
    run(podium, "--cache")
    shown = podium("run", "flow.py", "x", "--model", MODEL, "--cache").out
    assert "3 from the cache" in shown
    assert "cached" in next(line for line in shown.splitlines() if "0/draft" in line)
    assert "3 from the cache" in podium("show", "last").out
    assert "python:flow.py:answer from the cache, answer 1" in podium("show", "last", "0/draft").out
    assert podium("show", "last", "0/draft", "--json").json["cached_calls"] == 1
    events = podium("events", "last", "--json").lines
    assert [event["data"]["number"] for event in events if event["type"] == "model.cached"] == [1, 2, 3]
    assert "3 calls from the cache" in podium("report", "last", "--format", "md").out
    assert "3 from the cache" in podium("report", "last", "--format", "html").out
    assert json.loads(podium("report", "last", "--format", "json").out)["saved"]["calls"] == 3


def test_stats_show_what_is_held_and_saved(podium: Shell) -> None:
    prepare(podium)
    assert "The cache is empty." in podium("cache").out
    for _ in range(2):
        run(podium, "--cache")
    data = podium("cache", "stats", "--json").json
    assert (data["entries"], data["hits"], data["saved_calls"], data["limit_bytes"]) == (3, 3, 3, 500_000_000)
    assert [share["model"].endswith("flow.py:answer") for share in data["models"]] == [True]
    assert data["bytes"] > 0 < len(data["oldest"])
    lines = podium("cache").out.splitlines()
    assert lines[0].startswith("3 answers, ")
    assert lines[0].endswith("3 calls saved, $0.00")
    assert lines[2].split()[:2] == [MODEL, "3"]


def test_clear_needs_consent_and_shows_what_it_removed(podium: Shell) -> None:
    prepare(podium)
    run(podium, "--cache")
    refused = podium("cache", "clear", code=2)
    assert refused.err == "Error: Clearing the cache needs a confirmation.\nHint: Add --yes.\n"
    assert podium("cache", "--json").json["entries"] == 3
    cleared = podium("cache", "clear", "--older-than", "30d", "--yes", "--json").json
    assert cleared == {"cleared": {"entries": 0, "bytes": 0}}
    assert podium("cache", "clear", "--model", MODEL, "--yes").out.startswith("Cleared 3 answers, ")
    assert podium("cache", "--json").json["models"] == []


def test_a_person_is_asked_before_anything_is_cleared(podium: Shell) -> None:
    prepare(podium)
    run(podium, "--cache")
    terminal = podium.terminal("cache", "clear")
    terminal.until("Remove the cached answers?")
    terminal.type("no\r")
    assert terminal.wait() == 0
    assert podium("cache", "--json").json["entries"] == 3
    terminal = podium.terminal("cache", "clear", "--older-than", "1ms")
    terminal.until("that were not used for that long?")
    terminal.type("yes\r")
    assert terminal.wait() == 0
    assert podium("cache", "--json").json["entries"] == 0


def test_mistakes_are_one_sentence(podium: Shell) -> None:
    prepare(podium)
    run(podium, "--cache")
    wrong = podium("cache", "clear", "--model", "python:flow.py:answr", "--yes", code=2).err
    assert "The cache holds no answer of python:flow.py:answr." in wrong
    assert f"Did you mean {MODEL}?" in wrong
    assert "options of `podium cache clear`" in podium("cache", "--yes", code=2).err
    assert "is not a duration" in podium("cache", "clear", "--older-than", "soon", code=2).err
    assert "stats" in podium("cache", "empty", code=2).err
    assert "a size such as 500MB or 2GB" in podium("cache", code=2, PODIUM_CACHE_SIZE="big").err


def test_the_cache_keeps_to_its_size(podium: Shell) -> None:
    """Looked at with the first answer that a process keeps: the second run finds too much and makes room."""
    prepare(podium)
    for flow in ("the same", "another"):
        (podium.folder / "flow.py").write_text(FLOW.replace("the same", flow))
        run(podium, "--cache", PODIUM_CACHE_SIZE="100")
    assert podium("cache", "--json").json["entries"] < 6
