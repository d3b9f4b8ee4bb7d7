"""Runs that a strong model has played, call by call: the flow must ask for the same and make the same of it.

A file holds the replies by the path of their step, and the log as the types and paths of its events. What
the replies were answers to is not kept: prompts may be worded anew, but no reply may be lost, asked for
twice, or end in another document, and nothing else may happen.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "tests" / "recorded").glob("*-*.json"))


class Recorded:
    """A model that gives the recorded replies of each step in their order."""

    def __init__(self, replies: dict[str, list[Any]]) -> None:
        self.left = {path: list(given) for path, given in replies.items()}

    async def __call__(self, call: podium.Call) -> Any:
        assert self.left.get(call.path), f"{call.path} was not asked in the recorded run"
        return self.left[call.path].pop(0)


def test_there_are_recorded_runs() -> None:
    assert {path.name.partition("-")[0] for path in RECORDED} >= {"tree", "council", "studio", "research"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_run_comes_to_the_same_document(store: Store, path: Path) -> None:
    recorded: dict[str, Any] = json.loads(await asyncio.to_thread(path.read_text, "utf-8"))
    model = Recorded(recorded["replies"])
    options = dict(recorded["options"])
    if "corpus" in options:
        options["corpus"] = str(ROOT / options["corpus"])
    result = await podium.run(
        recorded["workflow"], recorded["request"], model=model, store=store, options=options, concurrency=1
    )
    assert result.status == recorded["status"], result.error
    assert {path: left for path, left in model.left.items() if left} == {}
    output: dict[str, Any] = result.output
    texts = output["article"].values() if "article" in output else output.values()
    assert recorded["document"] in list(texts)
    assert result.usage.calls == recorded["calls"]
    rows = [row.to_event(result.run_id) for row in await store.read(result.run_id)]
    log = [f"{row.type} {row.path}".strip() for row in rows]
    assert sorted(log) == sorted(recorded["log"]), "documents are read side by side, in any order"
    again = await podium.replay(result.run_id, store=store)
    assert again.output == result.output
