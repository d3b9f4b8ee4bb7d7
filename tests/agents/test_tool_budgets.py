"""Ceilings over sub-agents: never passed by honest models, and by one call at most when a model lies."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

import podium
from podium.agents.tools import tool
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.models.model import Call, OnDelta, Price, Reply, Usage, charge, worst_case
from tests.agents.scripted import Script, acting, results

CEILINGS = {"usd": 0.008, "tokens": 4_000, "calls": 20}
"""Each ends the run somewhere in the middle; without a ceiling it makes 41 calls."""


class Metered:
    """A model that delegates: it wants each tool three times, in one turn, and then answers. `lies` names the
    calls whose reported usage is far above their worst case; the others report a part of it."""

    name = "python:metered"
    rehearsal = False
    price = Price("known", 1.0, 2.0)

    def __init__(self, seed: int, lies: range = range(0)) -> None:
        self._random = random.Random(seed)
        self._lies = lies
        self.calls = 0
        self.excess = podium.Charge()
        """By how much calls passed their worst case."""
        self.spent = podium.Charge()
        self.in_flight = self.most_in_flight = 0

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        self.calls += 1
        usage = self._usage(call, lie=self.calls - 1 in self._lies)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        self.in_flight -= 1
        self.spent += charge(self.price, usage)
        first = not any(message.role == "assistant" for message in call.messages)
        wanted = [_wanted(tool.name, part) for tool in call.tools for part in "abc"] if first else []
        return Reply("" if wanted else "done", usage, self.name, tool_calls=tuple(wanted))

    def _usage(self, call: Call, lie: bool) -> Usage:
        worst = self.worst_case(call)
        if not lie:
            share = self._random.uniform(0.2, 0.6)
            return Usage(int(worst.input_tokens * share), int(worst.output_tokens * share))
        usage = Usage(worst.input_tokens * 9, worst.output_tokens * 9)
        self.excess += charge(self.price, Usage(worst.input_tokens * 8, worst.output_tokens * 8), calls=0)
        return usage

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


def _wanted(name: str, part: str) -> ToolCall:
    return ToolCall(name, {"request": part})


@tool(cost=podium.Charge(usd=0.0001))
async def look(request: str) -> str:
    """Look."""
    return f"seen {request}"


LEAF = podium.Agent("leaf", tools=[look], max_tokens=200)
MIDDLE = podium.Agent("middle", tools=[LEAF.as_tool()], max_tokens=200)
CAPPED = podium.Agent("capped", tools=[LEAF.as_tool(budget=podium.Budget(calls=1))], max_tokens=200)
HEAD = podium.Agent("head", tools=[MIDDLE.as_tool(), CAPPED.as_tool()], max_tokens=200)


@podium.workflow
async def three_levels(run: podium.Run, request: str) -> str:
    return await run.ask(HEAD, "delegate", prompt=request)


async def spend(store: Store, model: Metered, kind: str, concurrency: int) -> podium.RunResult:
    budget: Any = podium.Budget(**{kind: CEILINGS[kind]})  # type: ignore[arg-type]
    async with asyncio.timeout(60):  # a deadlock
        return await podium.run(
            three_levels, "go", model=model, store=store, budget=budget, concurrency=concurrency
        )


def spent(charged: podium.Charge, kind: str) -> float:
    return {"usd": charged.usd, "tokens": charged.tokens, "calls": charged.calls}[kind]


@pytest.mark.parametrize("kind", CEILINGS)
async def test_a_ceiling_over_three_levels_of_agents_is_never_passed(store: Store, kind: str) -> None:
    partial = 0
    for concurrency in range(1, 9):
        model = Metered(seed=concurrency)
        done = await spend(store, model, kind, concurrency)
        assert done.status in ("completed", "partial")
        assert spent(done.usage, kind) <= CEILINGS[kind]
        assert spent(model.spent, kind) <= CEILINGS[kind]
        assert model.most_in_flight <= concurrency
        assert not done.warnings
        partial += done.status == "partial"
    assert partial, "the ceiling was never met"


@pytest.mark.parametrize("kind", ["usd", "tokens"])
async def test_a_lie_passes_a_ceiling_by_itself_at_most_and_is_reported(store: Store, kind: str) -> None:
    passed = 0
    for concurrency in range(1, 9):
        model = Metered(seed=concurrency, lies=range(9, 10))
        done = await spend(store, model, kind, concurrency)
        limit = CEILINGS[kind]
        assert done.status == "partial"
        assert spent(done.usage, kind) <= limit + spent(model.excess, kind) + 1e-9
        overruns = [row for row in await store.read(done.run_id) if row.type == "budget.overrun"]
        assert len(overruns) == 1
        [warning] = done.warnings
        assert "1 call used more than the most that was asked for" in warning
        if spent(done.usage, kind) > limit:
            passed += 1
            assert "was passed" in warning
    assert passed, "no ceiling was passed"


async def test_a_model_that_always_lies_is_reserved_for_as_it_behaves(store: Store) -> None:
    """Only its first call can pass a ceiling: from then on more is reserved."""
    model = Metered(seed=1, lies=range(100))
    done = await spend(store, model, "tokens", 1)
    overruns = [row for row in await store.read(done.run_id) if row.type == "budget.overrun"]
    assert (done.status, len(overruns)) == ("partial", 1)
    assert done.warnings


async def test_a_ceiling_that_is_passed_after_the_lie_is_reported_too(store: Store) -> None:
    """The lie itself fits; the call beside it, which keeps to its reservation, passes the ceiling."""
    settled = asyncio.Event()
    agent = podium.Agent("leaf", max_tokens=400)

    class Pair(Metered):
        async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
            if call.task == "lie":
                return Reply("done", Usage(0, 800), self.name)
            await settled.wait()
            return Reply("done", Usage(0, 400), self.name)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> None:
        async def lie() -> None:
            await run.ask(agent, "lie", prompt="go")
            settled.set()

        await run.gather({"lie": lie(), "truth": run.ask(agent, "truth", prompt="go")})

    done = await podium.run(flow, "go", model=Pair(1), store=store, budget=podium.Budget(tokens=1_000))
    assert done.usage.tokens == 1_200
    [warning] = done.warnings
    assert "was passed: 1,200 of 1,000 spent: 1 call used more" in warning


async def test_the_time_of_a_sub_agent_ends_its_call_not_the_run(store: Store) -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return ""

    clerk = podium.Agent("clerk", tools=[wait]).as_tool(budget=podium.Budget(seconds=0.3))
    flow = acting(clerk)
    model = Script(ToolCall("clerk", {"request": "go"}), ToolCall("wait"), results)
    done = await podium.run(flow, "go", model=model, store=store)
    assert done.status == "completed", done.error
    assert "clerk stopped: The time budget of branch plan/tool[1.0] is used up" in done.output
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == done.output
