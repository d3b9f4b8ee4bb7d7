"""`podium show` and `podium events`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from podium.api.outcome import ALIVE, result_of, step_data, watched
from podium.cli.card import (
    made_of,
    next_steps,
    print_header,
    print_output,
    print_pairs,
    print_problems,
    print_questions,
    print_result,
    print_status,
    print_table,
    say_line,
)
from podium.cli.commands.runs import summary_of
from podium.cli.flags import OUTPUT, AsJson, RunId, StoreUrl, number, option
from podium.cli.live import JsonLines, Lines, View
from podium.cli.steps import MANY, find_step, print_drawing, print_step, print_steps
from podium.cli.store import Commands, find_run, opened
from podium.cli.terminal import out, print_json, print_raw, results
from podium.engine.events import EVENT_TYPES, TERMINAL, ChargedData, Event
from podium.engine.log import RunRow, Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.errors import UsageError
from podium.report.data import Cost, costs_of, price_word
from podium.report.presentation import Presentation
from podium.report.turns import ToolUse, tools_of
from podium.report.words import (
    amount,
    brief,
    count,
    cut_note,
    cut_off_calls,
    cut_steps,
    duration,
    money,
    safe,
)
from podium.workflows import presentation_of

SHOWN = 12
"""Rows shown of a large team, the most expensive first."""
TITLES = ("agent", "model", "calls", "tokens in", "tokens out", "cost")
FIGURES = ("calls", "tokens in", "tokens out", "cost")


def print_costs(console: Console, costs: list[Cost], whole: str) -> None:
    """Print the table of costs, if there are any. `whole` is the command that shows all rows of
    a long one."""
    if not costs:
        return
    dearest = sorted(costs, key=lambda cost: (-cost.usage.usd, -cost.usage.tokens))
    shown = costs if len(costs) <= SHOWN else dearest[:SHOWN]
    say_line(console)
    print_table(
        console, TITLES, [_row(cost) for cost in shown], figures=FIGURES, spare=("tokens in", "tokens out")
    )
    if len(shown) < len(costs):
        say_line(console, (f"… {count(len(costs) - len(shown), 'more row')}: {whole}", "dim"))


def _row(cost: Cost) -> tuple[str, ...]:
    used = cost.usage
    return (
        cost.agent,
        cost.model or "none",
        str(used.calls),
        amount(used.input_tokens),
        amount(used.output_tokens),
        price_word(used),
    )


def print_tools(console: Console, tools: list[ToolUse]) -> None:
    """Print calls, failures, time and cost of each tool, if there are any."""
    if not tools:
        return
    rows = [
        (
            use.tool,
            str(use.calls),
            str(use.failed or ""),
            duration(use.seconds),
            money(use.usage.usd) if use.usage.usd else "",
        )
        for use in tools
    ]
    say_line(console)
    print_table(
        console,
        ("tool", "calls", "failed", "time", "cost"),
        rows,
        figures=("calls", "failed", "time", "cost"),
    )


def tool_data(use: ToolUse) -> dict[str, Any]:
    """Return one tool of `show --json`."""
    used = {"calls": use.calls, "failed": use.failed, "duration_s": round(use.seconds, 3)}
    return {"tool": use.tool, **used, "cost_usd": round(use.usage.usd, 9)}


def cost_data(cost: Cost) -> dict[str, Any]:
    """Return one entry of `show --json`."""
    return {"agent": cost.agent, "model": cost.model or None, **cost.usage.to_dict()}


MEDIA_TYPE = "text/x-diff"
STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}
"""Style by first character of a line; `d` is for `diff --git`, which starts a file."""


async def print_diff(store: Store, result: RunResult) -> None:
    """Print the newest patch of a run: coloured on a terminal, elsewhere byte for byte."""
    patches = [artifact for artifact in result.artifacts if artifact.media_type == MEDIA_TYPE]
    if not patches:
        raise UsageError(
            f"Run {result.run_id} has no patch.",
            hint="Only a finished build has one.",
        )
    data = await store.get_blob(patches[-1].blob)
    if not results().isatty():
        print_raw(data)
        return
    for line in data.decode("utf-8", "replace").splitlines():
        say_line(out(), (safe(line), STYLES.get(line[:1], "")))


CHARGED = tuple(name for name, data in EVENT_TYPES.items() if issubclass(data, ChargedData))
"""Event types that record spending."""


async def show(
    run: RunId = "last",
    step: Annotated[str | None, Parameter(metavar="STEP", help="Path of a step to show in full.")] = None,
    /,
    *,
    all_steps: Annotated[bool, option("List every step of a large run.", name="--all")] = False,
    output: Annotated[bool, option("Print only the result.", group=OUTPUT)] = False,
    diff: Annotated[bool, option("Print the changes to files.", group=OUTPUT)] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Show one run: status, cost, questions, steps, result and next commands."""
    async with opened(store) as (settings, opened_store):
        row = await find_run(opened_store, run)
        events, shown = await watched(opened_store, row)
        result, state = await result_of(opened_store, row)
        if step is not None:
            await print_step(opened_store, find_step(state, step), events, as_json=json)
            return 0
        if diff:
            await print_diff(opened_store, result)
            return 0
        charged = [event.to_event(row.run_id) for event in await opened_store.read(row.run_id, types=CHARGED)]
    costs, tools = costs_of(charged, state), tools_of(events)
    if json:
        print_json(_as_data(row, result, state, costs, tools))
    elif output:
        print_output(result.output, shown)
    else:
        _print(row, result, state, shown, costs, tools, Commands(settings), all_steps=all_steps)
    return 0


