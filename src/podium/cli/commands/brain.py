"""`podium brain show`, `search`, `embed`, `forget`, `export` and `import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from podium.brain import Brain, Fact, FactChange, ProjectShare
from podium.brain.review import import_facts, read_lines, write_lines
from podium.cli.card import print_table
from podium.cli.facts import (
    ProjectName,
    as_data,
    embed_quietly,
    fact_meant,
    opened_brain,
    print_fact,
    print_facts,
    project_meant,
)
from podium.cli.flags import AsJson, StoreUrl, number, option
from podium.cli.store import opened
from podium.cli.terminal import confirmed, out, print_json, results, say
from podium.engine.codec import decode, encode
from podium.engine.log import Store
from podium.errors import UsageError
from podium.report.words import amount, count, money, one_line
from podium.settings import Settings
from podium.settings.places import write_private

Status = Literal["accepted", "proposed", "discarded", "all"]
MOST = 100


async def show(
    fact: Annotated[str, option("Fact id: show its source and history.")] = "",
    /,
    *,
    project: ProjectName = None,
    status: Annotated[Status, Parameter(help="Status of the facts; accepted facts are canon.")] = "accepted",
    limit: Annotated[int, number("Maximum number of facts; 0 lists all.")] = MOST,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """List the facts of a project, or show one fact with its history.

    With several projects and without --project, lists the projects.
    """
    async with opened(store) as (settings, opened_store):
        shares = await opened_store.list_projects()
        if project is None and not fact and len(shares) != 1:
            _print_projects(shares, as_json=json)
            return 0
        name = await project_meant(opened_store, project)
        if fact:
            await _show_fact(opened_store, name, fact, settings, as_json=json)
            return 0
        wanted = () if status == "all" else (status,)
        facts = await opened_store.list_facts(name, status=wanted)
        share = next(entry for entry in shares if entry.project == name)
        _print_project(share, facts, limit, every=status == "all", as_json=json)
    return 0


def _print_projects(shares: list[ProjectShare], *, as_json: bool) -> None:
    if as_json:
        print_json({"projects": [_share_data(share) for share in shares]})
        return
    if not shares:
        say("There are no projects with facts yet.")
        say(("Start a run with --project, or read facts with `podium brain import`.", "dim"))
        return
    titles = ("project", "accepted", "proposed", "discarded", "changed")
    rows = [
        (
            share.project,
            *map(amount, (share.accepted, share.proposed, share.discarded)),
            share.updated_at[:16],
        )
        for share in shares
    ]
    print_table(out(), titles, rows, figures=titles[1:4], spare=("changed", "discarded"))


def _print_project(share: ProjectShare, facts: list[Fact], limit: int, *, every: bool, as_json: bool) -> None:
    shown = facts[:limit] if limit > 0 else facts
    if as_json:
        print_json({**_share_data(share), "facts": [as_data(fact) for fact in shown]})
        return
    figures = [f"{count(share.accepted, 'fact')} accepted"]
    figures += [f"{amount(share.proposed)} waiting for review"] if share.proposed else []
    figures += [f"embeddings {money(share.embedding.usd)}"] if share.embedding.calls else []
    say((one_line(share.project), "bold"), f"  {' · '.join(figures)}")
    if shown:
        print_facts(shown, with_status=every)
    if len(shown) < len(facts):
        say((f"… and {len(facts) - len(shown)} more: --limit 0", "dim"))


async def _show_fact(
    store: Store, project: str, reference: str, settings: Settings, *, as_json: bool
) -> None:
    fact = fact_meant(reference, await store.list_facts(project))
    brain = await Brain.open(store, project, settings=settings)
    history = await brain.history(fact.id)
    await brain.close()
    if as_json:
        print_json({**as_data(fact), "history": [decode(encode(change)) for change in history]})
        return
    print_fact(fact)
    say((f"{fact.status} · {'run ' + fact.source_run if fact.source_run else 'entered by a person'}", "dim"))
    for change in history:
        say(
            (f"{change.at[:19].replace('T', ' ')}  ", "dim"),
            f"{change.action} by {one_line(change.by)}{_change_text(change)}",
        )


def _change_text(change: FactChange) -> str:
    if change.action == "edited":
        return "".join(
            f"; {name}: {one_line(change.before.get(name, ''), 60)} → {one_line(value, 60)}"
            for name, value in change.after.items()
        )
    if "replaced_by" in change.after:
        return f" with {change.after['replaced_by']}: {one_line(change.after.get('value', ''), 60)}"
    return ""


def _share_data(share: ProjectShare) -> dict[str, Any]:
    spent = share.embedding
    return {
        "project": share.project,
        "accepted": share.accepted,
        "proposed": share.proposed,
        "discarded": share.discarded,
        "updated_at": share.updated_at,
        "embedding": {
            "calls": spent.calls,
            "input_tokens": spent.input_tokens,
            "cost_usd": round(spent.usd, 9),
            "unpriced_calls": spent.unpriced_calls,
        },
    }


async def search(
    text: Annotated[str, Parameter(help="A name, some words, or a whole request.")],
    /,
    *,
    project: ProjectName = None,
    limit: Annotated[int, number("Maximum number of facts.")] = 20,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Find the accepted facts that are relevant to a text, the best first.

    The heads of departments get the same facts.
    """
    if not text.strip():
        raise UsageError("The search text is empty.", hint="Give a name or some words.")
    if limit < 1:
        raise UsageError("--limit must be at least 1.")
    async with opened_brain(store, project) as (_, _, brain):
        facts = await brain.search(text, limit)
        warning = brain.warning
    if json:
        print_json({"project": brain.project, "facts": [as_data(fact) for fact in facts], "warning": warning})
        return 0
    if facts:
        print_facts(facts)
    else:
        say("No fact matches.")
    if warning:
        say(("Warning: ", "bold yellow"), warning, to_stderr=True)
    return 0


