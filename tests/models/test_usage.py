"""Usage that cannot be true is not counted: the worst case is, and the result says so once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.api.outcome import result_of
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import SettingsError, UsageError
from podium.models.events import ModelAttempted
from podium.models.model import FREE, Call, OnDelta, Price, Reply, Usage, worst_case
from podium.settings import Settings
from tests.models.test_wire_faults import same, times, worst
from tests.models.wire.answers import Say
from tests.models.wire.asking import MODELS, ask, settings_for
from tests.models.wire.server import Wire

NORA = podium.Agent("Nora", "critic", "Be strict.", max_tokens=500)
FIGURES: dict[str, dict[str, Any]] = {
    "past 64 bits": {"input_tokens": 2**62, "output_tokens": 2**62},
    "above any window": {"output_tokens": 10**9},
}
DROPPED: dict[str, dict[str, Any]] = {"negative": {"input_tokens": -5}, "fractional": {"input_tokens": 1.5}}
"""Figures that the client library drops: Podium sees an answer without usage."""
USAGES: dict[str, Usage] = {
    "past 64 bits": Usage(2**80, 5),
    "negative": Usage(-1, 5),
    "NaN": Usage(math.nan, 5),  # pyright: ignore[reportArgumentType]
    "infinite": Usage(5, math.inf),  # pyright: ignore[reportArgumentType]
    "fractional": Usage(5, 2.5),  # pyright: ignore[reportArgumentType]
    "a boolean": Usage(True, 5),
    "a text": Usage("5", 5),  # pyright: ignore[reportArgumentType]
    "infinite money": Usage(5, 5, math.inf),
    "no number of dollars": Usage(5, 5, math.nan),
    "negative money": Usage(5, 5, -1.0),
    "remembered too much": Usage(5, 5, cache_read_tokens=2**70),
}


class Reporting:
    """A model that reports a given usage with each reply."""

    name = "reporting"
    rehearsal = False

    def __init__(self, usage: Usage | None, price: Price = FREE, calls: int = 1) -> None:
        self.price = price
        self._usage = usage
        self._calls = calls

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        return Reply("fine", self._usage, calls=self._calls)

    def worst_case(self, call: Call) -> Charge:
        return worst_case(call, self.price)


@podium.workflow(gates=["go"])
async def twice(run: podium.Run, request: str) -> str:
    await run.ask(NORA, "first", prompt=request)
    if not await run.approved("go", "Go on?"):
        return "stopped"
    return await run.ask(NORA, "second", prompt=request)


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("figures", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("provider", MODELS)
async def test_impossible_figures_of_a_provider_are_not_counted(
    provider: str, figures: dict[str, Any], watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(**figures))
    reported = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert reported.result.status == "completed", reported.result.error
    assert all(attempt.estimated for attempt in reported.attempts)
    assert same(reported.result.usage, times(worst(provider, wire, tmp_path), len(wire.requests)))
    assert len(reported.result.warnings) == 1
    assert MODELS[provider] in reported.result.warnings[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("figures", DROPPED.values(), ids=DROPPED)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_figures_that_the_client_drops_count_as_the_worst_case(
    provider: str, figures: dict[str, Any], wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(**figures))
    reported = await ask(store, settings_for(wire, tmp_path), MODELS[provider])
    assert reported.result.status == "completed", reported.result.error
    assert [attempt.estimated for attempt in reported.attempts] == [True]
    assert same(reported.result.usage, worst(provider, wire, tmp_path))


@pytest.mark.parametrize("usage", USAGES.values(), ids=USAGES)
async def test_impossible_figures_of_a_model_are_warned_of_once(usage: Usage, store: Store) -> None:
    """Also across a resume, and the run can be shown and replayed afterwards."""
    model = Reporting(usage, Price("known", 1.0, 1.0))
    handle = await podium.start(twice, "go", store=store, model=model, approve=["go"], settings=Settings())
    first = await handle.result()
    assert first.status == "waiting"
    assert len(first.warnings) == 1
    await podium.answer(first.run_id, "approve", store=store)
    again = await podium.resume(first.run_id, store=store, model=model, workflow=twice, settings=Settings())
    result = await again.result()
    assert (result.status, result.output) == ("completed", "fine")
    assert result.warnings == first.warnings
    assert "impossible usage" in result.warnings[0]
    rows = await store.read(result.run_id, types=[ModelAttempted.type])
    attempts = [row.to_event(result.run_id).data for row in rows]
    assert [isinstance(attempt, ModelAttempted) and attempt.estimated for attempt in attempts] == [True, True]
    assert 0 < result.usage.usd < 1
    (total,) = await store.run_totals()
    assert total.usage.calls == 2


async def test_a_run_whose_log_holds_absurd_charges_is_resumed_and_shown(store: Store) -> None:
    """As an earlier version wrote it: the sum of its tokens passes 64 bits."""
    model = Reporting(Usage(5, 5))
    handle = await podium.start(twice, "go", store=store, model=model, approve=["go"], settings=Settings())
    first = await handle.result()
    lease = await store.acquire(first.run_id)
    absurd = encode({"attempt": 1, "model": "m", "ok": True, "charge": {"input_tokens": 2**70, "calls": 1}})
    for seq in (lease.last_seq + 1, lease.last_seq + 2):
        store.append(lease, (seq, lease.last_time_us, "x", ModelAttempted.type, absurd))
    await store.release(lease)
    await podium.answer(first.run_id, "approve", store=store)
    again = await podium.resume(first.run_id, store=store, model=model, workflow=twice, settings=Settings())
    result = await again.result()
    assert (result.status, result.output, result.usage.calls) == ("completed", "fine", 4)
    row = await store.get(first.run_id)
    assert row.usage.input_tokens == 2**63 - 1
    shown, _ = await result_of(store, row)
    assert shown.to_json()


async def test_an_impossible_number_of_requests_counts_as_one(store: Store) -> None:
    model = Reporting(Usage(5, 5), calls=2**70)
    result = await podium.run(twice, "go", store=store, model=model, settings=Settings())
    assert (result.status, result.usage.calls, len(result.warnings)) == ("completed", 2, 1)


async def test_plausible_usage_is_counted_as_reported(store: Store) -> None:
    model = Reporting(Usage(1_000_000, 5, 0.25), Price("known", 1.0, 1.0))
    result = await podium.run(twice, "go", store=store, model=model, settings=Settings())
    assert result.warnings == []
    assert result.usage == Charge(0.5, 2_000_000, 10, 2)


@pytest.mark.parametrize("rate", [math.inf, math.nan, -1.0, 1e300])
def test_an_impossible_price_is_refused(rate: float, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="impossible"):
        Price("known", rate, 1.0)
    (tmp_path / "podium.toml").write_text(f'[prices."openai:x"]\ninput = {rate}\noutput = 1\n')
    with pytest.raises(SettingsError, match="prices"):
        Settings.load(cwd=tmp_path, env={})


@pytest.mark.parametrize("cost", [Charge(math.inf), Charge(math.nan), Charge(-1.0), Charge(1.0, -1)])
async def test_an_impossible_cost_of_a_step_fails_the_run(cost: Charge, store: Store) -> None:
    @podium.workflow
    async def costly(run: podium.Run, request: str) -> str:
        return await run.step("pay", str.upper, request, cost=cost)

    result = await podium.run(costly, "go", store=store, budget=Budget(usd=1.0), settings=Settings())
    assert result.status == "failed"
    assert "cannot cost" in result.error
    assert result.usage == Charge()
