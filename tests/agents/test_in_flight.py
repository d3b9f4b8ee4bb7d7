"""A call keeps its slot until its outcome is durable: a crash repeats no more calls than there are slots."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.models.model import FREE, Call, ModelFault, OnDelta, Reply, Usage, worst_case
from podium.models.provider_limits import ProviderLimits
from podium.settings import Settings
from tests.agents.asking import asking
from tests.agents.test_ask import Grade

NORA = podium.Agent("Nora", "critic", max_tokens=100)


class Watching:
    """A model that notes, whenever it is called, how many of the calls that have ended are not in the log.
    The first call of each ask is answered with `first`, the second with a grade."""

    rehearsal = False
    price = FREE
    name = "watching"

    def __init__(self, store: Store, first: Any) -> None:
        self.guard = ProviderLimits(self.name)
        self.missing: list[int] = []
        self._store = store
        self._first = first
        self._asked: set[str] = set()
        self._ended = 0

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        logged = await self._store.read(call.run_id, types=["model.attempted"])
        self.missing.append(self._ended - len(logged))
        await asyncio.sleep(0)
        self._ended += 1
        if call.path in self._asked:
            return Reply('{"score": 3}', Usage(10, 10))
        self._asked.add(call.path)
        if isinstance(self._first, Exception):
            raise self._first
        return self._first

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


@pytest.mark.parametrize(
    "first",
    [
        Reply("no data", Usage(10, 10)),
        Reply('{"sco', Usage(10, 10), finish="length"),
        ModelFault("unavailable", "the provider is busy", retry=True, status=503),
    ],
    ids=["repair", "cut off", "retry"],
)
async def test_no_other_call_begins_before_the_last_one_is_durable(store: Store, first: Any) -> None:
    async def ask(run: podium.Run, request: str) -> int:
        parts = await run.gather(
            {str(n): run.ask(NORA, "grade", prompt="Grade it.", returns=Grade) for n in range(4)}
        )
        return sum(part.unwrap().score for part in parts.values())

    model = Watching(store, first)
    settings = Settings(retry_wait=0.001)
    result = await podium.run(asking(ask), "x", model=model, store=store, concurrency=1, settings=settings)
    assert result.output == 12
    assert model.missing == [0] * 8
