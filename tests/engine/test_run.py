"""What a workflow can rely on: keys, results, branches, events, failures; live and after a resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest

import podium
from podium.engine.log import Store
from podium.errors import (
    ConcurrentBranchError,
    DuplicateKeyError,
    NotEncodableError,
    NotResumableError,
    StepFailedError,
    StepTimeoutError,
)


class Point(msgspec.Struct):
    x: int
    y: int


class Counter:
    """Counts what really ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def note(self, name: str) -> str:
        self.ran.append(name)
        return f"{name}!"


def flow(fn: Callable[..., Any], **kwargs: Any) -> podium.Workflow:
    return podium.Workflow(fn, fn.__name__, **kwargs)


async def types_of(store: Store, run_id: str) -> list[str]:
    return [row.type for row in await store.read(run_id)]


async def paths_of(store: Store, run_id: str, kind: str) -> list[str]:
    return [row.path for row in await store.read(run_id, types=[kind])]


async def test_a_step_is_logged_before_its_result_is_seen(store: Store) -> None:
    seen: list[list[str]] = []

    async def one(run: podium.Run, request: str) -> str:
        value = await run.step("shout", str.upper, request)
        seen.append([row.type for row in await store.read(run.id)])
        return value

    result = await podium.run(flow(one), "hello", store=store)
    assert result.output == "HELLO"
    assert result.status == "completed"
    assert seen == [["run.created", "run.started", "step.started", "step.completed"]]


async def test_keys_are_branch_name_and_occurrence(store: Store) -> None:
    count = Counter()

    async def keys(run: podium.Run, request: str) -> None:
        await run.step("a", count.note, "1")
        await run.step("a", count.note, "2")
        async with run.branch("story"):
            await run.step("a", count.note, "3")
        async with run.branch("story"):
            await run.step("a", count.note, "4")
        for name in ("x", "y/z"):
            await run.step("each", count.note, name, key=name)

    result = await podium.run(flow(keys), "go", store=store)
    assert await paths_of(store, result.run_id, "step.completed") == [
        "a",
        "a#2",
        "story/a",
        "story#2/a",
        "each[x]",
        "each[y%2Fz]",
    ]


async def test_an_explicit_key_used_twice_is_refused(store: Store) -> None:
    async def twice(run: podium.Run, request: str) -> None:
        await run.step("a", str.upper, "x", key="k")
        await run.step("a", str.upper, "y", key="k")

    result = await podium.run(flow(twice), "go", store=store)
    assert result.status == "failed"
    assert "used twice" in result.error
    assert issubclass(DuplicateKeyError, podium.PodiumError)


@pytest.mark.parametrize("wrong", [asyncio.wait_for, None])
async def test_a_branch_belongs_to_one_task(store: Store, wrong: Any) -> None:
    async def other_task(run: podium.Run, request: str) -> str:
        step = run.step("a", str.upper, "x")
        return await (asyncio.wait_for(step, 5) if wrong else asyncio.create_task(step))

    result = await podium.run(flow(other_task), "go", store=store)
    assert result.status == "failed"
    assert "second asyncio task" in result.error
    assert "run.gather" in result.hint
    assert issubclass(ConcurrentBranchError, podium.PodiumError)


async def test_asyncio_timeout_around_a_step_is_fine(store: Store) -> None:
    async def timed(run: podium.Run, request: str) -> str:
        async with asyncio.timeout(30):
            return await run.step("a", str.upper, "x")

    assert (await podium.run(flow(timed), "go", store=store)).output == "X"


async def test_results_are_read_back_in_the_functions_return_type(store: Store) -> None:
    async def make(x: int) -> Point:
        return Point(x, x)

    def plain(x: int) -> dict[str, Any]:
        return {"point": (x, x)}

    async def typed(run: podium.Run, request: str) -> list[Any]:
        point = await run.step("make", make, 3)
        assert isinstance(point, Point)
        loose = await run.step("plain", plain, 4)
        return [point.x, loose["point"]]

    result = await podium.run(flow(typed), "go", store=store)
    assert result.output == [3, [4, 4]], "a tuple is a list, live and in a replay alike"
    again = await podium.replay(result.run_id, workflow=flow(typed), store=store)
    assert again.output == result.output


