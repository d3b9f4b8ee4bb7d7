"""The contract: token counts and costs that no column and no sum can hold."""

from __future__ import annotations

import math
import sqlite3
from typing import LiteralString

import msgspec
import psycopg
import pytest

from podium.engine.events import Charge
from podium.engine.log import RunUpdate, Store
from podium.engine.store_parts import Fact, FactChange, Sample
from podium.stores import open_store
from tests.stores.samples import a_row, a_run, commit, driven, run_id

LARGEST = 2**63 - 1
HUGE = Charge(math.inf, 2**80, 2**70, 2**66, 2**65)
ABSURD = [
    HUGE,
    Charge(math.nan, -(2**70), -1, -1, -1),
    Charge(1e308, LARGEST, LARGEST, LARGEST, LARGEST),
]


@pytest.mark.parametrize("usage", ABSURD, ids=["too large", "negative", "the largest"])
async def test_a_run_of_absurd_usage_is_created_updated_listed_and_summed(
    store: Store, usage: Charge
) -> None:
    await store.create(msgspec.structs.replace(a_run(1), usage=usage), [a_row(1)])
    lease = await driven(store, 2)
    store.update(lease, RunUpdate(updated_us=5, usage=usage))
    await commit(store, lease)
    await store.release(lease)
    rows = await store.list_runs()
    assert len(rows) == 2
    for row in [*rows, await store.get(run_id(1))]:
        figures = msgspec.structs.astuple(row.usage)
        assert all(0 <= figure <= LARGEST for figure in figures)
    (total,) = await store.run_totals()
    assert total.runs == 2
    assert all(0 <= figure <= LARGEST for figure in msgspec.structs.astuple(total.usage))


async def test_ordinary_sums_stay_exact(store: Store) -> None:
    for number, tokens in enumerate((2**53 + 1, 2**53 + 2, 7), start=1):
        usage = Charge(0.25, tokens, 1, 2, 3)
        await store.create(msgspec.structs.replace(a_run(number), usage=usage), [a_row(1)])
    (total,) = await store.run_totals()
    assert total.usage == Charge(0.75, 2**54 + 10, 3, 6, 9)


async def test_rows_that_another_version_wrote_are_listed_and_summed(url: str) -> None:
    async with open_store(url) as store:
        for number in (1, 2):
            await store.create(a_run(number), [a_row(1)])
    poison(url)
    async with open_store(url) as store:
        assert len(await store.list_runs()) == 2
        (total,) = await store.run_totals()
        assert (total.usage.input_tokens, total.runs) == (LARGEST, 2)
        assert math.isfinite(total.usage.usd)
        lease = await store.acquire(run_id(1))
        await store.release(lease)


def poison(url: str) -> None:
    """Write what an earlier version wrote: sums of it pass 64 bits, and money is infinite."""
    change: LiteralString = (
        "UPDATE run SET input_tokens = 9223372036854775807, calls = 9223372036854775807, usd = "
    )
    if url.startswith("postgresql"):
        with psycopg.connect(url) as db:
            db.execute(f"{change}'Infinity'")
        return
    db = sqlite3.connect(url.removeprefix("sqlite:///"))
    db.execute(f"{change}9e999")
    db.commit()
    db.close()


async def test_the_cache_counts_absurd_savings(store: Store) -> None:
    lease = await driven(store)
    samples = [Sample(id=f"s{n}", key="k", number=n, model="m", data=b"x", charge=HUGE) for n in (1, 2)]
    for sample in samples:
        store.keep_sample(sample, 10**9)
        store.use_sample(sample, 5)
    await commit(store, lease)
    store.use_sample(samples[0], 6)
    await commit(store, lease)
    (share,) = await store.cache_shares()
    assert (share.entries, share.hits, share.saved.input_tokens) == (2, 3, LARGEST)
    assert math.isfinite(share.saved.usd)
    cached = await store.find_sample("k")
    assert cached is not None
    assert cached.charge.input_tokens == LARGEST


async def test_a_project_counts_absurd_embeddings(store: Store) -> None:
    fact = Fact(id="f", project="p", subject="s", predicate="is", value="v")
    await store.add_facts(
        [fact], FactChange(project="p", fact="", at="2026-01-01", by="x", action="imported")
    )
    for _ in range(2):
        await store.put_vectors("p", "m", {"f": b"1234"}, HUGE)
    (share,) = await store.list_projects()
    assert (share.embedding.input_tokens, share.embedding.calls) == (LARGEST, LARGEST)
    assert math.isfinite(share.embedding.usd)
