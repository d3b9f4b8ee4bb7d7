"""What a log holds about the calls of a run, read row by row, and the report of a run that was killed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

import podium
from podium.engine.codec import decode
from podium.engine.log import Row

_ENGINE = ("run.", "step.", "model.", "budget.", "artifact.")


class Seen(msgspec.Struct):
    """What the log holds after one life of a run."""

    run_id: str = ""
    events: int = 0
    last: str = ""
    """The type of the last event."""
    resumes: int = 0
    finished: list[str] = []
    """Calls whose outcome is logged: `PATH ATTEMPT MODEL`, or the label of a plain step."""
    open: dict[str, int] = {}
    """Calls that are logged as begun and whose outcome is not logged, by path."""
    lost: dict[str, int] = {}
    """Calls that a resuming process has settled as lost, by path."""
    repeated: list[str] = []
    """Steps that were started again after they were completed, or completed twice."""
    emitted: dict[str, int] = {}
    """The workflow's own events: how often each `PATH TYPE` is there."""
    ended: dict[str, Any] = {}
    """The data of the last event, if it ends the run."""


class Life(msgspec.Struct):
    """One process that drove the run."""

    killed: bool
    begun: list[str]
    """Calls that began in this life, by the model's own count."""
    seen: Seen
    shown: dict[str, Any] = {}
    """What `podium show --json` tells afterwards."""


class Report(msgspec.Struct):
    """A run from its start to its end, over all its lives."""

    how: str
    calls: int | None
    """The ceiling of calls of the whole run."""
    lives: list[Life]
    raised: Life | None = None
    """One more life with a higher ceiling, after a run that had ended as partial."""

    @property
    def last(self) -> Life:
        return self.lives[-1]


def label_of(path: str) -> str:
    """`b1/work#3` is the step labelled `b1-2`; in the root branch the head comes first, then the tail."""
    branch, _, name = path.rpartition("/")
    nth = int(name.partition("#")[2] or 1) - 1
    if branch:
        return f"{branch}-{nth}"
    return f"head-{nth}" if nth < 5 else f"tail-{nth - 5}"


async def look(store: str, *, counts_steps: bool) -> Seen:
    """Read the log of the only run in a store."""
    async with podium.open_store(store) as opened:
        runs = await opened.list_runs(limit=2)
        if not runs:
            return Seen()
        assert len(runs) == 1
        rows = await opened.read(runs[0].run_id)
    seen = fold(rows, counts_steps=counts_steps)
    seen.run_id = runs[0].run_id
    return seen


def fold(rows: list[Row], *, counts_steps: bool) -> Seen:
    """Count what a log tells, independently of the engine's own fold."""
    seen = Seen(events=len(rows), last=rows[-1].type)
    open_calls: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    emitted: Counter[str] = Counter()
    completed: set[str] = set()
    for row in rows:
        if row.type == "run.resumed":
            seen.resumes += 1
        elif row.type == "budget.reserved":
            open_calls[row.path] += 1
        elif row.type == "budget.settled":
            open_calls[row.path] -= 1
            lost[row.path] += bool(decode(row.data).get("lost"))
        elif row.type == "model.attempted":
            open_calls[row.path] -= 1
            data = decode(row.data)
            seen.finished.append(f"{row.path} {data['attempt']} {data['model'].rpartition(':')[2]}")
        elif row.type in {"step.started", "step.completed"}:
            if row.path in completed:
                seen.repeated.append(f"{row.type} {row.path}")
            if row.type == "step.completed":
                completed.add(row.path)
        elif not row.type.startswith(_ENGINE):
            emitted[f"{row.path} {row.type}"] += 1
    if counts_steps:
        seen.finished = [label_of(path) for path in sorted(completed)]
    seen.open, seen.lost, seen.emitted = dict(+open_calls), dict(+lost), dict(emitted)
    if seen.last in {"run.completed", "run.partial", "run.failed"}:
        seen.ended = decode(rows[-1].data)
    return seen
