"""The view of a run and its lines: the same live and afterwards, and the lines of the terminal."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from rich.console import Console

import podium
from podium.cli.live import Lines
from podium.engine.events import Event, RunCreated, StepCompleted, StepStarted
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.report.presentation import Line
from podium.report.run_fold import RunFold
from podium.report.view import RunView, merge_patch
from podium.stores import open_store
from podium.workflows import SHIPPED, presentation_of
from tests.report.logs import log
from tests.workflows.test_recorded import RECORDED, ROOT, Recorded

WIDE = 100_000


def merged(target: Any, patch: Any) -> Any:
    """Apply a merge patch, as RFC 7396 defines it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(cast("dict[str, Any]", target)) if isinstance(target, dict) else {}
    for key, value in cast("dict[str, Any]", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def plain(view: RunView) -> Any:
    """The view as a client reads it."""
    return json.loads(msgspec.json.encode(view))


def printed(events: list[Event], workflow: str) -> list[str]:
    """What the terminal prints for each event; empty if it leaves the event out."""
    state, shown = RunState(), presentation_of(workflow)
    lines: list[str] = []
    for event in events:
        buffer = io.StringIO()
        Lines(Console(file=buffer, width=WIDE, color_system=None), state, shown).show(event)
        lines.append(buffer.getvalue().strip())
    return lines


def check(events: list[Event], workflow: str) -> Any:
    """Fold a log event by event and in one go, and compare lines, patches and views."""
    live, made = RunFold(presentation_of(workflow)), list[Line]()
    before, built = live.view(), plain(live.view())
    for event in events:
        made.append(live.apply(event))
        after = live.view()
        patch = json.loads(msgspec.json.encode(merge_patch(before, after)))
        built, before = merged(built, patch), after
    afterwards = RunFold(presentation_of(workflow))
    assert [afterwards.apply(event) for event in events] == made
    assert afterwards.view() == before
    assert built == plain(before)
    for line, shown in zip(made, printed(events, workflow), strict=True):
        assert bool(shown) == (line.weight != "trace"), line
        if shown:
            assert line.what in shown, "the very words of the terminal"
            assert line.mark in shown
            assert all(note in shown for note in line.notes[:2]), "there is room for two"
    return built


async def events_of(store: Store, run_id: str) -> list[Event]:
    return [row.to_event(run_id) for row in await store.read(run_id)]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_run_has_one_view_and_the_lines_of_the_terminal(tmp_path: Path, path: Path) -> None:
    recorded: dict[str, Any] = json.loads(await asyncio.to_thread(path.read_text, "utf-8"))
    options = dict(recorded["options"])
    if "corpus" in options:
        options["corpus"] = str(ROOT / options["corpus"])
    name, model = recorded["workflow"], Recorded(recorded["replies"])
    async with open_store(str(tmp_path / "podium.sqlite")) as store:
        result = await podium.run(
            name, recorded["request"], model=model, store=store, options=options, concurrency=1
        )
        view = check(await events_of(store, result.run_id), name)
    assert (view["status"], view["detail"]["kind"]) == (result.status, name)
    assert view["usage"]["calls"] == result.usage.calls
    assert view["delivered"] is True
    assert "scores_note" not in view


@pytest.mark.parametrize("name", SHIPPED)
async def test_a_rehearsal_has_one_view_and_its_scores_are_marked(tmp_path: Path, name: str) -> None:
    options: dict[str, Any] = {"workspace": str(tmp_path)} if name == "build" else {}
    async with open_store(str(tmp_path / "podium.sqlite")) as store:
        result = await podium.run(name, "Write slugify", model="rehearsal", store=store, options=options)
        view = check(await events_of(store, result.run_id), name)
    assert view["rehearsal"] is True
    if presentation_of(name).detail_type is not None:
        assert view["detail"]["kind"] == name
        assert view["scores_note"].startswith("Made up")
    if result.quality is not None:
        assert view["quality_text"].endswith("(made up)")
    assert sum(not step.get("clock") for step in view["steps"].values()) == view["steps_total"]


def test_a_patch_holds_only_what_changed() -> None:
    many = [entry for n in range(2000) for entry in ((f"s{n}", StepStarted(fingerprint="")),)]
    fold = RunFold(presentation_of("x"))
    *first, last = log(
        ("", RunCreated(workflow="x", request="x")), *many, ("s7", StepCompleted(result=msgspec.Raw(b"1")))
    )
    for event in first:
        fold.apply(event)
    before = fold.view()
    fold.apply(last)
    patch = merge_patch(before, fold.view())
    assert list(patch["steps"]) == ["s7"]
    assert patch["steps"]["s7"] == {
        "status": "completed",
        "ended_ms": int(last.time.timestamp() * 1000),
        "ended_seq": last.seq,
        "result_hash": patch["steps"]["s7"]["result_hash"],
        "result_line": "1",
    }