def _print(
    row: RunRow,
    result: RunResult,
    state: RunState,
    shown: Presentation,
    costs: list[Cost],
    tools: list[ToolUse],
    commands: Commands,
    *,
    all_steps: bool,
) -> None:
    console = out()
    print_header(state)
    print_status(console, result)
    if cut_off := cut_off_calls(state.forfeited):
        say_line(console, (cut_off, "dim"))
    if row.holder:
        say_line(console, (f"driven by {row.holder}", "dim"))
    if state.forked_from is not None:
        say_line(console, (f"forked from {state.forked_from.source} at {state.forked_from.at}", "dim"))
    options = {**state.options, **{key: state.config[key] for key in ("approve",) if key in state.config}}
    if options:
        text = "  ".join(f"{key}={brief(value, 40)}" for key, value in options.items())
        say_line(console, (text, "dim"))
    if prompts := state.config.get("prompts"):
        text = ", ".join(f"{name} ({digest[:8]})" for name, digest in prompts.items())
        say_line(console, (f"overridden prompts: {text}", "dim"))
    print_problems(console, result, cut_note(cut_steps(state)))
    print_questions(console, result.questions)
    every = commands("show", row.run_id, "--all")
    drawing = [] if all_steps else shown.drawing(MANY, alive=row.status in ALIVE)
    if drawing:
        print_drawing(console, drawing, every)
    else:
        print_steps(console, state, everything=all_steps, command=every)
    print_costs(console, costs, commands("show", row.run_id, "--json"))
    print_tools(console, tools)
    print_result(console, result.output, shown, commands("show", row.run_id, "--output"))
    steps = next_steps(state, row.status, commands, shown)
    made = made_of(result, shown, commands)
    print_pairs(console, made, [step for step in steps if step[1] != "details"])


def _as_data(
    row: RunRow, result: RunResult, state: RunState, costs: list[Cost], tools: list[ToolUse]
) -> dict[str, Any]:
    """Return the result and everything else that `show` prints."""
    return {
        **result.to_dict(),
        **{
            key: value
            for key, value in summary_of(row).items()
            if key not in ("cost_usd", "calls", "duration_s")
        },
        "request": state.request,
        "options": state.options,
        "config": state.config,
        "budget": state.budget.to_dict(),
        "forfeited": state.forfeited.to_dict(),
        "hint": result.hint or None,
        "questions": [
            {
                "path": path,
                "question": question.question,
                "choices": question.choices,
                "details": question.details,
                "answers": question.answers,
            }
            for path, question in result.questions.items()
        ],
        "costs": [cost_data(cost) for cost in costs],
        "tools": [tool_data(use) for use in tools],
        "steps": [step_data(step) for step in state.steps.values()],
    }


OVER = frozenset({"completed", "partial", "failed", "cancelled"})


async def events(
    run: RunId = "last",
    /,
    *,
    follow: Annotated[bool, option("Keep watching until the run ends.", alias="-f")] = False,
    after: Annotated[
        int, number("Only events after this sequence number.", metavar="SEQ", validator=Number(gte=0))
    ] = 0,
    store: StoreUrl = None,
    json: Annotated[bool, option("Print every event as one line of JSON.", group=OUTPUT)] = False,
) -> int:
    """Print the log of a run, one line per event.

    --follow continues until the run ends, also while it waits or is paused.
    """
    async with opened(store) as (_, opened_store):
        run_row = await find_run(opened_store, run)
        state, shown = RunState(), presentation_of(run_row.workflow)
        view: View = JsonLines() if json else Lines(out(), state, shown, everything=True)
        last = 0
        for row in await opened_store.read(run_row.run_id, after=after if json else 0):
            event = row.to_event(run_row.run_id)
            last = event.seq
            if event.seq > after:
                view.show(event)
            else:
                state.apply(event)
                shown.apply(event)
        if follow:
            await _follow(opened_store, run_row, view, last)
    return 0


async def _follow(store: Store, run: RunRow, view: View, after: int) -> None:
    """Show appended events until the run is over."""
    if (await store.get(run.run_id)).status in OVER and not await store.read(
        run.run_id, after=after, limit=1
    ):
        return
    async for row in store.tail(run.run_id, after=after):
        event: Event = row.to_event(run.run_id)
        view.show(event)
        if event.type in TERMINAL:
            return
