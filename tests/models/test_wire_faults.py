"""Every fault of a provider: how many requests it causes, what is settled, and what the run gets."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.models.events import ModelAttempted
from podium.models.model import Call
from podium.models.registry import open_model
from tests.models.wire.answers import Answer, Drop, Hang, Raw, Refuse, Say
from tests.models.wire.asking import AGENT, INPUT, MODELS, OUTPUT, ask, settings_for
from tests.models.wire.server import Wire, serving

PROVIDERS = list(MODELS)
SAID = Charge(usd=(12 * INPUT + 5 * OUTPUT) / 1e6, input_tokens=12, output_tokens=5, calls=1)
"""What the server's usual answer costs."""
HASTY = podium.Agent("Nora", "critic", "Be strict.", max_tokens=500, timeout=0.8)

GARBLED: dict[str, Raw] = {
    "truncated JSON": Raw(b'{"id": "x", "choices": [{"mess'),
    "HTML": Raw(b"<html><body>Bad gateway</body></html>", "text/html"),
    "200 levels of something else": Raw(b'{"a":' * 200 + b"1" + b"}" * 200),
    "an empty body": Raw(b""),
    "the wrong content type": Raw(b'{"id": "x"}', "text/plain"),
    "NUL bytes": Raw(b"\0\0\0\0"),
    "a bare word": Raw(b'"fine"'),
    "bytes that are no text": Raw(b"\xff\xfe\xfa{}"),
}


def worst(provider: str, wire: Wire, folder: Path) -> Charge:
    """What is reserved for the question of these tests."""
    model = open_model(MODELS[provider], settings=settings_for(wire, folder), env={})
    call = Call(
        run_id="",
        workflow="",
        path="",
        agent="",
        role="",
        task="",
        system=AGENT.system,
        prompt="Say something.",
        max_tokens=AGENT.max_tokens,
    )
    return model.worst_case(call)


def times(charge: Charge, count: int) -> Charge:
    total = Charge()
    for _ in range(count):
        total += charge
    return total


def same(charge: Charge, expected: Charge) -> bool:
    return msgspec.structs.replace(charge, usd=round(charge.usd, 9)) == msgspec.structs.replace(
        expected, usd=round(expected.usd, 9)
    )


# ── answers ──


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_is_one_request(
    provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say("A fine answer."))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert shown.result.output == "A fine answer."
    assert len(wire.requests) == 1
    assert wire.requests[0].body.get("stream", False) is watch
    assert [(attempt.ok, attempt.estimated, attempt.finish, attempt.nth) for attempt in shown.attempts] == [
        (True, False, "stop", 1)
    ]
    assert same(shown.result.usage, SAID)
    if watch:
        assert "".join(text for _, _, _, text in shown.deltas) == "A fine answer."
        assert [offset for _, _, offset, _ in shown.deltas] == [0, 4, 8, 12]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_longest_reply_and_the_temperature_are_always_sent(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    await ask(store, settings_for(wire, tmp_path), MODELS[provider])
    body = wire.requests[0].body
    sent = {body.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")}
    assert sent == {None, 500}
    assert body["temperature"] == 0.7
    assert "Be strict." in json.dumps(body)


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-5",
        "openai:o3",
        "openai-chat:gpt-5.5",
        "anthropic:claude-opus-5",
        "anthropic:claude-sonnet-5",
    ],
)
async def test_models_that_think_get_no_temperature_and_nobody_is_warned(
    name: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    """They refuse it. A warning of a library would be an error in these tests."""
    wire.answer_with(Say('{"a": 1}'))
    settings = settings_for(wire, tmp_path)
    for returns in (str, dict[str, int]):
        shown = await ask(store, settings, name, returns=returns)
        assert shown.result.status == "completed", shown.result.error
    assert ["temperature" in seen.body for seen in wire.requests] == [False, False]


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_refusal_is_paid_for_and_not_asked_again(
    provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say("I would rather not.", finish="refusal"))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], returns=int, watch=watch)
    assert shown.result.status == "failed"
    assert "the model refused" in shown.result.error
    assert len(wire.requests) == 1
    assert same(shown.result.usage, SAID)


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_reply_cut_at_its_longest_is_continued(
    provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say("It goes on and", finish="length"), Say("goes on and ends."))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert (shown.result.output, shown.result.warnings) == ("It goes on and ends.", [])
    assert [attempt.finish for attempt in shown.attempts] == ["length", "stop"]
    assert len(wire.requests) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_reply_that_stays_cut_says_so(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say("It goes on and", finish="length"), Say(" on and on", finish="length"))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider])
    assert shown.result.output == "It goes on and on and on"
    warning, advice = shown.result.warnings
    assert "was cut off" in warning
    assert advice.startswith("Replies")
    assert len(wire.requests) == 2


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", ["openai", "openai-chat"])
async def test_without_usage_the_whole_reservation_counts(
    provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(usage=False))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert shown.result.output == "A fine answer."
    assert [attempt.estimated for attempt in shown.attempts] == [True]
    assert (len(wire.requests), same(shown.result.usage, worst(provider, wire, tmp_path))) == (1, True)


