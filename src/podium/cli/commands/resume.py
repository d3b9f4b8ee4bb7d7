"""`podium resume`: go on with a run that stopped."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from podium.api import resume as resume_run
from podium.cli.drive import Foreground
from podium.cli.flags import BudgetFlags, ModelFlags, OutputFlags, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.errors import NotResumableError

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
        rows = await opened_store.read(found.run_id)
        handle = await resume_run(
            found.run_id,
            store=opened_store,
            budget=budget.totals(),
            model=models.model,
            model_for=models.per_role(),
            take_over=take_over,
            settings=settings,
        )
        return await Foreground(settings, opened_store, output).drive(handle, after=rows[-1].seq)
