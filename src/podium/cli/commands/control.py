"""`podium answer`, `cancel` and `resume`."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from podium.api import answer as answer_run
from podium.api import cancel as cancel_run
from podium.api import raise_budget
from podium.api import resume as resume_run
from podium.api.control import Change, is_served
from podium.api.outcome import watched
from podium.cli.commands.runs import summary_of
from podium.cli.drive import Foreground, fleet_of, read_request, tell_queued
from podium.cli.flags import AsJson, BudgetFlags, ModelFlags, OutputFlags, RunId, StoreUrl
from podium.cli.opening import Commands, find_run, opened
from podium.cli.terminal import print_json, say
from podium.engine.budget import Budget
from podium.engine.log import RunRow
from podium.engine.state import RunState
from podium.errors import NotResumableError, RunLockedError, UsageError
from podium.report.presentation import Presentation
from podium.report.words import one_line
from podium.stores import is_postgres

OUTPUT = OutputFlags()


async def answer(
    run: RunId,
    answer: Annotated[str, Parameter(help="approve, reject or any text; `@FILE` reads a file.")],
    /,
    *,
    question: Annotated[
        str | None, Parameter(metavar="PATH", help="Which question, when several are open.")
    ] = None,
    detach: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Only leave the answer; do not drive the run on."),
    ] = False,
    store: StoreUrl = None,
    output: OutputFlags = OUTPUT,
) -> int:
    """Answer a run that waits for a person.

    If no process drives the run, it goes on right here, as with `podium resume`; one that workers drive goes
    on there.
    """
    text = read_request(answer, "answer", "Say approve, reject or any text.")
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        path = await answer_run(
            found.run_id, text, question=question, by="cli", store=opened_store, settings=settings
        )
        after = (await opened_store.read(found.run_id))[-1].seq
        if not detach and is_postgres(settings.store) and await is_served(opened_store, found.run_id):
            detach = True
            with suppress(RunLockedError, UsageError):  # a worker is notified through the inbox
                async with fleet_of(settings, opened_store) as fleet:
                    await fleet.go_on(found)
        if not detach:
            try:
                handle = await resume_run(found.run_id, store=opened_store, settings=settings)
            except RunLockedError:
                detach = True  # another process drives it and takes the answer from the inbox
            else:
                return await Foreground(settings, opened_store, output).drive(handle, after=after)
    if output.json:
        print_json({"run_id": found.run_id, "question": path, "answer": text})
    elif not output.quiet:
        say(f"Answered {path} of run {found.run_id}.")
    return 0


async def cancel(
    run: RunId,
    /,
    *,
    reason: Annotated[str, Parameter(show_default=False, help="Why; it is kept in the log.")] = "",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Stop a run for good. It cannot be resumed, only forked."""
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        row = await cancel_run(found.run_id, reason=reason, store=opened_store, settings=settings)
    if json:
        print_json(summary_of(row))
    else:
        say(f"Run {row.run_id} is {row.status}.")
    return 0


MODELS, BUDGET, RESUME_OUTPUT = ModelFlags(), BudgetFlags(), OutputFlags()


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
    output: OutputFlags = RESUME_OUTPUT,
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
    """Raise `NotResumableError` for a run that its workflow ended as `partial`: it would only
    end so again."""
    if found.status != "partial" or state.can_go_on:
        return
    reason = f" ({one_line(state.stop_reason)})" if state.stop_reason else ""
    own = [commands(*words) for words, _ in shown.suggestions() if words[0] == "fork"]
    hint = f"Try again what failed, in a new run: `{own[0]}`." if own else ""
    raise NotResumableError(
        f"Run {found.run_id} has ended as partial{reason}; to resume it would change nothing.",
        hint=hint or f"`{commands('fork', found.run_id)}` lists the steps from which it can be run anew.",
    )