async def test_an_anthropic_answer_without_usage_breaks_its_format_and_counts_in_full(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(usage=False))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["anthropic"])
    assert shown.result.status == "failed"
    assert "the answer cannot be read" in shown.result.error
    assert len(wire.requests) == 3
    assert same(shown.result.usage, times(worst("anthropic", wire, tmp_path), 3))


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("sent", "kept"),
    [("a\0b", "a\0b"), ("half \ud83d here", "half � here"), ("é🎉", "é🎉"), ("x" * 1_000_000, None)],
    ids=["NUL", "lone surrogate", "other alphabets", "1 MB"],
)
async def test_strange_text_arrives(
    sent: str, kept: str | None, provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(sent, pieces=1))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert shown.result.output == (sent if kept is None else kept)
    assert len(wire.requests) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_deeply_nested_reply_is_data(provider: str, wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Say('{"a":' * 200 + "1" + "}" * 200))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], returns=dict[str, Any])
    assert json.dumps(shown.result.output).count("{") == 200
    assert len(wire.requests) == 1


# ── error replies cost nothing, and are tried again or not ──


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_passing_trouble_is_tried_again(
    status: int, provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Refuse(status), Refuse(status), Say())
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider])
    assert shown.result.output == "A fine answer."
    assert len(wire.requests) == 3
    assert [(attempt.ok, attempt.nth, attempt.attempt) for attempt in shown.attempts] == [
        (False, 1, 1),
        (False, 2, 1),
        (True, 3, 1),
    ]
    assert [attempt.charge for attempt in shown.attempts[:2]] == [Charge(calls=1), Charge(calls=1)]
    assert same(shown.result.usage, SAID + Charge(calls=2))


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_endless_trouble_ends_after_three_requests(
    provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Refuse(500, "The server is on fire."))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert shown.result.status == "failed"
    assert shown.result.error == (
        f"draft: {MODELS[provider]}: HTTP 500: The server is on fire. (attempt 3 of 3)"
    )
    assert len(wire.requests) == 3
    assert shown.result.usage == Charge(calls=3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_wrong_call_is_not_tried_again(
    status: int, provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Refuse(status, "That is wrong."))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider])
    assert shown.result.error == f"draft: {MODELS[provider]}: HTTP {status}: That is wrong."
    assert (len(wire.requests), shown.result.usage) == (1, Charge(calls=1))


async def test_an_empty_account_is_not_tried_again(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Refuse(429, "You exceeded your current quota.", code="insufficient_quota"))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["openai"])
    assert "current quota" in shown.result.error
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "1"}, 1.0, 1.1),
        ({"retry-after-ms": "40"}, 0.04, 0.05),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0, 0.0),
        ({}, 0.0008, 0.0012),
        ({"Retry-After": "soon"}, 0.0008, 0.0012),
    ],
    ids=["seconds", "milliseconds", "a date that has passed", "none", "nonsense"],
)
async def test_a_provider_is_left_alone_as_long_as_it_asks(
    headers: dict[str, str], least: float, most: float, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Refuse(429, headers=headers), Say())
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["anthropic"])
    assert shown.result.status == "completed"
    assert len(wire.requests) == 2
    assert wire.requests[1].at - wire.requests[0].at >= least - 0.001, "it really waited"
    assert least <= shown.attempts[0].retry_in_s + 0.0005
    assert shown.attempts[0].retry_in_s <= most + 0.0005


