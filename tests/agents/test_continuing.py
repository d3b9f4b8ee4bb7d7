"""An ask that was interrupted continues after the last attempt that was paid for, and so does a cut reply."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.agents.attempts import ENDED_EARLY, LIMIT_REACHED
from podium.engine.events import BudgetSettled, RunWarned, StepCompleted
from podium.engine.log import Store
from podium.errors import FencedError, InvalidReplyError
from podium.models.events import ModelAttempted, ModelContinued, ModelRepaired
from podium.models.model import FREE, Call, ModelFault, OnDelta, Price, Reply, Usage, worst_case
from podium.models.provider_limits import ProviderLimits
from podium.models.repair import join
from podium.settings import Settings
from tests.agents.asking import asking
from tests.agents.test_ask import Grade, data_of

NORA = podium.Agent("Nora", "critic", max_tokens=100)


class Answering:
    """A model that gives its replies one after the other: a text, a `Reply`, an error, or `None` for a call
    that is never answered."""

    rehearsal = False

    def __init__(self, *replies: Any, name: str = "answering", price: Price = FREE) -> None:
        self.name = name
        self.price = price
        self.replies = list(replies)
        self.calls: list[Call] = []
        self.stuck = asyncio.Event()

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        self.calls.append(call)
        reply = self.replies.pop(0)
        if reply is None:
            self.stuck.set()
            await asyncio.Event().wait()
            reply = "too late"
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(reply, Usage(10, 10))

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


def cut(text: str, tokens: int = 100) -> Reply:
    return Reply(text, Usage(10, tokens), finish="length")


grading = asking(lambda run, request: run.ask(NORA, "grade", prompt="Grade it.", returns=Grade))
writing = asking(lambda run, request: run.ask(NORA, "write", prompt="Write."))


async def crash(store: Store, flow: podium.Workflow, model: Answering, **options: Any) -> str:
    """Start a run and leave it while its model is in the middle of a call, as a process that dies does."""
    first = await podium.start(flow, "x", model=model, store=store, **options)
    async with asyncio.timeout(30):
        await model.stuck.wait()
    await leave(store, first)
    return first.run_id


async def leave(store: Store, handle: podium.RunHandle) -> None:
    """Fence a driver off, so that nothing of what it has in flight reaches the log. What it has logged before
    is durable within a few milliseconds, also without a ceiling."""
    async with asyncio.timeout(30):
        while not await store.read(handle.run_id, types=["budget.reserved"]):  # noqa: ASYNC110 - a poll
            await asyncio.sleep(0.001)
    await store.release(await store.acquire(handle.run_id, take_over=True))
    with pytest.raises(FencedError):
        await handle.pause(at_once=True)


async def go_on(store: Store, run_id: str, flow: podium.Workflow, model: Answering, **more: Any) -> Any:
    handle = await podium.resume(run_id, workflow=flow, model=model, store=store, **more)
    return await handle.result()


# ── repairs ──


async def test_a_small_raise_gets_an_ask_through_its_repairs(store: Store) -> None:
    model = Answering("one", "two", '{"score": 3}')
    first = await podium.run(grading, "x", model=model, store=store, budget=podium.Budget(calls=2))
    assert (first.status, first.usage.calls) == ("partial", 2)
    result = await go_on(store, first.run_id, grading, model, budget=podium.Budget(calls=3))
    assert (result.status, result.output) == ("completed", {"score": 3})
    assert result.usage.calls == 3
    assert [call.attempt for call in model.calls] == [1, 2, 3]
    assert "two" in model.calls[2].prompt


async def test_a_crash_in_the_third_attempt_repeats_only_that_one(store: Store) -> None:
    model = Answering("one", "two", None, '{"score": 3}')
    run_id = await crash(store, grading, model, budget=podium.Budget(calls=4))
    result = await go_on(store, run_id, grading, model)
    assert (result.status, result.output) == ("completed", {"score": 3})
    assert [call.attempt for call in model.calls] == [1, 2, 3, 3]
    assert model.calls[3].prompt == model.calls[2].prompt
    assert (result.usage.calls, result.usage.unknown_calls) == (4, 1)


async def test_attempts_of_another_question_are_not_continued(store: Store) -> None:
    model = Answering("one", None, '{"score": 3}')
    run_id = await crash(store, grading, model)
    other = asking(lambda run, request: run.ask(NORA, "grade", prompt="Grade it well.", returns=Grade))
    result = await go_on(store, run_id, other, model)
    assert result.output == {"score": 3}
    assert [call.attempt for call in model.calls] == [1, 2, 1]


async def test_a_failed_ask_that_is_asked_again_begins_anew(store: Store) -> None:
    model = Answering("one", "two", "three", '{"score": 3}')
    first = await podium.run(grading, "x", model=model, store=store)
    assert first.status == "failed"
    assert (await go_on(store, first.run_id, grading, model)).output == {"score": 3}
    assert [call.attempt for call in model.calls] == [1, 2, 3, 1]


async def test_a_long_reply_that_does_not_fit_is_kept_whole(store: Store) -> None:
    long = "word " * 20_000
    model = Answering(long, None, '{"score": 3}')
    run_id = await crash(store, grading, model)
    [repaired] = await data_of(store, run_id, ModelRepaired)
    assert await store.get_blob(repaired.blob) == long.encode()
    await go_on(store, run_id, grading, model)
    assert model.calls[2].prompt == model.calls[1].prompt


# ── providers in trouble ──


class Hosted(Answering):
    """A model whose provider may be in trouble: its faults are tried again."""

    def __init__(self, *replies: Any, name: str = "hosted") -> None:
        super().__init__(*replies, name=name)
        self.guard = ProviderLimits(name)


def busy(*, billed: bool = False) -> ModelFault:
    return ModelFault("unavailable", "the provider is busy", retry=True, billed=billed, status=503)


async def test_attempts_at_a_provider_in_trouble_are_counted_on(store: Store) -> None:
    model = Hosted(busy(), busy(), None, "done")
    run_id = await crash(store, writing, model, settings=Settings(retry_wait=0.001))
    result = await go_on(store, run_id, writing, model, settings=Settings(retry_wait=0.001))
    assert result.output == "done"
    attempts = await data_of(store, run_id, ModelAttempted)
    assert [(attempt.nth, attempt.ok) for attempt in attempts] == [(1, False), (2, False), (3, True)]


FALLING = """
import asyncio, pathlib
calls = pathlib.Path(__file__).with_name("calls")

