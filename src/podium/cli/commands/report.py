"""`podium report`, `podium trace` and `podium artifacts`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from podium.api.outcome import ALIVE, conversations_of, result_of, watched
from podium.cli.card import say_line
from podium.cli.failure import FAILED, print_error
from podium.cli.flags import AsJson, RunId, StoreUrl, option
from podium.cli.store import find_run, opened
from podium.cli.terminal import out, print_json, print_raw, say
from podium.engine.events import ArtifactCreated
from podium.engine.log import Store
from podium.engine.redaction import redactor
from podium.engine.state import RunState
from podium.errors import StoreError, UsageError
from podium.report.data import ReportData, facts_of, to_json
from podium.report.presentation import Section
from podium.report.words import FileNames, count, one_line, safe, size
from podium.settings import nearest, variable
from podium.settings.places import named, write_private
from podium.tracing.destination import full_address, shown_address
from podium.tracing.export import check_collector, send_trace, trace_of
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
Output = Annotated[Path | None, Parameter(alias="-o", metavar="FILE", help="Output file; default: stdout.")]
Chosen = Annotated[
    Format | None, Parameter(name="--format", help="Default: by the extension of FILE, otherwise Markdown.")
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
    """Write a report of a run as HTML, Markdown or JSON: first the answer, then the steps to it."""
    chosen = _format(format, output, json)
    async with opened(store) as (_, opened_store):
        row = await find_run(opened_store, run)
        events, shown = await watched(opened_store, row)
        result, _ = await result_of(opened_store, row)
        talks = await conversations_of(opened_store, events)
    facts = facts_of(events, output=result.output, status=row.status, shown=shown, conversations=talks)
    sections = shown.sections(alive=row.status in ALIVE)
    data = _rendered(facts, sections, chosen, shown.answer(result.output))
    if output is None:
        print_raw(safe(data.decode()).encode() if out().is_terminal else data.rstrip(b"\n"))
        return 0
    write_file(output, data)
    if json:
        print_json({"run_id": row.run_id, "format": chosen, "file": str(output)})
    else:
        say(str(output))
    return 0


def _format(wanted: Format | None, output: Path | None, json: bool) -> Format:
    if wanted is not None:
        return wanted
    by_name: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}
    if output is not None and output.suffix.lower() in by_name:
        return by_name[output.suffix.lower()]
    if output is not None and output.suffix:
        raise UsageError(
            f"A report cannot be written as {output.suffix}.",
            hint="Use .html, .md or .json, or set --format. For a PDF, print the HTML in a browser.",
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
        str | None, Parameter(metavar="URL", help="Send the trace to this collector (OTLP over HTTP).")
    ] = None,
    output: Annotated[
        Path | None, Parameter(alias="-o", metavar="FILE", help="Write the trace to this file (OTLP JSON).")
    ] = None,
    content: Annotated[bool, option("Include prompts, replies and error messages.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Print the OpenTelemetry trace of a run, write it to a file, or send it to a collector.

    Trace ids derive from the run id, so sending it again sends the same trace.
    """
    if otlp is not None:
        _check(otlp, output)
    async with opened(store) as (settings, opened_store):
        row = await find_run(opened_store, run)
        redact = redactor(settings.secrets())
        spans = await trace_of(opened_store, row.run_id, row.status, redact, content=content)
    summary = {"run_id": row.run_id, "trace_id": trace_id_of(row.run_id), "spans": len(spans)}
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
        print_json(summary | {"to": place})
    else:
        say(f"{count(len(spans), 'span')} to {place}, trace {summary['trace_id']}")
    return 0


def _check(otlp: str, output: Path | None) -> None:
    if output is not None:
        raise UsageError(
            "--otlp and -o cannot be combined.", hint="Run the command twice; the trace is the same."
        )
    check_collector(otlp)


Wanted = Annotated[
    str | None, Parameter(help="Name or id of an artifact to print. Without it, all are listed.")
]
Saved = Annotated[
    Path | None,
    Parameter(alias="-o", metavar="FILE|DIR", help="Save to this file, or all artifacts to this folder."),
]


async def artifacts(
    run: RunId = "last",
    name: Wanted = None,
    /,
    *,
    output: Saved = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """List the artifacts of a run. With a name, print that artifact; with -o, save it."""
    async with opened(store) as (_, opened_store):
        row = await find_run(opened_store, run)
        result, state = await result_of(opened_store, row)
        made = result.artifacts if name is None else [_chosen(result.artifacts, name)]
        if output is not None:
            failed = await _save(opened_store, made, output, single=name is not None)
            return FAILED if failed else 0
        if json:
            print_json({"run_id": row.run_id, "artifacts": result.to_dict()["artifacts"]})
        elif name is not None:
            await _print(opened_store, made[0])
        else:
            _list(state)
    return 0


def _chosen(made: list[ArtifactCreated], wanted: str) -> ArtifactCreated:
    """Return the newest artifact with this name, or the one with this id or id prefix of at least 6
    characters."""
    for artifact in reversed(made):
        if wanted in (artifact.name, artifact.id) or (len(wanted) >= 6 and artifact.id.startswith(wanted)):
            return artifact
    names = [artifact.name for artifact in made]
    meant = nearest(wanted, names)
    hint = f"Did you mean {meant}?" if meant else f"Its artifacts: {', '.join(names) or 'none'}."
    raise UsageError(f"The run has no artifact {wanted}.", hint=hint)


def _list(state: RunState) -> None:
    """Print one line per artifact, with its path to tell artifacts of the same name apart."""
    made = state.artifacts
    if not made:
        say("This run has no artifacts.")
    width = max((len(one_line(artifact.name)) for artifact in made.values()), default=0)
    for path, artifact in made.items():
        details = [f"{size(artifact.bytes):>9}", one_line(artifact.media_type), artifact.id]
        details.append(one_line(path.rpartition("/")[0]))
        say_line(out(), one_line(artifact.name).ljust(width), (f"  {'  '.join(details)}".rstrip(), "dim"))


async def _print(store: Store, artifact: ArtifactCreated) -> None:
    """Print raw bytes into a pipe; on a terminal only text, with control characters removed."""
    data = await store.get_blob(artifact.blob)
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        return
    if not artifact.media_type.startswith("text/") and artifact.media_type != "application/json":
        raise UsageError(f"{artifact.name} is {artifact.media_type}, not text.", hint="Save it with -o FILE.")
    say_line(out(), safe(data.decode("utf-8", "replace")))


async def _save(store: Store, made: list[ArtifactCreated], target: Path, *, single: bool) -> int:
    """Save one artifact to a file or folder, or several to a folder. Returns how many could not be saved:
    each is reported, and the others are still saved."""
    target = named(target)
    into_folder = not single or target.is_dir()
    if into_folder:
        _make_folder(target)
    names, failed = FileNames(), 0
    for artifact in made:
        file = target / names.take(artifact.name) if into_folder else target
        try:
            write_private(file, await store.get_blob(artifact.blob))
        except (OSError, StoreError) as error:
            failed += 1
            reason = error.strerror if isinstance(error, OSError) else error.message
            print_error(f"{one_line(artifact.name, 80)} was not saved: {reason}".rstrip(".") + ".")
        else:
            say(str(file))
    if failed:
        print_error(
            f"{failed} of {count(len(made), 'artifact')} could not be saved.",
            "Choose another folder with -o.",
        )
    return failed


def _make_folder(target: Path) -> None:
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}.", hint="Choose another with -o."
        ) from error