@pytest.mark.parametrize("after", ["86400", None], ids=["a day", "a date of tomorrow"])
async def test_a_long_wait_is_capped_and_ends_with_the_run(
    after: str | None, wire: Wire, store: Store, tmp_path: Path
) -> None:
    tomorrow = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
    wire.answer_with(Refuse(429, headers={"Retry-After": after or tomorrow}))

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(AGENT, "draft", prompt="x")

    handle = await podium.start(
        flow, "x", model=MODELS["openai"], store=store, settings=settings_for(wire, tmp_path)
    )
    async for event in handle.events():
        if isinstance(event.data, ModelAttempted):
            assert 60.0 <= event.data.retry_in_s <= 66.0
            break
    result = await handle.cancel()
    assert (result.status, len(wire.requests), result.usage) == ("cancelled", 1, Charge(calls=1))


# ── what may have been billed counts in full ──


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", [Hang(), Hang(started=True)], ids=["before a byte", "after a byte"])
async def test_silence_is_tried_three_times_and_counts_in_full(
    answer: Answer, provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(answer)
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], agent=HASTY)
    assert shown.result.status == "failed"
    assert "no answer within 0.8 s (attempt 3 of 3)" in shown.result.error
    assert len(wire.requests) == 3
    assert [attempt.estimated for attempt in shown.attempts] == [True] * 3
    assert same(shown.result.usage, times(worst(provider, wire, tmp_path), 3))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_stream_that_falls_silent_counts_in_full(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say(hang_after=2), Say())
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], agent=HASTY, watch=True)
    assert shown.result.output == "A fine answer."
    assert len(wire.requests) == 2
    assert same(shown.result.usage, worst(provider, wire, tmp_path) + SAID)
    assert [offset for _, _, offset, _ in shown.deltas] == [0, 4, 0, 4, 8, 12], "an attempt begins anew"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("answer", "watch"),
    [
        (Drop(), False),
        (Drop(), True),
        (Say(drop_after=2), True),
        (Raw(b'{"id": "x"', claims=500), False),
        (Raw(b'data: {"id"', "text/event-stream", claims=500), True),
    ],
    ids=["at once", "at once, streamed", "mid-stream", "mid-body", "mid-event"],
)
async def test_a_dropped_connection_counts_in_full_and_is_tried_again(
    answer: Answer, watch: bool, provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(answer, Say())
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider], watch=watch)
    assert shown.result.output == "A fine answer."
    assert len(wire.requests) == 2
    assert [(attempt.ok, attempt.estimated) for attempt in shown.attempts] == [(False, True), (True, False)]
    assert same(shown.result.usage, worst(provider, wire, tmp_path) + SAID)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", GARBLED.values(), ids=GARBLED.keys())
