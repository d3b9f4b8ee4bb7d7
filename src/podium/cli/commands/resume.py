"""`podium resume`: go on with a run that stopped."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from podium.api import raise_budget
from podium.api import resume as resume_run
from podium.api.going_on import Change
from podium.api.outcome import watched
from podium.cli.detaching import fleet_of, tell_queued
from podium.cli.drive import Foreground
from podium.cli.flags import BudgetFlags, ModelFlags, OutputFlags, RunId, StoreUrl
from podium.cli.opening import Commands, find_run, opened
from podium.cli.terminal import print_json, say
from podium.engine.budget import Budget
from podium.engine.log import RunRow
from podium.engine.state import RunState
from podium.errors import NotResumableError
from podium.report.presentation import Presentation
from podium.report.words import one_line

MODELS, BUDGET, OUTPUT = ModelFlags(), BudgetFlags(), OutputFlags()


async def resume(
    run: RunId = "last",
    /,
    *,
    models: ModelFlags = MODELS,
    budget: BudgetFlags = BUDGET,
    take_over: Annotated[
        bool, Parameter(negative="", show_default=False, help="Take it from a process that drives it now.")
    ] = False,
    detach: Annotated[
        bool, Parameter(negative="", show_default=False, help="Leave it to the workers of a fleet, and end.")
    ] = False,
    store: StoreUrl = None,
    output: OutputFlags = OUTPUT,
) -> int:
    """Go on with a run that stopped, from where it was.

    Finished steps are not run again. Budgets are new totals, not additions: what was spent counts.
    """
    async with opened(store, **vars(budget)) as (settings, opened_store):
        found = await find_run(opened_store, run)
        if found.status in ("completed", "cancelled"):
            raise NotResumableError(
                f"Run {found.run_id} is {found.status}; there is nothing to resume.",
                hint=f"Run it again from any step with `podium fork {found.run_id} --at STEP`.",
            )
        events, shown = await watched(opened_store, found)
        _check_goes_on(found, RunState.of(events), shown, Commands(settings))
        if found.holder and not take_over and budget.totals() != Budget() and models == MODELS:
            more = await raise_budget(found.run_id, budget.totals(), store=opened_store, settings=settings)
            return _tell_raised(found, more, output)
        if detach:
            change = Change(
                budget.totals(),
                models.model,
                models.per_role() or {},
                models.reply_timeout,
                models.reply_tokens,
            )
            async with fleet_of(settings, opened_store) as fleet:
                await fleet.go_on(found, change, take_over=take_over)
            return tell_queued(await opened_store.get(found.run_id), settings, output)
        handle = await resume_run(
            found.run_id,
            store=opened_store,
            budget=budget.totals(),
            model=models.model,
            model_for=models.per_role(),
            reply_timeout=models.reply_timeout,
            reply_tokens=models.reply_tokens,
            take_over=take_over,
            settings=settings,
        )
        return await Foreground(settings, opened_store, output).drive(handle, after=events[-1].seq)


def _tell_raised(found: RunRow, more: Budget, output: OutputFlags) -> int:
    if output.json:
        print_json({"run_id": found.run_id, "status": found.status, "raised": more.to_dict()})
    else:
        say(f"Run {found.run_id} goes on with more: {found.holder} drives it.")
    return 0


def _check_goes_on(found: RunRow, state: RunState, shown: Presentation, commands: Commands) -> None:
    """A run that its workflow has ended as `partial` would only end so again."""
    if found.status != "partial" or state.can_go_on:
        return
    reason = f" ({one_line(state.stop_reason)})" if state.stop_reason else ""
    own = [commands(*words) for words, _ in shown.suggestions() if words[0] == "fork"]
    hint = f"Try again what failed, in a new run: `{own[0]}`." if own else ""
    raise NotResumableError(
        f"Run {found.run_id} has ended as partial{reason}; to resume it would change nothing.",
        hint=hint or f"`{commands('fork', found.run_id)}` lists the steps from which it can be run anew.",
    )
