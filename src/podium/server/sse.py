"""Server-sent events: frames, live logs of runs, and the live list of runs.

A reader's only state is its position in the log. A reader near the end takes events from a shared buffer; a
reader that is behind, or new, reads the store in small batches. So a slow reader costs one batch, however
slow it is. No event is skipped or sent twice, because the position advances only by what was sent.

The id of a change in the list of runs is its timestamp, so a client that reconnects gets every run that has
changed meanwhile. Timestamps of several processes may arrive out of order, so each poll reads a little
further back and skips what was already sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import msgspec
from sse_starlette.event import ServerSentEvent

from podium.engine.codec import encode
from podium.engine.core import Delta
from podium.engine.events import TERMINAL
from podium.engine.log import Row, RunRow, Store
from podium.errors import StoreError
from podium.server.schedulers import FleetScheduler, LocalScheduler
from podium.server.schemas.runs import RunSummary
from podium.server.views import SharedFold, SharedFolds, iso


def event_json(run_id: str, row: Row, line: bytes) -> bytes:
    """Serialize one event with its line, which is JSON. Its data is copied from the log without decoding."""
    return msgspec.json.encode(
        {
            "seq": row.seq,
            "run_id": run_id,
            "time": iso(row.time_us),
            "path": row.path,
            "type": row.type,
            "data": msgspec.Raw(row.data),
            "line": msgspec.Raw(line),
        }
    )


def framed_event(run_id: str, row: Row, line: bytes) -> bytes:
    """Return the event as a server-sent event. A client that reconnects sends its id back."""
    return ServerSentEvent(_one_line(event_json(run_id, row, line)), id=str(row.seq), sep="\n").encode()


def framed(kind: str, data: Any, *, id: str | None = None) -> bytes:
    """Return a server-sent event that is not in the log."""
    return framed_json(kind, encode(data), id=id)


def framed_json(kind: str, json: bytes, *, id: str | None = None) -> bytes:
    """Return a server-sent event whose data is JSON already."""
    return ServerSentEvent(_one_line(json), event=kind, id=id, sep="\n").encode()


def _one_line(json: bytes) -> str:
    """Escape further line separators for clients that split lines at more than the standard's (Python's
    `splitlines`)."""
    text = json.decode()
    if text.isascii():
        return text
    return text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


BUFFER_ROWS = 2000
BUFFER_BYTES = 2_000_000
PIECE = 100
"""Rows read at once for a reader that is behind."""
DELTAS = 300
"""Reply deltas that a reader may lag behind before the oldest are dropped."""
LOOK_S = 0.3
STOPS = TERMINAL | {"run.paused", "run.waiting"}
"""Event types after which the view is published at once."""
AT_REST = frozenset({"waiting", "paused", "completed", "partial", "failed", "cancelled"})


class StreamReader:
    """One client's position in a run's event stream."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.view_seq: int | None = None
        """Number of the last event in the view that it has. None: it wants no view."""
        self.awake = asyncio.Event()
        self.deltas: deque[bytes] = deque(maxlen=DELTAS)


