"""`podium workspaces`: workspaces of builds, their disk usage, and their removal."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from podium.cli.card import print_table
from podium.cli.flags import AsJson, StoreUrl, seconds_of
from podium.cli.opening import opened
from podium.cli.terminal import ask_person, interactive, out, print_json, say
from podium.engine.events import RunWaiting
from podium.engine.history import OVER
from podium.engine.log import Store
from podium.engine.process import offload
from podium.errors import UnknownRunError, UsageError
from podium.report.words import ago, count, one_line, size
from podium.tools.workspace.retention import StoredWorkspace, kept_workspaces, remove_workspace, workspaces_of

ALIVE = ("running", "queued", "waiting")
UNKNOWN = "unknown"
"""Status of a run that is not in this store; it may be in another one."""


async def list_(*, store: StoreUrl = None, json: AsJson = False) -> int:
    """The workspaces of builds, the oldest first.

    A work tree is there only while a run works. What stays is a small repository, with which a run can be
    resumed or forked. Of runs that are over it goes by itself when nobody has used it for 30 days.
    """
    async with opened(store) as (_, opened_store):
        found = await _found(opened_store)
    if json:
        print_json({"workspaces": [_as_data(kept, status) for kept, status in found]})
        return 0
    if not found:
        say("There is no workspace.")
        return 0
    rows = [
        (kept.run_id, status, size(kept.bytes), ago(_when(kept)), _project(kept)) for kept, status in found
    ]
    print_table(out(), ("run", "status", "size", "used", "project"), rows, figures=("size",))
    return 0


async def remove(
    *runs: Annotated[
        str, Parameter(metavar="RUN", help="Only of these runs; else of all that are over and done.")
    ],
    older_than: Annotated[
        float | None,
        Parameter(metavar="TIME", converter=seconds_of, help="Only what was not used for so long: 7d."),
    ] = None,
    yes: Annotated[
        bool, Parameter(negative="", show_default=False, help="Remove without asking first.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Remove workspaces: without names, those of runs that are completed or cancelled.

    Branches in your repositories, patches and reports stay. A run whose workspace is gone cannot be forked,
    and one that was not done cannot be resumed.
    """
    async with opened(store) as (_, opened_store):
        found = await _found(opened_store)
        chosen = [_named(name, found) for name in runs] or [one for one in found if one[1] in OVER]
        before = time.time() - (older_than or 0.0)
        chosen = [one for one in chosen if older_than is None or one[0].touched < before]
        if chosen and not yes and not await _agreed(chosen, as_json=json):
            say("Nothing was removed.")
            return 0
        for kept, _ in chosen:
            await offload(remove_workspace, kept.home)
    freed = sum(kept.bytes for kept, _ in chosen)
    if json:
        print_json({"removed": [kept.run_id for kept, _ in chosen], "bytes": freed})
    else:
        say(f"Removed {count(len(chosen), 'workspace')}, {size(freed)}." if chosen else "Nothing to remove.")
    return 0


async def _found(store: Store) -> list[tuple[StoredWorkspace, str]]:
    every = await offload(kept_workspaces, workspaces_of(store.url))
    return [(kept, await _status(store, kept.run_id)) for kept in every]


async def _status(store: Store, run_id: str) -> str:
    try:
        row = await store.get(run_id)
    except UnknownRunError:
        return UNKNOWN
    return row.status if row.run_id == run_id else UNKNOWN


def _named(name: str, found: list[tuple[StoredWorkspace, str]]) -> tuple[StoredWorkspace, str]:
    fitting = [one for one in found if one[0].run_id.startswith(name)]
    if len(fitting) != 1:
        told = "No workspace is that of" if not fitting else "Several workspaces begin with"
        raise UsageError(f"{told} {name}.", hint="`podium workspaces list` shows them.")
    kept, status = fitting[0]
    if status in ALIVE:
        raise UsageError(
            f"Run {kept.run_id} is {status} and needs its workspace.",
            hint=f"Stop it first: `podium cancel {kept.run_id}`.",
        )
    return fitting[0]


async def _agreed(chosen: list[tuple[StoredWorkspace, str]], *, as_json: bool) -> bool:
    if as_json or not interactive():
        raise UsageError("Removing workspaces needs a word of consent.", hint="Add --yes.")
    lost = sum(status not in OVER for _, status in chosen)
    warning = f" {count(lost, 'run')} among them could then not be resumed." if lost else ""
    asked = f"Remove {count(len(chosen), 'workspace')}, {size(sum(one.bytes for one, _ in chosen))}?{warning}"
    return await ask_person(RunWaiting(question=asked, choices=["yes", "no"])) == "yes"


def _project(kept: StoredWorkspace) -> str:
    """Return the user's project folder, or `–`. A run without a project started in a new folder, which is
    gone."""
    return one_line(kept.origin, 80) if Path(kept.origin or "/nowhere").is_dir() else "–"


def _when(kept: StoredWorkspace) -> datetime:
    return datetime.fromtimestamp(kept.touched, UTC)


def _as_data(kept: StoredWorkspace, status: str) -> dict[str, Any]:
    return {
        "run_id": kept.run_id, "status": status, "bytes": kept.bytes, "folder": str(kept.home),
        "project": kept.origin, "branch": kept.branch,
        "used": _when(kept).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }  # fmt: skip
