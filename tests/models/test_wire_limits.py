"""Answers without end, providers that are down, and limits that are kept, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.models.events import ModelAttempted
from podium.models.provider_limits import GUARDS, Breaker
from podium.models.providers.clients import CappedStream, StoppedReadingError, Tally
from tests.models.wire.answers import Flood, Limit, Raw, Refuse, Say
from tests.models.wire.asking import AGENT, MODELS, ask, settings_for
from tests.models.wire.server import Wire

ROOT = Path(__file__).parents[2]


async def read_flood(name: str, url: str, how: str) -> dict[str, Any]:
    """What a fresh process tells about one call; its memory is its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.models.programs.read_flood",
        name,
        url,
        how,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


class Endless(httpx2.AsyncByteStream):
    """Pieces of a kilobyte, for ever."""

    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000

    async def aclose(self) -> None:
        self.closed = True


async def test_the_bytes_of_an_answer_have_an_end() -> None:
    tally, source = Tally(), Endless()
    stream = CappedStream(source, 1_000_000, tally)
    seen: list[int] = []

    async def read() -> None:
        async for data in stream:
            seen.append(len(data))

    with pytest.raises(StoppedReadingError):
        await read()
    await stream.aclose()
    assert (sum(seen), tally.problem, source.closed) == (1_000_000, "the answer is longer than 1 MB", True)


@pytest.mark.parametrize("provider", MODELS)
async def test_a_stream_without_end_is_cut_in_little_memory(provider: str, wire: Wire) -> None:
    wire.answer_with(Flood(megabytes=50))
    url = wire.url if provider == "anthropic" else f"{wire.url}/v1"
    shown = await read_flood(MODELS[provider], url, "streamed")
    assert shown["said"].startswith("oversized: the answer is longer than")
    assert shown["grown_mb"] < 100
    assert len(wire.requests) == 1


@pytest.mark.parametrize("provider", MODELS)
async def test_a_body_without_end_is_cut_in_little_memory(provider: str, wire: Wire) -> None:
    wire.answer_with(Say("x" * 50_000_000))
    url = wire.url if provider == "anthropic" else f"{wire.url}/v1"
    shown = await read_flood(MODELS[provider], url, "whole")
    assert shown["said"] == "oversized: the answer is longer than 8 MB"
    assert shown["grown_mb"] < 100
    assert len(wire.requests) == 1


async def test_an_answer_that_was_cut_counts_in_full_and_is_not_asked_for_again(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Flood(megabytes=10))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["openai-chat"], watch=True)
    assert shown.result.error == "draft: openai-chat:gpt-4o: the answer is longer than 4 MB"
    assert len(wire.requests) == 1
    assert [(attempt.ok, attempt.estimated) for attempt in shown.attempts] == [(False, True)]


async def test_a_compressed_answer_that_nobody_asked_for_is_refused(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    bomb = gzip.compress(b" " * 20_000_000)
    wire.answer_with(Raw(bomb, headers={"Content-Encoding": "gzip"}))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["openai"])
    assert "compressed, which was not asked for" in shown.result.error
    assert wire.requests[0].headers["accept-encoding"] == "identity"
    assert len(wire.requests) == 1


async def test_a_redirect_is_not_followed(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Refuse(307, headers={"Location": f"{wire.url}/elsewhere/v1/responses"}))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["openai"])
    assert "HTTP 307: the address sends us elsewhere" in shown.result.error
    assert (len(wire.requests), shown.result.usage) == (1, Charge(calls=1))


# ── a provider that is down ──


async def test_a_provider_that_is_down_is_not_hammered(wire: Wire, store: Store, tmp_path: Path) -> None:
    """Three calls give up after three requests each; the fourth makes none."""
    wire.answer_with(Refuse(503))

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        replies: list[str] = []
        for number in range(5):
            try:
                replies.append(await run.ask(AGENT, "draft", prompt=str(number)))
            except podium.ModelFailedError as error:
                replies.append(error.reason)
        return replies

    settings = settings_for(wire, tmp_path)
    result = await podium.run(flow, "x", model=MODELS["openai"], store=store, settings=settings)
    assert len(wire.requests) == 9
    assert result.usage == Charge(calls=9)
    assert ["HTTP 503" in reply for reply in result.output] == [True, True, True, False, False]
    assert "openai is not being called now: 3 calls in a row failed for good" in result.output[4]