def note(name):
    with calls.open("a") as file:
        file.write(name)

async def first(call):
    note("first ")
    raise RuntimeError("down")

async def second(call):
    note("second ")
    if calls.read_text().count("second") == 1:
        await asyncio.Event().wait()
    return "done"
"""


async def test_a_resumed_ask_stays_with_the_model_that_took_over(store: Store, tmp_path: Path) -> None:
    file, calls = tmp_path / "falling.py", tmp_path / "calls"
    file.write_text(FALLING)
    settings = Settings(profiles={"balanced": [f"python:{file}:first", f"python:{file}:second"]})
    handle = await podium.start(writing, "x", store=store, settings=settings)
    async with asyncio.timeout(30):
        while not calls.exists() or "second" not in calls.read_text():  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)
    await leave(store, handle)
    resumed = await podium.resume(handle.run_id, workflow=writing, store=store, settings=settings)
    assert (await resumed.result()).output == "done"
    assert calls.read_text() == "first second second "


# ── budgets after a crash ──


def fan(calls: Sequence[str]) -> podium.Workflow:
    async def flow(run: podium.Run, request: str) -> str:
        parts: list[str] = []
        async with run.branch("narrow", budget=podium.Budget(calls=3)):
            for name in calls:
                try:
                    parts.append(await run.ask(NORA, "write", prompt=name))
                except podium.BudgetExhaustedError:
                    parts.append("-")
        return " ".join(parts)

    return podium.Workflow(flow, "fan")


async def test_after_a_crash_a_budget_counts_each_call_once(store: Store) -> None:
    chain = asking(lambda run, request: _chain(run, 4))
    model = Answering("a", "b", None, "c", "d")
    run_id = await crash(store, chain, model, budget=podium.Budget(calls=5))
    result = await go_on(store, run_id, chain, model)
    assert (result.status, result.output) == ("completed", "abcd")
    assert (len(model.calls), result.usage.calls, result.usage.unknown_calls) == (5, 5, 1)


async def _chain(run: podium.Run, length: int) -> str:
    return "".join([await run.ask(NORA, "write", prompt=str(number)) for number in range(length)])


async def test_a_branch_budget_gives_the_undisturbed_result_where_it_allows(store: Store) -> None:
    undisturbed = await podium.run(fan("xy"), "x", model=Answering("1", "2"), store=store)
    model = Answering("1", None, "2")
    run_id = await crash(store, fan("xy"), model)
    result = await go_on(store, run_id, fan("xy"), model)
    assert result.output == undisturbed.output == "1 2"
    assert result.usage.calls == len(model.calls) == 3


async def test_a_branch_budget_holds_over_a_crash(store: Store) -> None:
    model = Answering("1", None, "2")
    run_id = await crash(store, fan("xyz"), model)
    result = await go_on(store, run_id, fan("xyz"), model)
    assert result.output == "1 2 -", "the call that was lost may have been paid for"
    assert len(model.calls) == 3


async def test_calls_lost_in_a_crash_are_counted_without_a_ceiling_too(store: Store) -> None:
    model = Answering(None, "done")
    run_id = await crash(store, writing, model)
    result = await go_on(store, run_id, writing, model)
    assert (result.usage.calls, result.usage.unknown_calls) == (2, 1)
    [lost] = [settled for settled in await data_of(store, run_id, BudgetSettled) if settled.lost]
    assert lost.charge.calls == lost.charge.unknown_calls == 1
    assert lost.estimated


# ── a provider that uses more than it was asked for ──


async def test_a_ceiling_that_a_provider_passed_is_named_and_nothing_more_is_called(store: Store) -> None:
    price = Price("known", 1.0, 1000.0)
    model = Answering(*[Reply("x", Usage(10, 1000)) for _ in range(10)], price=price)

    async def ask(run: podium.Run, request: str) -> int:
        parts = await run.gather({str(n): run.ask(NORA, "write", prompt="x") for n in range(10)})
        return sum(isinstance(part, podium.Ok) for part in parts.values())

    result = await podium.run(
        asking(ask), "x", model=model, store=store, budget=podium.Budget(usd=1.2), concurrency=1
    )
    assert len(model.calls) == 2, "the first passes its worst case, the second the ceiling"
    assert (result.status, result.stop_reason) == ("partial", "budget")
    [warning] = result.warnings
    assert warning.startswith("The money budget of the run was passed: $2.00 of $1.20 spent")
    assert "$2.00 of $1.20" in result.error
    logged = await data_of(store, result.run_id, RunWarned)
    assert [warned.message for warned in logged] == [warning]


async def test_a_model_that_used_more_is_reserved_more_for(store: Store) -> None:
    price = Price("known", 1.0, 1000.0)
    model = Answering(*[Reply("x", Usage(10, 1000)) for _ in range(4)], price=price)
    result = await podium.run(
        asking(lambda run, request: _chain(run, 4)),
        "x",
        model=model,
        store=store,
        budget=podium.Budget(usd=1.9),
    )
    assert len(model.calls) == 1, "a second one may cost $1 again, and $0.90 is left"
    assert result.status == "partial"
    assert result.usage.usd < 1.9
    [warning] = result.warnings
    assert "No ceiling was passed" in warning


# ── replies that were cut off ──


async def test_a_text_that_was_cut_off_is_continued(store: Store) -> None:
    model = Answering(cut("The storm came at night and took"), "night and took the roof.")
    result = await podium.run(writing, "x", model=model, store=store)
    assert result.output == "The storm came at night and took the roof."
    assert (result.status, result.warnings) == ("completed", [])
    assert "The storm came at night and took" in model.calls[1].prompt
    assert (await podium.replay(result.run_id, workflow=writing, store=store)).output == result.output


async def test_a_text_that_stays_cut_off_is_marked_and_warned_of(store: Store) -> None:
    model = Answering(cut("The storm came at night"), cut(" and took the"))
    result = await podium.run(writing, "x", model=model, store=store)
    assert result.output == "The storm came at night and took the"
    warning = "The reply of Nora at write was cut off at its limit of 100 tokens. It is not complete."
    assert result.warnings == [warning, LIMIT_REACHED]
    [completed] = await data_of(store, result.run_id, StepCompleted)
    assert completed.cut
    assert (await podium.replay(result.run_id, workflow=writing, store=store)).warnings == result.warnings


async def test_a_crash_while_a_text_is_continued_keeps_its_beginning(store: Store) -> None:
    model = Answering(cut("The storm came at night"), None, "came at night and left.")
    run_id = await crash(store, writing, model)
    assert len(await data_of(store, run_id, ModelContinued)) == 1
    result = await go_on(store, run_id, writing, model)
    assert result.output == "The storm came at night and left."
    assert len(model.calls) == 3


async def test_data_that_was_cut_off_is_asked_for_with_a_larger_limit(store: Store) -> None:
    model = Answering(cut('{"sco'), '{"score": 3}')
    result = await podium.run(grading, "x", model=model, store=store)
    assert result.output == {"score": 3}
    assert [call.max_tokens for call in model.calls] == [100, 200]
    assert "cut off at its limit of 100 tokens" in model.calls[1].prompt
    assert "The limit is 200 tokens now" in model.calls[1].prompt
    [repaired] = await data_of(store, result.run_id, ModelRepaired)
    assert (repaired.cut, repaired.raw) == (True, '{"sco')


async def test_data_that_stays_cut_off_is_not_blamed_on_the_model(store: Store) -> None:
    caught: list[InvalidReplyError] = []

    async def ask(run: podium.Run, request: str) -> str:
        try:
            await run.ask(NORA, "grade", prompt="Grade it.", returns=Grade)
        except InvalidReplyError as error:
            caught.append(error)
        return "done"

    model = Answering(cut('{"sco'), cut('{"scor', 200), cut('{"score', 400))
    result = await podium.run(asking(ask), "x", model=model, store=store)
    [error] = caught
    assert error.reason.startswith("the reply was cut off at its limit of 400 tokens")
    assert "JSON" not in error.reason
    assert error.raw == '{"score'
    assert error.hint == LIMIT_REACHED
    assert result.warnings == [LIMIT_REACHED], "also where the workflow goes on without the answer"


def cut_early(text: str, tokens: int = 30) -> Reply:
    """A reply that the server cut off before the limit of the call."""
    return Reply(text, Usage(10, tokens), finish="length")


async def test_a_text_that_the_server_cut_off_early_is_warned_of_with_both_limits(store: Store) -> None:
    model = Answering(cut_early("The storm came at night"), cut_early(" and took the"))
    result = await podium.run(writing, "x", model=model, store=store)
    assert result.warnings == [
        "The reply of Nora at write was cut off after 30 tokens, before its limit of 100 tokens. It is not "
        "complete.",
        ENDED_EARLY,
    ]


async def test_data_that_the_server_cut_off_early_is_asked_for_again_in_fewer_tokens(store: Store) -> None:
    model = Answering(cut_early('{"sco'), '{"score": 3}')
    result = await podium.run(grading, "x", model=model, store=store)
    assert (result.status, result.output) == ("completed", {"score": 3})
    assert [call.max_tokens for call in model.calls] == [100, 100], "a larger limit would change nothing"
    assert "cut off after 30 tokens" in model.calls[1].prompt
    assert "in fewer than 30 tokens" in model.calls[1].prompt
    [repaired] = await data_of(store, result.run_id, ModelRepaired)
    assert (repaired.cut, repaired.cut_at) == (True, 30)
    assert repaired.error.startswith("the reply was cut off after 30 tokens, before its limit of 100 tokens")


async def test_data_that_the_server_keeps_cutting_off_names_the_servers_limit(store: Store) -> None:
    model = Answering(cut_early('{"sco'), cut_early('{"scor'), cut_early('{"score'))
    result = await podium.run(grading, "x", model=model, store=store)
    assert result.status == "failed"
    assert "cut off after 30 tokens, before its limit of 100 tokens" in result.error
    assert result.error.endswith("also when it was asked for in fewer tokens")
    assert result.hint == ENDED_EARLY


async def test_a_crash_after_data_was_cut_off_early_asks_the_same_again(store: Store) -> None:
    model = Answering(cut_early('{"sco'), None, '{"score": 3}')
    run_id = await crash(store, grading, model, budget=podium.Budget(calls=4))
    result = await go_on(store, run_id, grading, model)
    assert (result.status, result.output) == ("completed", {"score": 3})
    assert model.calls[2].prompt == model.calls[1].prompt
    assert model.calls[2].max_tokens == 100


async def test_closing_words_that_cannot_be_continued_are_kept(store: Store) -> None:
    async def ask(run: podium.Run, request: str) -> str:
        async with run.closing():
            return await run.ask(NORA, "write", prompt="Sum up.")

    flow = asking(ask)
    model = Answering(cut("All went well until"))
    result = await podium.run(flow, "x", model=model, store=store, budget=podium.Budget(calls=1))
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert result.output == "All went well until"
    assert "The reply of Nora at write was cut off" in result.warnings[0]
    [completed] = await data_of(store, result.run_id, StepCompleted)
    assert completed.cut
    again = await podium.replay(result.run_id, workflow=flow, store=store)
    assert (again.status, again.output, again.warnings) == (result.status, result.output, result.warnings)


async def test_a_workflow_can_see_that_a_text_was_cut_off(store: Store) -> None:
    seen: list[bool] = []

    async def ask(run: podium.Run, request: str) -> str:
        first = await run.ask(NORA, "write", prompt="One.")
        seen.append(run.cut_off)
        second = await run.ask(NORA, "write", prompt="Two.")
        seen.append(run.cut_off)
        return f"{first} {second}"

    flow = asking(ask)
    result = await podium.run(flow, "x", model=Answering(cut("one"), cut("two"), "three"), store=store)
    assert seen == [True, False]
    await podium.replay(result.run_id, workflow=flow, store=store)
    assert seen == [True, False, True, False]


async def test_an_empty_reply_at_the_limit_is_asked_for_with_a_larger_one(store: Store) -> None:
    model = Answering(cut(""), "done")
    result = await podium.run(writing, "x", model=model, store=store)
    assert result.output == "done"
    assert [call.max_tokens for call in model.calls] == [100, 200]


async def test_a_provider_that_refuses_the_larger_limit_is_asked_with_the_old_one(store: Store) -> None:
    refused = ModelFault("rejected", "max_tokens is too large", status=400)
    model = Hosted(cut('{"sco'), refused, '{"score": 3}')
    result = await podium.run(grading, "x", model=model, store=store)
    assert result.output == {"score": 3}
    assert [call.max_tokens for call in model.calls] == [100, 200, 100]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("", "all of it", "all of it"),
        ("one two three four", "three four five", "one two three four five"),
        ("one two three four", "\n three four five", "one two three four five"),
        ("on and on", "on and on", "on and on on and on"),
        ("one two", "three", "one two three"),
        ("one two ", "three", "one two three"),
        ("one two,", " three", "one two, three"),
        ("| a | b |\n| 1 |", " 2 |\n", "| a | b |\n| 1 | 2 |\n"),
    ],
)
def test_the_parts_of_a_text_are_joined_without_what_is_repeated(
    first: str, second: str, joined: str
) -> None:
    assert join(first, second) == joined
