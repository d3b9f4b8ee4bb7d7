"""`podium show`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
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
from podium.cli.flags import OUTPUT, AsJson, RunId, StoreUrl
from podium.cli.opening import Commands, find_run, opened
from podium.cli.steps import MANY, find_step, print_drawing, print_step, print_steps
from podium.cli.terminal import out, print_json, print_raw, results
from podium.engine.events import EVENT_TYPES, ChargedData
from podium.engine.log import RunRow, Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.errors import UsageError
from podium.report.data import Cost, costs_of, price_word
from podium.report.presentation import Presentation
from podium.report.words import amount, brief, count, cut_note, cut_off_calls, cut_steps, safe

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


def cost_data(cost: Cost) -> dict[str, Any]:
    """Return one entry of `show --json`."""
    return {"agent": cost.agent, "model": cost.model or None, **cost.usage.to_dict()}


MEDIA_TYPE = "text/x-diff"
STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}
"""Style by first character of a line; `d` is for `diff --git`, which starts a file."""


async def print_diff(store: Store, result: RunResult) -> None:
    """Print the newest patch of a run: coloured on a terminal, elsewhere byte for byte."""
    patches = [one for one in result.artifacts if one.media_type == MEDIA_TYPE]
    if not patches:
        raise UsageError(
            f"Run {result.run_id} has made no patch.",
            hint="A build makes one of what it changed when it ends.",
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
    step: Annotated[
        str | None, Parameter(metavar="STEP", help="The path of a step: show it in full.")
    ] = None,
    /,
    *,
    all_steps: Annotated[
        bool, Parameter(name="--all", negative="", show_default=False, help="List every step of a large run.")
    ] = False,
    output: Annotated[
        bool, Parameter(negative="", show_default=False, group=OUTPUT, help="Print nothing but the result.")
    ] = False,
    diff: Annotated[
        bool, Parameter(negative="", show_default=False, group=OUTPUT, help="Print what it changed in files.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """One run: status, cost, questions, steps, result and what to do next."""
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        events, shown = await watched(opened_store, found)
        result, state = await result_of(opened_store, found)
        if step is not None:
            await print_step(opened_store, find_step(state, step), events, as_json=json)
            return 0
        if diff:
            await print_diff(opened_store, result)
            return 0
        charged = [row.to_event(found.run_id) for row in await opened_store.read(found.run_id, types=CHARGED)]
    costs = costs_of(charged, state)
    if json:
        print_json(_as_data(found, result, state, costs))
    elif output:
        print_output(result.output, shown)
    else:
        _print(found, result, state, shown, costs, Commands(settings), all_steps=all_steps)
    return 0


def _print(
    row: RunRow,
    result: RunResult,
    state: RunState,
    shown: Presentation,
    costs: list[Cost],
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
        told = "  ".join(f"{key}={brief(value, 40)}" for key, value in options.items())
        say_line(console, (told, "dim"))
    if prompts := state.config.get("prompts"):
        told = ", ".join(f"{name} ({digest[:8]})" for name, digest in prompts.items())
        say_line(console, (f"overridden prompts: {told}", "dim"))
    print_problems(console, result, cut_note(cut_steps(state)))
    print_questions(console, result.questions)
    every = commands("show", row.run_id, "--all")
    drawing = [] if all_steps else shown.drawing(MANY, alive=row.status in ALIVE)
    if drawing:
        print_drawing(console, drawing, every)
    else:
        print_steps(console, state, everything=all_steps, command=every)
    print_costs(console, costs, commands("show", row.run_id, "--json"))
    print_result(console, result.output, shown, commands("show", row.run_id, "--output"))
    steps = next_steps(state, row.status, commands, shown)
    made = made_of(result, shown, commands)
    print_pairs(console, made, [step for step in steps if step[1] != "details"])


def _as_data(row: RunRow, result: RunResult, state: RunState, costs: list[Cost]) -> dict[str, Any]:
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
            {"path": path, "question": asked.question, "choices": asked.choices, "details": asked.details}
            for path, asked in result.questions.items()
        ],
        "costs": [cost_data(cost) for cost in costs],
        "steps": [step_data(step) for step in state.steps.values()],
    }