async def test_what_cannot_be_encoded_is_refused_with_a_hint(store: Store) -> None:
    async def bad_input(run: podium.Run, request: str) -> None:
        await run.step("a", str, object())

    async def bad_result(run: podium.Run, request: str) -> Any:
        return await run.step("a", object)

    async def bad_output(run: podium.Run, request: str) -> Any:
        return object()

    for fn in (bad_input, bad_result, bad_output):
        result = await podium.run(flow(fn), "go", store=store)
        assert result.status == "failed", fn.__name__
        assert "object" in result.error
    assert issubclass(NotEncodableError, podium.PodiumError)


async def test_lone_surrogates_are_replaced_before_anyone_sees_them(store: Store) -> None:
    async def broken() -> str:
        return "a\ud800b"

    async def surrogate(run: podium.Run, request: str) -> str:
        return await run.step("a", broken)

    result = await podium.run(flow(surrogate), "go", store=store)
    assert result.output == "a?b"
    assert (await podium.replay(result.run_id, workflow=flow(surrogate), store=store)).output == "a?b"


async def test_large_results_are_kept_as_blobs_and_come_back(store: Store) -> None:
    count = Counter()

    async def large(kind: str) -> str:
        count.ran.append(kind)
        return kind * (50_000 if kind == "L" else 5_000)

    async def sizes(run: podium.Run, request: str) -> list[int]:
        made = [await run.step("make", large, kind) for kind in ("L", "M")]
        return [len(text) for text in made]

    result = await podium.run(flow(sizes), "go", store=store)
    again = await podium.replay(result.run_id, workflow=flow(sizes), store=store)
    assert again.output == result.output == [50_000, 5_000]
    assert count.ran == ["L", "M"]


async def test_gather_keeps_the_declared_order_and_a_failure_is_data(store: Store) -> None:
    async def branch(run: podium.Run, name: str, delay: float) -> str:
        await asyncio.sleep(delay)
        if name == "bad":
            raise ValueError("no luck")
        return await run.step("shout", str.upper, name)

    async def fan(run: podium.Run, request: str) -> list[Any]:
        out = await run.gather(
            {
                "slow": branch(run, "slow", 0.05),
                "bad": branch(run, "bad", 0.0),
                "fast": branch(run, "fast", 0.0),
            }
        )
        return [(name, r.value if isinstance(r, podium.Ok) else str(r.error)) for name, r in out.items()]

    result = await podium.run(flow(fan), "go", store=store)
    assert result.output == [["slow", "SLOW"], ["bad", "no luck"], ["fast", "FAST"]]
    assert sorted(await paths_of(store, result.run_id, "step.completed")) == ["fast/shout", "slow/shout"]


async def test_a_failed_step_looks_the_same_live_and_in_a_replay(store: Store) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    async def handled(run: podium.Run, request: str) -> list[Any]:
        try:
            await run.step("a", fail)
        except StepFailedError as error:
            return [error.path, error.error_type, error.reason]
        return []

    result = await podium.run(flow(handled), "go", store=store)
    assert result.output == ["a", "ValueError", "broken"]
    assert (await podium.replay(result.run_id, workflow=flow(handled), store=store)).output == result.output


async def test_a_time_out_is_a_typed_failure(store: Store) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async def slow(run: podium.Run, request: str) -> str:
        try:
            await run.step("a", never, timeout=0.05)
        except StepTimeoutError as error:
            return error.path
        return "finished"

    assert (await podium.run(flow(slow), "go", store=store)).output == "a"


async def test_retries_lie_inside_one_step_and_are_logged(store: Store) -> None:
    count = Counter()

    async def flaky() -> str:
        count.ran.append("try")
        if len(count.ran) < 3:
            raise ConnectionError("down")
        return "up"

    async def retried(run: podium.Run, request: str) -> str:
        return await run.step("a", flaky, retry=podium.Retry(3, first_wait_s=0.01))

    result = await podium.run(flow(retried), "go", store=store)
    assert result.output == "up"
    types = await types_of(store, result.run_id)
    assert types.count("step.started") == 1
    assert types.count("step.retried") == 2
    assert len(count.ran) == 3


