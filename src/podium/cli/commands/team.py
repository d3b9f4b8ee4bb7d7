"""`podium team`: departments of a studio, checks of a team file, and statistics of its specialists."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from podium.cli.card import print_table, say_line
from podium.cli.flags import AsJson, StoreUrl
from podium.cli.opening import opened
from podium.cli.terminal import out, print_json, say
from podium.errors import UsageError
from podium.report.words import count
from podium.settings.places import named
from podium.workflows.studio.learning import Learnt, learn, read_past
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
        Parameter(help="Look at a team, check a file, write one here, or see how agents did."),
    ] = "show",
    name: Annotated[
        str,
        Parameter(
            metavar="TEAM",
            show_default=False,
            help="film, software, or a YAML file; with init: the new file.",
        ),
    ] = "",
    /,
    *,
    of: Annotated[
        str, Parameter(name="--from", metavar="TEAM", show_default=False, help="With init: the team to copy.")
    ] = "",
    rehearsals: Annotated[
        bool, Parameter(negative="", show_default=False, help="With stats: count rehearsals, not real runs.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Show who works in a studio.

    `show` lists departments, heads and specialists; `check FILE` tells everything that is wrong with a team
    file, with its line; `init [FILE]` writes a copy that you can change; `stats` tells from the log how each
    specialist did, and which thresholds that suggests (`podium run studio … --adaptive` uses them).
    """
    if action == "init":
        return _init(name or INIT_FILE, of, as_json=json)
    if of:
        raise UsageError("--from belongs to `podium team init`.", hint="See `podium team --help`.")
    if action == "check":
        return _check(name, as_json=json)
    found = load_team(name)
    if action == "show":
        _show(found, as_json=json)
        return 0
    async with opened(store) as (_, opened_store):
        past = await read_past(opened_store, found.name, rehearsals=rehearsals)
        others = [] if past else await read_past(opened_store, found.name, rehearsals=not rehearsals)
    _stats(found, learn(found, past, ""), as_json=json, others=bool(others), rehearsals=rehearsals)
    return 0


# ── show ──


def _show(found: TeamSpec, *, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    console = out()
    say_line(console, (found.name, "bold"), f"  {found.description}")
    for key in found.by_priority():
        department = found.departments[key]
        sometimes = [
            f"{one} for some requests" for one in department.may_need if one not in department.depends_on
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
        found = load_team(name)
    except TeamError as error:
        if as_json:
            flaws = [{"file": one.source, "line": one.line, "place": one.place, "reason": one.reason}
                     for one in error.flaws]  # fmt: skip
            print_json({"ok": False, "flaws": flaws})
        else:
            for flaw in error.flaws:
                say(("✗ ", "red"), str(flaw))
        return 2
    specialists = sum(len(one.specialists) for one in found.departments.values())
    if as_json:
        print_json({"ok": True, "team": found.name, "departments": len(found.departments),
                    "specialists": specialists})  # fmt: skip
    else:
        figures = f"{count(len(found.departments), 'department')}, {count(specialists, 'specialist')}"
        say(("✓ ", "green"), f"{found.name}: {figures}")
    return 0


def _init(name: str, of: str, *, as_json: bool) -> int:
    target = named(name)
    if target.exists():
        raise UsageError(f"{target} is there already.", hint="Name another file: podium team init FILE.")
    text = find_team(of).read_text(encoding="utf-8")
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from error
    if as_json:
        print_json({"file": str(target)})
    else:
        say(f"{target}")
        say(("Change it, then: ", "dim"), f"podium team check {target}")
        say(("Use it with ", "dim"), f'podium run studio "…" --team {target}')
    return 0


# ── stats ──


def _stats(
    found: TeamSpec, learnt: dict[str, Learnt], *, as_json: bool, others: bool, rehearsals: bool
) -> None:
    if as_json:
        print_json({"team": found.name, "agents": [_learnt_data(one) for one in learnt.values()]})
        return
    if not learnt:
        kind = "rehearsal" if rehearsals else "run"
        say(f"No {kind} of the team {found.name} has been graded yet.")
        if others:
            say("There are real runs." if rehearsals else "There are rehearsals: add --rehearsals.")
        return
    names = {
        agent_id(key, name): spec.name
        for key, department in found.departments.items()
        for name, spec in department.specialists.items()
    }
    rows = [
        (names[one.agent_id], str(one.results), f"{one.mean:g}", f"{one.acceptance:.0%}",
         f"{one.configured:g}", "" if one.suggested is None else f"{one.suggested:g}")
        for one in learnt.values()
    ]  # fmt: skip
    titles = ("specialist", "results", "mean", "accepted", "threshold", "suggested")
    print_table(out(), titles, rows, figures=titles[1:])
    say((
        f"Suggested: the lower quartile of {LEAST_EVIDENCE} results or more, within {ADAPT_WITHIN:g} of the "
        "threshold; `podium run studio … --adaptive` uses it.", "dim",
    ))  # fmt: skip


def _learnt_data(one: Learnt) -> dict[str, Any]:
    return {
        "agent": one.agent_id, "results": one.results, "mean": one.mean, "acceptance": one.acceptance,
        "threshold": one.configured, "suggested": one.suggested,
    }  # fmt: skip
