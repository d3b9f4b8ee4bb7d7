"""`podium brain export` and `podium brain import`: facts as lines of JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from podium.brain import Brain, Fact
from podium.brain.files import import_facts, read_lines, write_lines
from podium.cli.facts import ProjectName, as_data, embed_quietly, opened_brain
from podium.cli.flags import AsJson, StoreUrl
from podium.cli.opening import opened
from podium.cli.terminal import print_json, results, say
from podium.errors import UsageError
from podium.report.words import count, one_line
from podium.settings.private import write_private

_STDIN = ("-", "@-")
Status = Literal["accepted", "proposed", "discarded", "all"]


async def export(
    file: Annotated[
        str, Parameter(show_default=False, help="Where to write them; stdout if not given.")
    ] = "",
    /,
    *,
    project: ProjectName = None,
    status: Annotated[Status, Parameter(help="Which facts.")] = "all",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Write the facts of a project as lines of JSON, which `podium brain import` reads again."""
    async with opened_brain(store, project) as (_, _, brain):
        found = await brain.facts(() if status == "all" else (status,))
    if file:
        _write(Path(file), found)
    if json:
        shown = {"file": file} if file else {"facts": [as_data(fact) for fact in found]}
        print_json({"project": brain.project, "exported": len(found), **shown})
    elif file:
        say(f"Wrote {count(len(found), 'fact')} of {one_line(brain.project)} to {one_line(file)}.")
    else:
        stream = results()
        stream.write(b"".join(line + b"\n" for line in write_lines(found)))
        stream.flush()
    return 0


async def import_(
    file: Annotated[str, Parameter(help="A file of such lines; `-` reads stdin.")],
    /,
    *,
    project: Annotated[
        str | None, Parameter(metavar="NAME", help="Whose facts they become; not given: as each line says.")
    ] = None,
    accept: Annotated[
        bool, Parameter(negative="", show_default=False, help="Make canon of facts that wait for review.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Read facts from lines of JSON: all of them or, after any mistake or crash, none.

    A line needs subject, predicate and value; a fact whose id the project has already is left as it is.
    """
    told = read_lines(_read(file), "stdin" if file in _STDIN else file)
    if not project and any(not fact.project.strip() for fact in told):
        raise UsageError("Some facts name no project.", hint="Add --project NAME.")
    async with opened(store, create=True) as (settings, opened_store):
        done = await import_facts(opened_store, told, settings=settings, project=project or "", accept=accept)
        warnings: list[str] = []
        for name in done.added:
            brain = await Brain.open(opened_store, name, settings=settings)
            warnings.append(await embed_quietly(brain))
            await brain.close()
    if json:
        print_json({"imported": sum(done.added.values()), "known": done.known, "projects": done.added})
    else:
        into = ", ".join(f"{one_line(name)} {number}" for name, number in done.added.items())
        already = f"; {done.known} were known already" if done.known else ""
        say(f"Read {count(sum(done.added.values()), 'new fact')}{f' ({into})' if into else ''}{already}.")
    for warning in filter(None, warnings):
        say(("Warning: ", "bold yellow"), one_line(warning), to_stderr=True)
    return 0


def _read(file: str) -> bytes:
    if file in _STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error


def _write(path: Path, facts: list[Fact]) -> None:
    try:
        write_private(path, b"".join(line + b"\n" for line in write_lines(facts)))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
