"""`podium show`: one run on one screen, or one of its steps in full."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from podium.api.outcome import ALIVE, result_of, step_data, watched
from podium.cli.card import (
    made_of,
    print_header,
    print_output,
    print_pairs,
    print_problems,
    print_questions,
    print_result,
    print_status,
    say_line,
)
from podium.cli.commands.runs import summary_of
from podium.cli.cost_table import cost_data, print_costs
from podium.cli.diff import print_diff
from podium.cli.flags import OUTPUT, AsJson, RunId, StoreUrl
from podium.cli.next_steps import next_steps
from podium.cli.opening import Commands, find_run, opened
from podium.cli.step_card import find_step, print_step
from podium.cli.step_tree import MANY, print_drawing, print_steps
from podium.cli.terminal import out, print_json
from podium.engine.events import EVENT_TYPES, ChargedData
from podium.engine.log import RunRow
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.report.costs import Cost, costs_of
from podium.report.cuts import cut_note, cut_steps
from podium.report.presentation import Presentation
from podium.report.words import brief, cut_off_calls

CHARGED = tuple(name for name, data in EVENT_TYPES.items() if issubclass(data, ChargedData))
"""Events that tell what was spent."""


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
    """The result, and everything else that `show` tells."""
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
