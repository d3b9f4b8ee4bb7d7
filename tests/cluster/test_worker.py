"""`podium worker`: what it takes, drives and hands back."""

from __future__ import annotations

from podium.engine.codec import decode
from tests.cluster.fleet import Lab


async def test_accepted_runs_are_driven_by_whichever_worker_has_a_place(fleet: Lab) -> None:
    rows = [await fleet.start("three", f"number {number}") for number in range(10)]
    await fleet.machine()
    await fleet.machine()
    for row in rows:
        log = await fleet.over(row.run_id)
        output = decode(log[-1].data)["output"]
        assert output[0] == row.request
    paid = fleet.paid()
    assert len(paid) == 30
    assert all(len(calls) == 1 for calls in paid.values())
    assert (await fleet.engine.load()) == (0, 0)


async def test_to_submit_a_run_twice_is_to_submit_it_once(fleet: Lab) -> None:
    row = await fleet.start("three")
    await fleet.fleet.accept(row)
    assert (await fleet.engine.load()).waiting == 1
    await fleet.machine()
    await fleet.over(row.run_id)
    assert all(len(calls) == 1 for calls in fleet.paid().values())
