"""`podium prompts`, and runs with prompts of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.workflows.prompt_sets import SETS
from tests.cli.shell import Shell

OWN = Path(".podium") / "prompts"


@pytest.fixture
def podium(podium: Shell) -> Shell:
    (podium.folder / ".git").mkdir()  # settings are not looked for above
    return podium


def change(podium: Shell, prompt: str, text: str = "\nBe brief.\n") -> Path:
    """Copy a prompt and add to the copy."""
    podium("prompts", "copy", prompt)
    file = podium.folder / OWN / f"{prompt}.md"
    file.write_text(file.read_text() + text)
    return file


def test_all_prompts_are_listed_with_hash_and_size(podium: Shell) -> None:
    listed = podium("prompts", "list", "--json").json
    assert {row["workflow"] for row in listed["prompts"]} == set(SETS)
    assert not any(row["overridden"] or row["files"] for row in listed["prompts"])
    assert all(0 < row["characters"] <= row["budget"] and row["tokens"] for row in listed["prompts"])
    assert listed["folders"][0] == str(podium.folder / OWN)
    lines = podium("prompts", "list", "tree").out.splitlines()
    assert lines[0].split() == ["prompt", "characters", "tokens", "hash", "source"]
    assert [line.split()[0] for line in lines[1:]] == ["tree/aggregate", "tree/execute", "tree/plan"]
    assert all(line.endswith("shipped") for line in lines[1:])
    assert "budget" in podium("prompts", "list", "tree", "--sizes").out


def test_a_prompt_is_shown_with_its_parts_in_their_places(podium: Shell) -> None:
    shown = podium("prompts", "show", "tree/plan").out
    assert shown.startswith("# The whole\n")
    assert "include" not in shown
    assert podium("prompts", "show", "tree/plan", "--diff").out == "tree/plan is the shipped prompt.\n"


def test_a_copy_is_used_from_then_on(podium: Shell) -> None:
    output = podium("prompts", "copy", "tree/plan")
    folder = podium.folder / OWN / "tree"
    assert f"✓ {OWN}/tree/plan.md" in output.out
    assert {"plan.md", "_whole.md"} <= {file.name for file in folder.iterdir()}
    assert "(same as shipped)" in podium("prompts", "list", "tree").out
    assert "already exists" in podium("prompts", "copy", "tree/plan", code=2).err
    (folder / "plan.md").write_text("Mine: {{ whole.request }}\n")
    assert podium("prompts", "show", "tree/plan").out == "Mine: {{ whole.request }}\n"
    assert podium("prompts", "show", "tree/plan", "--shipped").out.startswith("# The whole\n")
    diff = podium("prompts", "show", "tree/plan", "--diff").out
    assert diff.startswith("--- tree/plan (shipped)\n+++ tree/plan (yours)\n")
    assert "+Mine: {{ whole.request }}" in diff
    row = {row["task"]: row for row in podium("prompts", "list", "tree", "--json").json["prompts"]}["plan"]
    assert row["overridden"]
    assert row["files"] == [str(folder / "plan.md")]
    assert row["hash"] != row["shipped_hash"]
    assert podium("prompts", "copy", "tree/plan", "--force", "--json").json["kept"] == []
    assert podium("prompts", "show", "tree/plan").out.startswith("# The whole\n")


def test_parts_that_are_there_stay(podium: Shell) -> None:
    podium("prompts", "copy", "tree/plan")
    part = podium.folder / OWN / "tree" / "_whole.md"
    part.write_text("Mine: {{ whole.request }}\n")
    output = podium("prompts", "copy", "tree/execute").out
    assert "_whole.md exists and was kept" in output
    assert part.read_text() == "Mine: {{ whole.request }}\n"


def test_a_copy_elsewhere_says_how_to_use_it(podium: Shell) -> None:
    output = podium("prompts", "copy", "delivery/draft", "--to", "mine").out
    folder = podium.folder / "mine"
    assert f'prompts = "{folder}" in podium.toml' in output
    (folder / "delivery" / "draft.md").write_text("Mine {{ request }}")
    (podium.folder / "podium.toml").write_text('prompts = "mine"\n')
    assert podium("prompts", "show", "delivery/draft").out == "Mine {{ request }}\n"
    (podium.folder / "podium.toml").unlink()
    assert podium("prompts", "show", "delivery/draft", PODIUM_PROMPTS="mine").out == "Mine {{ request }}\n"


def test_a_user_has_a_folder_for_all_projects(podium: Shell) -> None:
    config = podium.folder / "user" / "podium.toml"
    config.parent.mkdir()
    config.write_text("")
    file = config.parent / "prompts" / "delivery" / "draft.md"
    file.parent.mkdir(parents=True)
    file.write_text("User {{ request }}")
    shown = podium("prompts", "show", "delivery/draft", PODIUM_CONFIG=str(config)).out
    assert shown == "User {{ request }}\n"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["show", "tree"], "tree is not of the form WORKFLOW/TASK", "podium prompts list"),
        (["show", "tree/plam"], "tree has no prompt plam", "tree/plan"),
        (["show", "tre/plan"], "no prompts of tre", "tree"),
        (["list", "zzz"], "no prompts of zzz", "delivery"),
        (["show", "tree/plan", "--shipped", "--diff"], "cannot be combined", ""),
    ],
)
def test_a_wrong_name_is_reported(podium: Shell, words: list[str], message: str, hint: str) -> None:
    output = podium("prompts", *words, code=2).err
    assert message in output
    assert hint in output


def test_a_mistake_starts_nothing(podium: Shell) -> None:
    file = change(podium, "tree/plan", "\n{{ titel }}\n")
    line = len(file.read_text().splitlines())
    output = podium("run", "tree", "x", "--model", "rehearsal", code=2).err
    assert f"Error: The prompt {file} uses the unknown variable titel in line {line}." in output
    assert podium("runs", "--json").json["runs"] == []
    assert "unknown variable titel" in podium("prompts", "list", code=2).err


def steps(data: Any) -> dict[str, str]:
    """Hash of the prompt of each step."""
    return {step["path"]: step["about"].get("prompt_hash", "") for step in data["steps"]}


def test_a_run_logs_which_prompts_were_overridden(podium: Shell) -> None:
    change(podium, "tree/plan")
    podium("run", "tree", "x", "--model", "rehearsal", "--max-depth", "1", "--no-floor", "--no-editor")
    shown = podium("show", "last", "--json").json
    digest = shown["config"]["prompts"]["tree/plan"]
    assert list(shown["config"]["prompts"]) == ["tree/plan"]
    assert digest in steps(shown).values()
    assert f"overridden prompts: tree/plan ({digest[:8]})" in podium("show", "last").out
    assert podium("replay", "last").out.startswith("✓ same result")


def test_a_replay_names_the_prompts_that_changed(podium: Shell) -> None:
    podium("run", "tree", "x", "--model", "rehearsal", "--max-depth", "1", "--no-floor", "--no-editor")
    change(podium, "tree/execute")
    output = podium("replay", "last", code=1).out
    assert "✗ different" in output
    assert "Prompts overridden in another way than in the run: tree/execute." in output


def test_a_resume_asks_again_only_what_changed(podium: Shell) -> None:
    options = ("--model", "rehearsal", "--max-depth", "1", "--no-floor", "--no-editor")
    podium("run", "tree", "x", *options, "--max-calls", "3", code=None)
    before = podium("show", "last", "--json").json
    assert before["status"] == "partial"
    change(podium, "tree/execute")
    podium("resume", "last", "--max-calls", "60", code=None)
    after = podium("show", "last", "--json").json
    assert list(after["config"]["prompts"]) == ["tree/execute"]
    assert steps(after)["plan"] == steps(before)["plan"]
    events = podium("events", "last", "--json").lines
    calls = [event["path"] for event in events if event["type"] == "model.attempted"]
    assert calls.count("plan") == 1
    assert calls.count("1-goals/execute") == 2
