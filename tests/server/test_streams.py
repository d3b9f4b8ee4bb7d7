"""Live streams: every event once and in order, for many readers, through interruptions, in bounded memory."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from podium.engine.codec import encode
from podium.engine.events import RunCreated
from podium.engine.log import Row, RunRow, Store
from podium.server.sse import BUFFER_BYTES, DELTAS, PIECE, Broadcast
from podium.server.views import SharedFold
from podium.stores import open_store
from tests.server.serving import Served, done, events_of, flow, started, until

READERS = 60
EVENTS = 400
DISCONNECTS = 10


class Message:
    """One server-sent event."""

    def __init__(self, lines: list[str]) -> None:
        split = [line.partition(": ") for line in lines if not line.startswith(":")]
        fields = {name: value for name, _, value in split}
        self.id = int(fields["id"]) if "id" in fields else None
        self.event = fields.get("event", "message")
        self.data: Any = json.loads(fields["data"])


async def messages(answer: httpx2.Response) -> AsyncGenerator[Message]:
    lines: list[str] = []
    async for line in answer.aiter_lines():
        if line:
            lines.append(line)
        elif any(not line.startswith(":") for line in lines):
            yield Message(lines)
            lines = []
        else:
            lines = []


async def read_all(client: httpx2.AsyncClient, run_id: str, seed: int) -> list[int]:
    """Read a run to its end, and hang up ten times on the way, at places of one's own."""
    chance = random.Random(seed)
    seen: list[int] = []
    for life in range(DISCONNECTS + 1):
        headers = {"Last-Event-ID": str(seen[-1])} if seen else {}
        patience = chance.randrange(1, 30) if life < DISCONNECTS else None
        async with client.stream("GET", f"/api/runs/{run_id}/events/stream", headers=headers) as answer:
            assert answer.status_code == 200
            async for message in messages(answer):
                if message.event == "message":
                    assert message.id == message.data["seq"]
                    seen.append(message.data["seq"])
                    if message.data["type"] == "run.completed":
                        return seen
                    if patience is not None and (patience := patience - 1) == 0:
                        break
    return seen


@pytest.mark.slow
async def test_many_readers_get_every_event_once_and_in_order_through_disconnects(server: Served) -> None:
    with server.client() as starter:
        run_id = started(starter, flow("counts"), f"{EVENTS}:20")
        headers = {"Authorization": f"Bearer {server.token}"}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx2.AsyncClient(
            base_url=server.base, headers=headers, limits=limits, timeout=240
        ) as client:
            read = await asyncio.gather(*(read_all(client, run_id, seed) for seed in range(READERS)))
        last = done(starter, run_id)["last_seq"]
    expected = list(range(1, last + 1))
    assert last > EVENTS
    assert [seed for seed, seen in enumerate(read) if seen != expected] == []


def read_lines(client: httpx2.Client, path: str, until: str, **headers: str) -> list[str]:
    """The lines of a stream up to one that holds a text."""
    lines: list[str] = []
    with client.stream("GET", path, headers=headers) as answer:
        for line in answer.iter_lines():
            lines.append(line)
            if until in line:
                return lines
    return lines


def ids(lines: list[str]) -> list[int]:
    return [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]


def test_a_stream_goes_on_behind_the_last_event_that_the_client_has(client: httpx2.Client) -> None:
    run_id = started(client, flow("counts"), "50")
    last = done(client, run_id)["last_seq"]
    path = f"/api/runs/{run_id}/events/stream"
    assert ids(read_lines(client, path, '"at_rest":true')) == list(range(1, last + 1))
    assert ids(read_lines(client, f"{path}?after=40", '"at_rest":true')) == list(range(41, last + 1))
    again = read_lines(client, f"{path}?after=3", '"at_rest":true', **{"Last-Event-ID": "45"})
    assert ids(again) == list(range(46, last + 1)), "what the client has counts more than where it began"
    for wrong in ("x", "-1", "1e3", "9" * 40, "1.5"):
        assert client.get(path, headers={"Last-Event-ID": wrong}).status_code == 422


def test_what_is_streamed_is_what_the_log_holds(client: httpx2.Client) -> None:
    run_id = started(client, flow("quick"), "line\nbreaks\r\nand\u2028others ✓")
    done(client, run_id)
    lines = read_lines(client, f"/api/runs/{run_id}/events/stream", '"at_rest":true')
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert data[:-1] == events_of(client, run_id)
    assert data[-1] == {"status": "completed", "seq": data[-2]["seq"], "at_rest": True}


def test_a_stream_is_kept_alive_and_is_never_stored(server: Served) -> None:
    with server.client() as client:
        run_id = started(client, flow("asks"), "x")
        with client.stream("GET", f"/api/runs/{run_id}/events/stream") as answer:
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Accel-Buffering"] == "no"
        assert client.head(f"/api/runs/{run_id}/events/stream").status_code in (200, 405)


async def test_pieces_of_replies_are_streamed_and_not_logged(server: Served, tmp_path: Path) -> None:
    """The run goes on when the reader is there, so that nothing of the reply is missed."""
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx2.AsyncClient(base_url=server.base, headers=headers, timeout=60) as client:
        body = {"workflow": flow("speaks"), "request": str(tmp_path / "now")}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        pieces: list[dict[str, Any]] = []
        async with client.stream("GET", f"/api/runs/{run_id}/events/stream") as answer:
            async for message in messages(answer):
                if message.event == "delta":
                    assert message.id is None, "a client that comes again must not take it for an event"
                    pieces.append(message.data)
                elif message.event == "status" and message.data["status"] == "completed":
                    break
                elif message.event == "message" and message.data["path"] == "wait":
                    (tmp_path / "now").touch()
        events = (await client.get(f"/api/runs/{run_id}/events")).json()["events"]
    assert "".join(piece["text"] for piece in pieces) == events[-1]["data"]["output"]
    assert {(piece["path"], piece["attempt"]) for piece in pieces} == {("write", 1)}
    assert "delta" not in {event["type"] for event in events}


