"""The cache with hosted models, and what providers are asked to remember, over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.models.events import ModelCached
from podium.models.model import Call
from podium.models.prices import rates_of
from podium.models.registry import open_model
from podium.settings import OwnPrice, ProviderOptions, Settings
from tests.models.wire.acting import Act, Use
from tests.models.wire.agents import act, add
from tests.models.wire.answers import Drop, Refuse, Say
from tests.models.wire.asking import AGENT, INPUT, MODELS, OUTPUT, ask, settings_for
from tests.models.wire.server import Wire, serving

LONG = podium.Agent("Nora", "critic", "Be strict about every word. " * 200, max_tokens=500)
"""Instructions that are worth remembering."""


class Grade(msgspec.Struct):
    score: int


# ── the cache ──


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
async def test_a_second_run_makes_no_request(
    provider: str, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    settings = settings_for(wire, tmp_path, cache=True)
    first = await ask(store, settings, MODELS[provider], watch=watch)
    second = await ask(store, settings, MODELS[provider])
    assert second.result.output == first.result.output == "A fine answer."
    assert len(wire.requests) == 1
    assert (second.result.usage, second.result.saved) == (Charge(), first.result.usage)


@pytest.mark.parametrize("provider", MODELS)
async def test_data_is_served_as_it_was_asked_for(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say('{"score": 7}'))
    for mode, requests in (("", 1), ("", 1), ("prompted", 2), ("prompted", 2)):
        settings = settings_for(wire, tmp_path, cache=True, limits={"output": mode})
        shown = await ask(store, settings, MODELS[provider], returns=Grade)
        assert (shown.result.output, len(wire.requests)) == ({"score": 7}, requests)


async def test_another_address_is_another_model(wire: Wire, store: Store, tmp_path: Path) -> None:
    await ask(store, settings_for(wire, tmp_path, cache=True), MODELS["openai"])
    async with serving(Say("from elsewhere")) as other:
        shown = await ask(store, settings_for(other, tmp_path, cache=True), MODELS["openai"])
        assert (shown.result.output, len(other.requests)) == ("from elsewhere", 1)


@pytest.mark.parametrize("finish", ["length", "refusal"])
async def test_a_reply_that_was_cut_or_refused_is_asked_for_again(
    finish: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    replies = 2 if finish == "length" else 1  # a text that was cut off is continued once
    wire.answer_with(*[Say("half", finish=finish)] * replies, Say("whole"))
    settings = settings_for(wire, tmp_path, cache=True)
    await ask(store, settings, MODELS["openai-chat"])
    shown = await ask(store, settings, MODELS["openai-chat"])
    assert (shown.result.output, len(wire.requests)) == ("whole", replies + 1)


async def test_the_next_model_of_a_profile_has_a_cache_of_its_own(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    """The first model is asked again, because it may be back; what the second said is not paid for twice."""
    profiles = {"balanced": [MODELS["openai"], MODELS["anthropic"]]}
    settings = settings_for(wire, tmp_path, cache=True, profiles=profiles)
    wire.answer_with(*[Refuse(500)] * 3, Say("second"), *[Refuse(500)] * 3, Say("never asked for"))
    first = await ask(store, settings, None)
    again = await ask(store, settings, None)
    assert (first.result.output, again.result.output) == ("second", "second")
    assert (len(wire.requests), again.result.usage.calls, again.result.saved.calls) == (7, 3, 1)
    assert [event.model for event in again.of(ModelCached)] == [MODELS["anthropic"]]


async def test_what_is_cached_is_served_while_the_provider_is_down(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    settings = settings_for(wire, tmp_path, cache=True)
    wire.answer_with(Say("held"), Refuse(503))
    await ask(store, settings, MODELS["openai"])
    for number in range(3):
        await ask(store, settings, MODELS["openai"], prompt=str(number))
    assert (await ask(store, settings, MODELS["openai"])).result.output == "held"
    assert len(wire.requests) == 10


# ── what a provider is asked to remember ──


def hints_in(body: dict[str, Any]) -> dict[str, Any]:
    """Everything in a request that asks for it."""
    marked = [part for part in body.get("system", []) if "cache_control" in part]
    hints = {"system": marked[0]["cache_control"]} if marked else {}
    return hints | {name: body[name] for name in ("prompt_cache_key", "cache_control") if name in body}


@pytest.mark.parametrize("returns", [str, Grade], ids=["text", "data"])
@pytest.mark.parametrize("provider", MODELS)
async def test_long_instructions_are_marked_and_come_first(
    provider: str, returns: Any, wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Say('{"score": 7}'))
    settings = settings_for(wire, tmp_path)
    for prompt in ("one", "two"):
        await ask(store, settings, MODELS[provider], agent=LONG, prompt=prompt, returns=returns)
    first, second = (seen.body for seen in wire.requests)
    assert hints_in(first) == hints_in(second) != {}
    shown = hints_in(first)
    if provider == "anthropic":
        assert shown == {"system": {"type": "ephemeral", "ttl": "5m"}}
        assert "cache_control" not in str(first["messages"]), "what changes is not written to a cache"
    else:
        assert set(shown) == {"prompt_cache_key"}
        assert LONG.instructions not in shown["prompt_cache_key"]
    changing = ("messages", "input")
    same = {name: value for name, value in first.items() if name not in changing}
    assert same == {name: value for name, value in second.items() if name not in changing}
    assert len(wire.requests) == 2, "a hint is no request of its own"


async def test_other_instructions_get_another_word(wire: Wire, store: Store, tmp_path: Path) -> None:
    settings = settings_for(wire, tmp_path)
    other = podium.Agent("Olga", "critic", LONG.instructions, max_tokens=500)
    for agent in (LONG, other):
        await ask(store, settings, MODELS["openai"], agent=agent)
    words = [seen.body["prompt_cache_key"] for seen in wire.requests]
    assert words[0] != words[1]


@pytest.mark.parametrize("provider", MODELS)
async def test_short_instructions_are_not_marked_and_a_setting_switches_it_off(
    provider: str, wire: Wire, store: Store, tmp_path: Path
) -> None:
    off = settings_for(wire, tmp_path, limits={"prompt_cache": False})
    await ask(store, settings_for(wire, tmp_path), MODELS[provider], agent=AGENT)
    await ask(store, off, MODELS[provider], agent=LONG)
    assert [hints_in(seen.body) for seen in wire.requests] == [{}, {}]


async def test_servers_of_unknown_make_get_no_field_that_they_may_not_know(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    name = f"openai-compatible:some-model@{wire.url}/v1"
    await ask(store, settings_for(wire, tmp_path), name, agent=LONG)
    assert hints_in(wire.requests[0].body) == {}


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("provider", "read", "wrote"), [("openai", 3000, 0), ("openai-chat", 3000, 0), ("anthropic", 3000, 1000)]
)
async def test_remembered_input_is_counted_and_priced(
    provider: str, read: int, wrote: int, watch: bool, wire: Wire, store: Store, tmp_path: Path
) -> None:
    """5,000 tokens of input: those that were remembered, or are to be, have prices of their own."""
    wire.answer_with(Say(input_tokens=5000, output_tokens=100, remembered=read, to_remember=wrote))
    mine = OwnPrice(input=INPUT, output=OUTPUT, cache_read=1.0, cache_write=12.5)
    settings = msgspec.structs.replace(settings_for(wire, tmp_path), prices={MODELS[provider]: mine})
    shown = await ask(store, settings, MODELS[provider], agent=LONG, watch=watch)
    (attempt,) = shown.attempts
    assert (attempt.cache_read_tokens, attempt.cache_write_tokens) == (read, wrote)
    assert (attempt.charge.input_tokens, attempt.charge.output_tokens) == (5000, 100)
    paid = ((5000 - read - wrote) * INPUT + read * 1.0 + wrote * 12.5 + 100 * OUTPUT) / 1e6
    assert shown.result.usage.usd == pytest.approx(paid)


async def test_the_public_tables_price_remembered_input(wire: Wire, store: Store, tmp_path: Path) -> None:
    wire.answer_with(Say(input_tokens=5000, output_tokens=100, remembered=3000, to_remember=1000))
    settings = msgspec.structs.replace(settings_for(wire, tmp_path), prices={})
    shown = await ask(store, settings, MODELS["anthropic"], agent=LONG)
    plain = rates_of("anthropic", "claude-haiku-4-5", {}).at(5000)
    paid = (1000 + 3000 * 0.1 + 1000 * 1.25) * plain.input_per_million + 100 * plain.output_per_million
    assert shown.result.usage.usd == pytest.approx(paid / 1e6)


@pytest.mark.parametrize("own", [True, False], ids=["own price", "public tables"])
def test_the_reservation_covers_what_remembering_costs(own: bool) -> None:
    """Some providers charge more for input that they are asked to remember."""
    name = MODELS["anthropic"]
    mine = {name: OwnPrice(input=INPUT, output=OUTPUT, cache_write=12.5)} if own else {}

    def reserved(**options: Any) -> float:
        given = ProviderOptions(base_url="http://127.0.0.1:9", **options)
        model = open_model(name, settings=Settings(providers={"anthropic": given}, prices=mine), env={})
        return model.worst_case(call).usd

    call = Call(
        run_id="",
        workflow="",
        path="",
        agent="",
        role="",
        task="",
        system=LONG.system,
        prompt="p",
        max_tokens=1,
    )
    into = rates_of("anthropic", "claude-haiku-4-5", mine).at(1000)
    dearer = rates_of("anthropic", "claude-haiku-4-5", mine).at(1000, remembered=True)
    assert dearer.input_per_million == pytest.approx(1.25 * into.input_per_million)
    assert reserved() == pytest.approx(1.25 * reserved(prompt_cache=False), rel=0.01)


# ── conversations ──


@podium.tool
async def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + "x" * 3000


async def test_a_conversation_that_goes_on_is_remembered_up_to_its_end(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    """Short instructions, but results that every later turn sends again."""
    turns = [Act(Use("read", {"page": page})) for page in range(3)]
    wire.answer_with(*turns, Act("read"))
    acted = await act(
        store, settings_for(wire, tmp_path), MODELS["anthropic"], tools=(read,), agent={"max_turns": 4}
    )
    assert acted.result.output == "read"
    marked = ["cache_control" in seen.body for seen in wire.requests]
    assert marked == [False, False, True, False], (
        "not what is short, and not the last turn, after which nothing follows"
    )


async def test_tools_are_part_of_the_prefix_that_openai_finds_again(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    wire.answer_with(Act(Use("read", {"page": 1})), Act("read"), Act("read"))
    settings = settings_for(wire, tmp_path)
    await act(store, settings, MODELS["openai"], tools=(read,), agent={"instructions": LONG.instructions})
    await act(store, settings, MODELS["openai"], tools=(), agent={"instructions": LONG.instructions})
    first, second, other = (seen.body["prompt_cache_key"] for seen in wire.requests)
    assert first == second != other


async def test_the_count_of_a_model_bounds_its_next_turn_and_no_other_models(
    wire: Wire, store: Store, tmp_path: Path
) -> None:
    """A call whose connection breaks off is charged with its reservation."""
    long = podium.tool(description="Adds two numbers. " * 500)(add.function)
    profiles = {"balanced": [MODELS["openai"], MODELS["anthropic"]]}
    wire.answer_with(
        Act(Use("add", {"a": 1, "b": 2})),
        Drop(),
        Refuse(400, "No."),
        Drop(),
        Act("3"),
    )
    settings = settings_for(wire, tmp_path, profiles=profiles)
    acted = await act(store, settings, None, tools=(long,))
    assert acted.result.output == "3"
    models = [(attempt.model, attempt.ok, attempt.estimated) for attempt in acted.attempts]
    openai, anthropic = MODELS["openai"], MODELS["anthropic"]
    assert models == [
        (openai, True, False),
        (openai, False, True),
        (openai, False, False),
        (anthropic, False, True),
        (anthropic, True, False),
    ]
    same, another = acted.attempts[1].charge.input_tokens, acted.attempts[3].charge.input_tokens
    assert same < 2_000
    assert another > 9_000