async def test_a_hiccup_that_hits_many_calls_at_once_breaks_nothing(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(*[Refuse(503)] * 20, Say())

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> int:
        asks = {str(number): run.ask(AGENT, "draft", prompt=str(number)) for number in range(20)}
        return len([outcome.unwrap() for outcome in (await run.gather(asks)).values()])

    settings = settings_for(wire, tmp_path)
    result = await podium.run(
        flow, "x", model=MODELS["openai"], store=store, settings=settings, concurrency=20
    )
    assert (result.output, len(wire.requests)) == (20, 40)


async def test_the_next_model_is_asked_while_a_provider_rests(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(*[Refuse(503)] * 3, Say(), *[Refuse(503)] * 3, Say(), *[Refuse(503)] * 3, Say())
    settings = settings_for(wire, tmp_path, profiles={"balanced": [MODELS["openai"], MODELS["anthropic"]]})

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        return [await run.ask(AGENT, "draft", prompt=str(number)) for number in range(4)]

    result = await podium.run(flow, "x", store=store, settings=settings)
    assert result.output == ["A fine answer."] * 4
    paths = [seen.path.partition("?")[0].removeprefix("/v1/") for seen in wire.requests]
    assert paths == [*["responses"] * 3, "messages"] * 3 + ["messages"]


# ── limits ──


async def test_a_pace_is_kept_and_waiting_holds_no_slot(wire: Wire, store: Store, tmp_path: Path) -> None:
    """1200 a minute are 20 a second, with a burst of 120: of 125 calls five have to wait."""

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> int:
        asks = {str(number): run.ask(AGENT, "draft", prompt=str(number)) for number in range(125)}
        return len([outcome.unwrap() for outcome in (await run.gather(asks)).values()])

    settings = settings_for(wire, tmp_path, limits={"requests_per_minute": 1200})
    result = await podium.run(
        flow,
        "x",
        model=MODELS["openai-chat"],
        store=store,
        settings=settings,
        concurrency=2,
        budget=podium.Budget(calls=125),
    )
    assert (result.output, len(wire.requests), result.usage.calls) == (125, 125, 125)


async def test_a_wait_for_the_pace_ends_with_the_run(wire: Wire, store: Store, tmp_path: Path) -> None:
    """One request a minute: the second call would wait for a minute."""

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        return [await run.ask(AGENT, "draft", prompt=name) for name in ("a", "b")]

    settings = settings_for(wire, tmp_path, limits={"requests_per_minute": 1})
    handle = await podium.start(flow, "x", model=MODELS["openai"], store=store, settings=settings)
    async for event in handle.events():
        if event.type == "model.asked" and event.path == "draft#2":
            break
    result = await handle.cancel()
    assert (result.status, len(wire.requests), result.usage.calls) == ("cancelled", 1, 1)
    rows = [row.to_event(handle.run_id) for row in await store.read(handle.run_id)]
    assert len([row for row in rows if isinstance(row.data, ModelAttempted)]) == 1


def many(count: int) -> podium.Workflow:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> int:
        asks = {str(number): run.ask(AGENT, "draft", prompt=str(number)) for number in range(count)}
        return len([outcome.unwrap() for outcome in (await run.gather(asks)).values()])

    return flow


@pytest.mark.parametrize("provider", MODELS)
async def test_one_refused_call_makes_the_others_wait_too(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    """One at a time: the first of ten is refused. Without a word to the others, each of them would be as well
    (twenty requests); so it is the only one."""
    wire.answer_with(Limit(0.3))
    settings = settings_for(wire, tmp_path)
    result = await podium.run(
        many(10), "x", model=MODELS[provider], store=store, settings=settings, concurrency=1
    )
    assert (result.output, len(wire.requests), result.usage.calls) == (10, 11, 11)


async def test_only_calls_that_were_on_their_way_are_refused(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    """Four at a time: at most those four are refused, and nobody after them."""
    wire.answer_with(Limit(0.5))
    settings = settings_for(wire, tmp_path)
    result = await podium.run(
        many(20), "x", model=MODELS["openai"], store=store, settings=settings, concurrency=4
    )
    refused = len(wire.requests) - 20
    assert result.output == 20
    assert 1 <= refused <= 4


async def test_runs_of_a_process_wait_together(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Limit(0.5))
    settings = settings_for(wire, tmp_path)
    first = await podium.start(
        many(1), "x", model=MODELS["openai"], store=store, settings=settings, concurrency=1
    )
    async for event in first.events():
        if isinstance(event.data, ModelAttempted):
            break
    others = await podium.run(many(5), "x", model=MODELS["openai"], store=store, settings=settings)
    assert ((await first.result()).output, others.output, others.usage.calls) == (1, 5, 5)
    assert len(wire.requests) == 7


async def test_another_provider_does_not_wait(wire: Wire, store: Store, tmp_path: Path) -> None:
    """The refused one would wait for a minute."""
    wire.answer_with(Refuse(429, headers={"retry-after": "60"}), Say())
    settings = settings_for(wire, tmp_path)
    handle = await podium.start(many(1), "x", model=MODELS["openai"], store=store, settings=settings)
    async for event in handle.events():
        if isinstance(event.data, ModelAttempted):
            assert 60 <= event.data.retry_in_s < 70
            break
    shown = await ask(store, settings, MODELS["anthropic"])
    assert shown.result.output == "A fine answer."
    assert (await handle.cancel()).status == "cancelled"
    assert len(wire.requests) == 2


async def test_those_who_wait_for_a_provider_hold_neither_slot_nor_money(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    """One slot, and calls for two at most: while five wait for a minute, both are free for another model."""
    wire.answer_with(Refuse(429, headers={"retry-after": "60"}), Say())
    settings, free = settings_for(wire, tmp_path), asyncio.Event()
    slow, quick = (podium.Agent(name, model=MODELS[name]) for name in ("openai", "anthropic"))

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> None:
        async def other() -> None:
            await free.wait()
            await run.ask(quick, "draft", prompt="x")

        asks = {str(number): run.ask(slow, "draft", prompt=str(number)) for number in range(5)}
        await run.gather({**asks, "other": other()})

    handle = await podium.start(
        flow, "x", store=store, settings=settings, concurrency=1, budget=podium.Budget(calls=2)
    )
    async for event in handle.events():
        if isinstance(event.data, ModelAttempted) and not event.data.ok:
            free.set()
        elif isinstance(event.data, ModelAttempted):
            break
    result = await handle.cancel()
    assert (len(wire.requests), result.usage.calls) == (2, 2)


async def test_a_refusal_without_a_time_makes_the_others_wait_as_long_as_the_refused_one(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Limit(0.2, says_when=False))
    settings = msgspec.structs.replace(settings_for(wire, tmp_path), retry_wait=0.3)
    result = await podium.run(
        many(5), "x", model=MODELS["openai"], store=store, settings=settings, concurrency=1
    )
    assert (result.output, len(wire.requests)) == (5, 6)


async def test_a_call_that_has_no_money_left_is_not_waited_for(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    """A used-up quota is no matter of waiting: nobody else is held back by it."""
    wire.answer_with(Refuse(429, "You exceeded your current quota.", code="insufficient_quota"), Say())
    settings = settings_for(wire, tmp_path)
    first = await ask(store, settings, MODELS["openai"])
    second = await ask(store, settings, MODELS["openai"])
    assert (first.result.status, second.result.status, len(wire.requests)) == ("failed", "completed", 2)


async def test_a_trial_call_may_make_all_its_attempts(wire: Wire, store: Store, tmp_path: Path) -> None:
    """After a rest, a provider that stumbles once more and then answers is back."""
    wire.answer_with(*[Refuse(503)] * 10, Say())
    settings, clock = settings_for(wire, tmp_path), [1000.0]
    guard = GUARDS.of("openai", f"{wire.url}/v1", None, None)
    guard.breaker = Breaker("openai", lambda: clock[0])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[bool]:
        answered: list[bool] = []
        for number in range(6):
            clock[0] += 100 if number == 4 else 0
            try:
                await run.ask(AGENT, "draft", prompt=str(number))
                answered.append(True)
            except podium.ModelFailedError:
                answered.append(False)
        return answered

    result = await podium.run(flow, "x", model=MODELS["openai"], store=store, settings=settings)
    assert result.output == [False, False, False, False, True, True]
    assert len(wire.requests) == 9 + 2 + 1
