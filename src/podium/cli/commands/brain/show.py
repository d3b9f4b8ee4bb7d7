"""`podium brain show`: the projects of a store, the facts of one, or one fact with its history."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from podium.brain import Brain, Fact, FactChange, ProjectShare
from podium.cli.facts import ProjectName, as_data, fact_meant, print_fact, print_facts, project_meant
from podium.cli.flags import AsJson, StoreUrl, whole_number
from podium.cli.opening import opened
from podium.cli.table import print_table
from podium.cli.terminal import out, print_json, say
from podium.engine.codec import decode, encode
from podium.engine.log import Store
from podium.report.words import amount, count, money, one_line
from podium.settings import Settings

Status = Literal["accepted", "proposed", "discarded", "all"]
MOST = 100


async def show(
    fact: Annotated[
        str, Parameter(show_default=False, help="A fact's id, to see where it comes from and who changed it.")
    ] = "",
    /,
    *,
    project: ProjectName = None,
    status: Annotated[Status, Parameter(help="Which facts: accepted ones are canon.")] = "accepted",
    limit: Annotated[
        int, Parameter(metavar="N", converter=whole_number, help="Most facts to list; 0 lists all.")
    ] = MOST,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """What a project knows.

    Without --project, and where there are several, the projects are listed.
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
        found = await opened_store.list_facts(name, status=wanted)
        share = next(one for one in shares if one.project == name)
        _print_project(share, found, limit, every=status == "all", as_json=json)
    return 0


def _print_projects(shares: list[ProjectShare], *, as_json: bool) -> None:
    if as_json:
        print_json({"projects": [_share_data(share) for share in shares]})
        return
    if not shares:
        say("No project knows anything yet.")
        say(("Runs with --project propose facts; `podium brain import` reads them from a file.", "dim"))
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
    told = [f"{count(share.accepted, 'fact')} accepted"]
    told += [f"{amount(share.proposed)} waiting for review"] if share.proposed else []
    told += [f"embeddings {money(share.embedding.usd)}"] if share.embedding.calls else []
    say((one_line(share.project), "bold"), f"  {' · '.join(told)}")
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
    say((f"{fact.status} · {'run ' + fact.source_run if fact.source_run else 'told by a person'}", "dim"))
    for change in history:
        say(
            (f"{change.at[:19].replace('T', ' ')}  ", "dim"),
            f"{change.action} by {one_line(change.by)}{_what(change)}",
        )


def _what(change: FactChange) -> str:
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
            "calls": spent.calls, "input_tokens": spent.input_tokens, "cost_usd": round(spent.usd, 9),
            "unpriced_calls": spent.unpriced_calls,
        },
    }  # fmt: skip