class Broadcast:
    """One run and all readers of its stream."""

    def __init__(self, store: Store, fold: SharedFold) -> None:
        self.run_id = fold.run_id
        self._store = store
        self._fold = fold
        fold.broadcasts.add(self)
        self._rows: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._readers: set[StreamReader] = set()
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._status = ""
        self.closed = False

    @property
    def idle(self) -> bool:
        return not self._readers

    @property
    def held(self) -> int:
        """Bytes in the shared buffer."""
        return self._bytes

    def show(self, delta: Delta) -> None:
        """Send a reply delta, which is not in the log, to all readers."""
        path, attempt, offset, text = delta
        piece = framed("delta", {"path": path, "attempt": attempt, "offset": offset, "text": text})
        for reader in self._readers:
            reader.deltas.append(piece)
            reader.awake.set()

    def close(self) -> None:
        """End the streams of all readers."""
        self.closed = True
        self._fold.broadcasts.discard(self)
        for task in (self._task, self._looking):
            if task is not None:
                task.cancel()
        self._wake()

    async def follow(
        self, after: int, *, view: bool = False, last: int | None = None
    ) -> AsyncGenerator[bytes]:
        """Yield every event after `after`, framed, until the broadcast is closed; in between, deltas and
        status frames. With `view`, also the complete view first, and then its patches. With `last`, at most
        that many of the events so far."""
        reader, sent_status = StreamReader(after), ""
        self._readers.add(reader)
        try:
            if view or last is not None:
                await self._fold.extend()
            if last is not None:
                reader.after = max(after, self._fold.seq - last)
            if view:
                yield self._complete_view(reader)
                self._fold.follow(reader, reader.awake.set)
            while not self.closed:
                reader.awake.clear()
                piece = await self._piece(reader)
                piece += self._view_changes(reader)
                if piece:
                    yield piece
                    # Neither reading nor sending necessarily suspends. Without yielding to the event loop, a
                    # whole log would be serialized for a reader that disconnected long ago, and all other
                    # requests would wait for it.
                    await asyncio.sleep(0)
                    continue
                await self._keep_watch(reader.after)
                if self._status != sent_status:
                    sent_status = self._status
                    yield framed(
                        "status",
                        {"status": sent_status, "seq": reader.after, "at_rest": sent_status in AT_REST},
                    )
                else:
                    await reader.awake.wait()
        finally:
            self._fold.unfollow(reader)
            self._readers.discard(reader)

    def _complete_view(self, reader: StreamReader) -> bytes:
        reader.view_seq, json = self._fold.complete()
        return framed_json("view", json)

    def _view_changes(self, reader: StreamReader) -> bytes:
        """Return the patches of the view that a reader has not got, up to the last event that it has."""
        if reader.view_seq is None:
            return b""
        patches = self._fold.patches(reader.view_seq, reader.after)
        if patches is None:
            return self._complete_view(reader)
        if patches:
            reader.view_seq = patches[-1].seq
        return b"".join(framed_json("view", patch.json) for patch in patches)

    async def _keep_watch(self, after: int) -> None:
        """Start the shared tail at the position of the first reader that is up to date, so that earlier
        events are not framed without a reader."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._tail(after))
            self._task.add_done_callback(self._tail_ended)
            self._status = (await self._store.get(self.run_id)).status
            self._looking = asyncio.get_running_loop().create_task(self._look())

    def _tail_ended(self, task: asyncio.Task[None]) -> None:
        """End all streams: the store was closed or cannot be read. Clients reconnect."""
        if not task.cancelled():
            task.exception()  # retrieved to avoid a warning; the readers' own requests report it
        self.close()

    async def _piece(self, reader: StreamReader) -> bytes:
        """Return the next frames for a reader; empty if there are none yet."""
        deltas = b"".join(reader.deltas)
        reader.deltas.clear()
        if self._rows and self._rows[-1][0] <= reader.after:
            return deltas
        if self._rows and self._rows[0][0] <= reader.after + 1:
            frames = self._buffered(reader.after)
        else:
            rows = await self._store.read(self.run_id, after=reader.after, limit=PIECE)
            if rows:
                await self._fold.extend(rows[-1].seq)
            frames = [(row.seq, framed_event(self.run_id, row, self._fold.line(row.seq))) for row in rows]
        if frames:
            reader.after = frames[-1][0]
        return b"".join([deltas, *(piece for _, piece in frames)])

    def _buffered(self, after: int) -> list[tuple[int, bytes]]:
        """Return up to `PIECE` buffered frames after a sequence number. Sequence numbers have no gaps, so the
        index in the buffer is computed."""
        start = after + 1 - self._rows[0][0]
        return [self._rows[index] for index in range(start, min(start + PIECE, len(self._rows)))]

    async def _tail(self, after: int) -> None:
        async with aclosing(self._store.tail(self.run_id, after=after)) as rows:
            async for row in rows:
                if row.seq > self._fold.seq + 1:
                    await self._fold.extend(row.seq)
                self._fold.apply(row)
                self._keep(row)
                if row.type in STOPS:
                    self._fold.publish()
                if row.type in TERMINAL:
                    await self._read_status()
                self._wake()

    async def _look(self) -> None:
        """Poll the status, because not every change of it is an event: a driver may die, and a run becomes
        `waiting` when the last of its branches does."""
        while not self.closed:
            await asyncio.sleep(LOOK_S)
            before = self._status
            await self._read_status()
            if self._status != before:
                self._wake()

    async def _read_status(self) -> None:
        try:
            self._status = (await self._store.get(self.run_id)).status
        except StoreError:
            return  # the next poll tries again

    def _keep(self, row: Row) -> None:
        piece = framed_event(self.run_id, row, self._fold.line(row.seq))
        self._rows.append((row.seq, piece))
        self._bytes += len(piece)
        while len(self._rows) > 1 and (len(self._rows) > BUFFER_ROWS or self._bytes > BUFFER_BYTES):
            self._bytes -= len(self._rows.popleft()[1])

    def _wake(self) -> None:
        for reader in self._readers:
            reader.awake.set()


class Broadcasts:
    """All runs that have readers."""

    def __init__(self, store: Store, folds: SharedFolds, scheduler: LocalScheduler | FleetScheduler) -> None:
        self._store = store
        self._folds = folds
        self._scheduler = scheduler
        self._open: dict[str, tuple[Broadcast, Callable[[], None]]] = {}
        self._closed = False

    @property
    def readers(self) -> int:
        return self._count

    _count = 0

    async def follow(
        self, row: RunRow, after: int, *, view: bool = False, last: int | None = None
    ) -> AsyncGenerator[bytes]:
        """Yield the frames of one reader of a run's stream."""
        if self._closed:
            return
        run_id = row.run_id
        if run_id not in self._open:
            broadcast = Broadcast(self._store, self._folds.of(row))
            self._open[run_id] = (broadcast, self._scheduler.watch_deltas(run_id, broadcast.show))
        broadcast, stop = self._open[run_id]
        self._count += 1
        try:
            async with aclosing(broadcast.follow(after, view=view, last=last)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._count -= 1
            if broadcast.idle and self._open.get(run_id, (None,))[0] is broadcast:
                del self._open[run_id]
                stop()
                broadcast.close()

    def close(self) -> None:
        """End all streams because the server stops. Clients reconnect later with the id of
        their last event."""
        self._closed = True
        for broadcast, _ in self._open.values():
            broadcast.close()


INTERVAL_S = 0.3
OVERLAP_US = 3_000_000
MOST_WAITING = 2000
"""Changed runs that may be pending for a slow watcher. Beyond that its stream ends, and the client
reconnects."""

Mark = tuple[int, str]


class Watcher:
    """One client of the live list of runs. A run that changes twice before it is sent is sent once."""

    def __init__(self, owner: str | None) -> None:
        self.owner = owner
        self.waiting: dict[str, RunRow] = {}
        self.awake = asyncio.Event()
        self.ended = False

    def put(self, row: RunRow) -> None:
        if self.owner is None or row.owner == self.owner:
            self.waiting[row.run_id] = row
            self.ended = self.ended or len(self.waiting) > MOST_WAITING
            self.awake.set()


class Changes:
    """The live list of runs and all its watchers."""

    def __init__(self, store: Store, summary: Callable[[RunRow], RunSummary]) -> None:
        self._store = store
        self._summary = summary
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def follow(self, owner: str | None, since_us: int) -> AsyncGenerator[bytes]:
        """Yield runs as they change, beginning with those changed since `since_us` if it is not 0."""
        watcher = Watcher(owner)
        self._watchers.add(watcher)
        try:
            if since_us:
                for row in await self._store.list_changed(since_us, owner=owner):
                    watcher.put(row)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._look())
            while not (self._closed or watcher.ended):
                watcher.awake.clear()
                rows, watcher.waiting = watcher.waiting, {}
                if rows:
                    yield b"".join(self._serialize(row) for row in sorted(rows.values(), key=_moment))
                else:
                    await watcher.awake.wait()
        finally:
            self._watchers.discard(watcher)
            if not self._watchers and self._task is not None:
                self._task.cancel()
                self._task = None

    def _serialize(self, row: RunRow) -> bytes:
        return framed("run", self._summary(row).model_dump(), id=str(row.updated_us))

    async def _look(self) -> None:
        """Poll the store for changed runs until the last watcher has left."""
        seen: dict[str, Mark] = {}
        newest = max((row.updated_us for row in await self._store.list_runs(limit=1)), default=0)
        for row in await self._store.list_changed(newest - OVERLAP_US):
            seen[row.run_id] = _mark(row)
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                rows = await self._store.list_changed(newest - OVERLAP_US)
            except StoreError:
                continue  # requests for single runs report it; the list continues when the store does
            seen = {run_id: mark for run_id, mark in seen.items() if mark[0] >= newest - OVERLAP_US}
            for row in rows:
                if seen.get(row.run_id) != _mark(row):
                    seen[row.run_id] = _mark(row)
                    newest = max(newest, row.updated_us)
                    for watcher in self._watchers:
                        watcher.put(row)

    def close(self) -> None:
        """End all streams because the server stops."""
        self._closed = True
        for watcher in self._watchers:
            watcher.awake.set()


def _moment(row: RunRow) -> int:
    return row.updated_us


def _mark(row: RunRow) -> Mark:
    return row.updated_us, row.status
