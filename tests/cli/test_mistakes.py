"""Wrong input: exit 2, one sentence, a hint, no traceback; as JSON when JSON was asked for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from podium.workflows import SHIPPED
from tests.cli.shell import COMMAND, FLOWS, PATIENCE_S, Output, Shell

CHAIN = f"{FLOWS}:chain"

MISTAKES = [
    (["rum"], "no command 'rum'", "podium run"),
    (["runs", "--lim", "3"], "no option --lim", "--limit"),
    (["runs", "--limit", "many"], "--limit", ""),
    (["runs", "--limit", "0"], "--limit", ""),
    (["runs", "--status", "runing"], "runing", "running"),
    (["runs", "extra"], "'extra'", ""),
    (["--jsno"], "podium has no option --jsno", "after the command"),
    (
        ["run"],
        "needs WORKFLOW",
        f"Shipped workflows: {', '.join(SHIPPED)}; or your own FILE.py.",
    ),
    (["run"], "needs WORKFLOW", "podium run --help"),
    (
        ["run", "tree", "x", "--max-depth", "-1"],
        "The option --max-depth cannot be -1: it must be at least 0.",
        "",
    ),
    (["run", "council", "x", "--rounds", "9"], "The option --rounds cannot be 9: it must be at most 5.", ""),
    (["run", CHAIN], "needs REQUEST", f"podium run {CHAIN} --help"),
    (["run", CHAIN, ""], "empty", "what the run should do"),
    (["run", CHAIN, "  \n "], "empty", ""),
    (["run", CHAIN, "-"], "Standard input is empty", ""),
    (["run", CHAIN, "@missing.txt"], "missing.txt cannot be read", ""),
    (["run", CHAIN, "two", "words"], "'words'", "quotes"),
    (["run", CHAIN, "x", "--round", "2"], "no option --round", "--rounds"),
    (["run", CHAIN, "x", "--zzz"], "no option --zzz", "--rounds"),
    (["run", CHAIN, "x", "--rounds", "few"], "--rounds", ""),
    (["run", CHAIN, "x", "--rounds"], "--rounds needs a value", ""),
    (["run", CHAIN, "x", "--tone", "wet"], "--tone", "dry"),
    (["run", CHAIN, "x", "--max-usd", "-1"], "--max-usd must be an amount", ""),
    (["run", CHAIN, "x", "--max-usd", "some"], "--max-usd must be a number, not 'some'", ""),
    (["run", CHAIN, "x", "--max-usd", "nan"], "--max-usd must be an amount", ""),
    (["run", CHAIN, "x", "--max-calls", "1.5"], "--max-calls", ""),
    (["run", CHAIN, "x", "--time-limit", "soon"], "--time-limit", "podium run --help"),
    (["run", CHAIN, "x", "--concurrency", "0"], "--concurrency must be", ""),
    (["run", CHAIN, "x", "--model", "rehersal"], "no model rehersal", "rehearsal"),
    (["run", CHAIN, "x", "--model", "python:none.py:f"], "none.py", ""),
    (["run", CHAIN, "x", "--model", f"python:{FLOWS}"], "names no function", f"python:{FLOWS}:reply"),
    (["run", CHAIN, "x", "--model", f"python:{FLOWS}:replay"], "no function replay", f"python:{FLOWS}:reply"),
    (["run", CHAIN, "x", "--model", "fast"], "fast is a profile", "[profiles]"),
    (["run", CHAIN, "x", "--model-for", "author"], "ROLE=MODEL", ""),
    (["run", CHAIN, "x", "--approve", "plan"], "no gate plan", ""),
    (["run", f"{FLOWS}:gated", "x", "--approve", "plam"], "no gate plam", "plan"),
    (["run", CHAIN, "x", "--store", "mysql://host/db"], "store", "sqlite"),
    (["run", "chian", "x"], "no workflow chian", "FILE.py:name"),
    (["run", f"{FLOWS}:nothing", "x"], "no workflow nothing", "chain"),
    (["run", str(FLOWS), "x"], "workflows", "chain"),
    (["run", "missing.py:x", "x"], "no file missing.py", ""),
    (["show", "zzzzzzzz"], "zzzzzzzz", ""),
    (["show", "last"], "no run", "podium run"),
    (["resume", "zzzzzzzz"], "zzzzzzzz", ""),
    (["cancel"], "needs RUN", ""),
    (["answer", "last"], "needs ANSWER", ""),
    (["answer", "last", " "], "The answer is empty", "approve, reject"),
    (["fork", "last", "--at", "x"], "no run", ""),
    (["fork", "last", "--model", "rehearsal"], "needs --at", "podium fork last"),
    (["replay", "zzzzzzzz"], "zzzzzzzz", ""),
    (["events", "zzzzzzzz"], "zzzzzzzz", ""),
    (["report", "zzzzzzzz"], "zzzzzzzz", ""),
    (["report", "last", "--format", "pdf"], "pdf", "html"),
    (["report", "last", "-o", "report.pdf"], "cannot be written as .pdf", ".html"),
    (["artifacts", "zzzzzzzz"], "zzzzzzzz", ""),
    (["completion", "tcsh"], "tcsh", "bash"),
]


LONG = "x" * 300
PLACES = [
    ("run", "tree", "x", "--files", "{}"),
    ("run", "tree", "x", "--model", "python:{}.py:reply"),
    ("run", "build", "x", "--workspace", "{}"),
    ("run", "studio", "x", "--team", "{}.yaml"),
    ("run", "research", "x", "--corpus", "{}"),
    ("run", "research", "x", "--brief", "{}.toml"),
    ("run", "{}.py:flow", "x"),
    ("team", "check", "{}.yaml"),
    ("corpus", "add", "{}"),
    ("migrate", "--store", "{}/podium.sqlite"),
    ("runs", "--store", "{}/podium.sqlite"),
    ("serve", "--workspaces", "{}"),
]
"""Wherever a file or a folder is named."""


@pytest.mark.parametrize("words", PLACES, ids=lambda words: " ".join(words))
@pytest.mark.parametrize("name", ["~nobody-of-that-name", LONG, "loop"], ids=["home", "long", "loop"])
def test_a_place_that_cannot_be_is_reported_in_a_sentence(
    podium: Shell, words: tuple[str, ...], name: str
) -> None:
    for suffix in ("", ".py", ".yaml", ".toml"):
        (podium.folder / f"loop{suffix}").symlink_to(f"loop{suffix}")
    output = podium(*(word.format(name) for word in words), code=2)
    first, *rest = output.err.splitlines()
    assert first.startswith("Error: ")
    assert name[:20] in first
    assert len(first) < 300
    assert len(rest) <= 1
    assert "bug" not in output.err
    assert sorted(path.name for path in podium.folder.glob("~*")) == []


@pytest.mark.parametrize(("words", "sentence", "hint"), MISTAKES, ids=lambda part: str(part)[-40:])
def test_a_mistake_is_reported_in_a_sentence_with_a_hint(
    podium: Shell, words: list[str], sentence: str, hint: str
) -> None:
    output = podium(*words, code=2)
    assert output.out == ""
    first = output.err.splitlines()[0]
    assert first.startswith("Error: ")
    assert sentence in first
    assert hint in "\n".join(line for line in output.err.splitlines() if line.startswith("Hint: "))
    assert len(output.err.splitlines()) <= 2
    assert "Traceback" not in output.err
    assert "╭" not in output.err


def test_with_json_the_error_is_one_object_on_stdout(podium: Shell) -> None:
    for words in (["run", CHAIN, "x", "--round", "2"], ["show", "zzzzzzzz"], ["runs", "--limit", "x"]):
        output = podium(*words, "--json", code=2)
        assert list(output.json) == ["error", "hint"]
        assert output.json["error"]
        assert output.err == ""


def test_json_and_events_exclude_each_other(podium: Shell) -> None:
    assert "cannot be combined" in podium("run", CHAIN, "x", "--events", "--json", code=2).out


def test_nothing_is_started_by_a_mistake(podium: Shell) -> None:
    podium("run", CHAIN, "x", "--max-usd", "-1", code=2)
    podium("run", CHAIN, "x", "--model", "nobody", code=2)
    podium("run", f"{FLOWS}:gated", "x", "--approve", "nothing", code=2)
    assert podium("runs", "--json").json == {"runs": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_to_be_found\n", "nowhere_to_be_found"),
        ("def f(:\n", "SyntaxError"),
        ("x = 1\n", "holds"),
    ],
)
def test_a_file_that_is_no_workflow_is_reported_as_such(podium: Shell, text: str, message: str) -> None:
    (podium.folder / "broken.py").write_text(text)
    output = podium("run", "broken.py:flow", "x", code=2)
    assert message in output.err
    assert "Traceback" not in output.err


@pytest.mark.parametrize(
    "words",
    [
        ["runs"],
        ["show"],
        ["events"],
        ["report"],
        ["artifacts"],
        ["replay"],
        ["resume"],
        ["cancel", "last"],
        ["answer", "last", "x"],
        ["fork", "last", "--at", "x"],
    ],
    ids=lambda words: str(words[0]),
)
def test_a_store_that_is_not_there_is_refused_and_not_made(podium: Shell, words: list[str]) -> None:
    output = podium(*words, "--store", "typo.sqlite", code=2)
    assert f"There is no store {podium.folder / 'typo.sqlite'}" in output.err
    assert list(podium.folder.iterdir()) == []


def test_a_run_makes_the_store_that_it_names_and_the_default_one_may_be_empty(podium: Shell) -> None:
    podium("run", CHAIN, "x", "--store", "new.sqlite", "--json")
    assert len(podium("runs", "--store", "new.sqlite", "--json").json["runs"]) == 1
    fresh = str(podium.folder / "data")
    assert podium("runs", "--json", PODIUM_STORE="", XDG_DATA_HOME=fresh).json == {"runs": []}


def test_a_store_that_is_no_store_is_refused(podium: Shell) -> None:
    (podium.folder / "text.sqlite").write_text("this is not a database, it is only text " * 100)
    output = podium("runs", "--store", "text.sqlite", code=2)
    assert "text.sqlite" in output.err


def test_a_store_where_nothing_can_be_written_is_refused(podium: Shell) -> None:
    (podium.folder / "file").write_text("")
    output = podium("run", f"{FLOWS}:say", "x", "--store", "file/podium.sqlite", code=2)
    assert output.err.startswith("Error: ")
    assert "file" in output.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(podium: Shell, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert podium("run", f"{FLOWS}:say", "x", "--store", "locked/podium.sqlite", code=2).err


def test_a_wrong_settings_file_is_named_with_its_key(podium: Shell) -> None:
    (podium.folder / "podium.toml").write_text("max_uds = 1\n")
    output = podium("runs", code=2)
    assert "max_uds" in output.err
    assert "podium.toml" in output.err
    assert "max_usd" in output.err


def test_an_unexpected_error_is_called_a_bug_and_shows_its_traceback_only_on_demand(podium: Shell) -> None:
    (podium.folder / "odd.py").write_text(
        "import podium\n\n"
        "class Odd(podium.Workflow):\n"
        "    def check_gates(self, given):\n"
        "        raise LookupError('lost')\n\n"
        "async def fn(run, request):\n"
        "    return request\n\n"
        "odd = Odd(fn, 'odd')\n"
    )
    output = podium("run", "odd.py:odd", "x", code=1)
    assert "this is a bug in Podium: LookupError: lost" in output.err
    assert "Traceback" not in output.err
    assert "Traceback" in podium("run", "odd.py:odd", "x", code=1, PODIUM_DEBUG="1").err
    assert "this is a bug" in podium("run", "odd.py:odd", "x", "--json", code=1).json["error"]


def test_a_file_that_leaves_while_it_is_imported_is_reported_as_such(podium: Shell) -> None:
    (podium.folder / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    assert "leaving.py" in podium("run", "leaving.py:flow", "x", code=2).err


def in_shell(podium: Shell, script: str, *words: str) -> Output:
    """Run a line of shell in which `podium` is `"$@"`."""
    completed = subprocess.run(
        ["sh", "-c", script, "sh", *COMMAND, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=podium.folder,
        env=podium.env,
        timeout=PATIENCE_S,
        check=False,
    )
    return Output(completed)


def test_a_standard_input_that_is_closed_is_an_empty_one(podium: Shell) -> None:
    """As it is for what a daemon starts: it had ended in an error, with the run left behind."""
    output = in_shell(podium, 'exec "$@" <&-', "run", CHAIN, "x", "--json")
    assert (output.code, output.json["status"], output.err) == (0, "completed", "")
    output = in_shell(podium, 'exec "$@" <&-', "run", CHAIN, "-")
    assert output.code == 2
    assert "Standard input is empty" in output.err


def test_a_folder_that_is_gone_is_reported(podium: Shell) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    for words in (["runs"], ["run", CHAIN, "x"]):
        output = in_shell(podium, script, *words)
        assert (output.code, output.out) == (2, "")
        assert output.err.splitlines() == [
            "Error: The current folder was deleted.",
            "Hint: Go to another one: cd ~",
        ]


def test_the_mark_that_some_editors_write_is_no_part_of_a_request(podium: Shell) -> None:
    (podium.folder / "request.txt").write_text("Plan a trip", encoding="utf-8-sig")
    words = ["run", CHAIN, "--json"]
    from_file = podium(*words, "@~/request.txt", HOME=str(podium.folder)).json
    from_pipe = podium(*words, "-", stdin="\ufeffPlan a trip").json
    typed = podium(*words, "Plan a trip").json
    assert from_file["output"] == from_pipe["output"] == typed["output"]


def test_home_is_one_place_whatever_is_done_there(podium: Shell) -> None:
    """Looked for in one place and used in another, it was not found, or written to a folder called ~."""
    (podium.folder / "own.py").write_text(FLOWS.read_text("utf-8"), "utf-8")
    (podium.folder / "out").mkdir()
    home = str(podium.folder)
    made = podium("run", "~/own.py:chain", "x", "--json", HOME=home).json
    assert made["status"] == "completed"
    podium("artifacts", "last", "-o", "~/out", HOME=home)
    assert list((podium.folder / "out").iterdir())
    assert not (podium.folder / "~").exists()
