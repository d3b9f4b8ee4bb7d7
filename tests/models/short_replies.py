"""A loopback proxy in front of an OpenAI-compatible server that lowers the reply limit of every request.

The server behind it then cuts its replies off and says so with `finish_reason: length`, as a server does
whose own limit is lower than what is asked for.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The names that a request may give its reply limit."""


@dataclass(frozen=True)
class Answer:
    """What the server answered to one request."""

    status: int
    finish: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""


@dataclass
class ShortReplies:
    """The proxy's address, and every answer that went through it."""

    url: str
    limit: int
    asked: int = 0
    """Requests that have come."""
    answers: list[Answer] = field(default_factory=list[Answer])

    def cut(self) -> list[Answer]:
        """Return the answers whose reply ended at the limit."""
        return [answer for answer in self.answers if answer.finish == "length"]


@contextmanager
def short_replies(behind: str, limit: int) -> Generator[ShortReplies]:
    """Serve the model server at `behind` on another port, with at most `limit` tokens per reply."""
    proxy = ShortReplies("", limit)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(behind, proxy))
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(behind: str, proxy: ShortReplies) -> type[BaseHTTPRequestHandler]:
    address = urlsplit(behind)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            proxy.asked += 1
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            for name in LIMITS:
                if name in body:
                    body[name] = min(body[name], proxy.limit)
            connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=600)
            connection.request("POST", self.path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            data = response.read()
            connection.close()
            proxy.answers.append(_answer(response.status, data))
            self.send_response(response.status)
            self.send_header("Content-Type", response.getheader("Content-Type") or "application/json")
            self.send_header("Content-Length", str(len(data)))
            with suppress(ConnectionError):  # the client may have stopped waiting
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    return Handler


def _answer(status: int, data: bytes) -> Answer:
    body = json.loads(data)
    if status != 200:
        return Answer(status, error=str(body.get("error")))
    usage = body["usage"]
    finish = body["choices"][0]["finish_reason"]
    return Answer(status, finish, usage["prompt_tokens"], usage["completion_tokens"])
