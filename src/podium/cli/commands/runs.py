"""`podium runs`: the list, newest first, what needs a person marked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.table import Table
from rich.text import Text

from podium.cli.cells import one_row
from podium.cli.flags import AsJson, StoreUrl, whole_number
from podium.cli.layout import fit
from podium.cli.opening import Commands, opened
from podium.cli.status import badge
from podium.cli.terminal import out, print_json, say
from podium.engine.log import RunRow
from podium.report.words import ago, duration, money, one_line

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
    """One entry of `runs --json`."""
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
    console = out()
    narrow = console.width < 90
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("run", no_wrap=True)
    table.add_column("status", no_wrap=True)
    if not narrow:
        table.add_column("workflow", no_wrap=True, overflow="ellipsis", max_width=20)
    table.add_column("when", no_wrap=True, style="dim")
    if not narrow:
        table.add_column("took", no_wrap=True, justify="right", style="dim")
    table.add_column("cost", no_wrap=True, justify="right")
    table.add_column("request", no_wrap=True, overflow="ellipsis", ratio=1 if console.is_terminal else None)
    for run in found:
        when = ago(datetime.fromtimestamp(run.created_us / 1_000_000, UTC))
        cells: list[str | Text] = [run.run_id, badge(run.status, console)]
        cells += [] if narrow else [one_line(_short_name(run.workflow))]
        cells += [when] + ([] if narrow else [duration(run.driven_s)]) + [money(run.usage.usd)]
        request = one_row(run.request, console.width) if console.is_terminal else one_line(run.request)
        table.add_row(*cells, Text(fit(request, console)))
    console.print(table)


def _short_name(workflow: str) -> str:
    """A file's path says less in a list than its name."""
    return workflow.rpartition("/")[2]
