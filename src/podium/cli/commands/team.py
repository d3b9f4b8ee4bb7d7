"""`podium team`: departments of a studio, checks of a team file, and statistics of its specialists."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from podium.cli.card import print_table, say_line
from podium.cli.flags import AsJson, StoreUrl, option
from podium.cli.store import opened
from podium.cli.terminal import out, print_json, say
from podium.errors import UsageError
from podium.report.words import count
from podium.settings.places import named
from podium.workflows.studio.history import Learnt, learn, read_past
from podium.workflows.studio.policy import ADAPT_WITHIN, LEAST_EVIDENCE, threshold_of
from podium.workflows.studio.team import (
    AgentSpec,
    DepartmentSpec,
    TeamError,
    TeamSpec,
    agent_id,
    find_team,
    load_team,
)

INIT_FILE = "team.yaml"


async def team(
    action: Annotated[
        Literal["show", "check", "init", "stats"],
        Parameter(help="Show a team, check a team file, copy one, or show statistics."),
    ] = "show",
    name: Annotated[
        str, option("film, software, or a YAML file; with init: the new file.", metavar="TEAM")
    ] = "",
    /,
    *,
    of: Annotated[str, option("With init: team to copy.", name="--from", metavar="TEAM")] = "",
    rehearsals: Annotated[bool, option("With stats: use rehearsals instead of real runs.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Show, check, copy or evaluate a team for the studio.

    `show` lists departments, heads and specialists. `check FILE` lists all errors of a team file with their
    lines. `init [FILE]` writes a copy to edit. `stats` shows the results of each specialist in earlier runs
    and suggests thresholds, which `podium run studio … --adaptive` uses.
    """
    if action == "init":
        return _init(name or INIT_FILE, of, as_json=json)
    if of:
        raise UsageError("--from belongs to `podium team init`.", hint="See `podium team --help`.")
    if action == "check":
        return _check(name, as_json=json)
    spec = load_team(name)
    if action == "show":
        _show(spec, as_json=json)
        return 0
    async with opened(store) as (_, opened_store):
        past = await read_past(opened_store, spec.name, rehearsals=rehearsals)
        others = [] if past else await read_past(opened_store, spec.name, rehearsals=not rehearsals)
    _stats(spec, learn(spec, past, ""), as_json=json, others=bool(others), rehearsals=rehearsals)
    return 0


# ── show ──


def _show(team_spec: TeamSpec, *, as_json: bool) -> None:
    if as_json:
        print_json(team_spec.model_dump(mode="json"))
        return
    console = out()
    say_line(console, (team_spec.name, "bold"), f"  {team_spec.description}")
    for key in team_spec.by_priority():
        department = team_spec.departments[key]
        sometimes = [
            f"{other} for some requests"
            for other in department.may_need
            if other not in department.depends_on
        ]
        needed = ", ".join([*department.depends_on, *sometimes])
        needs = f"  needs {needed}" if needed else ""
        one_by_one = "" if department.allow_parallel_execution else "  one after the other"
        say_line(console)
        say_line(console, (key, "bold"), f"  {department.name}", (f"{needs}{one_by_one}", "dim"))
        rows = [_row("", department.head, department, "head")]
        rows += [_row(name, spec, department) for name, spec in department.specialists.items()]
        titles = ("specialist", "name", "threshold", "retries", "skills")
        figures = ("threshold", "retries")
        print_table(console, titles, rows, figures=figures, spare=("name", "retries"), indent=2)


def _row(key: str, spec: AgentSpec, department: DepartmentSpec, role: str = "") -> tuple[str, ...]:
    if role:
        return role, spec.name, "", str(department.max_retries), ", ".join(spec.skills)
    threshold = threshold_of(spec.passing_threshold, department.min_quality_threshold)
    shown = key if spec.active else f"{key} (not active)"
    return shown, spec.name, f"{threshold:g}", str(spec.max_retries), ", ".join(spec.skills)


# ── check and init ──


def _check(name: str, *, as_json: bool) -> int:
    try:
        spec = load_team(name)
    except TeamError as error:
        if as_json:
            flaws = [
                {"file": flaw.source, "line": flaw.line, "place": flaw.place, "reason": flaw.reason}
                for flaw in error.flaws
            ]
            print_json({"ok": False, "flaws": flaws})
        else:
            for flaw in error.flaws:
                say(("✗ ", "red"), str(flaw))
        return 2
    specialists = sum(len(department.specialists) for department in spec.departments.values())
    if as_json:
        print_json(
            {"ok": True, "team": spec.name, "departments": len(spec.departments), "specialists": specialists}
        )
    else:
        figures = f"{count(len(spec.departments), 'department')}, {count(specialists, 'specialist')}"
        say(("✓ ", "green"), f"{spec.name}: {figures}")
    return 0


def _init(name: str, of: str, *, as_json: bool) -> int:
    target = named(name)
    if target.exists():
        raise UsageError(f"{target} already exists.", hint="Name another file: `podium team init FILE`.")
    text = find_team(of).read_text(encoding="utf-8")
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}.", hint="Name another file."
        ) from error
    if as_json:
        print_json({"file": str(target)})
    else:
        say(f"{target}")
        say(("Edit it, then check it with ", "dim"), f"podium team check {target}")
        say(("Use it with ", "dim"), f'podium run studio "…" --team {target}')
    return 0


# ── stats ──


def _stats(
    team_spec: TeamSpec, learnt: dict[str, Learnt], *, as_json: bool, others: bool, rehearsals: bool
) -> None:
    if as_json:
        print_json({"team": team_spec.name, "agents": [_learnt_data(agent) for agent in learnt.values()]})
        return
    if not learnt:
        kind = "rehearsal" if rehearsals else "run"
        say(f"The team {team_spec.name} has no graded {kind} yet.")
        if others:
            say(
                "There are real runs: omit --rehearsals."
                if rehearsals
                else "There are rehearsals: add --rehearsals."
            )
        return
    names = {
        agent_id(key, name): spec.name
        for key, department in team_spec.departments.items()
        for name, spec in department.specialists.items()
    }
    rows = [
        (
            names[agent.agent_id],
            str(agent.results),
            f"{agent.mean:g}",
            f"{agent.acceptance:.0%}",
            f"{agent.configured:g}",
            "" if agent.suggested is None else f"{agent.suggested:g}",
        )
        for agent in learnt.values()
    ]
    titles = ("specialist", "results", "mean", "accepted", "threshold", "suggested")
    print_table(out(), titles, rows, figures=titles[1:])
    suggested = f"the lower quartile of at least {LEAST_EVIDENCE} results, within {ADAPT_WITHIN:g}"
    say((f"Suggested: {suggested} of the threshold. Use it with `podium run studio … --adaptive`.", "dim"))


def _learnt_data(agent: Learnt) -> dict[str, Any]:
    return {
        "agent": agent.agent_id,
        "results": agent.results,
        "mean": agent.mean,
        "acceptance": agent.acceptance,
        "threshold": agent.configured,
        "suggested": agent.suggested,
    }
