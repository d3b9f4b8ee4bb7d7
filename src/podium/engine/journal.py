"""Log writer, and memo of finished steps.

The memo is read once, at the start of a stretch. Small results are kept as bytes and decoded on demand;
larger ones stay in the store.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import (
    EVENT_TYPES,
    NOTHING,
    TERMINAL,
    ArtifactCreated,
    BudgetExhausted,
    BudgetLeased,
    BudgetReserved,
    Charge,
    ChargedData,
    EventData,
    RunAnswered,
    RunEnded,
    RunFailed,
    RunWaiting,
    RunWarned,
    SavedData,
    StepCompleted,
    StepFailed,
    StepRunning,
    StepStarted,
)
from podium.engine.log import UNREADABLE, Lease, Row, RunUpdate, Store, damaged_event
from podium.engine.redaction import Redact
from podium.errors import FencedError


class Journal:
    """Appends to the log of one run while its lease is held."""

    def __init__(self, store: Store, lease: Lease, redact: Redact) -> None:
        self.store = store
        self.lease = lease
        self.redact = redact
        self.closed = False
        self._seq = lease.last_seq
        self._time_us = lease.last_time_us

    def append(self, path: str, data: EventData) -> int:
        """Queue an event and return its sequence number; it becomes durable with the next commit."""
        return self.append_raw(path, data.type, self.redact(encode(data)))

    def append_raw(self, path: str, event_type: str, data: bytes) -> int:
        """Queue an event whose data is already encoded and redacted."""
        if self.closed:
            raise FencedError(self.lease.run_id)
        self._seq = seq = self._seq + 1
        now = time.time_ns() // 1000
        if now > self._time_us:
            self._time_us = now
        self.store.append(self.lease, (seq, self._time_us, path, event_type, data))
        return seq

    def update(self, **changes: object) -> None:
        """Queue a change of the run's summary."""
        if not self.closed:
            self.store.update(self.lease, RunUpdate(updated_us=self.now_us(), **changes))  # pyright: ignore[reportArgumentType]

    def commit(
        self,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        """Make everything so far durable; `None` if it is already."""
        return self.store.commit(self.lease, waiter, outcome, first)

    async def committed(self) -> None:
        future = self.store.commit(self.lease)
        if future is not None:
            await future

    def put_blob(self, data: bytes) -> str:
        return self.store.put_blob(data)

    def now_us(self) -> int:
        """Return the time for the next event, in microseconds: never before the last event's, even if the
        clock goes back."""
        now = time.time_ns() // 1000
        self._time_us = now if now > self._time_us else self._time_us
        return self._time_us

    def close(self) -> None:
        """Refuse late writes of this process as if it had lost the lease."""
        self.closed = True


KEEP_BYTES = 2048
"""Results up to this many bytes stay in memory."""

_ENGINE_NAMESPACES = ("run.", "step.", "model.", "budget.", "artifact.")

ENDED = "ended"
"""Name of the step, below the path of an ask of several turns, that records that its time-out ended it."""
MAX_RECOVERIES = 5
"""Consecutive crashes without a newly finished step after which a run is abandoned."""


class Done(msgspec.Struct):
    """The recorded result of a finished step."""

    seq: int
    fingerprint: str
    result: bytes | None = None
    """`None` if it is larger than `KEEP_BYTES` or a blob; it then stays in the store."""
    blob: str = ""
    edited: bool = False
    """A person wrote it in place of the step's own result."""
    cut: bool = False
    """The result ends where a model's reply was cut off."""


class Memo:
    """The outcome of every step, answer, artifact and workflow event in the log."""

    def __init__(self) -> None:
        self.done: dict[str, Done] = {}
        self.failed: dict[str, tuple[int, StepFailed]] = {}
        """Failures with their sequence numbers, by path. `answered` and `asked` have the same form."""
        self.stale: dict[str, int] = {}
        """Sequence number at which a recorded step began to run again, by path."""
        self.answered: dict[str, tuple[int, RunAnswered]] = {}
        self.asked: dict[str, tuple[int, RunWaiting]] = {}
        self.artifacts: dict[str, ArtifactCreated] = {}
        self.exhausted: dict[str, BudgetExhausted] = {}
        self.emitted: dict[tuple[str, str], deque[int]] = {}
        """Hashes of the workflow's own events by branch and type, in order."""
        self._out: set[str] = set()
        """Branches that met an exhausted budget in this stretch."""
        self._emitted_since: list[tuple[str, str]] = []
        """Keys in `emitted` of the events that those branches emitted since then."""
        self.rehearsed = False
        """A rehearsal model, which invents its replies, answered at least one call."""
        self.charges: list[tuple[str, Charge]] = []
        """Charges with their paths, including open leases of processes that died."""
        self.saved = NOTHING
        """Cost that cached replies saved."""
        self.forfeited: dict[str, Charge] = {}
        """Logs of earlier versions: leases that died with their process, by scope."""
        self.forfeited_now: dict[str, Charge] = {}
        """The part of `forfeited` that died with the last driver."""
        self.lost: list[tuple[str, Charge]] = []
        """Calls in flight when the last driver died: path and worst case."""
        self.notes: list[str] = []
        """Warnings written by the engine."""
        self.cut_steps: set[str] = set()
        """Steps that the workflow has reached whose result ends where a model's reply was cut off."""
        self._reserved: dict[str, Charge] = {}
        """Calls without a logged outcome, by path."""
        self._progress: dict[str, list[EventData]] = {}
        """Progress events of unfinished steps, whose cost is already paid."""
        self.executed: dict[str, StepRunning] = {}
        """Calls that must not be repeated and whose execution has begun, by path."""
        self._marks: dict[str, bytes] = {}
        """The `step.started` data of unfinished steps that can be continued."""
        self.recoveries = 0
        self.last_type = ""
        self.driven_s = 0.0
        self._leases: dict[str, Charge] = {}
        self._under_way: set[str] = set()
        self._causes: list[str] = []
        self._begun = False
        self._seq = 0
        self._time_us = 0
        self._sleeps: set[str] = set()
        self._asleep_until_us = 0

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Memo:
        memo = cls()
        for row in rows:
            try:
                memo._add(row)
            except UNREADABLE as error:
                raise damaged_event(row, error) from error
        return memo

    @property
    def left(self) -> str:
        """End of the last driver: `queued` (there was none yet), `waiting`, `crash`, or the status that it
        wrote."""
        if not self._begun:
            return "queued"
        if self.last_type in TERMINAL or self.last_type == "run.paused":
            return self.last_type.removeprefix("run.")
        return "waiting" if self.asked and not self._under_way else "crash"

    def spent_below(self, branch: str) -> Charge:
        """Return the spending below a branch, including a dead lease of its own budget."""
        total = self.forfeited.get(branch, NOTHING)
        prefix = branch + "/"
        for path, charge in self.charges:
            if not branch or path == branch or path.startswith(prefix):
                total += charge
        return total

    def prepare_resume(self) -> None:
        """Prepare for a resume: failures that ended the run run again, events that were emitted because a
        budget ran out may differ, and open leases of a dead driver count as spent."""
        for key in self._emitted_since:
            self.emitted[key].pop()
        self._emitted_since.clear()
        self._out.clear()
        for path in self._causes:
            if self.failed.pop(path, None):
                self.stale[path] = self._seq + 1
            self.done.pop(f"{path}/{ENDED}", None)
        self._causes = []
        self.forfeited_now = {scope: lease for scope, lease in self._leases.items() if lease != NOTHING}
        for scope, lease in self.forfeited_now.items():
            self.forfeited[scope] = self.forfeited.get(scope, NOTHING) + lease
        self._leases.clear()

    def count_lost_calls(self) -> None:
        """Charge the worst case of the calls in flight when the last driver died, since they may have been
        billed."""
        for path, worst in self._reserved.items():
            charge = msgspec.structs.replace(worst, unknown_calls=worst.calls)
            self.lost.append((path, charge))
            self.charges.append((path, charge))
        self._reserved.clear()

    def progress_of(self, path: str, fingerprint: str) -> list[EventData]:
        """Return the progress events of an unfinished step with this input, in order, and forget them."""
        events = self._progress.pop(path, None)
        if events is None or _STARTED.decode(self._marks.pop(path, b"{}")).fingerprint != fingerprint:
            return []
        return events

    def _add(self, row: Row) -> None:
        if self._begun and row.type != "run.resumed":
            self._count_time(row.time_us)
        self._time_us = row.time_us
        if row.type.startswith("run."):
            self._add_run(row)
        elif row.type == "step.completed":
            self._add_completed(row)
        elif not row.type.startswith(_ENGINE_NAMESPACES):
            self._add_emitted(row)
        else:
            self._add_other(row)
        self._seq = row.seq
        self.last_type = row.type

    def _count_time(self, now_us: int) -> None:
        """Count the time since the last row as driven, unless the run only slept or waited for a person."""
        since = self._time_us
        if not self._under_way:
            since = now_us if self.asked else min(now_us, max(since, self._asleep_until_us))
        self.driven_s += (now_us - since) / 1e6

    def _add_emitted(self, row: Row) -> None:
        data = row.data
        if data.endswith(_INHERITED):
            data = data[: -len(_INHERITED)].rstrip(b",") + b"}"
        key = row.path, row.type
        self.emitted.setdefault(key, deque()).append(hash(data))
        if row.path in self._out:
            self._emitted_since.append(key)

    def _add_completed(self, row: Row) -> None:
        data = _COMPLETED.decode(row.data)
        small = len(data.result) <= KEEP_BYTES and not data.blob
        self.done[row.path] = Done(
            row.seq,
            data.fingerprint,
            bytes(data.result) if small else None,
            data.blob,
            edited=data.edited,
            cut=data.cut,
        )
        self.failed.pop(row.path, None)
        self._end_step(row.path)
        if row.path in self._sleeps and not data.edited:
            self._asleep_until_us = max(self._asleep_until_us, int(float(bytes(data.result)) * 1e6))
        if not data.inherited:
            self.recoveries = 0
        self._charge(row.path, data)

    def _add_other(self, row: Row) -> None:
        if row.type == "step.started":
            self._add_started(row)
            return
        if row.type == "step.stale":
            self.stale[row.path] = row.seq
            self._progress.pop(row.path, None)
        if row.type in {"step.stale", "model.asked"}:
            return
        if row.type == "model.attempted" and _REHEARSAL in row.data:
            self.rehearsed = True
        cls = EVENT_TYPES.get(row.type, ChargedData)  # unknown event types may still carry a charge
        data = msgspec.json.decode(row.data, type=cls)
        if isinstance(data, StepFailed):
            self.failed[row.path] = row.seq, data
            self.done.pop(row.path, None)
            self._end_step(row.path)
            self.recoveries = 0
        elif isinstance(data, StepRunning):
            self.executed[row.path] = data
        elif isinstance(data, ArtifactCreated):
            self.artifacts[row.path] = data
        elif isinstance(data, BudgetReserved):
            self._reserved[row.path] = data.reserved
        elif isinstance(data, BudgetLeased):
            self._leases[row.path] = data.lease
        elif isinstance(data, BudgetExhausted):
            self.exhausted[row.path] = data
            parts = row.path.split("/")
            self._out.update("/".join(parts[:depth]) for depth in range(len(parts)))
        if data.progress and not data.inherited:
            self._progress.setdefault(row.path, []).append(data)
        if isinstance(data, ChargedData):
            self._charge(row.path, data)
        elif isinstance(data, SavedData) and not data.inherited:
            self.saved += data.saved

    def _add_started(self, row: Row) -> None:
        self._under_way.add(row.path)
        if _SLEEP in row.data:
            self._sleeps.add(row.path)
        elif _FINGERPRINT in row.data:
            if row.path in self._progress:
                before, now = (_STARTED.decode(data) for data in (self._marks[row.path], row.data))
                if before.fingerprint != now.fingerprint:
                    del self._progress[row.path]
            self._marks[row.path] = row.data

    def _end_step(self, path: str) -> None:
        self._under_way.discard(path)
        self._progress.pop(path, None)
        self._marks.pop(path, None)

    def _add_run(self, row: Row) -> None:
        if row.type == "run.warned":
            if _ENGINE_WARNING in row.data:
                self.notes.append(msgspec.json.decode(row.data, type=RunWarned).message)
            else:
                self._add_emitted(row)
        elif row.type == "run.waiting":
            self.asked[row.path] = row.seq, msgspec.json.decode(row.data, type=RunWaiting)
        elif row.type == "run.answered":
            self.answered[row.path] = row.seq, msgspec.json.decode(row.data, type=RunAnswered)
            self.asked.pop(row.path, None)
            self.recoveries = 0
        elif row.type in {"run.started", "run.resumed"}:
            self._begin_stretch(row)
        elif row.type in TERMINAL or row.type == "run.paused":
            ended = msgspec.json.decode(row.data, type=EVENT_TYPES[row.type])
            self.recoveries = 0
            if isinstance(ended, RunEnded) and ended.driven_s:
                self.driven_s = ended.driven_s
            if isinstance(ended, RunFailed):
                self._causes = ended.cause

    def _begin_stretch(self, row: Row) -> None:
        self.prepare_resume()
        self._begun = True
        self._under_way.clear()
        self.exhausted.clear()
        if row.type == "run.resumed" and b'"after":"crash"' in row.data:
            self.recoveries += 1

    def _charge(self, path: str, data: ChargedData) -> None:
        if self._reserved:
            self._reserved.pop(path, None)
        if data.charge != NOTHING and not data.inherited:
            self.charges.append((path, data.charge))


_COMPLETED = msgspec.json.Decoder(StepCompleted)
_STARTED = msgspec.json.Decoder(StepStarted)
_FINGERPRINT = b'"fingerprint"'
_ENGINE_WARNING = b'"engine":true'
_INHERITED = b'"inherited":true}'
_SLEEP = b'"kind":"sleep"'
_REHEARSAL = b'"rehearsal":true'
