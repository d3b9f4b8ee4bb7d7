"""A collector on loopback: takes OTLP over HTTP, decodes its protobuf, and keeps every span."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 60.0


@dataclass
class Got:
    """One span as it came."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[str]
    links: list[tuple[str, str]]
    failed: bool
    description: str


@dataclass
class Receiver:
    """What came, and how to answer."""

    url: str = ""
    status: int = 200
    hang: threading.Event | None = None
    """While it is not set, nothing is answered."""
    spans: list[Got] = field(default_factory=list[Got])
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    services: set[str] = field(default_factory=set[str])
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        assert path == "/v1/traces"
        data = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
        request: Any = ExportTraceServiceRequest()
        request.ParseFromString(data)
        with self.changed:
            self.bodies.append(data)
            self.headers.append(headers)
            for resource in request.resource_spans:
                self.services.add(_attributes(resource.resource.attributes)["service.name"])
                for scope in resource.scope_spans:
                    self.spans += [_got(span) for span in scope.spans]
            self.changed.notify_all()

    def wait_for(self, name: str) -> Got:
        """Until a span of that name has come."""
        with self.changed:
            came = self.changed.wait_for(lambda: any(span.name == name for span in self.spans), PATIENCE_S)
        assert came, f"{name} never came, only {[span.name for span in self.spans]}"
        return self.one(name)

    def one(self, name: str) -> Got:
        (span,) = self.all(name)
        return span

    def all(self, name: str) -> list[Got]:
        return [span for span in self.spans if span.name == name]

    def below(self, parent: Got) -> list[str]:
        return sorted(span.name for span in self.spans if span.parent_id == parent.span_id)


@contextmanager
def receiving() -> Generator[Receiver]:
    """A collector for as long as the block lasts."""
    receiver = Receiver()

    class Connection(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if receiver.hang is not None:
                receiver.hang.wait(PATIENCE_S)
            if receiver.status == 200:
                receiver.take(self.path, dict(self.headers), body)
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        if receiver.hang is not None:
            receiver.hang.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _got(span: Any) -> Got:
    return Got(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _attributes(span.attributes),
        [event.name for event in span.events],
        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        span.status.code == 2,
        span.status.message,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind)
