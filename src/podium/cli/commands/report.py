"""`podium report`: a report of any run, from its log alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from podium.api.outcome import ALIVE, result_of, watched
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import out, print_json, print_raw, say
from podium.cli.writing import write_file
from podium.errors import UsageError
from podium.report.data import to_json
from podium.report.facts import Facts, facts_of
from podium.report.presentation import Section
from podium.report.words import safe

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


def _rendered(facts: Facts, sections: list[Section], chosen: Format, answer: Section | None) -> bytes:
    if chosen == "json":
        return to_json(facts, sections)
    if chosen == "md":
        from podium.report.markdown import to_markdown  # noqa: PLC0415 - each format is loaded when it is used

        return to_markdown(facts, sections).encode("utf-8", "replace")
    from podium.report.html import to_html  # noqa: PLC0415 - jinja2, markdown-it and nh3

    return to_html(facts, sections, answer).encode("utf-8", "replace")