async def test_an_unreadable_answer_counts_in_full(
    answer: Answer, provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(answer)
    shown = await ask(store, settings_for(wire, tmp_path), MODELS[provider])
    assert shown.result.status == "failed"
    assert "Traceback" not in shown.result.error
    assert "the answer cannot be read" in shown.result.error
    assert len(wire.requests) == 3
    assert all(attempt.estimated and not attempt.ok for attempt in shown.attempts)
    assert same(shown.result.usage, times(worst(provider, wire, tmp_path), 3))


async def test_an_address_where_nobody_listens(store: Store, tmp_path: Path) -> None:
    async with serving() as gone:
        settings = settings_for(gone, tmp_path)
    shown = await ask(store, settings, MODELS["openai"])
    assert f"the provider cannot be reached at {gone.url}/v1" in shown.result.error
    assert shown.result.usage == Charge(calls=3), "nothing was sent, so nothing can have been billed"


# ── the next model of the profile ──


async def test_the_next_model_of_the_profile_takes_over(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Refuse(500), Refuse(500), Refuse(500), Say())
    settings = settings_for(wire, tmp_path, profiles={"balanced": [MODELS["openai"], MODELS["anthropic"]]})
    shown = await ask(store, settings, None)
    assert shown.result.output == "A fine answer."
    assert [seen.path.partition("?")[0] for seen in wire.requests] == ["/v1/responses"] * 3 + ["/v1/messages"]
    (fell,) = shown.fell_back
    assert (fell.from_model, fell.to_model) == (MODELS["openai"], MODELS["anthropic"])
    assert "HTTP 500" in fell.error
    assert [attempt.model for attempt in shown.attempts] == [MODELS["openai"]] * 3 + [MODELS["anthropic"]]
    assert same(shown.result.usage, SAID + Charge(calls=3))


async def test_a_model_without_a_key_is_passed_over(wire: Wire, store: Store, tmp_path: Path) -> None:
    settings = settings_for(wire, tmp_path, profiles={"balanced": [MODELS["openai"], "groq:none"]})
    wire.answer_with(Refuse(400))
    shown = await ask(store, settings, None)
    assert shown.result.error == "draft: The model groq:none needs a key in GROQ_API_KEY."
    assert (len(wire.requests), len(shown.fell_back)) == (1, 1)


async def test_repairs_stay_with_the_model_that_took_over(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Refuse(400), Say("no number"), Say("7"))
    settings = settings_for(
        wire,
        tmp_path,
        profiles={"balanced": [MODELS["openai"], MODELS["openai-chat"]]},
        limits={"output": "prompted"},
    )
    shown = await ask(store, settings, None, returns=int)
    assert shown.result.output == 7
    assert [(attempt.model, attempt.attempt) for attempt in shown.attempts] == [
        (MODELS["openai"], 1),
        (MODELS["openai-chat"], 1),
        (MODELS["openai-chat"], 2),
    ]


async def test_a_profile_begins_with_the_first_model_that_can_be_opened(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    settings = settings_for(wire, tmp_path, profiles={"balanced": ["groq:none", MODELS["anthropic"]]})
    shown = await ask(store, settings, None)
    assert (shown.result.output, shown.result.model) == ("A fine answer.", MODELS["anthropic"])
    (fell,) = shown.fell_back
    assert fell.error == "The model groq:none needs a key in GROQ_API_KEY."


# ── ceilings hold over attempts ──


async def test_a_ceiling_of_money_holds_for_models_that_only_take_over(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Refuse(400), Refuse(400), Say())
    unpriced = f"openai-compatible:m@{wire.url}/v1"
    settings = settings_for(wire, tmp_path, profiles={"balanced": [MODELS["openai"], unpriced]})
    shown = await ask(store, settings, None, budget=podium.Budget(usd=1))
    assert "its price is not known" in shown.result.error
    assert len(wire.requests) == 1
    shown = await ask(store, settings, None, budget=podium.Budget(usd=1, calls=5))
    assert shown.result.output == "A fine answer."
    assert shown.result.usage.unpriced_calls == 1


async def test_a_ceiling_of_calls_ends_the_attempts(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Refuse(500))
    shown = await ask(store, settings_for(wire, tmp_path), MODELS["openai"], budget=podium.Budget(calls=2))
    assert (shown.result.status, shown.result.stop_reason) == ("partial", "budget")
    assert (len(wire.requests), shown.result.usage.calls) == (2, 2)


async def test_a_wait_between_attempts_holds_no_slot(wire: Wire, store: Store, tmp_path: Path) -> None:
    """With a single slot another provider's ask is answered while the first waits for its next attempt."""
    wire.answer_with(Refuse(429, headers={"retry-after-ms": "300"}), Say("second"), Say("first"))

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        agents = [podium.Agent(name, model=MODELS[name]) for name in ("openai", "anthropic")]
        both = await run.gather({agent.name: run.ask(agent, "draft", prompt="x") for agent in agents})
        return [outcome.unwrap() for outcome in both.values()]

    result = await podium.run(flow, "x", store=store, settings=settings_for(wire, tmp_path), concurrency=1)
    assert result.output == ["first", "second"]
    assert len(wire.requests) == 3


async def test_a_cancel_hangs_up(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Hang())

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(AGENT, "draft", prompt="x")

    handle = await podium.start(
        flow, "x", model=MODELS["openai"], store=store, settings=settings_for(wire, tmp_path)
    )
    await wire.asked.wait()
    result = await handle.cancel()
    assert result.status == "cancelled"
    async with asyncio.timeout(10):
        await wire.gone.wait()
    assert len(wire.requests) == 1
