"""Keys and broken text never reach the log, and nobody sees anything else than what the log holds."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, ClassVar

import pytest

import podium
from podium.engine.log import Store
from podium.errors import StepFailedError
from podium.settings import NewsOptions, Settings

KEY = "sk-abcdefghijklmnopqrstuvwxyz0123"
HALF = "\ud800"


class Noted(podium.EventData, frozen=True, kw_only=True):
    type: ClassVar[str] = "secrets.told"
    text: str


class Odd(StepFailedError):
    """A failure of a user's own, made in its own way."""

    def __init__(self, n: int) -> None:
        super().__init__("", "Odd", f"odd {n}", n=n)


async def log_of(store: Store, run_id: str) -> str:
    return "".join(f"{row.path} {row.data.decode()}\n" for row in await store.read(run_id))


@pytest.mark.parametrize("error", [ValueError(f"wrong key {KEY}"), ValueError(f"half {HALF}"), Odd(3)])
async def test_a_failure_is_the_same_live_and_in_a_replay(store: Store, error: Exception) -> None:
    seen: list[Any] = []

    async def fail() -> None:
        raise error

    async def failing(run: podium.Run, request: str) -> None:
        try:
            await run.step("a", fail)
        except StepFailedError as failure:
            seen.append((type(failure), str(failure), failure.reason, failure.details, failure.error_type))

    workflow = podium.Workflow(failing, "failing")
    result = await podium.run(workflow, "go", store=store)
    assert result.status == "completed", result.error
    await podium.replay(result.run_id, workflow=workflow, store=store)
    assert seen[0] == seen[1]
    assert KEY not in str(seen)
    assert HALF not in str(seen)


async def test_the_result_of_a_run_holds_no_key(store: Store) -> None:
    async def leaking(run: podium.Run, request: str) -> None:
        run.warn(f"used {KEY}{HALF}")
        raise ValueError(f"refused {KEY}{HALF}")

    workflow = podium.Workflow(leaking, "leaking")
    result = await podium.run(workflow, "go", store=store)
    replayed = await podium.replay(result.run_id, workflow=workflow, store=store)
    for shown in (result, replayed):
        assert shown.status == "failed"
        assert shown.warnings == ["used [redacted]?"]
        assert shown.error == "ValueError: refused [redacted]?"


async def test_questions_and_answers_hold_no_key(store: Store) -> None:
    async def asking(run: podium.Run, request: str) -> str:
        return await run.wait_for(f"Use {KEY}?", details={"key": KEY})

    workflow = podium.Workflow(asking, "asking")
    result = await podium.run(workflow, "go", store=store)
    assert KEY not in str(result.questions)
    await podium.answer(result.run_id, f"no, {KEY}", by=KEY, store=store)
    assert KEY not in str(await store.inbox(result.run_id))
    second = await (await podium.resume(result.run_id, workflow=workflow, store=store)).result()
    assert second.output == "no, [redacted]"
    assert KEY not in await log_of(store, result.run_id)


async def test_a_reply_that_a_person_edits_holds_no_key(store: Store) -> None:
    async def shout(run: podium.Run, request: str) -> str:
        return await run.step("shout", str.upper, request)

    workflow = podium.Workflow(shout, "shout")
    first = await podium.run(workflow, "go", store=store)
    fork = await podium.fork(first.run_id, "shout", reply=f"key {KEY}", workflow=workflow, store=store)
    assert (await fork.result()).output == "key [redacted]"
    assert KEY not in await log_of(store, fork.run_id)


@pytest.mark.parametrize("name", [f"half {HALF}", f"half {HALF}/b", f"key={KEY}"])
async def test_any_name_makes_a_path(store: Store, name: str) -> None:
    async def part(run: podium.Run) -> str:
        return await run.step("s", str.upper, "x")

    async def naming(run: podium.Run, request: str) -> podium.Partial:
        await run.step(name, str.upper, "1")
        await run.step(name, str.upper, "2")
        await run.step("keyed", str.upper, "3", key=name)
        async with run.branch(name):
            await run.step("inner", str.upper, "4")
        await run.gather({name: part(run)})
        await run.artifact(name, name)
        run.emit(Noted(text=name))
        return podium.Partial(output={name: name}, reason=name)

    workflow = podium.Workflow(naming, "naming")
    result = await podium.run(workflow, name, store=store)
    assert result.status == "partial", result.error
    replayed = await podium.replay(result.run_id, workflow=workflow, store=store)
    assert replayed.to_dict() | {"duration_s": 0} == result.to_dict() | {"duration_s": 0}
    everything = f"{result} {await log_of(store, result.run_id)} {await store.get(result.run_id)}"
    assert KEY not in everything
    assert HALF not in everything


async def test_names_that_differ_only_in_broken_text_are_counted(store: Store) -> None:
    async def naming(run: podium.Run, request: str) -> None:
        await run.step("\ud800", str.upper, "1")
        await run.step("\ud801", str.upper, "2")

    workflow = podium.Workflow(naming, "naming")
    result = await podium.run(workflow, "go", store=store)
    assert result.status == "completed", result.error
    assert len({row.path for row in await store.read(result.run_id, types=["step.completed"])}) == 2


async def test_the_list_of_runs_holds_no_half_of_a_key(store: Store) -> None:
    async def nothing(run: podium.Run, request: str) -> None:
        return None

    result = await podium.run(podium.Workflow(nothing, "nothing"), f"{'x' * 489} {KEY}", store=store)
    assert "sk-" not in (await store.get(result.run_id)).request


async def test_encoded_secrets_are_the_same_live_and_in_a_replay(store: Store) -> None:
    secret = "Feed-key-0123456789"
    settings = Settings(news=NewsOptions(feeds=[f"https://example.com/feed?api_key={secret}"]))
    forms = [
        secret,
        b64encode(b"x" + secret.encode()).decode(),
        secret.encode().hex(),
        f"Feed-key-\n{secret[9:]}",
    ]
    seen: list[Any] = []

    async def encoded(run: podium.Run, request: str) -> dict[str, Any]:
        made = await run.step("encode", lambda: {"forms": forms, secret: 1, "n": [1.5, None, True]})
        seen.append(made)
        run.warn(forms[1])
        return {"made": made, "again": forms}

    workflow = podium.Workflow(encoded, "encoded")
    result = await podium.run(workflow, "go", store=store, settings=settings)
    replayed = await podium.replay(result.run_id, workflow=workflow, store=store, settings=settings)
    assert result.status == "completed", result.error
    assert seen[0] == seen[1]
    assert replayed.to_dict() | {"duration_s": 0} == result.to_dict() | {"duration_s": 0}
    assert seen[0]["n"] == [1.5, None, True]
    everything = f"{result} {seen} {await log_of(store, result.run_id)}"
    assert not any(form[4:-6] in everything for form in forms[:3])
