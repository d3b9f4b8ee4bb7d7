"""`podium runs`: the list of runs, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cyclopts.validators import Number
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from podium.cli.card import say_line
from podium.cli.flags import AsJson, StoreUrl, number, option
from podium.cli.layout import badge, one_row
from podium.cli.store import Commands, opened
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
    status: Annotated[tuple[Status, ...], option("Only runs with this status; repeatable.")] = (),
    workflow: Annotated[str, option("Only runs of this workflow.")] = "",
    limit: Annotated[int, number("Maximum number of runs.", validator=Number(gte=1))] = 20,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """List runs, newest first."""
    async with opened(store) as (settings, opened_store):
        rows = await opened_store.list_runs(status=status, workflow=workflow, limit=limit)
    if json:
        print_json({"runs": [summary_of(run) for run in rows]})
    elif not rows:
        say("No runs here yet." if not (status or workflow) else "No run matches.")
        say(("Start one with ", "dim"), Commands(settings)("run", "WORKFLOW", "REQUEST"))
    else:
        _print_table(rows)
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


def _print_table(runs: list[RunRow]) -> None:
    """Print one line per run. On a terminal the request gets the remaining width, and a narrow one has fewer
    columns."""
    console = out()
    titles = [title for title in TITLES if console.width >= NARROW or title not in ("workflow", "took")]
    rows = [_cells(run, console) for run in runs]
    widths = {title: max(len(title), *(cell_len(row[title].plain) for row in rows)) for title in titles}
    room = console.width - sum(widths.values()) - 2 * len(titles)
    heads = {title: Text(title, style="dim") for title in titles}
    requests = [one_row(run.request, room) if console.is_terminal else one_line(run.request) for run in runs]
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
