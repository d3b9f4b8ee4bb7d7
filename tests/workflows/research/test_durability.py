"""Research that is killed goes on where it was, pays nothing twice, and replays without network, corpus or
model."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.stores import open_store
from podium.workflows.research.flow import WORKFLOW
from tests import warm
from tests.workflows.research.crew import Crew, Shelves, research_run_of, study, workflow_of
from tests.workflows.research.programs.patient import CORPUS, TOPIC

ROOT = Path(__file__).parents[3]


def drive(folder: Path, log: str, kill_at: int = 0, run_id: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(folder / "runs.sqlite"), str(folder / log), str(kill_at), *([run_id] if run_id else [])]
    command = [sys.executable, "-m", "tests.workflows.research.programs.patient", *words]
    return warm.run(command, cwd=ROOT, text=True, timeout=200)


def logged(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lasting(output: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on when and under which id it was made."""
    sources = [{name: one[name] for name in ("id", "url", "sha256", "title")} for one in output["sources"]]
    return {
        "content": output["article"]["content"],
        "sources": sources,
        "claims": output["claims"],
        "plans": output["plan_history"],
        "quality": output["quality"],
        "status": output["status"],
        "phases": [one["to"] for one in output["phase_history"]],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [2, 4, 9, 14, 16])
async def test_killed_at_any_call_it_ends_in_the_same_result_and_pays_nothing_twice(
    tmp_path: Path, kill_at: int
) -> None:
    whole = logged(drive(tmp_path, "whole.log"))
    assert whole["output"]["metrics"]["iteration_count"] > 1, "it has something to keep"
    assert drive(tmp_path, "calls.log", kill_at).returncode == -9
    async with open_store(f"sqlite:///{tmp_path}/runs.sqlite") as store:
        run_id = next(row.run_id for row in await store.list_runs() if row.run_id != whole["run_id"])
    again = logged(drive(tmp_path, "calls.log", run_id=run_id))
    assert again["status"] == whole["status"]
    assert lasting(again["output"]) == lasting(whole["output"])
    calls = Counter((tmp_path / "calls.log").read_text().splitlines())
    twice = [path for path, number in calls.items() if number > 1]
    assert len(twice) <= 3, "at most what was in flight"
    assert set(calls) == set((tmp_path / "whole.log").read_text().splitlines())


async def test_a_replay_needs_neither_the_corpus_nor_a_model(store: Store, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(CORPUS, corpus)
    options = {"corpus": str(corpus), "min_quality": 0.97, "length": 800}
    first = await podium.run("research", TOPIC, model="rehearsal", store=store, options=options)
    shutil.rmtree(corpus)
    again = await podium.replay(first.run_id, store=store)
    assert again.output == first.output
    texts = {made.name: made for made in first.artifacts}
    assert {f"{one['id']}.txt" for one in first.output["sources"]} <= set(texts)


async def test_a_replay_of_a_run_on_the_web_asks_nobody(store: Store) -> None:
    shelves = Shelves(failing={"news_search": 99})
    found = await study(store, Crew(complexity=0.69), shelves=shelves)
    asked = len(shelves.asked)
    again = await podium.replay(found.result.run_id, workflow=workflow_of(shelves), store=store)
    assert again.output == found.output
    assert len(shelves.asked) == asked


async def test_every_source_is_kept_with_its_text_address_time_and_hash(store: Store) -> None:
    options = {"corpus": str(CORPUS), "length": 800}
    found = await podium.run("research", TOPIC, model="rehearsal", store=store, options=options)
    made = {one.id: one for one in found.artifacts}
    for source in found.output["sources"]:
        text = await store.get_blob(made[source["artifact_id"]].blob)
        assert hashlib.sha256(text).hexdigest() == source["sha256"]
        assert source["url"].startswith("corpus:")
        assert source["retrieved_at"]
        for claim in found.output["claims"]:
            if claim["quote_source"] == source["id"]:
                assert text.decode()[claim["start"] : claim["end"]] == claim["quote"]
    listed = next(one for one in found.artifacts if one.name == "sources.json")
    kept = json.loads(await store.get_blob(listed.blob))
    assert [one["id"] for one in kept] == [one["id"] for one in found.output["sources"]]


async def test_a_failed_run_is_taken_up_where_it_failed(store: Store) -> None:
    crew = Crew({"write_article": RuntimeError("down")})
    found = await study(store, crew)
    assert found.result.status == "failed"
    better = Crew()
    handle = await podium.resume(found.result.run_id, workflow=workflow_of(), model=better, store=store)
    result = await handle.result()
    assert result.status == "completed"
    again = await research_run_of(store, result, better)
    assert better.counted["synthesize"] == better.counted["assess"] == 0, "what was done stays done"
    assert better.counted["write_article"] == 1
    assert [one["to"] for one in result.output["phase_history"]][-3:] == [
        "evaluating",
        "merging",
        "completed",
    ]
    assert again.phases[-4:] == ["failed", "evaluating", "merging", "completed"]


async def test_a_fork_from_the_draft_pays_only_for_what_follows(store: Store) -> None:
    crew = Crew()
    found = await study(store, crew)
    path = next(call.path for call in crew.calls if call.task == "write_article")
    other = Crew()
    handle = await podium.fork(found.result.run_id, path, workflow=workflow_of(), model=other, store=store)
    result = await handle.result()
    assert result.status == "completed"
    assert set(other.counted) == {"write_article", "edit", "fact_check", "judge"}


def test_the_workflow_is_shipped() -> None:
    assert WORKFLOW.ref == WORKFLOW.name == "research"
