"""Facts on a terminal: selection of the project, and output of facts and contradictions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from podium.brain import Brain, Contradiction, Fact
from podium.brain.review import FIELDS
from podium.cli.card import print_table, say_prose
from podium.cli.store import opened
from podium.cli.terminal import out, say
from podium.engine.log import Store
from podium.errors import EmbeddingError, UsageError
from podium.report.words import one_line
from podium.settings import Settings, nearest

ProjectName = Annotated[
    str | None,
    Parameter(
        name="--project", metavar="NAME", help="Project of the facts; not needed if there is only one."
    ),
]
SHORTEST_ID = 4


@asynccontextmanager
async def opened_brain(
    store: str | None, project: str | None
) -> AsyncGenerator[tuple[Settings, Store, Brain]]:
    """Open the brain of the selected project for one command."""
    async with opened(store) as (settings, opened_store):
        name = await project_meant(opened_store, project)
        brain = await Brain.open(opened_store, name, settings=settings)
        try:
            yield settings, opened_store, brain
        finally:
            await brain.close()


async def project_meant(store: Store, wanted: str | None) -> str:
    """Return the project with this name, or the only project. Raises `UsageError` if it is unknown or
    ambiguous."""
    names = [share.project for share in await store.list_projects()]
    if wanted is not None and wanted in names:
        return wanted
    if not names:
        raise UsageError(
            "There are no projects with facts yet.",
            hint="Start a run with --project, or read facts with `podium brain import`.",
        )
    if wanted is None and len(names) == 1:
        return names[0]
    listed = ", ".join(one_line(name, 40) for name in names[:12])
    if wanted is None:
        raise UsageError("There are several projects.", hint=f"Add --project with one of: {listed}.")
    meant = nearest(wanted, names)
    raise UsageError(
        f"There is no project {wanted!r} in this store.",
        hint=f"Did you mean {meant}?" if meant else f"It has: {listed}.",
    )


def fact_meant(reference: str, facts: Sequence[Fact]) -> Fact:
    """Return the fact with this id or unique id prefix of at least 4 characters."""
    exact = [fact for fact in facts if fact.id == reference]
    begun = exact or [
        fact for fact in facts if len(reference) >= SHORTEST_ID and fact.id.startswith(reference)
    ]
    if len(begun) > 1:
        raise UsageError(
            f"More than one fact begins with {reference}.", hint="Give more characters of the id."
        )
    if not begun:
        raise UsageError(f"There is no fact {reference!r} here.", hint="List facts with `podium brain show`.")
    return begun[0]


async def embed_quietly(brain: Brain) -> str:
    """Embed changed facts. Returns a warning if the embedding model fails, otherwise an empty string."""
    try:
        await brain.embed()
    except EmbeddingError as error:
        return f"{error} Try again with `podium brain embed`."
    return ""


def as_data(fact: Fact) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in FIELDS}


def clash_data(clash: Contradiction) -> dict[str, Any]:
    return {
        "new": as_data(clash.new),
        "canon": as_data(clash.canon),
        "reason": clash.reason,
        "severity": clash.severity,
    }


def print_facts(facts: Sequence[Fact], *, with_status: bool = False) -> None:
    titles = ["id", "subject", "predicate", "value", "kind", "run"]
    rows = [[fact.id, fact.subject, fact.predicate, fact.value, fact.kind, fact.source_run] for fact in facts]
    if with_status:
        titles.append("status")
        rows = [[*row, fact.status] for row, fact in zip(rows, facts, strict=True)]
    print_table(out(), titles, rows, spare=("run", "kind"))


def print_fact(fact: Fact, clashes: Sequence[Contradiction] = ()) -> None:
    """Print one fact with its source quote and its contradictions."""
    details = (f"  {fact.kind} · {fact.id}", "dim")
    say(
        (one_line(fact.subject), "bold"),
        f"  {one_line(fact.predicate)}: ",
        (one_line(fact.value), "bold"),
        details,
    )
    if fact.quote:
        say_prose(out(), Text(f"“{one_line(fact.quote)}”", style="dim"))
    for clash in clashes:
        say_prose(out(), (f"! {clash.severity}: ", "bold yellow"), one_line(clash.reason))