async def test_resume_runs_the_cause_of_a_failure_again_but_not_what_was_handled(store: Store) -> None:
    count = Counter()
    broken = [True]

    async def fragile(name: str) -> str:
        count.ran.append(name)
        if broken[0]:
            raise ValueError(f"{name} is broken")
        return name

    async def work(run: podium.Run, request: str) -> str:
        await run.step("good", count.note, "good")
        try:
            await run.step("handled", fragile, "handled")
        except StepFailedError:
            run.warn("went on without it")
        return await run.step("fatal", fragile, "fatal")

    first = await podium.run(flow(work), "go", store=store)
    assert first.status == "failed"
    assert first.error == "fatal: fatal is broken"
    broken[0] = False
    handle = await podium.resume(first.run_id, workflow=flow(work), store=store)
    second = await handle.result()
    assert second.status == "completed"
    assert second.output == "fatal"
    assert count.ran == ["good", "handled", "fatal", "fatal"]
    assert second.warnings == ["went on without it"]


async def test_code_changed_between_lives_reruns_stale_steps_and_what_follows(store: Store) -> None:
    """Rule 5: a changed input re-runs its step and the later plain steps of that branch, nothing else."""
    count = Counter()
    stop = [True]

    def version(first_input: str) -> podium.Workflow:
        async def side(run: podium.Run, name: str) -> str:
            return await run.step("side", count.note, name)

        async def changed(run: podium.Run, request: str) -> list[str]:
            outcomes = await run.gather({name: side(run, name) for name in ("left", "right")})
            first = await run.step("first", count.note, first_input)
            second = await run.step("second", count.note, "same")
            if stop[0]:
                raise RuntimeError("stopped here")
            return [*(branch.unwrap() for branch in outcomes.values()), first, second]

        return flow(changed)

    first = await podium.run(version("old"), "go", store=store)
    assert first.status == "failed"
    stop[0] = False
    count.ran.clear()
    second = await (await podium.resume(first.run_id, workflow=version("new"), store=store)).result()
    assert second.output == ["left!", "right!", "new!", "same!"]
    assert count.ran == ["new", "same"], "the branches before it kept their work"
    assert await paths_of(store, first.run_id, "step.stale") == ["first", "second"]


class Noted(podium.EventData, frozen=True, kw_only=True):
    """Something that the workflow tells."""

    type: ClassVar[str] = "test.told"
    n: int


async def test_emitted_events_are_never_doubled_by_a_resume(store: Store) -> None:
    stop = [True]

    async def noting(run: podium.Run, request: str) -> None:
        for n in range(3):
            run.emit(Noted(n=n))
            await run.step("s", str.upper, str(n))
            if n == 1 and stop[0]:
                raise RuntimeError("stopped here")

    first = await podium.run(flow(noting), "go", store=store)
    stop[0] = False
    await (await podium.resume(first.run_id, workflow=flow(noting), store=store)).result()
    shown = [
        msgspec.json.decode(row.data)["n"] for row in await store.read(first.run_id, types=["test.told"])
    ]
    assert shown == [0, 1, 2]


async def test_an_engine_event_cannot_be_emitted_by_a_workflow(store: Store) -> None:
    class Fake(podium.EventData, frozen=True, kw_only=True):
        type: ClassVar[str] = "model.invented"

    async def lying(run: podium.Run, request: str) -> None:
        run.emit(Fake())

    result = await podium.run(flow(lying), "go", store=store)
    assert result.status == "failed"
    assert "belongs to the engine" in result.error


async def test_artifacts_are_stored_once_and_listed(store: Store) -> None:
    async def makes(run: podium.Run, request: str) -> str:
        made = await run.artifact("notes.md", "# Notes\n", "text/markdown")
        return made.id

    result = await podium.run(flow(makes), "go", store=store)
    assert [(a.name, a.media_type, a.bytes) for a in result.artifacts] == [("notes.md", "text/markdown", 8)]
    assert await store.get_blob(result.artifacts[0].blob) == b"# Notes\n"
    again = await podium.replay(result.run_id, workflow=flow(makes), store=store)
    assert again.output == result.output


async def test_now_is_recorded(store: Store) -> None:
    async def clock(run: podium.Run, request: str) -> str:
        return (await run.now()).isoformat()

    result = await podium.run(flow(clock), "go", store=store)
    assert (await podium.replay(result.run_id, workflow=flow(clock), store=store)).output == result.output


