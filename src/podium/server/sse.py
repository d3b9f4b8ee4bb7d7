"""SSE frames, run tails, run-list stream.

A reader has a place in the log and nothing else. One who is near the end takes what is in the shared buffer;
one who has fallen behind, or has just come, reads the store in small pieces. So a slow reader costs a piece,
however slow it is; and nothing is skipped or sent twice, because the place only ever moves on by what was
sent.

The id of a change is its moment, so a client that comes again gets every run that has changed meanwhile.
Times of several processes may arrive in another order than they were made, so each look goes a little way
back and leaves out what was told already.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
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


def iso(micros: int) -> str:
    """A moment as every interface shows it."""
    when = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def event_json(run_id: str, row: Row) -> bytes:
    """One event as JSON, without reading its data: what the log holds is what is sent."""
    return msgspec.json.encode(
        {
            "seq": row.seq,
            "run_id": run_id,
            "time": iso(row.time_us),
            "path": row.path,
            "type": row.type,
            "data": msgspec.Raw(row.data),
        }
    )


def framed_event(run_id: str, row: Row) -> bytes:
    """The same as a server-sent event, whose id a client sends back when it comes again."""
    return ServerSentEvent(_one_line(event_json(run_id, row)), id=str(row.seq), sep="\n").encode()


def framed(kind: str, data: Any, *, id: str | None = None) -> bytes:
    """Something that is not in the log."""
    return ServerSentEvent(_one_line(encode(data)), event=kind, id=id, sep="\n").encode()


def _one_line(json: bytes) -> str:
    """JSON for clients who take more for the end of a line than the standard does (Python's `splitlines`)."""
    text = json.decode()
    if text.isascii():
        return text
    return text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


BUFFER_ROWS = 2000
BUFFER_BYTES = 2_000_000
PIECE = 100
"""Rows that are read at once for somebody who is behind."""
DELTAS = 300
"""Pieces of text that a reader may lag behind before the oldest are dropped."""
LOOK_S = 0.3
AT_REST = frozenset({"waiting", "paused", "completed", "partial", "failed", "cancelled"})


class StreamReader:
    """Somebody who watches a run."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.awake = asyncio.Event()
        self.deltas: deque[bytes] = deque(maxlen=DELTAS)


class Broadcast:
    """One run and all who watch it."""

    def __init__(self, store: Store, run_id: str) -> None:
        self.run_id = run_id
        self._store = store
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
        """A piece of a reply, which is not in the log."""
        path, attempt, offset, text = delta
        piece = framed("delta", {"path": path, "attempt": attempt, "offset": offset, "text": text})
        for reader in self._readers:
            reader.deltas.append(piece)
            reader.awake.set()

    def close(self) -> None:
        """Every reader's stream ends."""
        self.closed = True
        for task in (self._task, self._looking):
            if task is not None:
                task.cancel()
        self._wake()

    async def follow(self, after: int) -> AsyncGenerator[bytes]:
        """Everything behind `after`, framed, for ever; deltas and notes in between."""
        reader, told = StreamReader(after), ""
        self._readers.add(reader)
        try:
            while not self.closed:
                reader.awake.clear()
                piece = await self._piece(reader)
                if piece:
                    yield piece
                    # Neither reading nor sending need wait: without a turn for others, a whole log would be
                    # made for a reader who has hung up long ago, and everybody else would wait for it.
                    await asyncio.sleep(0)
                    continue
                await self._keep_watch(reader.after)
                if self._status != told:
                    told = self._status
                    yield framed("status", {"status": told, "seq": reader.after, "at_rest": told in AT_REST})
                else:
                    await reader.awake.wait()
        finally:
            self._readers.discard(reader)

    async def _keep_watch(self, after: int) -> None:
        """The first reader who has everything so far lets the shared tail begin there: what lies before is
        not framed for nobody."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._tail(after))
            self._task.add_done_callback(self._tail_ended)
            self._status = (await self._store.get(self.run_id)).status
            self._looking = asyncio.get_running_loop().create_task(self._look())

    def _tail_ended(self, task: asyncio.Task[None]) -> None:
        """The store was closed, or cannot be read: streams end, and clients come again."""
        if not task.cancelled():
            task.exception()  # the readers' own requests tell it
        self.close()

    async def _piece(self, reader: StreamReader) -> bytes:
        """What comes next for a reader; empty: nothing so far."""
        deltas = b"".join(reader.deltas)
        reader.deltas.clear()
        if self._rows and self._rows[-1][0] <= reader.after:
            return deltas
        if self._rows and self._rows[0][0] <= reader.after + 1:
            found = self._buffered(reader.after)
        else:
            rows = await self._store.read(self.run_id, after=reader.after, limit=PIECE)
            found = [(row.seq, framed_event(self.run_id, row)) for row in rows]
        if found:
            reader.after = found[-1][0]
        return b"".join([deltas, *(piece for _, piece in found)])

    def _buffered(self, after: int) -> list[tuple[int, bytes]]:
        """Sequence numbers have no gaps, so the place in the buffer is known."""
        start = after + 1 - self._rows[0][0]
        return [self._rows[index] for index in range(start, min(start + PIECE, len(self._rows)))]

    async def _tail(self, after: int) -> None:
        async with aclosing(self._store.tail(self.run_id, after=after)) as rows:
            async for row in rows:
                self._keep(row)
                if row.type in TERMINAL:
                    await self._read_status()
                self._wake()

    async def _look(self) -> None:
        """Not every change of the status is an event: a driver may die, and a run begins to wait when the
        last of its branches does."""
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
            return  # the next look may find it

    def _keep(self, row: Row) -> None:
        piece = framed_event(self.run_id, row)
        self._rows.append((row.seq, piece))
        self._bytes += len(piece)
        while len(self._rows) > 1 and (len(self._rows) > BUFFER_ROWS or self._bytes > BUFFER_BYTES):
            self._bytes -= len(self._rows.popleft()[1])

    def _wake(self) -> None:
        for reader in self._readers:
            reader.awake.set()


class Broadcasts:
    """All runs that are watched."""

    def __init__(self, store: Store, conductor: LocalScheduler | FleetScheduler) -> None:
        self._store = store
        self._conductor = conductor
        self._open: dict[str, tuple[Broadcast, Callable[[], None]]] = {}
        self._closed = False

    @property
    def readers(self) -> int:
        return self._count

    _count = 0

    async def follow(self, run_id: str, after: int) -> AsyncGenerator[bytes]:
        if self._closed:
            return
        if run_id not in self._open:
            broadcast = Broadcast(self._store, run_id)
            self._open[run_id] = (broadcast, self._conductor.watch_deltas(run_id, broadcast.show))
        broadcast, stop = self._open[run_id]
        self._count += 1
        try:
            async with aclosing(broadcast.follow(after)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._count -= 1
            if broadcast.idle and self._open.get(run_id, (None,))[0] is broadcast:
                del self._open[run_id]
                stop()
                broadcast.close()

    def close(self) -> None:
        """The server stops: clients come again later, with the id of the last event that they have."""
        self._closed = True
        for broadcast, _ in self._open.values():
            broadcast.close()


INTERVAL_S = 0.3
OVERLAP_US = 3_000_000
MOST_WAITING = 2000
"""Runs that a slow watcher may have in front of it; then its stream ends, and it comes again."""

Mark = tuple[int, str]


class Watcher:
    """Somebody who watches the list. A run that changes twice before it is sent is sent once."""

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
    """Everybody who watches the list of runs."""

    def __init__(self, store: Store, summary: Callable[[RunRow], RunSummary]) -> None:
        self._store = store
        self._summary = summary
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def follow(self, owner: str | None, since_us: int) -> AsyncGenerator[bytes]:
        """Runs as they change; those that changed since a moment first."""
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
                    yield b"".join(self._told(row) for row in sorted(rows.values(), key=_moment))
                else:
                    await watcher.awake.wait()
        finally:
            self._watchers.discard(watcher)
            if not self._watchers and self._task is not None:
                self._task.cancel()
                self._task = None

    def _told(self, row: RunRow) -> bytes:
        return framed("run", self._summary(row).model_dump(), id=str(row.updated_us))

    async def _look(self) -> None:
        """Look again and again, for as long as somebody watches."""
        seen: dict[str, Mark] = {}
        newest = max((row.updated_us for row in await self._store.list_runs(limit=1)), default=0)
        for row in await self._store.list_changed(newest - OVERLAP_US):
            seen[row.run_id] = _mark(row)
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                rows = await self._store.list_changed(newest - OVERLAP_US)
            except StoreError:
                continue  # whoever asks for a run is told; the list goes on when it can
            seen = {run_id: mark for run_id, mark in seen.items() if mark[0] >= newest - OVERLAP_US}
            for row in rows:
                if seen.get(row.run_id) != _mark(row):
                    seen[row.run_id] = _mark(row)
                    newest = max(newest, row.updated_us)
                    for watcher in self._watchers:
                        watcher.put(row)

    def close(self) -> None:
        """The server stops."""
        self._closed = True
        for watcher in self._watchers:
            watcher.awake.set()


def _moment(row: RunRow) -> int:
    return row.updated_us


def _mark(row: RunRow) -> Mark:
    return row.updated_us, row.status
