"""Shared folds of runs (the line of every event, the view with its patches), and the run schemas of the API.

A run has one fold per server process, however many clients read it. It is extended with the log, a batch at a
time, so that a long log does not block the event loop. Folds of runs without open streams are dropped, the
least recently used first.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from podium.api.outcome import result_of, step_data
from podium.engine.codec import decode, encode
from podium.engine.events import EVENT_TYPES, ChargedData, EventData, StepCompleted
from podium.engine.log import Row, RunRow, Store
from podium.engine.state import RunState, StepState
from podium.errors import StoreError
from podium.models.events import ModelAsked
from podium.report.conversation import Conversations
from podium.report.data import costs_of
from podium.report.messages import ShownConversation, shortened
from podium.report.run_fold import RunFold
from podium.report.view import RunMessages, RunView, ViewLine, merge_patch
from podium.report.words import pretty
from podium.server.schemas.runs import (
    Artifact,
    Cost,
    Forked,
    Question,
    RunDetail,
    RunSummary,
    Step,
    StepDetail,
)
from podium.server.schemas.shared import Ceilings, Status, Usage
from podium.workflows import presentation_of

LOG = logging.getLogger("podium.server")

BATCH = 500
"""Events read at once."""
TURN = 50
"""Events folded before the event loop gets a turn."""
MOST_FOLDS = 16
MOST_LINE_BYTES = 64_000_000
"""Bytes of lines that all folds may hold, besides those of open streams."""
VIEW_INTERVAL_S = 0.25
"""Shortest time between two patches of a run."""
PATCHES = 40
"""Patches kept for followers that are behind. One that is further behind gets a complete view."""
NO_LINE = b"null"
MOST_MESSAGES = 500
MOST_CHARS = 20_000
"""Messages of a run that are sent, and characters of each text."""


class Patch(NamedTuple):
    """The change of a view from one event number to a later one."""

    base: int
    seq: int
    json: bytes


class SharedFold:
    """The fold of one run."""

    def __init__(self, store: Store, run_id: str, workflow: str) -> None:
        self.run_id = run_id
        self.seq = 0
        """Number of the last event folded."""
        self.damage: StoreError | None = None
        """Set if an event cannot be read."""
        self.broadcasts: set[object] = set()
        """Broadcasts that need its lines."""
        self.line_bytes = 0
        self._store = store
        self.fold = RunFold(presentation_of(workflow))
        self._lines: list[bytes] = []
        self._lock = asyncio.Lock()
        self._followers: dict[object, Callable[[], None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._view: RunView | None = None
        self._view_seq = 0
        self._complete = b""
        self._complete_seq = -1
        self._patches: deque[Patch] = deque(maxlen=PATCHES)

    @property
    def in_use(self) -> bool:
        return bool(self._followers or self.broadcasts)

    # ── events ──

    async def whole(self) -> RunFold:
        """Return the fold of the whole log; raises `StoreError` if an event of it cannot be read."""
        await self.extend()
        if self.damage is not None:
            raise self.damage
        return self.fold

    async def extend(self, seq: int | None = None) -> None:
        """Fold the log up to event `seq`; without one, up to its end."""
        while seq is None or self.seq < seq:
            async with self._lock:
                if seq is not None and self.seq >= seq:
                    return
                rows = await self._store.read(self.run_id, after=self.seq, limit=BATCH)
                for number, row in enumerate(rows, start=1):
                    self.apply(row)
                    if number % TURN == 0:
                        await asyncio.sleep(0)
            if len(rows) < BATCH:
                return
            self.fold.view()  # builds the parts that changed: for a long log not all of them at the end

    def apply(self, row: Row) -> None:
        """Fold the next event; one that is folded already is skipped. An event that cannot be read, or that
        this version cannot show, has no line."""
        if row.seq <= self.seq:
            return
        try:
            line = encode(ViewLine.of(self.fold.apply(row.to_event(self.run_id))))
        except StoreError as error:
            self.damage = self.damage or error
            line = NO_LINE
        except Exception:  # a log of another version must stay readable
            LOG.warning("Event %s of run %s could not be shown.", row.seq, self.run_id, exc_info=True)
            line = NO_LINE
        self._lines += [NO_LINE] * (row.seq - 1 - len(self._lines))
        self._lines.append(line)
        self.line_bytes += len(line)
        self.seq = row.seq
        if self._followers and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(VIEW_INTERVAL_S, self.publish)

    def deliverable(self, output: Any) -> str:
        """Return the text of an output that a person reads first."""
        text = self.fold.shown.deliverable(output)
        return "" if output is None else pretty(output) if text is None else text

    def line(self, seq: int) -> bytes:
        """Return the line of a folded event as JSON."""
        return self._lines[seq - 1] if 0 < seq <= len(self._lines) else NO_LINE

    # ── views ──

    def follow(self, follower: object, wake: Callable[[], None]) -> None:
        """Call `wake` after each new patch."""
        self._followers[follower] = wake

    def unfollow(self, follower: object) -> None:
        self._followers.pop(follower, None)
        if not self._followers:
            self._patches.clear()
            self._cancel_timer()

    def complete(self, *, fresh: bool = False) -> tuple[int, bytes]:
        """Return the event number and the JSON of the complete view: `{"seq": …, "view": …}`. Unless it must
        be fresh, it is the last published one if the next patch is due anyway."""
        if fresh or self._view is None or self._timer is None:
            self.publish()
        if self._complete_seq != self._view_seq:
            self._complete = encode({"seq": self._view_seq, "view": self._view})
            self._complete_seq = self._view_seq
        return self._view_seq, self._complete

    def patches(self, after: int, until: int) -> list[Patch] | None:
        """Return the patches that lead on from the view at event `after`, up to event `until`. None: they are
        not kept any more."""
        if after == self._view_seq:
            return []
        later = [patch for patch in self._patches if patch.base >= after]
        if not later or later[0].base != after:
            return None
        return [patch for patch in later if patch.seq <= until]

    def publish(self) -> None:
        """Build the view of the last event and wake the followers if it is new."""
        self._cancel_timer()
        if self._view is not None and self._view_seq == self.seq:
            return
        view = self.fold.view()
        if self._view is not None and self._followers:
            patch = encode({"seq": self.seq, "patch": merge_patch(self._view, view)})
            self._patches.append(Patch(self._view_seq, self.seq, patch))
        self._view, self._view_seq = view, self.seq
        for wake in list(self._followers.values()):
            wake()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class SharedFolds:
    """The folds of the runs that were read last."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.folds: OrderedDict[str, SharedFold] = OrderedDict()

    def of(self, row: RunRow) -> SharedFold:
        """Return the fold of a run."""
        fold = self.folds.get(row.run_id)
        if fold is None:
            fold = self.folds[row.run_id] = SharedFold(self._store, row.run_id, row.workflow)
        self.folds.move_to_end(row.run_id)
        self._drop_old(fold)
        return fold

    def _drop_old(self, current: SharedFold) -> None:
        idle = [fold for fold in self.folds.values() if not fold.in_use and fold is not current]
        line_bytes = sum(fold.line_bytes for fold in self.folds.values())
        for fold in idle:
            if len(self.folds) <= MOST_FOLDS and line_bytes <= MOST_LINE_BYTES:
                return
            line_bytes -= fold.line_bytes
            del self.folds[fold.run_id]