async def test_a_finished_run_cannot_be_resumed(store: Store) -> None:
    async def quick(run: podium.Run, request: str) -> str:
        return "done"

    result = await podium.run(flow(quick), "go", store=store)
    with pytest.raises(NotResumableError, match="nothing to resume"):
        await podium.resume(result.run_id, workflow=flow(quick), store=store)


async def test_secrets_never_reach_the_log(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "correct-horse-battery"
    settings = podium.Settings.load(env={"ACME_API_KEY": secret})
    monkeypatch.setenv("ACME_API_KEY", secret)

    async def leak() -> str:
        return f"the key is {secret}, and sk-abcdefghijklmnopqrstuvwx"

    async def leaky(run: podium.Run, request: str) -> str:
        await run.artifact("log.txt", f"key={secret}")
        return await run.step("a", leak)

    result = await podium.run(flow(leaky), f"use {secret}", store=store, settings=settings)
    assert result.output == "the key is [redacted], and [redacted]"
    await store.read(result.run_id)
    rows = b"".join(row.data for row in await store.read(result.run_id))
    assert secret.encode() not in rows
    assert secret not in (await store.get(result.run_id)).request
    assert await store.get_blob(result.artifacts[0].blob) == b"key=[redacted]"


async def test_sys_exit_ends_the_workflow_and_not_the_process(store: Store) -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def leaves(run: podium.Run, request: str) -> None:
        leave()

    async def step_leaves(run: podium.Run, request: str) -> None:
        await run.step("leave", leave)

    async def branch(run: podium.Run) -> None:
        leave()

    async def branch_leaves(run: podium.Run, request: str) -> None:
        out = await run.gather({"a": branch(run)})
        out["a"].unwrap()

    for fn in (leaves, step_leaves, branch_leaves):
        result = await podium.run(flow(fn), "go", store=store)
        assert result.status == "failed", fn.__name__
        assert "3" in result.error
        assert (await types_of(store, result.run_id))[-1] == "run.failed"


async def test_lists_show_the_newest_run_first(store: Store) -> None:
    async def quick(run: podium.Run, request: str) -> str:
        return request

    ids = [(await podium.run(flow(quick), str(n), store=store)).run_id for n in range(12)]
    listed = [row.run_id for row in await store.list_runs(limit=5)]
    assert listed == ids[:-6:-1]
    assert [row.run_id for row in await store.list_runs(limit=5, before=listed[-1])] == ids[6:1:-1]


async def test_every_failure_behind_a_group_runs_again(store: Store) -> None:
    count = Counter()
    broken = [True]

    async def fragile(name: str) -> str:
        if broken[0]:
            raise ValueError(name)
        return await count.note(name)

    async def fan(run: podium.Run, request: str) -> int:
        parts = await run.gather({str(n): run.step("part", fragile, str(n)) for n in range(80)})
        if failed := [part.error for part in parts.values() if isinstance(part, podium.Failed)]:
            raise ExceptionGroup("parts failed", failed)
        return len(parts)

    first = await podium.run(flow(fan), "go", store=store)
    assert first.status == "failed"
    broken[0] = False
    second = await (await podium.resume(first.run_id, workflow=flow(fan), store=store)).result()
    assert (second.output, len(count.ran)) == (80, 80)


async def test_a_fault_of_the_workflow_names_its_line(store: Store) -> None:
    def broken() -> None:
        raise ValueError("x")

    async def raises(run: podium.Run, request: str) -> None:
        broken()

    async def step_raises(run: podium.Run, request: str) -> None:
        await run.step("a", broken)

    line = broken.__code__.co_firstlineno + 1
    for fn in (raises, step_raises):
        result = await podium.run(flow(fn), "go", store=store)
        assert result.hint == f"Raised in broken, test_run.py line {line}."


async def test_causes_that_go_round_in_a_circle_are_no_trap(store: Store) -> None:
    async def circular() -> None:
        first, second = ValueError("first"), podium.ModelFailedError("", "E", "second")
        first.__cause__, second.__cause__ = second, first
        raise second

    async def flows(run: podium.Run, request: str) -> None:
        await run.step("a", circular)

    result = await podium.run(flow(flows), "go", store=store)
    assert (result.status, result.error) == ("failed", "a: second")
