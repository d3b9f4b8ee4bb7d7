"""The seed's future enhancements 5 and 6: specialists' words reach viewers while they are written, and what
was paid for once is not paid for again. 1 and 2 are in `test_history`, 3 and 4 in `test_flow`, as are the
batches of 6."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import podium
from podium.engine.log import Store
from tests.workflows.studio.crew import WORKED, Crew, department, specialist


async def test_enhancement_5_every_specialists_text_is_streamed_under_its_own_path(store: Store) -> None:
    handle = await podium.start("studio", WORKED, model="rehearsal", store=store)
    streamed: dict[str, str] = defaultdict(str)

    async def listen() -> None:
        async for path, _, offset, text in handle.deltas():
            streamed[path] = streamed[path][:offset] + text

    listening = asyncio.create_task(listen())
    result = await handle.result()
    await listening
    for key in ("story", "character", "visual", "audio"):
        for item in department(result, key)["specialistResults"]:
            name = item["agentId"].removeprefix(f"{key}-").removesuffix("-specialist")
            last = "attempt" if item["attempts"] == 1 else f"attempt#{item['attempts']}"
            assert streamed[f"{key}/{name}/{last}/execute"] == item["output"], (
                "word for word, the last attempt"
            )
        assert streamed[f"{key}/synthesize"] == department(result, key)["output"]


async def paid(call: podium.Call) -> object:
    """At the top of a file, so that the cache knows it again."""
    return Crew().plain(call)


async def test_enhancement_6_a_studio_that_was_paid_for_is_served_from_the_cache(store: Store) -> None:
    first = await podium.run("studio", WORKED, model=paid, store=store, cache=True)
    again = await podium.run("studio", WORKED, model=paid, store=store, cache=True)
    assert (first.usage.calls, first.saved.calls) == (30, 0)
    assert (again.usage.calls, again.saved.calls) == (0, 30)
    assert specialist(again, "story", "story-plot-specialist")["output"] == "execute by Plot Specialist"
    assert again.output["deliverable"] == first.output["deliverable"]