def test_the_list_is_streamed_and_a_client_that_comes_again_misses_nothing(client: httpx2.Client) -> None:
    first = started(client, flow("quick"), "one")
    done(client, first)
    lines: list[str] = []
    second = ""
    with client.stream("GET", "/api/runs/stream") as answer:
        second = started(client, flow("quick"), "two")
        for line in answer.iter_lines():
            lines.append(line)
            if second in line and '"completed"' in line:
                break
    shown = [json.loads(line.removeprefix("data: "))["run_id"] for line in lines if line.startswith("data: ")]
    assert set(shown) == {second}
    third = started(client, flow("quick"), "three")
    done(client, third)
    again = read_lines(client, "/api/runs/stream", third, **{"Last-Event-ID": str(ids(lines)[-1])})
    assert any(third in line for line in again)


def test_a_run_that_begins_to_wait_is_reported_although_that_is_no_event(client: httpx2.Client) -> None:
    run_id = started(client, flow("asks"), "x")
    assert until(client, run_id, "waiting")["status"] == "waiting"


# ── one broadcast by itself ──────────────────────────────────────────────────────────────────────


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(str(tmp_path / "podium.sqlite")) as opened:
        yield opened


async def long_run(store: Store, rows: int, size: int) -> str:
    """A run with a log of so many rows of that size."""
    created = RunCreated(workflow="x", request="x")
    first = [Row(1, 1, "", created.type, encode(created))]
    more = [Row(n, n, "p", "tests.counted", encode({"text": "x" * size})) for n in range(2, rows + 1)]
    await store.create(
        RunRow(run_id="longlonglong", workflow="x", request="x", status="completed"), [*first, *more]
    )
    return "longlonglong"


async def test_a_slow_reader_holds_a_piece_and_not_the_log(store: Store) -> None:
    """It is handed a piece at a time, and nothing is read for it before it asks for the next."""
    run_id = await long_run(store, 5000, 1000)
    broadcast = Broadcast(store, SharedFold(store, run_id, "x"))
    pieces = broadcast.follow(0)
    first = await anext(pieces)
    assert first.count(b"\nid: ") + 1 == PIECE
    assert broadcast.held == 0, "the shared buffer is for those who are near the end"
    seen = 1
    async for piece in pieces:
        if b"event: status" in piece:
            break
        seen += 1
        assert len(piece) < 2 * PIECE * 1200
    assert seen == 5000 / PIECE
    await pieces.aclose()
    broadcast.close()


async def test_others_have_their_turn_between_two_pieces_of_a_long_log(store: Store) -> None:
    """Neither to read nor to send need wait for anything; that a reader has hung up is told by the loop."""
    run_id = await long_run(store, 20 * PIECE, 10)
    broadcast = Broadcast(store, SharedFold(store, run_id, "x"))
    pieces = broadcast.follow(0)
    waited: list[bool] = []
    async for piece in pieces:
        if b"event: status" in piece:
            break
        asyncio.get_running_loop().call_soon(waited.append, True)
    assert len(waited) >= 20 - 1
    await pieces.aclose()
    broadcast.close()


async def test_the_shared_buffer_is_bounded_by_its_size(store: Store) -> None:
    run_id = await long_run(store, 1, 0)
    broadcast = Broadcast(store, SharedFold(store, run_id, "x"))
    reader = broadcast.follow(0)
    await anext(reader)
    await anext(reader)
    lease = await store.acquire(run_id)
    for n in range(2, 402):
        store.append(lease, (n, n, "p", "tests.counted", encode({"text": "x" * 20_000})))
    future = store.commit(lease)
    if future is not None:
        await future
    seen: list[bytes] = []
    async for piece in reader:
        seen.append(piece)
        if b"id: 401\n" in piece:
            break
    numbers = [int(line[4:]) for line in b"".join(seen).split(b"\n") if line.startswith(b"id: ")]
    assert numbers == list(range(2, 402))
    assert broadcast.held <= BUFFER_BYTES
    await reader.aclose()
    await store.release(lease)
    broadcast.close()


async def test_pieces_of_replies_that_nobody_takes_are_dropped(store: Store) -> None:
    run_id = await long_run(store, 1, 0)
    broadcast = Broadcast(store, SharedFold(store, run_id, "x"))
    reader = broadcast.follow(0)
    await anext(reader)
    for n in range(DELTAS * 3):
        broadcast.show(("write", 1, n, f"<{n}>"))
    piece = await anext(reader)
    assert piece.count(b"event: delta") == DELTAS
    assert f"<{DELTAS * 3 - 1}>".encode() in piece, "the newest are kept"
    await reader.aclose()
    broadcast.close()


def test_a_reader_who_reads_nothing_holds_up_nobody(server: Served) -> None:
    """More than any buffer on the way takes; the others are served meanwhile."""
    host, _, port = server.base.removeprefix("http://").partition(":")
    with server.client() as client:
        run_id = started(client, flow("counts"), "3000:4000")
        last = done(client, run_id)["last_seq"]
        request = (
            f"GET /api/runs/{run_id}/events/stream HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n"
        )
        stuck = [socket.create_connection((host, int(port))) for _ in range(20)]
        try:
            for line in stuck:
                line.sendall(request.encode())
            lines = read_lines(client, f"/api/runs/{run_id}/events/stream", '"at_rest":true')
            assert ids(lines) == list(range(1, last + 1))
        finally:
            for line in stuck:
                line.close()
