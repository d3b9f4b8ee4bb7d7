"""The pages of a run, as a later process makes and finds them."""

from __future__ import annotations

from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.report.data import facts_of
from podium.report.html import to_html
from podium.report.presentation import Presentation
from podium.workflows import presentation_of


async def seen(store: Store, run: RunResult) -> tuple[Presentation, str]:
    """What a later process sees of a run, and the page that it makes of it."""
    shown = presentation_of("council")
    events = [row.to_event(run.run_id) for row in await store.read(run.run_id)]
    for event in events:
        shown.apply(event)
    facts = facts_of(events, output=run.output, shown=shown)
    return shown, to_html(facts, shown.sections(alive=False))


async def artifact(store: Store, run: RunResult, name: str) -> str:
    match = next(item for item in run.artifacts if item.name == name)
    return (await store.get_blob(match.blob)).decode()
