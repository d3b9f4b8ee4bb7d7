"""Who works in a studio: the teams, a check of a file, and how everybody did so far."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from podium.server.contracts.world import Learnt, TeamChecked, TeamFile, TeamFlaw, TeamList, TeamStats
from podium.server.hall import By, InHall
from podium.server.problems import RefusedError
from podium.workflows.studio.learning import learn, read_past
from podium.workflows.studio.team import TeamSpec
from podium.workflows.studio.team_file import SHIPPED, TeamError, find_team, load_team

router = APIRouter(prefix="/api/teams", tags=["teams"])

TeamName = Literal["film", "software"]
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("", operation_id="listTeams", summary="Teams that come with Podium")
async def list_teams() -> TeamList:
    return TeamList(teams=list(SHIPPED))


@router.get("/{name}", operation_id="readTeam", summary="Who works in a team")
async def read_team(name: TeamName) -> TeamSpec:
    """Departments, heads and specialists."""
    return load_team(name)


@router.get("/{name}/file", operation_id="readTeamFile", summary="The file of a team, for a copy",
            responses=FILE,
            response_class=Response)  # fmt: skip
async def read_team_file(name: TeamName) -> Response:
    """YAML, with comments."""
    text = await asyncio.to_thread(find_team(name).read_text, "utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{name}.yaml"'}
    return Response(text, media_type="text/plain", headers=headers)


@router.post("/check", operation_id="checkTeam", summary="Check a team file")
async def check_team(asked: TeamFile, by: By) -> TeamChecked:
    """Everything that is wrong with it, with its line."""
    if by.user is not None:  # a file may extend another one of the machine
        raise RefusedError(403, "Team files cannot be used on a shared server.")
    return await asyncio.to_thread(_checked, asked.text)


@router.get("/{name}/stats", operation_id="readTeamStats", summary="How everybody did so far")
async def read_team_stats(
    name: TeamName,
    hall: InHall,
    by: By,
    rehearsals: Annotated[bool, Query(description="Count rehearsals, not real runs.")] = False,
) -> TeamStats:
    """From the logs of earlier runs, with the thresholds that they suggest."""
    found = load_team(name)
    past = await read_past(hall.store, found.name, rehearsals=rehearsals, owner=by.owner)
    agents = [
        Learnt(
            agent=one.agent_id, results=one.results, mean=one.mean, acceptance=one.acceptance,
            threshold=one.configured, suggested=one.suggested,
        )
        for one in learn(found, past, "").values()
    ]  # fmt: skip
    return TeamStats(team=found.name, agents=agents)


def _checked(text: str) -> TeamChecked:
    with TemporaryDirectory(prefix="podium-team-") as folder:
        file = Path(folder) / "team.yaml"
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            found: Any = load_team(str(file))
        except TeamError as error:
            flaws = [TeamFlaw(line=one.line, place=one.place, reason=one.reason) for one in error.flaws]
            return TeamChecked(ok=False, team=None, departments=0, specialists=0, flaws=flaws)
    specialists = sum(len(one.specialists) for one in found.departments.values())
    return TeamChecked(
        ok=True, team=found.name, departments=len(found.departments), specialists=specialists, flaws=[]
    )