async def embed(*, project: ProjectName = None, store: StoreUrl = None, json: AsJson = False) -> int:
    """Compute missing embeddings, for semantic search.

    Review and import do this automatically. Use it for facts that are older than `[brain] embedding` in
    podium.toml, or after a change of the embedding model. Needs one request per 128 facts.
    """
    async with opened_brain(store, project) as (settings, opened_store, brain):
        if not brain.has_embedding:
            raise UsageError(
                "No embedding model is configured.",
                hint='Add [brain] and embedding = "openai:text-embedding-3-small" to podium.toml.',
            )
        done = await brain.embed()
        share = next(entry for entry in await opened_store.list_projects() if entry.project == brain.project)
    spent = share.embedding
    if json:
        print_json(
            {
                "project": brain.project,
                "model": settings.brain.embedding,
                "embedded": done,
                "calls": spent.calls,
                "cost_usd": round(spent.usd, 9),
                "unpriced_calls": spent.unpriced_calls,
            }
        )
        return 0
    cost = f" So far {count(spent.calls, 'call')}, {money(spent.usd)}." if spent.calls else ""
    unknown = " The price of this model is not known." if spent.unpriced_calls else ""
    say(f"Embedded {count(done, 'fact')} of {one_line(brain.project)}.{cost}{unknown}")
    return 0


async def forget(
    *facts: Annotated[str, Parameter(help="Ids of facts, or their beginnings.")],
    project: ProjectName = None,
    run: Annotated[str, option("All facts from this run.", metavar="RUN")] = "",
    all: Annotated[bool, option("All facts of the project.")] = False,
    yes: Annotated[bool, option("Do not ask for confirmation.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Delete facts and their history permanently.

    To remove a fact from canon and keep its history, discard it with `podium brain review`.
    """
    if sum(map(bool, (facts, run, all))) != 1:
        raise UsageError("podium brain forget needs exactly one of: ids of facts, --run RUN, --all.")
    async with opened_brain(store, project) as (_, _, brain):
        known = await brain.facts(())
        meant = known if all else [fact for fact in known if run and fact.source_run.startswith(run)]
        meant = meant or [fact_meant(reference, known) for reference in facts]
        if not meant:
            raise UsageError(f"{one_line(brain.project)} has no fact from a run {run!r}.")
        what = count(len(meant), "fact")
        question = f"Forget {what} of {one_line(brain.project)}?"
        if not yes and not await confirmed(question, action="Deleting facts", as_json=json):
            say("Nothing was forgotten.")
            return 0
        gone = await brain.forget(None if all else [fact.id for fact in meant])
    if json:
        print_json({"project": brain.project, "forgotten": gone})
    else:
        say(f"Forgot {count(gone, 'fact')} of {one_line(brain.project)}.")
    return 0


_STDIN = ("-", "@-")


async def export(
    file: Annotated[str, option("Output file; default: stdout.")] = "",
    /,
    *,
    project: ProjectName = None,
    status: Annotated[Status, Parameter(help="Which facts.")] = "all",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Write the facts of a project as JSON Lines, the format of `podium brain import`."""
    async with opened_brain(store, project) as (_, _, brain):
        facts = await brain.facts(() if status == "all" else (status,))
    if file:
        _write(Path(file), facts)
    if json:
        shown = {"file": file} if file else {"facts": [as_data(fact) for fact in facts]}
        print_json({"project": brain.project, "exported": len(facts), **shown})
    elif file:
        say(f"Wrote {count(len(facts), 'fact')} of {one_line(brain.project)} to {one_line(file)}.")
    else:
        stream = results()
        stream.write(b"".join(line + b"\n" for line in write_lines(facts)))
        stream.flush()
    return 0


async def import_(
    file: Annotated[str, Parameter(help="File of JSON Lines; `-` reads stdin.")],
    /,
    *,
    project: Annotated[
        str | None, Parameter(metavar="NAME", help="Project of the facts; default: the project in each line.")
    ] = None,
    accept: Annotated[bool, option("Accept facts that wait for review.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Read facts from JSON Lines: all of them or, after an error or crash, none.

    A line needs subject, predicate and value. A fact with a known id is left unchanged.
    """
    facts = read_lines(_read(file), "stdin" if file in _STDIN else file)
    if not project and any(not fact.project.strip() for fact in facts):
        raise UsageError("Some facts name no project.", hint="Add --project NAME.")
    async with opened(store, create=True) as (settings, opened_store):
        done = await import_facts(
            opened_store, facts, settings=settings, project=project or "", accept=accept
        )
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
