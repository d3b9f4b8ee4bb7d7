"""`podium workspaces`: workspaces of builds, their disk usage, and their removal."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from podium.cli.card import print_table
from podium.cli.flags import AsJson, StoreUrl, duration, option
from podium.cli.store import opened
from podium.cli.terminal import confirmed, out, print_json, say
from podium.engine.history import OVER
from podium.engine.log import Store
from podium.engine.process import offload
from podium.errors import UnknownRunError, UsageError
from podium.report.words import ago, count, one_line, size
from podium.tools.workspace.lifecycle import StoredWorkspace, kept_workspaces, remove_workspace, workspaces_of

ALIVE = ("running", "queued", "waiting")
UNKNOWN = "unknown"
"""Status of a run that is not in this store; it may be in another one."""


async def list_(*, store: StoreUrl = None, json: AsJson = False) -> int:
    """List the workspaces of builds, oldest first.

    A work tree exists only while its run is executed. Afterwards a small repository remains, so that the run
    can be resumed or forked. It is removed 30 days after the last use if the run is finished.
    """
    async with opened(store) as (_, opened_store):
        entries = await _entries(opened_store)
    if json:
        print_json({"workspaces": [_as_data(workspace, status) for workspace, status in entries]})
        return 0
    if not entries:
        say("There are no workspaces.")
        return 0
    rows = [
        (workspace.run_id, status, size(workspace.bytes), ago(_last_used(workspace)), _project(workspace))
        for workspace, status in entries
    ]
    print_table(out(), ("run", "status", "size", "used", "project"), rows, figures=("size",))
    return 0


async def remove(
    *runs: Annotated[
        str, Parameter(metavar="RUN", help="Only workspaces of these runs; default: of all finished runs.")
    ],
    older_than: Annotated[float | None, duration("Only workspaces not used for this time: 7d.")] = None,
    yes: Annotated[bool, option("Do not ask for confirmation.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Remove workspaces; by default those of completed and cancelled runs.

    Branches in your repositories, patches and reports stay. Without its workspace a run can be neither forked
    nor resumed.
    """
    async with opened(store) as (_, opened_store):
        entries = await _entries(opened_store)
        chosen = [_named(name, entries) for name in runs] or [entry for entry in entries if entry[1] in OVER]
        before = time.time() - (older_than or 0.0)
        chosen = [entry for entry in chosen if older_than is None or entry[0].touched < before]
        if chosen and not yes and not await _confirmed(chosen, as_json=json):
            say("Nothing was removed.")
            return 0
        for workspace, _ in chosen:
            await offload(remove_workspace, workspace.home)
    freed = sum(workspace.bytes for workspace, _ in chosen)
    if json:
        print_json({"removed": [workspace.run_id for workspace, _ in chosen], "bytes": freed})
    else:
        say(f"Removed {count(len(chosen), 'workspace')}, {size(freed)}." if chosen else "Nothing to remove.")
    return 0


async def _entries(store: Store) -> list[tuple[StoredWorkspace, str]]:
    every = await offload(kept_workspaces, workspaces_of(store.url))
    return [(workspace, await _status(store, workspace.run_id)) for workspace in every]


async def _status(store: Store, run_id: str) -> str:
    try:
        row = await store.get(run_id)
    except UnknownRunError:
        return UNKNOWN
    return row.status if row.run_id == run_id else UNKNOWN


def _named(name: str, entries: list[tuple[StoredWorkspace, str]]) -> tuple[StoredWorkspace, str]:
    fitting = [entry for entry in entries if entry[0].run_id.startswith(name)]
    if len(fitting) != 1:
        problem = "There is no workspace of run" if not fitting else "Several workspaces begin with"
        raise UsageError(f"{problem} {name}.", hint="List them with `podium workspaces list`.")
    workspace, status = fitting[0]
    if status in ALIVE:
        raise UsageError(
            f"Run {workspace.run_id} is {status} and needs its workspace.",
            hint=f"Stop it first: `podium cancel {workspace.run_id}`.",
        )
    return fitting[0]


async def _confirmed(chosen: list[tuple[StoredWorkspace, str]], *, as_json: bool) -> bool:
    lost = sum(status not in OVER for _, status in chosen)
    warning = f" {count(lost, 'run')} could then not be resumed." if lost else ""
    total = size(sum(workspace.bytes for workspace, _ in chosen))
    question = f"Remove {count(len(chosen), 'workspace')}, {total}?{warning}"
    return await confirmed(question, action="Removing workspaces", as_json=as_json)


def _project(workspace: StoredWorkspace) -> str:
    """Return the user's project folder, or `–`. A run without a project started in a new folder, which is
    gone."""
    return one_line(workspace.origin, 80) if Path(workspace.origin or "/nowhere").is_dir() else "–"


def _last_used(workspace: StoredWorkspace) -> datetime:
    return datetime.fromtimestamp(workspace.touched, UTC)


def _as_data(workspace: StoredWorkspace, status: str) -> dict[str, Any]:
    return {
        "run_id": workspace.run_id,
        "status": status,
        "bytes": workspace.bytes,
        "folder": str(workspace.home),
        "project": workspace.origin,
        "branch": workspace.branch,
        "used": _last_used(workspace).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
