"""`podium report` and `podium trace`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from podium.api.outcome import ALIVE, result_of, watched
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import out, print_json, print_raw, say
from podium.engine.redaction import redactor
from podium.errors import UsageError
from podium.report.data import ReportData, facts_of, to_json
from podium.report.presentation import Section
from podium.report.words import count, safe
from podium.settings import variable
from podium.settings.places import write_private
from podium.tracing.collector import check_collector, send_trace
from podium.tracing.destination import full_address, shown_address
from podium.tracing.follow import trace_of
from podium.tracing.span import SCOPE, trace_id_of
from podium.tracing.span import to_json as trace_to_json


def write_file(file: Path, data: bytes) -> None:
    """Write a file that only its owner may read; create missing folders."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_private(file, data)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}.", hint="Choose another with -o."
        ) from error


Format = Literal["html", "md", "json"]
Output = Annotated[
    Path | None, Parameter(alias="-o", metavar="FILE", help="Write it here instead of stdout.")
]
Chosen = Annotated[
    Format | None, Parameter(name="--format", help="By default what FILE's name says, else Markdown.")
]


async def report(
    run: RunId = "last",
    /,
    *,
    output: Output = None,
    format: Chosen = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """A report of a run as HTML, Markdown or JSON: the answer first, then how it came about."""
    chosen = _format(format, output, json)
    async with opened(store) as (_, opened_store):
        found = await find_run(opened_store, run)
        events, shown = await watched(opened_store, found)
        result, _ = await result_of(opened_store, found)
    facts = facts_of(events, output=result.output, status=found.status, shown=shown)
    sections = shown.sections(alive=found.status in ALIVE)
    data = _rendered(facts, sections, chosen, shown.answer(result.output))
    if output is None:
        print_raw(safe(data.decode()).encode() if out().is_terminal else data.rstrip(b"\n"))
        return 0
    write_file(output, data)
    if json:
        print_json({"run_id": found.run_id, "format": chosen, "file": str(output)})
    else:
        say(str(output))
    return 0


def _format(given: Format | None, output: Path | None, json: bool) -> Format:
    if given is not None:
        return given
    by_name: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}
    if output is not None and output.suffix.lower() in by_name:
        return by_name[output.suffix.lower()]
    if output is not None and output.suffix:
        raise UsageError(
            f"A report cannot be written as {output.suffix}.",
            hint="Name it .html, .md or .json, or say which with --format; a browser prints HTML as PDF.",
        )
    if output is not None:
        return "html"
    return "json" if json else "md"


def _rendered(facts: ReportData, sections: list[Section], chosen: Format, answer: Section | None) -> bytes:
    if chosen == "json":
        return to_json(facts, sections)
    if chosen == "md":
        from podium.report.markdown import to_markdown  # noqa: PLC0415 - each format is loaded when it is used

        return to_markdown(facts, sections).encode("utf-8", "replace")
    from podium.report.html import to_html  # noqa: PLC0415 - jinja2, markdown-it and nh3

    return to_html(facts, sections, answer).encode("utf-8", "replace")


async def trace(
    run: RunId = "last",
    /,
    *,
    otlp: Annotated[
        str | None, Parameter(metavar="URL", help="Send it to this collector, by OTLP over HTTP.")
    ] = None,
    output: Annotated[
        Path | None, Parameter(alias="-o", metavar="FILE", help="Write it here, as OTLP in JSON.")
    ] = None,
    content: Annotated[
        bool, Parameter(negative="", show_default=False, help="With prompts, replies and errors' messages.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """The trace of a run for OpenTelemetry: printed, written to a file, or sent to a collector.

    Its ids come from the run's own, so sending it twice is the same trace twice.
    """
    if otlp is not None:
        _check(otlp, output)
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        redact = redactor(settings.secrets())
        spans = await trace_of(opened_store, found.run_id, found.status, redact, content=content)
    told = {"run_id": found.run_id, "trace_id": trace_id_of(found.run_id), "spans": len(spans)}
    if otlp is not None:
        await asyncio.to_thread(send_trace, full_address(otlp), spans)
        place = shown_address(full_address(otlp))
    elif output is not None:
        write_file(output, trace_to_json(spans, variable("OTEL_SERVICE_NAME") or SCOPE))
        place = str(output)
    else:
        print_raw(trace_to_json(spans, variable("OTEL_SERVICE_NAME") or SCOPE).rstrip(b"\n"))
        return 0
    if json:
        print_json(told | {"to": place})
    else:
        say(f"{count(len(spans), 'span')} to {place}, trace {told['trace_id']}")
    return 0


def _check(otlp: str, output: Path | None) -> None:
    if output is not None:
        raise UsageError("--otlp and -o exclude each other.", hint="Run it twice: it is the same trace.")
    check_collector(otlp)
