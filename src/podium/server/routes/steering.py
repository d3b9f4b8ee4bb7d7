"""Routes that control runs: answer, pause, cancel, resume, fork, replay."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from fastapi import APIRouter, Response

from podium.api import answer, cancel, enqueue_fork, raise_budget, replay
from podium.api.control import MARKS, Change
from podium.api.outcome import result_of, state_of
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.history import check_resumable
from podium.engine.log import RunRow
from podium.errors import NotResumableError, ReplayDivergedError, RunLockedError, UsageError
from podium.server.permissions import check_models, check_room
from podium.server.quotas import UNFINISHED
from podium.server.routes.runs import budget_of
from podium.server.schemas.runs import (
    Answered,
    AnswerRun,
    CancelRun,
    ForkRun,
    Replayed,
    ResumeRun,
    RunSummary,
)
from podium.server.schemas.shared import RunRef
from podium.server.serializers import summary_of
from podium.server.state import By, InHall, ServerState

router = APIRouter(prefix="/api/runs", tags=["steering"])


@router.post("/{run_id}/answer", status_code=202, operation_id="answerRun", summary="Answer a run's question")
async def answer_run(run_id: RunRef, asked: AnswerRun, hall: InHall, by: By) -> Answered:
    """The answer is durable when this answers; the run goes on with it."""
    row = await hall.run_for(by, run_id)
    path = await answer(
        row.run_id,
        asked.answer,
        question=asked.question,
        by=by.title,
        store=hall.store,
        settings=hall.settings,
    )
    if not row.holder:
        with suppress(RunLockedError):  # already being driven; it gets the answer from its inbox
            await hall.conductor.go_on(row)
    return Answered(run_id=row.run_id, question=path, answer=asked.answer)


@router.post("/{run_id}/cancel", operation_id="cancelRun", summary="Stop a run for good")
async def cancel_run(run_id: RunRef, asked: CancelRun, hall: InHall, by: By) -> RunSummary:
    """It cannot be resumed, only forked."""
    row = await hall.run_for(by, run_id)
    done = await cancel(row.run_id, reason=asked.reason, store=hall.store, settings=hall.settings)
    hall.conductor.leave_queue(row.run_id)
    return summary_of(done)


@router.post("/{run_id}/pause", status_code=202, operation_id="pauseRun", summary="Pause a run")
async def pause_run(run_id: RunRef, hall: InHall, by: By) -> RunSummary:
    """Calls under way are still recorded; it can be resumed."""
    row = await hall.run_for(by, run_id)
    if row.status not in ("running", "queued") or not row.holder:
        raise NotResumableError(
            f"Run {row.run_id} is {row.status}.", hint="Only a run that goes can be paused."
        )
    await hall.store.post(row.run_id, "pause", f"paused by {by.title}")
    return summary_of(row)


@router.post("/{run_id}/resume", status_code=202, operation_id="resumeRun", summary="Go on with a run")
async def resume_run(run_id: RunRef, asked: ResumeRun, hall: InHall, by: By) -> RunSummary:
    """Finished steps are not run again. Budgets are new totals: what was spent counts. A run that is driven
    just now goes on with what is raised."""
    row = await hall.run_for(by, run_id)
    check_resumable(row.run_id, row.status)
    await _check_goes_on(hall, row)
    await check_models(hall, by, asked.model, *asked.model_for.values())
    await check_room(hall, by)
    budget = budget_of(asked.budget)
    async with hall.purses.turn(by.user):
        row = await hall.store.get(row.run_id)  # its state now that we hold the lock
        driven = row.holder and (not asked.take_over or hall.conductor.drives(row.run_id))
        if driven and (budget == Budget() or asked.model or asked.model_for):
            raise RunLockedError(row.run_id, row.holder)
        if budget.usd is not None or row.budget.usd is None or row.status not in UNFINISHED:
            budget = await hall.purses.ceiling(by.user, budget, row)
        if driven:
            await raise_budget(row.run_id, budget, store=hall.store, settings=hall.settings)
            return summary_of(row)
        change = Change(budget, asked.model, asked.model_for)
        await hall.conductor.go_on(row, change, take_over=asked.take_over)
    return summary_of(await hall.store.get(row.run_id))


async def _check_goes_on(hall: ServerState, row: RunRow) -> None:
    """Raise `NotResumableError` for a run that its workflow ended as `partial`: it would only
    end so again."""
    if row.status == "partial" and not (await state_of(hall.store, row.run_id)).can_go_on:
        raise NotResumableError(
            f"Run {row.run_id} has ended as partial; to resume it would change nothing.",
            hint="Fork it at the step that should be done otherwise.",
        )


@router.post("/{run_id}/fork", status_code=202, operation_id="forkRun", summary="Fork a run at a step")
async def fork_run(run_id: RunRef, asked: ForkRun, response: Response, hall: InHall, by: By) -> RunSummary:
    """A new run that inherits everything before the step, and goes its own way from there."""
    row = await hall.run_for(by, run_id)
    changed = asked.model_fields_set & {"reply", "prompt", "model"}
    if len(changed) > 1:
        raise UsageError(
            "Reply, prompt and model exclude each other.", hint="Fork twice to change two things."
        )
    await check_models(hall, by, asked.model)
    await check_room(hall, by)
    async with hall.purses.turn(by.user):
        new = await enqueue_fork(
            row.run_id, asked.at, store=hall.store, settings=hall.settings, prompt=asked.prompt,
            model=asked.model, reply=asked.reply if "reply" in changed else msgspec.UNSET,
            budget=await hall.purses.ceiling(by.user, budget_of(asked.budget)),
            marks={**MARKS, "owner": row.owner},
        )  # fmt: skip
    hall.conductor.enqueue(new)
    response.headers["Location"] = f"/api/runs/{new.run_id}"
    return summary_of(new)


@router.post("/{run_id}/replay", operation_id="replayRun", summary="Play a run again from its log")
async def replay_run(run_id: RunRef, hall: InHall, by: By) -> Replayed:
    """No model is asked. Tells whether today's code comes to the same result."""
    row = await hall.run_for(by, run_id)
    recorded, _ = await result_of(hall.store, row)
    try:
        replayed = await replay(row.run_id, store=hall.store, settings=hall.settings)
    except ReplayDivergedError as error:
        return Replayed(run_id=row.run_id, same=False, diverged_at=error.path, reason=error.reason)
    if replayed.status != recorded.status:
        reason = f"the log says {recorded.status}, today's code {replayed.status}"
        return Replayed(run_id=row.run_id, same=False, diverged_at=None, reason=reason)
    same = encode(replayed.output) == encode(recorded.output)
    return Replayed(
        run_id=row.run_id, same=same, diverged_at=None, reason=None if same else "the output differs"
    )
