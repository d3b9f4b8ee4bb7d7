"""Several processes and one project: nothing is lost, nothing is half there, and many facts stay usable."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import podium
from podium.brain import Brain, Fact
from podium.brain.review import Review, import_facts
from podium.settings import Settings
from podium.stores import open_store
from podium.stores.sqlite.connection import connect
from tests import warm
from tests.brain.facts import fact

ROOT = Path(__file__).parents[2]
SIZE = 400


def start(url: str, first: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.brain.programs.import_batches", url, str(first), str(SIZE)]
    return warm.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def read_until_killed(process: subprocess.Popen[str], lines: int) -> list[int]:
    """The batches that were told to be in; killed after so many."""
    assert process.stdout is not None
    with process, process.stdout:
        seen = [int(process.stdout.readline()) for _ in range(lines)]
        process.kill()
        return seen + [int(line) for line in process.stdout.read().split()]


def both_at_once(url: str, *decisions: list[str]) -> list[bytes]:
    """Reviews of one run by several processes; what each of them printed."""
    command = [sys.executable, "-m", "podium", "brain", "review", "run-1", "--json", "--store", url]
    env = {**os.environ, "PYTHONPATH": str(Path(podium.__file__).parents[1])}
    running = [warm.Popen([*command, *words], stdout=subprocess.PIPE, env=env) for words in decisions]
    return [process.communicate(timeout=60)[0] for process in running]


async def batches_in(url: str) -> Counter[str]:
    """How many facts of each batch there are, by the table and by the words."""
    async with open_store(url) as store:
        counts = Counter(fact.value for fact in await store.list_facts("p"))
        words = await store.match_facts("p", ["number"], limit=1_000_000)
        assert Counter(fact.value for fact in words) == counts
        for fact in words[:20]:
            assert len(await store.fact_history("p", fact.id)) == 1
    return counts


@pytest.mark.slow
async def test_an_import_that_is_killed_is_whole_or_not_there(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    chance = random.Random(3)
    for attempt in range(6):
        seen = read_until_killed(start(url, attempt * 1000), chance.randint(1, 6))
        counts = await batches_in(url)
        assert set(counts.values()) == {SIZE}
        assert {f"number {number}" for number in seen} <= set(counts)
    with closing(connect(Path(url))) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.execute("INSERT INTO fact_words (fact_words) VALUES ('integrity-check')")


async def test_two_processes_show_facts_at_once(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    first, second = start(url, 0), start(url, 5000)
    seen = read_until_killed(first, 4) + read_until_killed(second, 4)
    counts = await batches_in(url)
    assert set(counts.values()) == {SIZE}
    assert {f"number {number}" for number in seen} <= set(counts)


async def test_two_processes_review_at_once_and_each_fact_is_decided_once(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    async with open_store(url) as store:
        brain = await Brain.open(store, "p", settings=Settings())
        await brain.propose("run-1", [fact(f"S{number} | note | n{number}") for number in range(300)])
    decided = both_at_once(url, ["--accept", "all", "--by", "Ada"], ["--discard", "all", "--by", "Ben"])
    decisions = [json.loads(out) for out in decided]
    accepted, discarded = set(decisions[0]["accepted"]), set(decisions[1]["discarded"])
    assert len(accepted) + len(discarded) == 300
    assert not accepted & discarded
    async with open_store(url) as store:
        (share,) = await store.list_projects()
        assert (share.accepted, share.discarded, share.proposed) == (len(accepted), len(discarded), 0)


@pytest.mark.slow
async def test_ten_thousand_facts_stay_usable(tmp_path: Path) -> None:
    facts = [
        Fact(subject=f"Person {number % 500}", predicate="note", value=f"word{number}", kind="character")
        for number in range(10_000)
    ]
    async with open_store(str(tmp_path / "x.sqlite")) as store:
        await import_facts(store, facts, settings=Settings(), project="p")
        brain = await Brain.open(store, "p", settings=Settings())
        review = Review(brain, by="me")
        await review.accept_all(await brain.facts(("proposed",)))
        assert len(review.outcome.accepted) == 10_000
        assert [fact.value for fact in await brain.search("word9999", 1)] == ["word9999"]
        assert len(await brain.search("Person 7", 20)) == 20
        assert len(await brain.names()) == 500
        known = [fact("Person 1 | eye colour | green", status="accepted")]
        await import_facts(store, known, settings=Settings(), project="p")
        assert await brain.contradictions([fact("Person 1 | eyes | blue")])
        assert await brain.forget() == 10_001