CHARGED = tuple(name for name, data in EVENT_TYPES.items() if issubclass(data, ChargedData))


def iso(micros: int) -> str:
    """Return a timestamp in microseconds as ISO 8601 in UTC, the format of all interfaces."""
    when = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def summary_of(row: RunRow) -> RunSummary:
    return RunSummary.model_construct(**_summary(row))


def _summary(row: RunRow) -> dict[str, Any]:
    return {
        "run_id": row.run_id,
        "workflow": row.workflow,
        "request": row.request,
        "status": cast("Status", row.status),
        "stop_reason": row.stop_reason or None,
        "created_at": iso(row.created_us),
        "updated_at": iso(row.updated_us),
        "model": row.model or None,
        "rehearsal": row.rehearsal,
        "cost_usd": round(row.usage.usd, 9),
        "calls": row.usage.calls,
        "tokens": row.usage.input_tokens + row.usage.output_tokens,
        "budget": Ceilings(**row.budget.to_dict()),
        "duration_s": round(row.driven_s, 3),
        "parent": row.parent or None,
        "holder": row.holder or None,
        "owner": row.owner or None,
    }


async def detail_of(store: Store, row: RunRow, fold: SharedFold) -> RunDetail:
    """Return one run with its result."""
    await fold.extend()
    result, state = await result_of(store, row)
    charged = [entry.to_event(row.run_id) for entry in await store.read(row.run_id, types=CHARGED)]
    usage = result.usage
    fields: dict[str, Any] = {
        **_summary(row),
        "request": state.request if isinstance(state.request, str) else row.request,
        "stop_reason": result.stop_reason or None,
        "output": result.output,
        "deliverable": fold.deliverable(result.output),
        "quality": result.quality,
        "warnings": result.warnings,
        "missing": state.missing,
        "error": result.error or None,
        "hint": result.hint or None,
        "usage": Usage(**usage.to_dict()),
        "cached_calls": result.saved.calls,
        "saved_usd": round(result.saved.usd, 9),
        "duration_s": round(result.duration_s, 3),
        "options": state.options,
        "config": state.config,
        "budget": Ceilings(**state.budget.to_dict()),
        "questions": [
            Question(
                path=path,
                question=question.question,
                choices=question.choices,
                details=question.details,
                answers=question.answers,
            )
            for path, question in result.questions.items()
        ],
        "costs": [
            Cost(
                agent=cost.agent,
                model=cost.model or None,
                calls=cost.usage.calls,
                input_tokens=cost.usage.input_tokens,
                output_tokens=cost.usage.output_tokens,
                cost_usd=round(cost.usage.usd, 9),
                unpriced_calls=cost.usage.unpriced_calls,
            )
            for cost in costs_of(charged, state)
        ],
        "artifacts": artifacts_of(state),
        "forked_from": _forked(state),
        "resumes": state.resumes,
        "last_seq": state.last_seq,
    }
    return RunDetail.model_construct(**fields)


