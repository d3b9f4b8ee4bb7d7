"""A model with a price, and runs that use the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.models.model import Call, OnDelta, Price, Reply, Usage, charge

NORA = podium.Agent("Nora", "critic", "Be strict.", max_tokens=500)


class Paid:
    """A model with a price: every reply is another, unless it has a script."""

    rehearsal = False
    price = Price("known", 10.0, 10.0)

    def __init__(self, *script: str | Reply | Exception, name: str = "paid", mark: str | None = "") -> None:
        self.name = name
        self.script = list(script)
        self.calls: list[Call] = []
        self.mark = mark
        self.asked = asyncio.Event()
        """Set when a call has come."""
        self.gates: list[asyncio.Event] = []
        """Each call waits for its own, as long as there are any."""

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        self.calls.append(call)
        self.asked.set()
        number = len(self.calls)
        if number <= len(self.gates):
            await self.gates[number - 1].wait()
        said = self.script[min(number, len(self.script)) - 1] if self.script else f"{self.name} {number}"
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else Reply(said, Usage(1000, 1000), self.name)

    def worst_case(self, call: Call) -> Charge:
        return charge(self.price, Usage(2000, 2000))

    def cache_mark(self, call: Call) -> list[str] | None:
        return None if self.mark is None else [self.mark]


def asks(*prompts: str, agent: podium.Agent = NORA, returns: Any = str) -> podium.Workflow:
    """One question after the other."""

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[Any]:
        return [await run.ask(agent, "draft", prompt=prompt, returns=returns) for prompt in prompts]

    return flow


def asks_at_once(*prompts: str) -> podium.Workflow:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        asked = {str(number): run.ask(NORA, "draft", prompt=prompt) for number, prompt in enumerate(prompts)}
        return [one.unwrap() for one in (await run.gather(asked)).values()]

    return flow


async def cached(store: Store, flow: podium.Workflow, model: Any, **more: Any) -> podium.RunResult:
    given: dict[str, Any] = {"model": model, "store": store, "cache": True, **more}
    return await podium.run(flow, "x", **given)


async def cache_events(store: Store, run_id: str, kind: type[Any]) -> list[Any]:
    events = [row.to_event(run_id) for row in await store.read(run_id)]
    return [event.data for event in events if isinstance(event.data, kind)]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that a run does in its own time."""
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 - the store knows, and sets no event
            await asyncio.sleep(0.001)
