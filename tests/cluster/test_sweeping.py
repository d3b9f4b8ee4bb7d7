"""The net below the engine: what it finds, and what it leaves alone."""

from __future__ import annotations

from podium.cluster.port import shared
from podium.cluster.worker import Sweep
from tests.cluster.fleet import Lab


async def test_runs_that_nobody_carries_are_found_page_by_page_and_the_others_left(fleet: Lab) -> None:
    rows = [await fleet.start("three", f"number {number}") for number in range(7)]
    lost = [row.run_id for row in rows if row is not rows[2]]
    for run_id in lost:
        await fleet.engine.forget(run_id)
    sweep = Sweep(shared(fleet.store), fleet.engine, page=2)
    assert await sweep.sweep() == len(lost)
    assert await fleet.engine.carried([row.run_id for row in rows]) == {row.run_id for row in rows}
    assert await sweep.sweep() == 0, "they are carried now"


async def test_only_the_runs_of_an_owner_are_looked_for_where_one_of_theirs_has_ended(fleet: Lab) -> None:
    rows = [await fleet.start("three", marks={"owner": owner}) for owner in ("alice", "bob")]
    for row in rows:
        await fleet.engine.forget(row.run_id)
    sweep = Sweep(shared(fleet.store), fleet.engine)
    assert await sweep.sweep("alice") == 1
    assert await fleet.engine.carried([row.run_id for row in rows]) == {rows[0].run_id}