def artifacts_of(state: RunState) -> list[Artifact]:
    return [
        Artifact(id=made.id, name=made.name, media_type=made.media_type, bytes=made.bytes, path=path)
        for path, made in state.artifacts.items()
    ]


def _forked(state: RunState) -> Forked | None:
    forked = state.forked_from
    if forked is None:
        return None
    return Forked(source=forked.source, at=forked.at, edit=forked.edit, steps=forked.steps)


def step_of(step: StepState) -> Step:
    return Step.model_construct(**step_data(step))


async def step_detail_of(store: Store, fold: RunFold, path: str) -> StepDetail:
    """Return one step with its system prompt, prompt, result and event numbers."""
    step, facts, run_id = fold.state.steps[path], fold.facts[path], fold.state.run_id
    prompted = await _data_at(store, run_id, facts.asked_seq)
    ended = await _data_at(store, run_id, facts.ended_seq)
    system = prompt = result = None
    if isinstance(prompted, ModelAsked):
        system, prompt = prompted.system, prompted.prompt
        if prompted.blob:
            prompt = (await store.get_blob(prompted.blob)).decode("utf-8", "replace")
    if isinstance(ended, StepCompleted):
        result = decode(await store.get_blob(ended.blob) if ended.blob else ended.result)
    return StepDetail.model_construct(
        **step_data(step), system=system, prompt=prompt, result=result, events=facts.seqs
    )


async def messages_of(store: Store, row: RunRow, path: str) -> RunMessages:
    """Return the conversations of a run; with a path, that of the turn, or the call."""
    talks, seq = Conversations(), 0
    while rows := await store.read(row.run_id, after=seq, limit=BATCH):
        for entry in rows:
            talks.apply(entry.to_event(row.run_id))
        seq = rows[-1].seq
        await asyncio.sleep(0)
    if path:
        talk = await talks.up_to(path, store.get_blob)
        call = await talks.call(path, store.get_blob)
        shown = [talk] if talk else []
    else:
        call, shown = None, await talks.all(store.get_blob)
    kept, room = list[ShownConversation](), MOST_MESSAGES
    for talk in reversed(shown):
        part = talk.messages[-room:] if room else ()
        room -= len(part)
        kept.insert(0, shortened(replace(talk, messages=part), MOST_CHARS))
    left_out = sum(len(talk.messages) for talk in shown) - (MOST_MESSAGES - room)
    return RunMessages(
        seq=seq,
        conversations=[talk for talk in kept if talk.messages],
        left_out=left_out,
        call=call or msgspec.UNSET,
    )


async def _data_at(store: Store, run_id: str, seq: int) -> EventData | None:
    """Return the data of one event; None without a number."""
    rows = await store.read(run_id, after=seq - 1, limit=1) if seq else []
    return rows[0].to_event(run_id).data if rows else None
