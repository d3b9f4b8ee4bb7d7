"""`podium runs`: the list of runs, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from podium.cli.card import say_line
from podium.cli.flags import AsJson, StoreUrl, whole_number
from podium.cli.layout import badge, one_row
from podium.cli.opening import Commands, opened
from podium.cli.terminal import out, print_json, say
from podium.engine.log import RunRow
from podium.report.words import ago, duration, money, one_line

TITLES = ("run", "status", "workflow", "when", "took", "cost")
FIGURES = ("took", "cost")
NARROW = 90
"""Below this width two columns are left out."""

Status = Literal["queued", "running", "waiting", "paused", "completed", "partial", "failed", "cancelled"]


async def runs(
    *,
    status: Annotated[
        tuple[Status, ...], Parameter(negative="", show_default=False, help="Only these; may be repeated.")
    ] = (),
    workflow: Annotated[str, Parameter(show_default=False, help="Only runs of this workflow.")] = "",
    limit: Annotated[
        int, Parameter(converter=whole_number, validator=Number(gte=1), help="How many to show.")
    ] = 20,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """List runs, newest first."""
    async with opened(store) as (settings, opened_store):
        found = await opened_store.list_runs(status=status, workflow=workflow, limit=limit)
    if json:
        print_json({"runs": [summary_of(run) for run in found]})
    elif not found:
        say("No runs here yet." if not (status or workflow) else "No run fits.")
        say(("Start one with ", "dim"), Commands(settings)("run", "WORKFLOW", "REQUEST"))
    else:
        _print_table(found)
    return 0


def summary_of(run: RunRow) -> dict[str, Any]:
    """Return one entry of `runs --json`."""
    return {
        "run_id": run.run_id,
        "workflow": run.workflow,
        "request": run.request,
        "status": run.status,
        "stop_reason": run.stop_reason or None,
        "created_at": _iso(run.created_us),
        "updated_at": _iso(run.updated_us),
        "model": run.model or None,
        "rehearsal": run.rehearsal,
        "cost_usd": round(run.usage.usd, 9),
        "calls": run.usage.calls,
        "duration_s": round(run.driven_s, 3),
        "parent": run.parent or None,
        "holder": run.holder or None,
    }


def _iso(micros: int) -> str:
    when = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _print_table(found: list[RunRow]) -> None:
    """Print one line per run. On a terminal the request gets the remaining width, and a narrow one has fewer
    columns."""
    console = out()
    titles = [title for title in TITLES if console.width >= NARROW or title not in ("workflow", "took")]
    rows = [_cells(run, console) for run in found]
    widths = {title: max(len(title), *(cell_len(row[title].plain) for row in rows)) for title in titles}
    room = console.width - sum(widths.values()) - 2 * len(titles)
    heads = {title: Text(title, style="dim") for title in titles}
    requests = [one_row(run.request, room) if console.is_terminal else one_line(run.request) for run in found]
    for row, last in zip((heads, *rows), (Text("request", style="dim"), *requests), strict=True):
        say_line(
            console, *(part for title in titles for part in (_padded(row[title], title, widths), "  ")), last
        )


def _cells(run: RunRow, console: Console) -> dict[str, Text]:
    when = ago(datetime.fromtimestamp(run.created_us / 1_000_000, UTC))
    return {
        "run": Text(run.run_id),
        "status": badge(run.status, console),
        "workflow": Text(one_row(_short_name(run.workflow), 20)),
        "when": Text(when, style="dim"),
        "took": Text(duration(run.driven_s) if run.driven_s else "–", style="dim"),
        "cost": Text(money(run.usage.usd)),
    }


def _padded(cell: Text, title: str, widths: dict[str, int]) -> Text:
    """Return a padded cell; figures are right-aligned."""
    space = " " * (widths[title] - cell_len(cell.plain))
    return Text.assemble(space, cell) if title in FIGURES else Text.assemble(cell, space)


def _short_name(workflow: str) -> str:
    """Return the file name without its folder."""
    return workflow.rpartition("/")[2]
