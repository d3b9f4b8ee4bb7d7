"""`podium brain`: facts are read, reviewed, searched, written and forgotten; mistakes are one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Output, Shell

CANON = (
    ("Elena Marsh", "eye colour", "green"),
    ("Elena Marsh", "nickname", "Ellie"),
    ("Marcus", "status", "dead"),
)
NEW = (("Ellie", "eyes", "blue"), ("Marcus", "says", "We should leave."), ("Tomas", "age", "40"))


def lines(*facts: tuple[str, str, str], **more: str) -> str:
    return "".join(
        json.dumps({"subject": s, "predicate": p, "value": v, "kind": "character", **more}) + "\n"
        for s, p, v in facts
    )


@pytest.fixture
def lighthouse(podium: Shell) -> Shell:
    """A project with canon from one run and proposals of another."""
    facts_text = lines(*CANON, source_run="run-one", status="accepted", quote="her green eyes")
    facts_text += lines(*NEW, source_run="run-two")
    podium("brain", "import", "-", "--project", "lighthouse", stdin=facts_text)
    return podium


def facts(podium: Shell, status: str = "accepted") -> dict[str, dict[str, Any]]:
    listed = podium("brain", "show", "--status", status, "--json").json["facts"]
    return {fact["value"]: fact for fact in listed}


def refused(output: Output, sentence: str) -> None:
    assert output.code == 2
    assert re.search(sentence, output.err), output.err
    assert "Traceback" not in output.err
    assert output.out == ""


# ── looking ──


def test_an_empty_store_says_so(podium: Shell) -> None:
    assert "There are no projects with facts yet." in podium("brain", "show").out
    assert podium("brain", "show", "--json").json == {"projects": []}
    for words in (["search", "x"], ["export"], ["forget", "--all", "--yes"], ["embed"]):
        refused(podium("brain", *words, code=2), "There are no projects with facts yet")


def test_the_only_project_is_shown_and_several_are_listed(lighthouse: Shell) -> None:
    shown = lighthouse("brain", "show").out
    assert "lighthouse  3 facts accepted · 3 waiting for review" in shown
    assert "Elena Marsh" in shown
    lighthouse("brain", "import", "-", "--project", "harbour", stdin=lines(("A", "b", "c")))
    listed = lighthouse("brain", "show").out
    assert re.search(r"lighthouse +3 +3 +0", listed)
    assert re.search(r"harbour +0 +1 +0", listed)
    projects = lighthouse("brain", "show", "--json").json["projects"]
    assert [project["project"] for project in projects] == ["harbour", "lighthouse"]
    refused(lighthouse("brain", "search", "x", code=2), "There are several projects")
    refused(lighthouse("brain", "show", "--project", "harbor", code=2), "no project 'harbor'")
    assert lighthouse("brain", "show", "--project", "harbour", "--json").json["proposed"] == 1


def test_one_fact_is_shown_with_its_source_and_history(lighthouse: Shell) -> None:
    fact = facts(lighthouse)["green"]
    shown = lighthouse("brain", "show", fact["id"][:6]).out
    assert "“her green eyes”" in shown
    assert "run run-one" in shown
    assert "imported by import" in shown
    assert lighthouse("brain", "show", fact["id"], "--json").json["history"][0]["action"] == "imported"
    refused(lighthouse("brain", "show", "zzzz", code=2), "no fact 'zzzz'")


def test_a_search_finds_by_name_and_by_word(lighthouse: Shell) -> None:
    data = lighthouse("brain", "search", "ellie", "--json").json
    assert {fact["subject"] for fact in data["facts"]} == {"Elena Marsh"}
    assert data["warning"] == ""
    assert "No fact matches." in lighthouse("brain", "search", "submarine").out
    refused(lighthouse("brain", "search", " ", code=2), "The search text is empty")
    refused(lighthouse("brain", "search", "x", "--limit", "0", code=2), "at least 1")


def test_control_characters_of_a_fact_do_not_reach_the_terminal(podium: Shell) -> None:
    podium("brain", "import", "-", "--project", "p", "--accept", stdin=lines(("E\x1b[31m", "says", "\x07x")))
    for words in (["show"], ["search", "says"]):
        assert "\x1b" not in podium("brain", *words).out


# ── review ──


def test_a_review_without_a_terminal_lists_what_waits_and_what_contradicts(lighthouse: Shell) -> None:
    output = lighthouse("brain", "review", "run-two")
    assert "! high: Elena Marsh, eye colour: another colour" in output.out
    assert "! critical: Marcus is dead in canon" in output.out
    assert "podium brain review run-two --accept all" in output.out
    data = lighthouse("brain", "review", "run-two", "--json").json
    assert [fact["value"] for fact in data["waiting"]] == ["blue", "We should leave.", "40"]
    assert [clash["severity"] for clash in data["contradictions"]] == ["high", "critical"]


def test_accepting_all_leaves_contradictions_and_says_how_to_go_on(lighthouse: Shell) -> None:
    output = lighthouse("brain", "review", "run-two", "--accept", "all")
    assert "1 accepted; 2 left to review." in output.out
    assert "--replace " in output.out
    assert set(facts(lighthouse)) == {"green", "Ellie", "dead", "40"}


def test_decisions_by_id(lighthouse: Shell) -> None:
    waiting = facts(lighthouse, "proposed")
    eyes, line, age = (waiting[value]["id"] for value in ("blue", "We should leave.", "40"))
    output = lighthouse(
        "brain",
        "review",
        "run-two",
        "--replace",
        eyes,
        "--discard",
        line[:6],
        "--edit",
        f"{age}=41",
        "--accept",
        age,
        "--by",
        "Ada",
        "--json",
    ).json
    assert (output["accepted"], output["discarded"], output["edited"]) == ([age, eyes], [line], [age])
    assert len(output["replaced"]) == 1
    assert set(facts(lighthouse)) == {"Ellie", "dead", "blue", "41"}
    history = lighthouse("brain", "show", age).out
    assert "edited by Ada; value: 40 → 41" in history
    assert "accepted by Ada" in history
    assert f"replaced by Ada with {eyes}: blue" in lighthouse("brain", "show", output["replaced"][0]).out


def test_a_decision_can_be_taken_back(lighthouse: Shell) -> None:
    green = facts(lighthouse)["green"]["id"]
    lighthouse("brain", "review", "run-one", "--discard", green)
    assert "green" not in facts(lighthouse)
    lighthouse("brain", "review", "run-one", "--accept", green)
    assert "green" in facts(lighthouse)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--accept", "zzzz"], "no fact 'zzzz'"),
        (["--edit", "nothing"], "not of the form ID=VALUE"),
        (["--edit", "abcd.colour=x"], "cannot be edited"),
        (["--edit", "abcd.kind=ghost"], "There is no kind 'ghost'"),
        (["--accept", "all", "--discard", "all"], "--discard all cannot be combined"),
        (["--replace", "all"], "needs ids"),
        (["--accept"], "--accept needs a value"),
    ],
)
def test_a_mistaken_decision_changes_nothing(lighthouse: Shell, words: list[str], sentence: str) -> None:
    refused(lighthouse("brain", "review", "run-two", *words, code=2), sentence)
    assert len(facts(lighthouse, "proposed")) == 3


def test_a_fact_can_be_decided_in_one_way_only(lighthouse: Shell) -> None:
    age = facts(lighthouse, "proposed")["40"]["id"]
    refused(
        lighthouse("brain", "review", "run-two", "--accept", age, "--discard", age, code=2),
        "more than one of --accept",
    )


def test_a_run_without_facts_and_a_run_that_is_not_there(podium: Shell) -> None:
    run = podium.run("say", "hello")
    assert "proposes no facts" in podium("brain", "review").out
    assert podium("brain", "review", run["run_id"], "--json").json["waiting"] == []
    refused(podium("brain", "review", "nosuchrun", code=2), "no run nosuchrun")


def test_everything_that_waits_in_a_project_can_be_reviewed(lighthouse: Shell) -> None:
    lighthouse("brain", "import", "-", "--project", "lighthouse", stdin=lines(("Ida", "age", "70")))
    data = lighthouse("brain", "review", "--project", "lighthouse", "--json").json
    assert len(data["waiting"]) == 4


# ── files ──


def test_an_export_is_read_again_as_the_same(lighthouse: Shell) -> None:
    written = lighthouse("brain", "export").raw
    lighthouse("brain", "export", "facts.jsonl")
    assert (lighthouse.folder / "facts.jsonl").read_bytes() == written
    lighthouse("brain", "forget", "--all", "--yes")
    output = lighthouse("brain", "import", "facts.jsonl").out
    assert "Read 6 new facts (lighthouse 6)." in output
    assert lighthouse("brain", "export").raw == written
    assert "0 new facts" in lighthouse("brain", "import", "facts.jsonl").out
    assert lighthouse("brain", "export", "--json").json["exported"] == 6
    assert lighthouse("brain", "export", "x.jsonl", "--status", "proposed", "--json").json["exported"] == 3
    assert lighthouse("brain", "import", "x.jsonl", "--json").json == {
        "imported": 0,
        "known": 3,
        "projects": {"lighthouse": 0},
    }


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nonsense", "stdin, line 2: this is not JSON"),
        ('{"subject":"a","predicate":"b","valeu":"c"}', "line 2: .*unknown field `valeu`"),
        ('{"subject":"a","predicate":"b","value":"c"}', "name no project"),
    ],
)
def test_a_file_with_a_mistake_leaves_no_fact_behind(podium: Shell, line: str, sentence: str) -> None:
    good = lines(("Elena", "eyes", "green"), project="p")
    refused(podium("brain", "import", "-", stdin=good + line, code=2), sentence)
    assert podium("brain", "show", "--json").json == {"projects": []}


def test_files_that_cannot_be_read_or_written_are_reported(lighthouse: Shell) -> None:
    refused(lighthouse("brain", "import", "missing.jsonl", code=2), "missing.jsonl cannot be read")
    refused(lighthouse("brain", "export", "no/such/folder", code=2), "cannot be written")


# ── forgetting ──


def test_forgetting_needs_consent_and_says_what_is_gone(lighthouse: Shell) -> None:
    green = facts(lighthouse)["green"]["id"]
    refused(lighthouse("brain", "forget", green, code=2), "needs a confirmation")
    refused(lighthouse("brain", "forget", "--yes", code=2), "needs exactly one of")
    refused(lighthouse("brain", "forget", "zzzz", "--yes", code=2), "no fact 'zzzz'")
    refused(
        lighthouse("brain", "forget", "--run", "other", "--yes", code=2), "has no fact from a run 'other'"
    )
    assert "Forgot 1 fact of lighthouse." in lighthouse("brain", "forget", green, "--yes").out
    assert lighthouse("brain", "forget", "--run", "run-two", "--yes", "--json").json["forgotten"] == 3
    assert set(facts(lighthouse, "all")) == {"Ellie", "dead"}


# ── meaning, and the rest ──


def test_search_by_meaning_with_a_function_of_one_s_own(lighthouse: Shell, tmp_path: Path) -> None:
    refused(lighthouse("brain", "embed", code=2), "No embedding model is configured")
    (tmp_path / "own.py").write_text(
        "def embed(texts):\n    return [[1.0, 9.0 * ('dead' in t or 'grave' in t)] for t in texts]\n"
    )
    (tmp_path / "podium.toml").write_text('[brain]\nembedding = "python:own.py:embed"\n')
    assert "Embedded 3 facts of lighthouse." in lighthouse("brain", "embed").out
    data = lighthouse("brain", "search", "graveyard", "--json").json
    assert data["facts"][0]["value"] == "dead"
    (tmp_path / "own.py").write_text("def embed(texts):\n    raise RuntimeError('no luck')\n")
    output = lighthouse("brain", "search", "Marcus")
    assert "dead" in output.out
    assert "no luck" in output.err
    lighthouse("brain", "review", "run-two", "--accept", "all")
    refused_embed = lighthouse("brain", "embed", code=1)
    assert "no luck" in refused_embed.err


def test_a_wrong_setting_is_reported(podium: Shell, tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text('[brain]\nembeding = "x"\n')
    refused(podium("brain", "show", code=2), "`brain` in .* must be a table with `embedding`")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["shwo"], "podium brain has no 'shwo'"),
        (["show", "--statsu", "all"], "has no option --statsu"),
        (["search"], "needs TEXT"),
        (["import"], "needs FILE"),
    ],
)
def test_a_misspelt_command_is_reported(podium: Shell, words: list[str], sentence: str) -> None:
    refused(podium("brain", *words, code=2), sentence)


def test_help_shows_what_there_is(podium: Shell) -> None:
    page = podium("brain", "--help").out
    for name in ("show", "search", "review", "forget", "export", "import", "embed"):
        assert f"  {name} " in page
    assert "Accept, edit or discard the facts that a run proposes." in podium("brain", "review", "--help").out
    assert "brain " in podium("--help").out
