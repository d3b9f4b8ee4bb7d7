"""Real processes: killed and resumed runs, collectors that are not there, traces that are made later."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.tracing.span import trace_id_of
from tests.cli.shell import FLOWS, Shell
from tests.tracing.receiver import Receiver, receiving

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def podium(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.close()


def trace_to(collector: Receiver, shell: Shell, **more: str) -> None:
    """From here on its processes trace to this collector."""
    shell.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "my-team", **more}


def test_the_standard_variables_are_enough(podium: Shell, collector: Receiver) -> None:
    trace_to(collector, podium, OTEL_EXPORTER_OTLP_HEADERS="x-tenant=ours")
    result = podium.run("chain", "a pier", "--model", "rehearsal")
    root = collector.one("invoke_workflow chain")
    assert root.trace_id == trace_id_of(result["run_id"])
    assert collector.services == {"my-team"}
    assert collector.headers[0]["x-tenant"] == "ours"
    assert collector.all("chat rehearsal")[0].attributes["podium.rehearsal"] is True


@pytest.mark.parametrize(
    "off",
    [
        {"PODIUM_OTEL": "false"},
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
    ids=lambda off: next(iter(off)),
)
def test_it_can_be_switched_off(podium: Shell, collector: Receiver, off: dict[str, str]) -> None:
    trace_to(collector, podium, **off)
    podium.run("say", "hello")
    assert collector.bodies == []


def test_both_lives_of_a_killed_run_are_one_trace(podium: Shell, collector: Receiver) -> None:
    trace_to(collector, podium)
    folder = podium.folder
    first = podium.start("run", f"{FLOWS}:patient", str(folder), "--events")
    assert first.stdout is not None
    for line in first.stdout:
        event = json.loads(line)
        if event["type"] == "step.started" and event["path"] == "wait":
            break
    collector.wait_for("step mark")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert collector.all("invoke_workflow patient") == []
    (folder / "go").touch()
    podium("resume", "last")
    root = collector.wait_for("invoke_workflow patient")
    assert {span.trace_id for span in collector.spans} == {root.trace_id}
    cut, whole = sorted(collector.all("step wait"), key=lambda span: span.start_ns)
    assert (cut.failed, cut.attributes["error.type"]) == (True, "interrupted")
    assert (whole.failed, whole.attributes["podium.start"]) == (False, 2)
    assert cut.span_id != whole.span_id
    assert len(collector.all("step mark")) == 1, "told by the first life, not again by the second"
    assert collector.below(root) == ["step end", "step mark", "step wait", "step wait"]
    assert "run.resumed" in root.events


def test_a_collector_that_is_not_there_is_reported_once_and_changes_nothing(podium: Shell) -> None:
    output = podium("run", f"{FLOWS}:chain", "a pier", "--json", OTEL_EXPORTER_OTLP_ENDPOINT=NOBODY)
    assert output.json["status"] == "completed"
    assert output.err.count("did not reach the collector at http://127.0.0.1:9/v1/traces") == 1
    assert "Connection refused" in output.err
    assert "Traceback" not in output.err
    assert "collector" not in podium("events", "last", "--json").out


def test_a_trace_can_be_sent_afterwards_and_twice_is_once(podium: Shell, collector: Receiver) -> None:
    run_id = podium.run("chain", "a pier", "--model", "rehearsal")["run_id"]
    first = podium("trace", run_id, "--otlp", collector.url, "--json").json
    seen = {span.span_id: span.name for span in collector.spans}
    podium("trace", run_id, "--otlp", f"{collector.url}/v1/traces")
    assert {span.span_id: span.name for span in collector.spans} == seen
    assert len(collector.spans) == 2 * len(seen) == 2 * first["spans"]
    assert first["trace_id"] == trace_id_of(run_id) == collector.spans[0].trace_id


def test_a_live_trace_and_a_later_one_are_the_same_spans(podium: Shell, collector: Receiver) -> None:
    trace_to(collector, podium)
    run_id = podium.run("chain", "a pier", "--model", "rehearsal")["run_id"]
    live = {span.span_id: span for span in collector.spans}
    with receiving() as later:
        podium("trace", run_id, "--otlp", later.url)
        assert {span.span_id: span for span in later.spans} == live


def test_a_file_holds_what_is_sent(podium: Shell, collector: Receiver) -> None:
    podium.run("failing", "x", code=1)
    podium("trace", "last", "-o", "trace.json")
    podium("trace", "last", "--otlp", collector.url)
    whole = json.loads((podium.folder / "trace.json").read_text())
    spans = {span["spanId"]: span for span in whole["resourceSpans"][0]["scopeSpans"][0]["spans"]}
    assert set(spans) == {span.span_id for span in collector.spans}
    for sent in collector.spans:
        written = spans[sent.span_id]
        assert (written["name"], written["traceId"]) == (sent.name, sent.trace_id)
        assert (written.get("parentSpanId", ""), written["kind"]) == (sent.parent_id, sent.kind)
        assert int(written["endTimeUnixNano"]) == sent.end_ns
        assert [pair["key"] for pair in written["attributes"]] == list(sent.attributes)
        assert (written.get("status", {}).get("code") == 2) == sent.failed


def test_a_run_that_is_not_over_has_a_trace_so_far(podium: Shell, collector: Receiver) -> None:
    podium("run", f"{FLOWS}:asking", "a text", "--json", code=None)
    podium("trace", "last", "--otlp", collector.url)
    root = collector.one("invoke_workflow asking")
    assert root.attributes["podium.run.status"] == "waiting"
    assert collector.below(root) == ["wait question"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--otlp", "localhost:4318"), 2, "is not an http address"),
        (("--otlp", NOBODY, "-o", "x.json"), 2, "cannot be combined"),
        (("--otlp", NOBODY), 1, "did not accept the trace: Connection refused"),
        (("-o", "/proc/nothing/x.json"), 2, "cannot be written"),
    ],
)
def test_mistakes_are_one_sentence(podium: Shell, words: tuple[str, ...], code: int, message: str) -> None:
    podium.run("say", "hello")
    shown = podium("trace", "last", *words, code=code)
    assert message in shown.err
    assert "Traceback" not in shown.err


def test_a_wrong_endpoint_in_the_settings_starts_nothing(podium: Shell) -> None:
    (podium.folder / "podium.toml").write_text('[otel]\nendpoint = "localhost"\n')
    shown = podium("run", f"{FLOWS}:say", "hello", code=2)
    assert "must be an http address" in shown.err
    assert podium("runs", "--json", PODIUM_OTEL="false").json == {"runs": []}


def test_a_collector_that_refuses_is_reported_with_its_answer(podium: Shell, collector: Receiver) -> None:
    collector.status = 401
    podium.run("say", "hello")
    shown = podium("trace", "last", "--otlp", collector.url, code=1)
    assert "HTTP 401" in shown.err
