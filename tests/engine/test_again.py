"""What runs again over its record, and what follows from that: over several lives of a run, and in forks."""

from __future__ import annotations

import gc
from typing import Any, ClassVar

import msgspec
import pytest

import podium
from podium.engine.log import Store
from podium.errors import ReplayDivergedError, UsageError


class Noted(podium.EventData, frozen=True, kw_only=True):
    type: ClassVar[str] = "again.told"
    text: str


class Program:
    """A workflow whose code can be changed between lives, and what it really did."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.first = "old"
        self.fails_after = ""
        self.broken = False
        self.events = 1

    async def note(self, name: str) -> str:
        self.ran.append(name)
        return name

    async def fragile(self) -> str:
        self.ran.append("fragile")
        if self.broken:
            raise ValueError("broken")
        return "mended"

    def stop(self, place: str) -> None:
        if self.fails_after == place:
            raise RuntimeError(f"stopped after {place}")

    async def resumed(self, store: Store, run_id: str, workflow: podium.Workflow) -> podium.RunResult:
        self.ran.clear()
        return await (await podium.resume(run_id, workflow=workflow, store=store)).result()

    async def forked(
        self, store: Store, run_id: str, at: str, workflow: podium.Workflow, **edit: Any
    ) -> podium.RunResult:
        self.ran.clear()
        return await (await podium.fork(run_id, at, workflow=workflow, store=store, **edit)).result()


@pytest.fixture
def program() -> Program:
    return Program()


def three_steps(program: Program) -> podium.Workflow:
    async def three(run: podium.Run, request: str) -> None:
        await run.step("a", program.note, program.first)
        program.stop("a")
        await run.step("b", program.note, "b")
        await run.step("c", program.note, "c")
        program.stop("c")

    return podium.Workflow(three, "three")


async def changed(store: Store, program: Program, stop: str) -> str:
    """A run that was recorded whole, then taken up with another first input until `stop`."""
    program.fails_after = "c"
    first = await podium.run(three_steps(program), "go", store=store)
    program.first, program.fails_after = "new", stop
    await program.resumed(store, first.run_id, three_steps(program))
    program.fails_after = ""
    return first.run_id


async def test_a_stop_in_between_does_not_forget_that_a_step_ran_again(
    store: Store, program: Program
) -> None:
    """The run was stopped after the changed step and before those that follow from it."""
    run_id = await changed(store, program, "a")
    assert program.ran == ["new"]
    result = await program.resumed(store, run_id, three_steps(program))
    assert result.status == "completed"
    assert program.ran == ["b", "c"], "their records are older than the new result of a"
    assert (await podium.replay(run_id, workflow=three_steps(program), store=store)).status == "completed"


async def test_a_changed_step_does_not_run_again_in_every_later_life(store: Store, program: Program) -> None:
    run_id = await changed(store, program, "c")
    assert program.ran == ["new", "b", "c"]
    await program.resumed(store, run_id, three_steps(program))
    assert program.ran == []


async def test_what_follows_a_failure_that_is_mended_runs_again(store: Store, program: Program) -> None:
    async def deploy(run: podium.Run, request: str) -> str:
        try:
            return await run.step("deploy", program.fragile)
        finally:
            await run.step("tidy", program.note, "tidy")

    workflow, program.broken = podium.Workflow(deploy, "deploy"), True
    first = await podium.run(workflow, "go", store=store)
    assert (first.status, program.ran) == ("failed", ["fragile", "tidy"])
    program.broken = False
    second = await program.resumed(store, first.run_id, workflow)
    assert (second.output, program.ran) == ("mended", ["fragile", "tidy"])


async def test_events_of_a_changed_branch_are_neither_lost_nor_doubled(
    store: Store, program: Program
) -> None:
    async def noting(run: podium.Run, request: str) -> None:
        noted = await run.step("a", program.note, program.first)
        for n in range(program.events):
            run.emit(Noted(text=f"{noted} {n}"))
        await run.step("b", program.note, "b")
        program.stop("b")

    workflow, program.fails_after = podium.Workflow(noting, "telling"), "b"
    first = await podium.run(workflow, "go", store=store)
    program.first = "new"
    await program.resumed(store, first.run_id, workflow)
    program.events, program.fails_after = 3, ""
    await program.resumed(store, first.run_id, workflow)
    rows = await store.read(first.run_id, types=["again.told"])
    assert [msgspec.json.decode(row.data)["text"] for row in rows] == ["old 0", "new 0", "new 1", "new 2"]
    await podium.replay(first.run_id, workflow=workflow, store=store)


async def test_a_question_of_a_changed_branch_is_asked_again(store: Store, program: Program) -> None:
    async def asking(run: podium.Run, request: str) -> str:
        await run.step("a", program.note, program.first)
        answer = await run.wait_for("Sure?")
        program.stop("question")
        return answer

    workflow, program.fails_after = podium.Workflow(asking, "asking"), "question"
    run_id = (await podium.run(workflow, "go", store=store)).run_id
    await podium.answer(run_id, "one", store=store)
    assert (await program.resumed(store, run_id, workflow)).status == "failed"
    program.first, program.fails_after = "new", ""
    assert (await program.resumed(store, run_id, workflow)).status == "waiting"
    await podium.answer(run_id, "two", store=store)
    assert (await program.resumed(store, run_id, workflow)).output == "two"
    assert (await podium.replay(run_id, workflow=workflow, store=store)).output == "two"


# ── forks of runs that had several lives ──


async def test_a_fork_runs_its_step_anew_though_an_earlier_life_recorded_it(
    store: Store, program: Program
) -> None:
    run_id = await changed(store, program, "")
    await program.forked(store, run_id, "b", three_steps(program))
    assert program.ran == ["b", "c"]
    await program.forked(store, run_id, "a", three_steps(program))
    assert program.ran == ["new", "b", "c"]


async def test_a_fork_at_a_step_that_once_failed(store: Store, program: Program) -> None:
    async def deploy(run: podium.Run, request: str) -> str:
        return await run.step("deploy", program.fragile)

    workflow, program.broken = podium.Workflow(deploy, "deploy"), True
    first = await podium.run(workflow, "go", store=store)
    program.broken = False
    await program.resumed(store, first.run_id, workflow)
    fork = await program.forked(store, first.run_id, "deploy", workflow)
    assert (fork.output, program.ran) == ("mended", ["fragile"])


async def test_an_edited_reply_counts_though_an_earlier_life_recorded_the_step(
    store: Store, program: Program
) -> None:
    run_id = await changed(store, program, "")
    await program.forked(store, run_id, "b", three_steps(program), reply="edited")
    assert program.ran == ["c"]


async def test_a_fork_can_answer_a_question_otherwise_or_ask_it_again(store: Store, program: Program) -> None:
    async def asking(run: podium.Run, request: str) -> str:
        return await run.wait_for("Sure?")

    workflow = podium.Workflow(asking, "asking")
    run_id = (await podium.run(workflow, "go", store=store)).run_id
    with pytest.raises(UsageError):
        await program.forked(store, run_id, "question", workflow, reply="never asked")
    await podium.answer(run_id, "yes", store=store)
    assert (await program.resumed(store, run_id, workflow)).output == "yes"
    assert (await program.forked(store, run_id, "question", workflow)).status == "waiting"
    assert (await program.forked(store, run_id, "question", workflow, reply="no")).output == "no"


async def test_a_long_edited_reply_is_a_blob(store: Store, program: Program) -> None:
    async def long(run: podium.Run, request: str) -> int:
        return len(await run.step("a", program.note, "short"))

    workflow = podium.Workflow(long, "long")
    first = await podium.run(workflow, "go", store=store)
    fork = await program.forked(store, first.run_id, "a", workflow, reply="z" * 40_000)
    assert (fork.output, program.ran) == (40_000, [])
    assert max(len(row.data) for row in await store.read(fork.run_id)) < 5_000


async def test_a_divergence_is_reported_though_the_workflow_swallows_it(
    store: Store, program: Program
) -> None:
    async def swallows(run: podium.Run, request: str) -> str:
        try:
            return await run.step("a", program.note, program.first)
        except Exception:  # noqa: BLE001 - as workflows do
            return "swallowed"

    workflow = podium.Workflow(swallows, "swallows")
    first = await podium.run(workflow, "go", store=store)
    program.first = "new"
    with pytest.raises(ReplayDivergedError, match="its input differs"):
        await podium.replay(first.run_id, workflow=workflow, store=store)


async def test_a_divergence_is_reported_once(
    store: Store, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    first = await podium.run(three_steps(program), "go", store=store)
    program.first = "new"
    with pytest.raises(ReplayDivergedError):
        await podium.replay(first.run_id, workflow=three_steps(program), store=store)
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


async def test_a_given_reply_of_the_wrong_shape_stops_the_fork_and_costs_nothing(
    store: Store, program: Program
) -> None:
    first = await podium.run(three_steps(program), "go", store=store)
    forked = await program.forked(store, first.run_id, "b", three_steps(program), reply={"a": 1})
    assert forked.status == "failed"
    assert "The reply that was given for b does not fit" in forked.error
    assert forked.error.count("\n") == 0
    assert program.ran == [], "neither b nor what follows it was done in its place"
