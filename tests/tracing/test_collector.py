"""The queue between a run and a collector: bounded, counted, never waited for."""

from __future__ import annotations

import logging
import threading

import pytest

from podium.tracing.export import Collector
from podium.tracing.span import Span
from tests.tracing.receiver import Receiver


def spans(number: int) -> list[Span]:
    return [
        Span(name=f"s{at}", trace_id="ab" * 16, span_id=f"{at + 1:016x}", start_ns=1, end_ns=2)
        for at in range(number)
    ]


def test_what_does_not_fit_is_counted_and_reported_once(
    collector: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    collector.hang = threading.Event()
    out = Collector(f"{collector.url}/v1/traces", room=10)
    with caplog.at_level(logging.WARNING, "podium.tracing"):
        out.put(spans(25))
        out.report_lost()
        out.put(spans(25))
        out.report_lost()
    assert out.lost >= 15
    assert len(caplog.records) == 1
    assert "15 of 15 spans did not reach the collector" in caplog.text
    collector.hang.set()


def test_everything_that_fits_arrives(collector: Receiver) -> None:
    out = Collector(f"{collector.url}/v1/traces")
    out.put(spans(1000))
    assert out.settle(60.0)
    assert (out.sent, out.lost, len(collector.spans)) == (1000, 0, 1000)


def test_a_collector_that_comes_back_gets_the_next_spans(collector: Receiver) -> None:
    collector.status = 400
    out = Collector(f"{collector.url}/v1/traces")
    out.put(spans(3))
    out.settle(60.0)
    assert (out.sent, out.lost, out.reason[:8]) == (0, 3, "HTTP 400")
    collector.status = 200
    out.put(spans(2))
    collector.wait_for("s1")
    assert [span.name for span in collector.spans] == ["s0", "s1"]
