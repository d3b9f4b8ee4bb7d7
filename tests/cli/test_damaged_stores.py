"""Every command that opens a store, with stores that are damaged: one sentence, a hint, no traceback."""

from __future__ import annotations

import inspect
import os
import re
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from podium.cli.app import COMMANDS, FAMILIES
from podium.cli.main import main
from tests.cli.damage import DAMAGES, FINISHED, WAITING, damaged, make_store
from tests.cli.shell import FLOWS, Shell

FLOW = f"{FLOWS}:say"
WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "run": ((FLOW, "hello", "--model", "rehearsal"),),
    "chat": (("--resume", "WAITING"),),
    "resume": (("WAITING",), ("last",)),
    "replay": (("FINISHED",),),
    "fork": (("FINISHED", "--at", "draft"),),
    "runs": ((),),
    "show": (("FINISHED",), ("FINISHED", "draft"), ("last",)),
    "events": (("FINISHED",), ("FINISHED", "--follow")),
    "report": (("FINISHED",), ("FINISHED", "-o", "r.html")),
    "trace": (("FINISHED",),),
    "artifacts": (("FINISHED",), ("FINISHED", "-o", "made"), ("FINISHED", "text.md")),
    "serve": (("--port", "0"),),
    "worker": ((),),
    "answer": (("WAITING", "approve"), ("WAITING", "approve", "--detach")),
    "cancel": (("WAITING",),),
    "cache": (("stats",), ("clear", "--yes")),
    "team": (("stats",),),
    "copy": (("FINISHED", "--to", "copy.sqlite"),),
    "migrate": ((),),
    "doctor": ((),),
    "brain show": (("--project", "p"), ("fact1", "--project", "p")),
    "brain search": (("Mara", "--project", "p"),),
    "brain review": (("FINISHED", "--accept"), ("FINISHED",)),
    "brain forget": (("fact1", "--project", "p", "--yes"),),
    "brain export": (("facts.jsonl", "--project", "p"),),
    "brain import": (("in.jsonl", "--project", "p"),),
    "brain embed": (("--project", "p"),),
    "workspaces list": ((),),
    "workspaces remove": (("--yes",),),
    "schedule add": (("0 8 * * *", FLOW, "x"),),
    "schedule list": ((),),
    "schedule remove": (("x",),),
    "corpus add": (("docs",),),
    "corpus list": ((),),
    "corpus search": (("x",),),
    "corpus remove": (("docs",),),
}
"""Arguments for every command that takes --store; ids of runs are put in."""
OPENED = frozenset({"serve"})
"""Commands that go on for ever once the store is open: only tried where it cannot be opened."""
THOROUGH = (
    "a text",
    "garbled pages",
    "garbled write-ahead log",
    "broken JSON in every event",
    "a missing table",
)
"""One damage of each kind, which every command meets. Of the others it meets every third."""
CLOSED = ("truncated in the header", "garbled header", "a text", "a folder", "a newer schema")


def commands() -> dict[str, Any]:
    """Every command of the app that takes --store, with its function."""
    targets = {name: target for _, name, target, *_ in COMMANDS if target}
    for family, (_, members) in FAMILIES.items():
        targets |= {f"{family} {name}": target for name, target, *_ in members}
    functions: dict[str, Any] = {}
    for name, target in targets.items():
        module, _, function = target.partition(":")
        loaded = getattr(import_module(f"podium.cli.commands.{module}"), function)
        if "store" in inspect.signature(loaded).parameters:
            functions[name] = loaded
    return functions


def test_no_command_is_forgotten() -> None:
    assert set(commands()) | {"run"} == set(WORDS), "`run` gets its options with its workflow"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    make_store(folder / "podium.sqlite")
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_commands_explain_a_damaged_store(
    damage: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if damage == "unreadable" and os.geteuid() == 0:
        pytest.skip("root may read everything")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    wrong: list[str] = []
    for turn, (name, ways) in enumerate(WORDS.items(), list(DAMAGES).index(damage)):
        if (name in OPENED and damage not in CLOSED) or (damage not in THOROUGH and turn % 3):
            continue
        for number, words in enumerate(ways):
            place = tmp_path / f"{name}-{number}"
            place.mkdir()
            path = damaged(source, place, DAMAGES[damage])
            (place / "docs").mkdir()
            (place / "docs" / "a.md").write_text("# A\n\nText.\n")
            (place / "in.jsonl").write_text('{"subject": "Mara", "predicate": "age", "value": "40"}\n')
            monkeypatch.chdir(place)
            ids = {"FINISHED": FINISHED, "WAITING": WAITING}
            arguments = [(place / ids[word]).read_text() if word in ids else word for word in words]
            code = main([*name.split(), *arguments, "--store", str(path)])
            out, err = capfd.readouterr()
            if problem := problem_of(code, out, err):
                wrong.append(f"{name} {' '.join(words)}: exit {code}: {problem}")
    assert not wrong, "\n".join(wrong)


def test_a_store_that_another_process_keeps_locked(podium: Shell) -> None:
    """Reading goes on; writing waits for `lock_timeout` and then says so. All at once, because each waits."""
    waiting = podium.run("asking", "go", code=5)["run_id"]
    with closing(sqlite3.connect(podium.folder / "podium.sqlite", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        writing = [
            podium.start(*words, PODIUM_LOCK_TIMEOUT="2s")
            for words in (
                ("cancel", waiting),
                ("answer", waiting, "approve", "--detach"),
                ("run", FLOW, "hello"),
                ("cache", "clear", "--yes"),
            )
        ]
        assert waiting in podium("runs").out
        ended = [process.communicate(timeout=200) for process in writing]
    for process, (out, err) in zip(writing, ended, strict=True):
        output = (out + err).decode()
        assert process.returncode == 1, output
        assert problem_of(process.returncode, out.decode(), err.decode()) == ""
        assert "kept the store" in output


def problem_of(code: int, out: str, err: str) -> str:
    """What is wrong with how a command ended; empty: nothing."""
    output = out + err
    if "Traceback" in output or "this is a bug" in output:
        return output[-600:]
    if code == 0:
        return ""
    if code not in (1, 2, 3, 4, 5):
        return f"an odd exit code: {err}"
    sentences = re.findall(r"^Error: .*", output, re.MULTILINE)
    if code in (1, 2, 4) and not sentences and "✗" not in out:
        return f"no sentence: {output[-600:]}"
    return "" if not sentences or "Hint: " in output else f"no hint: {output[-600:]}"
