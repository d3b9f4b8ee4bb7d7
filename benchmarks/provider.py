"""A provider on loopback that answers at once, in a process of its own so that it shares nobody's event loop.

Speaks as much of OpenAI's Chat Completions as its clients need. Standard library only.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from urllib.request import urlopen

from benchmarks.common import REPLY, ROOT

ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "bench",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 60, "total_tokens": 100},
    }
).encode()
WAITING = 1_000
"""Clients that may knock at the same moment."""


class Connection(asyncio.Protocol):
    """One client. Every POST is a call; a GET tells how many there were."""

    calls = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.seen = b""

    def data_received(self, data: bytes) -> None:
        self.seen += data
        while b"\r\n\r\n" in self.seen:
            head, _, rest = self.seen.partition(b"\r\n\r\n")
            lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
            length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
            if len(rest) < length:
                return
            self.seen = rest[length:]
            self.answer(called=head.startswith(b"POST"))

    def answer(self, called: bool) -> None:
        Connection.calls += called
        body = ANSWER if called else str(Connection.calls).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=WAITING)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving() -> Generator[str]:
    """The address of a provider that runs while the block lasts."""
    command = [sys.executable, "-m", "benchmarks.provider"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def calls_at(address: str) -> int:
    """How many calls a provider has answered so far."""
    with urlopen(f"{address}/calls") as answer:
        return int(answer.read())


if __name__ == "__main__":
    asyncio.run(serve())
