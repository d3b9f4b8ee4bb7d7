"""Routes to start, list, read and control runs. Starting is idempotent.

The `Idempotency-Key` is stored in the run's row, where it is unique per owner, and a hash of the request body
in the run's log. So idempotency holds after a restart, and with several servers on one store.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query, Response

from podium.api import answer, cancel, enqueue, enqueue_fork, raise_budget, replay
from podium.api.control import MARKS, Change
from podium.api.outcome import result_of, state_of
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.history import check_resumable, history_of
from podium.engine.log import RunRow, Store
from podium.errors import NotResumableError, ReplayDivergedError, RunLockedError, StoreError, UsageError
from podium.server.auth import Caller
from podium.server.permissions import check_models, check_queue, check_workflow, options_for
from podium.server.problems import RefusedError
from podium.server.quotas import UNFINISHED
from podium.server.schemas.runs import (
    Answered,
    AnswerRun,
    CancelRun,
    ForkRun,
    Replayed,
    ResumeRun,
    RunDetail,
    RunPage,
    RunSummary,
    StartRun,
    StepDetail,
    StepPage,
)
from podium.server.schemas.shared import Budgets, RunRef, Status
from podium.server.state import By, InState, ServerState
from podium.server.views import detail_of, step_detail_of, step_of, summary_of

MARK = "asked_as"
"""Key of the hash in the config of `run.created`."""
REPEATED = "Idempotent-Replayed"
"""Header of a response that returns an existing run."""

StartKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        pattern=r"^[!-~]*$",
        description="A name for this wish, of your choice and for you alone, such as a UUID. Sent again with "
        "the same body, it brings the run that was started the first time; with another one, 422.",
    ),
]


def digest_of(body: StartRun) -> str:
    """Return a hash of the body. Bodies with the same meaning have the same hash."""
    return hashlib.sha256(body.model_dump_json(exclude_unset=True).encode()).hexdigest()


async def started_before(store: Store, owner: str, key: str, body: StartRun) -> RunRow | None:
    """Return the run that this key has already started, or None. Raises `RefusedError` (422) if the body
    differs."""
    row = await store.find_start(owner, key) if key else None
    if row is None:
        return None
    _, config, _ = history_of(await store.read(row.run_id, types=("run.created",)))
    if config.get(MARK) != digest_of(body):
        raise RefusedError(
            422,
            f"This Idempotency-Key has started run {row.run_id}, which was asked for otherwise.",
            hint="Send a new key with each new wish.",
        )
    return row


router = APIRouter(prefix="/api/runs", tags=["runs"])

MOST_RUNS = 200


def budget_of(limits: Budgets) -> Budget:
    return Budget(**limits.model_dump())


@router.post("", status_code=202, operation_id="startRun", summary="Start a run")
async def start_run(
    body: StartRun, response: Response, state: InState, by: By, key: StartKey = ""
) -> RunSummary:
    """The run is durable when this answers; it is driven as soon as there is a place for it."""
    row = await started_before(state.store, by.name, key, body)
    if row is None:
        check_workflow(by, body.workflow)
        await check_models(state, by, body.model, *body.model_for.values())
        await check_queue(state, by)
        row = await _started(state, by, body, key, response)
    else:
        response.headers[REPEATED] = "true"
    response.headers["Location"] = f"/api/runs/{row.run_id}"
    return summary_of(row)


async def _started(state: ServerState, by: Caller, body: StartRun, key: str, response: Response) -> RunRow:
    """Start a new run. Of two concurrent equal requests, the slower one returns the run of the faster one."""
    options = options_for(state, by, body.workflow, body.options)
    marks = {**MARKS, **({"owner": by.name} if by.name else {}), **({MARK: digest_of(body)} if key else {})}
    try:
        async with state.quotas.turn(by.user):
            row = await enqueue(
                body.workflow,
                body.request,
                store=state.store,
                settings=state.settings,
                model=body.model,
                model_for=body.model_for or None,
                options=options,
                marks=marks,
                start_key=key,
                budget=await state.quotas.ceiling(by.user, budget_of(body.budget)),
                concurrency=body.concurrency,
                cache=body.cache,
                approve=body.approve,
            )
    except (StoreError, RefusedError):
        quicker = await started_before(state.store, by.name, key, body)
        if quicker is None:
            raise
        response.headers[REPEATED] = "true"
        return quicker
    state.scheduler.enqueue(row)
    return row


@router.get("", operation_id="listRuns", summary="List runs")
async def list_runs(
    state: InState,
    by: By,
    status: Annotated[list[Status] | None, Query(description="Only these; may be repeated.")] = None,
    workflow: Annotated[str, Query(max_length=300)] = "",
    text: Annotated[
        str, Query(max_length=200, description="In the request, or the beginning of the id.")
    ] = "",
    needs_you: Annotated[bool, Query(description="Only runs that wait for a person.")] = False,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = 50,
    before: Annotated[str, Query(max_length=64, description="`next` of the page before.")] = "",
) -> RunPage:
    """Newest first."""
    if before:
        before = (await state.run_for(by, before)).run_id
    rows = await state.store.list_runs(
        status=("waiting",) if needs_you else status or (),
        workflow=workflow,
        limit=limit + 1,
        before=before,
        owner=by.owner,
        text=text,
    )
    more = rows[limit - 1].run_id if len(rows) > limit else None
    return RunPage(runs=[summary_of(row) for row in rows[:limit]], next=more)


@router.get("/{run_id}", operation_id="readRun", summary="One run with its result")
async def read_run(run_id: RunRef, state: InState, by: By) -> RunDetail:
    """Everything but the steps. It is a fold of the log up to `last_seq`."""
    row = await state.run_for(by, run_id)
    return await detail_of(state.store, row, state.folds.of(row))


@router.get("/{run_id}/steps", operation_id="listSteps", summary="The steps of a run")
async def list_steps(run_id: RunRef, state: InState, by: By) -> StepPage:
    """In the order in which they began; a run can be forked at each."""
    row = await state.run_for(by, run_id)
    fold = await state.folds.of(row).whole()
    return StepPage(run_id=row.run_id, steps=[step_of(step) for step in fold.state.steps.values()])


@router.get("/{run_id}/step", operation_id="readStep", summary="One step in full")
async def read_step(
    run_id: RunRef,
    state: InState,
    by: By,
    path: Annotated[str, Query(min_length=1, max_length=2000, description="The path of the step.")],
) -> StepDetail:
    """Prompt, result and events."""
    row = await state.run_for(by, run_id)
    fold = await state.folds.of(row).whole()
    if path not in fold.state.steps:
        raise UsageError(f"The run has no step {path}.", hint="Its list of steps names all of them.")
    return await step_detail_of(state.store, fold, path)


control = APIRouter(prefix="/api/runs", tags=["steering"])


@control.post(
    "/{run_id}/answer", status_code=202, operation_id="answerRun", summary="Answer a run's question"
)
async def answer_run(run_id: RunRef, body: AnswerRun, state: InState, by: By) -> Answered:
    """The answer is durable when this answers; the run goes on with it."""
    row = await state.run_for(by, run_id)
    path = await answer(
        row.run_id,
        body.answer,
        question=body.question,
        by=by.title,
        store=state.store,
        settings=state.settings,
    )
    if not row.holder:
        with suppress(RunLockedError):  # already being driven; it gets the answer from its inbox
            await state.scheduler.go_on(row)
    return Answered(run_id=row.run_id, question=path, answer=body.answer)


@control.post("/{run_id}/cancel", operation_id="cancelRun", summary="Stop a run for good")
async def cancel_run(run_id: RunRef, body: CancelRun, state: InState, by: By) -> RunSummary:
    """It cannot be resumed, only forked."""
    row = await state.run_for(by, run_id)
    done = await cancel(row.run_id, reason=body.reason, store=state.store, settings=state.settings)
    state.scheduler.leave_queue(row.run_id)
    return summary_of(done)


@control.post("/{run_id}/pause", status_code=202, operation_id="pauseRun", summary="Pause a run")
async def pause_run(run_id: RunRef, state: InState, by: By) -> RunSummary:
    """Calls under way are still recorded; it can be resumed."""
    row = await state.run_for(by, run_id)
    if row.status not in ("running", "queued") or not row.holder:
        raise NotResumableError(
            f"Run {row.run_id} is {row.status}.", hint="Only a run that goes can be paused."
        )
    await state.store.post(row.run_id, "pause", f"paused by {by.title}")
    return summary_of(row)


@control.post("/{run_id}/resume", status_code=202, operation_id="resumeRun", summary="Go on with a run")
async def resume_run(run_id: RunRef, body: ResumeRun, state: InState, by: By) -> RunSummary:
    """Finished steps are not run again. Budgets are new totals: what was spent counts. A run that is driven
    just now goes on with what is raised."""
    row = await state.run_for(by, run_id)
    check_resumable(row.run_id, row.status)
    await _check_goes_on(state, row)
    await check_models(state, by, body.model, *body.model_for.values())
    await check_queue(state, by)
    budget = budget_of(body.budget)
    async with state.quotas.turn(by.user):
        row = await state.store.get(row.run_id)  # its state now that we hold the lock
        driven = row.holder and (not body.take_over or state.scheduler.drives(row.run_id))
        if driven and (budget == Budget() or body.model or body.model_for):
            raise RunLockedError(row.run_id, row.holder)
        if budget.usd is not None or row.budget.usd is None or row.status not in UNFINISHED:
            budget = await state.quotas.ceiling(by.user, budget, row)
        if driven:
            await raise_budget(row.run_id, budget, store=state.store, settings=state.settings)
            return summary_of(row)
        change = Change(budget, body.model, body.model_for)
        await state.scheduler.go_on(row, change, take_over=body.take_over)
    return summary_of(await state.store.get(row.run_id))


async def _check_goes_on(state: ServerState, row: RunRow) -> None:
    """Raise `NotResumableError` for a run that its workflow ended as `partial`: it would only
    end so again."""
    if row.status == "partial" and not (await state_of(state.store, row.run_id)).can_go_on:
        raise NotResumableError(
            f"Run {row.run_id} has ended as partial; to resume it would change nothing.",
            hint="Fork it at the step that should be done otherwise.",
        )


@control.post("/{run_id}/fork", status_code=202, operation_id="forkRun", summary="Fork a run at a step")
async def fork_run(run_id: RunRef, body: ForkRun, response: Response, state: InState, by: By) -> RunSummary:
    """A new run that inherits everything before the step, and goes its own way from there."""
    row = await state.run_for(by, run_id)
    changed = body.model_fields_set & {"reply", "prompt", "model"}
    if len(changed) > 1:
        raise UsageError(
            "Reply, prompt and model exclude each other.", hint="Fork twice to change two things."
        )
    await check_models(state, by, body.model)
    await check_queue(state, by)
    async with state.quotas.turn(by.user):
        new = await enqueue_fork(
            row.run_id,
            body.at,
            store=state.store,
            settings=state.settings,
            prompt=body.prompt,
            model=body.model,
            reply=body.reply if "reply" in changed else msgspec.UNSET,
            budget=await state.quotas.ceiling(by.user, budget_of(body.budget)),
            marks={**MARKS, "owner": row.owner},
        )
    state.scheduler.enqueue(new)
    response.headers["Location"] = f"/api/runs/{new.run_id}"
    return summary_of(new)


@control.post("/{run_id}/replay", operation_id="replayRun", summary="Play a run again from its log")
async def replay_run(run_id: RunRef, state: InState, by: By) -> Replayed:
    """No model is asked. Tells whether today's code comes to the same result."""
    row = await state.run_for(by, run_id)
    recorded, _ = await result_of(state.store, row)
    try:
        replayed = await replay(row.run_id, store=state.store, settings=state.settings)
    except ReplayDivergedError as error:
        return Replayed(run_id=row.run_id, same=False, diverged_at=error.path, reason=error.reason)
    if replayed.status != recorded.status:
        reason = f"the log says {recorded.status}, today's code {replayed.status}"
        return Replayed(run_id=row.run_id, same=False, diverged_at=None, reason=reason)
    same = encode(replayed.output) == encode(recorded.output)
    return Replayed(
        run_id=row.run_id, same=same, diverged_at=None, reason=None if same else "the output differs"
    )
