"""Routes for workflows, estimates and teams."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Response

from podium.engine import workflow as engine
from podium.engine.codec import decode, encode
from podium.errors import PodiumError
from podium.server.auth import Caller
from podium.server.permissions import check_workflow, may_use, options_for
from podium.server.problems import RefusedError
from podium.server.schemas.runs import Estimate, EstimateRun
from podium.server.schemas.system import (
    Learnt,
    Option,
    TeamChecked,
    TeamFile,
    TeamFlaw,
    TeamList,
    TeamStats,
    Workflow,
    WorkflowList,
)
from podium.server.state import By, InState, ServerState
from podium.workflows import SHIPPED, find_workflow
from podium.workflows.studio.history import learn, read_past
from podium.workflows.studio.team import SHIPPED as SHIPPED_TEAMS
from podium.workflows.studio.team import TeamError, TeamSpec, find_team, load_team

router = APIRouter(prefix="/api/workflows", tags=["workflows"])


@router.get("", operation_id="listWorkflows", summary="What can be started")
async def list_workflows(state: InState, by: By) -> WorkflowList:
    """The workflows that come with Podium; options that this caller may not use are left out."""
    return WorkflowList(workflows=[_serialize(state, find_workflow(name), by) for name in SHIPPED])


@router.get("/{name:names}", operation_id="readWorkflow", summary="One workflow with its options")
async def read_workflow(name: str, state: InState, by: By) -> Workflow:
    """By its name; where the server allows it, also `FILE.py:name`."""
    check_workflow(by, name)
    return _serialize(state, find_workflow(name), by)


@router.post("/{name:names}/estimate", operation_id="estimateRun", summary="What a run would take")
async def estimate_run(name: str, body: EstimateRun, state: InState, by: By) -> Estimate:
    """Nothing is started. Not every workflow has an estimate."""
    check_workflow(by, name)
    estimate = find_workflow(name).estimate(body.request, options_for(state, by, name, body.options))
    return Estimate(data=decode(encode(estimate.data)), lines=list(estimate.lines))


def _serialize(state: ServerState, workflow: engine.Workflow, by: Caller) -> Workflow:
    text = inspect.cleandoc(workflow.__doc__ or "")
    return Workflow(
        name=workflow.name,
        title=text.partition("\n")[0] or f"Run {workflow.name}.",
        text=text.partition("\n")[2].strip(),
        gates=list(workflow.gates),
        options=[
            _option(option) for option in workflow.options if may_use(state, by, workflow.name, option.name)
        ],
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
    """Return the JSON schema of an option's type. Empty if the type has none: anything is accepted."""
    try:
        return msgspec.json.schema(kind)
    except (TypeError, NotImplementedError):
        return {}


def _plain(value: Any) -> Any:
    try:
        return decode(encode(value))
    except PodiumError:
        return None


teams_router = APIRouter(prefix="/api/teams", tags=["teams"])

TeamName = Literal["film", "software"]
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@teams_router.get("", operation_id="listTeams", summary="Teams that come with Podium")
async def list_teams() -> TeamList:
    return TeamList(teams=list(SHIPPED_TEAMS))


@teams_router.get("/{name}", operation_id="readTeam", summary="Who works in a team")
async def read_team(name: TeamName) -> TeamSpec:
    """Departments, heads and specialists."""
    return load_team(name)


@teams_router.get(
    "/{name}/file",
    operation_id="readTeamFile",
    summary="The file of a team, for a copy",
    responses=FILE,
    response_class=Response,
)
async def read_team_file(name: TeamName) -> Response:
    """YAML, with comments."""
    text = await asyncio.to_thread(find_team(name).read_text, "utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{name}.yaml"'}
    return Response(text, media_type="text/plain", headers=headers)


@teams_router.post("/check", operation_id="checkTeam", summary="Check a team file")
async def check_team(body: TeamFile, by: By) -> TeamChecked:
    """Everything that is wrong with it, with its line."""
    if by.user is not None:  # a team file may extend another file on this machine
        raise RefusedError(403, "Team files cannot be used on a shared server.")
    return await asyncio.to_thread(_checked, body.text)


@teams_router.get("/{name}/stats", operation_id="readTeamStats", summary="How everybody did so far")
async def read_team_stats(
    name: TeamName,
    state: InState,
    by: By,
    rehearsals: Annotated[bool, Query(description="Count rehearsals, not real runs.")] = False,
) -> TeamStats:
    """From the logs of earlier runs, with the thresholds that they suggest."""
    team = load_team(name)
    past = await read_past(state.store, team.name, rehearsals=rehearsals, owner=by.owner)
    agents = [
        Learnt(
            agent=specialist.agent_id,
            results=specialist.results,
            mean=specialist.mean,
            acceptance=specialist.acceptance,
            threshold=specialist.configured,
            suggested=specialist.suggested,
        )
        for specialist in learn(team, past, "").values()
    ]
    return TeamStats(team=team.name, agents=agents)


def _checked(text: str) -> TeamChecked:
    with TemporaryDirectory(prefix="podium-team-") as folder:
        file = Path(folder) / "team.yaml"
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            team: Any = load_team(str(file))
        except TeamError as error:
            flaws = [TeamFlaw(line=flaw.line, place=flaw.place, reason=flaw.reason) for flaw in error.flaws]
            return TeamChecked(ok=False, team=None, departments=0, specialists=0, flaws=flaws)
    specialists = sum(len(flaw.specialists) for flaw in team.departments.values())
    return TeamChecked(
        ok=True, team=team.name, departments=len(team.departments), specialists=specialists, flaws=[]
    )
