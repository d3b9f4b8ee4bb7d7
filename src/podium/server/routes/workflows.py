"""Workflows with their options, so that a form can be drawn; and what a run of one would take."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
from fastapi import APIRouter

from podium.engine import workflow as engine
from podium.engine.codec import decode, encode
from podium.errors import PodiumError
from podium.server.callers import Caller
from podium.server.contracts.runs import Estimate, EstimateRun
from podium.server.contracts.world import Option, Workflow, WorkflowList
from podium.server.hall import By, Hall, InHall
from podium.server.permissions import check_workflow, may_use, options_for
from podium.workflows import SHIPPED, find_workflow

router = APIRouter(prefix="/api/workflows", tags=["workflows"])


@router.get("", operation_id="listWorkflows", summary="What can be started")
async def list_workflows(hall: InHall, by: By) -> WorkflowList:
    """The workflows that come with Podium; options that this caller may not use are left out."""
    return WorkflowList(workflows=[_told(hall, find_workflow(name), by) for name in SHIPPED])


@router.get("/{name:names}", operation_id="readWorkflow", summary="One workflow with its options")
async def read_workflow(name: str, hall: InHall, by: By) -> Workflow:
    """By its name; where the server allows it, also `FILE.py:name`."""
    check_workflow(by, name)
    return _told(hall, find_workflow(name), by)


@router.post("/{name:names}/estimate", operation_id="estimateRun", summary="What a run would take")
async def estimate_run(name: str, asked: EstimateRun, hall: InHall, by: By) -> Estimate:
    """Nothing is started. Only some workflows can tell."""
    check_workflow(by, name)
    told = find_workflow(name).estimate(asked.request, options_for(hall, by, name, asked.options))
    return Estimate(data=decode(encode(told.data)), lines=list(told.lines))


def _told(hall: Hall, workflow: engine.Workflow, by: Caller) -> Workflow:
    text = inspect.cleandoc(workflow.__doc__ or "")
    return Workflow(
        name=workflow.name,
        title=text.partition("\n")[0] or f"Run {workflow.name}.",
        text=text.partition("\n")[2].strip(),
        gates=list(workflow.gates),
        options=[_option(one) for one in workflow.options if may_use(hall, by, workflow.name, one.name)],
        can_estimate=workflow.can_estimate,
        needs_request=workflow.needs_request,
    )


def _option(option: engine.Option) -> Option:
    return Option(
        name=option.name,
        help=option.help,
        required=option.required,
        default=_plain(option.default),
        json_schema=_schema(option.type),
    )


def _schema(kind: Any) -> dict[str, Any]:
    """What a form needs to know of a type; a type that has no schema takes anything."""
    try:
        return msgspec.json.schema(kind)
    except (TypeError, NotImplementedError):
        return {}


def _plain(value: Any) -> Any:
    try:
        return decode(encode(value))
    except PodiumError:
        return None
