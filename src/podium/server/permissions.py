"""What users of a shared server may not do: name files and folders of its machine, run code of their own, see
what others have, or spend more than they were given.

The only user of a server on their own machine may do everything: it is their machine.
"""

from __future__ import annotations

from typing import Any

from podium.engine.budget import Budget
from podium.engine.history import HISTORY, history_of
from podium.engine.log import RunRow, Store
from podium.server.callers import Caller
from podium.server.hall import Hall
from podium.server.problems import RefusedError
from podium.workflows import SHIPPED, find_workflow
from podium.workflows.studio.team_file import SHIPPED as TEAMS

SHARED_OPTIONS: dict[str, frozenset[str]] = {
    "build": frozenset({"max_iterations"}),
    "council": frozenset(
        {
            "preset", "roles", "rounds", "passes", "min_ideas", "min_score", "deep_dive", "context_window",
            "web",
        }
    ),
    "research": frozenset(
        {
            "content_type", "length", "tone", "depth", "min_sources", "preferred_sources", "min_quality",
            "citation_style", "online", "max_usd", "time_limit",
        }
    ),
    "studio": frozenset(
        {
            "team", "departments", "router", "specialists", "synthesis_rounds", "batch_grading", "adaptive",
            "project",
        }
    ),
    "tree": frozenset({"max_depth", "max_bands", "max_steps", "replans", "deliverable", "web"}),
}  # fmt: skip
"""Options that are only words and figures. One that is not here may reach into the machine, and is
refused."""
UNFINISHED = ("queued", "running", "waiting", "paused")
LIST = 200


def check_workflow(caller: Caller, name: str) -> None:
    if caller.user is not None and name not in SHIPPED:
        raise RefusedError(
            403, f"The workflow {name} cannot be used here.", hint=f"These can: {', '.join(SHIPPED)}."
        )


async def check_models(hall: Hall, caller: Caller, *names: str | None) -> None:
    """Code and other people's replies are no models for everybody."""
    for name in names:
        if caller.user is None or not name:
            continue
        if name.startswith("replay:"):
            await hall.run_for(caller, name.removeprefix("replay:"))
        elif name.startswith("python:") or "@" in name:
            raise RefusedError(
                403, f"The model {name} cannot be used here.", hint="Ask whoever runs this server."
            )


def may_use(caller: Caller, workflow: str, option: str) -> bool:
    return caller.user is None or option in SHARED_OPTIONS.get(workflow, ())


def options_for(caller: Caller, workflow: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with a project of one's own; those that reach into the machine are refused."""
    if caller.user is None:
        return options
    known = {option.name for option in find_workflow(workflow).options}
    for name, value in options.items():
        file = name == "team" and value and str(value) not in TEAMS
        if file or (name in known and not may_use(caller, workflow, name)):
            raise RefusedError(403, f"The option {name} cannot be used on a shared server.")
    if options.get("project"):
        return {**options, "project": project_of(caller, str(options["project"]))}
    return options


def project_of(caller: Caller, name: str) -> str:
    """Users do not share projects: each has their own of a name."""
    return f"{caller.name}/{name.strip()}" if caller.user is not None else name


def shown_project(caller: Caller, stored: str) -> str | None:
    """The name by which a caller knows a project; `None`: it is not theirs."""
    if caller.user is None:
        return stored
    owner, slash, name = stored.partition("/")
    return name if slash and owner == caller.name else None


async def check_room(hall: Hall, caller: Caller) -> None:
    """A queue that grows for ever helps nobody."""
    _, queued = await hall.conductor.count_of(caller.name)
    most = caller.user.max_queued if caller.user else 100_000
    if queued >= most:
        raise RefusedError(
            429, f"You have {queued} runs waiting already.", hint="Let some of them finish first."
        )


async def money(hall: Hall, owner: str) -> tuple[float, float]:
    """What a user's runs have spent, and what those that are not over may still spend."""
    spent = sum(total.usage.usd for total in await hall.store.run_totals(owner))
    return spent, sum([await _rest(hall.store, row) for row in await _unfinished(hall.store, owner)])


async def _unfinished(store: Store, owner: str) -> list[RunRow]:
    found: list[RunRow] = []
    while True:
        before = found[-1].run_id if found else ""
        rows = await store.list_runs(status=UNFINISHED, owner=owner, limit=LIST, before=before)
        found += rows
        if len(rows) < LIST:
            return found


async def _rest(store: Store, row: RunRow) -> float:
    _, _, budget = history_of(await store.read(row.run_id, types=HISTORY))
    return max(0.0, (budget.usd or 0.0) - row.usage.usd)


async def ceiling_for(hall: Hall, caller: Caller, asked: Budget, row: RunRow | None = None) -> Budget:
    """The budget that a run gets: with a user's money, never more than is left of it. `row` is a run that
    goes on; what it has spent is part of its new total."""
    user = caller.user
    if user is None or user.budget_usd is None:
        return asked
    spent, reserved = await money(hall, caller.name)
    own = row.usage.usd if row else 0.0
    if row is not None and row.status in UNFINISHED:
        reserved -= await _rest(hall.store, row)
    left = max(0.0, user.budget_usd - spent - reserved)
    usual = min(left, user.run_usd if user.run_usd is not None else user.budget_usd / 10)
    wanted = asked.usd if asked.usd is not None else own + usual
    if wanted - own > left + 1e-9 or left <= 0:
        raise RefusedError(
            422,
            f"${left:.2f} is left of your budget; this run asks for ${wanted - own:.2f}.",
            hint="Ask for less, or let runs finish that hold money back.",
        )
    return asked.merged(Budget(usd=wanted))
