"""`podium trace`: the trace of any run, made of its log, as a file or sent to a collector."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import print_json, print_raw, say
from podium.cli.writing import write_file
from podium.engine.redact import redactor
from podium.errors import UsageError
from podium.report.words import count
from podium.settings import variable
from podium.tracing.destination import full_address, shown_address
from podium.tracing.export import check_collector, send_trace
from podium.tracing.follow import trace_of
from podium.tracing.otlp import SCOPE, to_json
from podium.tracing.span import trace_id_of


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
        write_file(output, to_json(spans, variable("OTEL_SERVICE_NAME") or SCOPE))
        place = str(output)
    else:
        print_raw(to_json(spans, variable("OTEL_SERVICE_NAME") or SCOPE).rstrip(b"\n"))
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
