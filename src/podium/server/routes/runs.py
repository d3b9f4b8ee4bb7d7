"""Routes to start, list and read runs. Starting is idempotent.

The `Idempotency-Key` is stored in the run's row, where it is unique per owner, and a hash of the request body
in the run's log. So idempotency holds after a restart, and with several servers on one store.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from podium.api import enqueue
from podium.api.control import MARKS
from podium.api.outcome import state_of
from podium.engine.budget import Budget
from podium.engine.history import history_of
from podium.engine.log import RunRow, Store
from podium.engine.state import RunState
from podium.errors import StoreError, UsageError
from podium.server.auth import Caller
from podium.server.permissions import check_models, check_room, check_workflow, options_for
from podium.server.problems import RefusedError
from podium.server.schemas.runs import RunDetail, RunPage, RunSummary, StartRun, StepDetail, StepPage
from podium.server.schemas.shared import Budgets, RunRef, Status
from podium.server.serializers import detail_of, step_detail_of, step_of, summary_of
from podium.server.state import By, InHall, ServerState

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


def digest_of(asked: StartRun) -> str:
    """Return a hash of the body. Bodies with the same meaning have the same hash."""
    return hashlib.sha256(asked.model_dump_json(exclude_unset=True).encode()).hexdigest()


async def started_before(store: Store, owner: str, key: str, asked: StartRun) -> RunRow | None:
    """Return the run that this key has already started, or None. Raises `RefusedError` (422) if the body
    differs."""
    row = await store.find_start(owner, key) if key else None
    if row is None:
        return None
    _, config, _ = history_of(await store.read(row.run_id, types=("run.created",)))
    if config.get(MARK) != digest_of(asked):
        raise RefusedError(
            422,
            f"This Idempotency-Key has started run {row.run_id}, which was asked for otherwise.",
            hint="Send a new key with each new wish.",
        )
    return row


router = APIRouter(prefix="/api/runs", tags=["runs"])

MOST_RUNS = 200


def budget_of(given: Budgets) -> Budget:
    return Budget(usd=given.usd, tokens=given.tokens, calls=given.calls, seconds=given.seconds)


@router.post("", status_code=202, operation_id="startRun", summary="Start a run")
async def start_run(
    asked: StartRun, response: Response, hall: InHall, by: By, key: StartKey = ""
) -> RunSummary:
    """The run is durable when this answers; it is driven as soon as there is a place for it."""
    row = await started_before(hall.store, by.name, key, asked)
    if row is None:
        check_workflow(by, asked.workflow)
        await check_models(hall, by, asked.model, *asked.model_for.values())
        await check_room(hall, by)
        row = await _started(hall, by, asked, key, response)
    else:
        response.headers[REPEATED] = "true"
    response.headers["Location"] = f"/api/runs/{row.run_id}"
    return summary_of(row)


async def _started(hall: ServerState, by: Caller, asked: StartRun, key: str, response: Response) -> RunRow:
    """Start a new run. Of two concurrent equal requests, the slower one returns the run of the faster one."""
    options = options_for(hall, by, asked.workflow, asked.options)
    marks = {**MARKS, **({"owner": by.name} if by.name else {}), **({MARK: digest_of(asked)} if key else {})}
    try:
        async with hall.purses.turn(by.user):
            row = await enqueue(
                asked.workflow, asked.request, store=hall.store, settings=hall.settings, model=asked.model,
                model_for=asked.model_for or None, options=options, marks=marks, start_key=key,
                budget=await hall.purses.ceiling(by.user, budget_of(asked.budget)),
                concurrency=asked.concurrency, cache=asked.cache, approve=asked.approve,
            )  # fmt: skip
    except (StoreError, RefusedError):
        quicker = await started_before(hall.store, by.name, key, asked)
        if quicker is None:
            raise
        response.headers[REPEATED] = "true"
        return quicker
    hall.conductor.enqueue(row)
    return row


@router.get("", operation_id="listRuns", summary="List runs")
async def list_runs(
    hall: InHall,
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
        before = (await hall.run_for(by, before)).run_id
    found = await hall.store.list_runs(
        status=("waiting",) if needs_you else status or (), workflow=workflow, limit=limit + 1, before=before,
        owner=by.owner, text=text,
    )  # fmt: skip
    more = found[limit - 1].run_id if len(found) > limit else None
    return RunPage(runs=[summary_of(row) for row in found[:limit]], next=more)


@router.get("/{run_id}", operation_id="readRun", summary="One run with its result")
async def read_run(run_id: RunRef, hall: InHall, by: By) -> RunDetail:
    """Everything but the steps. It is a fold of the log up to `last_seq`."""
    return await detail_of(hall.store, await hall.run_for(by, run_id))


@router.get("/{run_id}/steps", operation_id="listSteps", summary="The steps of a run")
async def list_steps(run_id: RunRef, hall: InHall, by: By) -> StepPage:
    """In the order in which they began; a run can be forked at each."""
    row = await hall.run_for(by, run_id)
    state = await state_of(hall.store, row.run_id)
    return StepPage(run_id=row.run_id, steps=[step_of(step) for step in state.steps.values()])


@router.get("/{run_id}/step", operation_id="readStep", summary="One step in full")
async def read_step(
    run_id: RunRef,
    hall: InHall,
    by: By,
    path: Annotated[str, Query(min_length=1, max_length=2000, description="The path of the step.")],
) -> StepDetail:
    """Prompt, result and events."""
    row = await hall.run_for(by, run_id)
    state: RunState = await state_of(hall.store, row.run_id)
    if path not in state.steps:
        raise UsageError(f"The run has no step {path}.", hint="Its list of steps tells which there are.")
    return await step_detail_of(hall.store, row, state.steps[path])
