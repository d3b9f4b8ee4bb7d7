"""Searcher: an agent that searches with other words where the queries of a worker found too little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import msgspec
from pydantic import Field

from podium.agents.tools import Tool, tool
from podium.errors import StepFailedError
from podium.models.messages import ToolCall, ToolOutcome
from podium.tools.sources.providers import Found
from podium.workflows.delivery.flow import affordable
from podium.workflows.research.agents import SEARCHER
from podium.workflows.research.context import Study
from podium.workflows.research.contracts import PickedSources
from podium.workflows.research.library import same
from podium.workflows.research.policy import SEARCHER_CALLS, SEARCHER_TURNS, WORKERS

RESULTS = 8
"""Results of one search."""
PAGE = 6_000
"""Characters of a page that the searcher reads."""

Query = Annotated[str, Field(min_length=2, max_length=200, description="A few words that sources use.")]
Address = Annotated[str, Field(description="An address that `search` returned.")]


class Picked(msgspec.Struct, frozen=True):
    """Outcome of a searcher."""

    found: list[Found] = []
    troubles: list[str] = []


async def search_on(
    study: Study, worker: str, provider: str, tried: Sequence[str], known: Mapping[str, Found]
) -> Picked:
    """Let the searcher search with the provider's sources, and return the results that it picks. Only what
    its searches returned counts. A searcher that fails leaves the worker's own results as they are."""
    seen = {same(url): hit for url, hit in known.items()}
    at = await study.clock.now(study.run, f"searched-{worker}")
    agent = replace(
        SEARCHER,
        tools=_tools(study, provider, at, seen),
        max_turns=SEARCHER_TURNS,
        max_tool_calls=SEARCHER_CALLS,
    )
    label = WORKERS[worker].label
    if not await affordable(study.run, agent, " " * PAGE, times=SEARCHER_TURNS):
        return Picked(troubles=[f"{label}: The searcher was not asked, to stay within the budget."])

    def keep(call: ToolCall, outcome: ToolOutcome | None) -> None:
        if outcome is not None and outcome.data is not None:
            for hit in msgspec.convert(outcome.data, list[Found]):
                seen.setdefault(same(hit.url), hit)

    try:
        answer = await study.run.ask(
            agent,
            "find_sources",
            returns=PickedSources,
            on_tool=keep,
            task=study.task,
            kind=label,
            tried=list(tried),
            found=[study.sealed(_shown(hit), f"result {hit.url}") for hit in known.values()],
            calls=SEARCHER_CALLS,
        )
    except StepFailedError as error:
        return Picked(troubles=[f"{label}: The searcher failed: {error.reason}"])
    return _picked(label, answer.urls, seen, known)


def _picked(label: str, urls: Sequence[str], seen: Mapping[str, Found], known: Mapping[str, Found]) -> Picked:
    """Return the picked results that the worker does not have yet. Made-up addresses are listed."""
    mine = {same(url) for url in known}
    wanted = dict.fromkeys(map(same, urls))
    made_up = [url for url in dict.fromkeys(urls) if same(url) not in seen]
    troubles = [f"{label}: dropped {url[:200]}, which no search returned." for url in made_up]
    return Picked([seen[key] for key in wanted if key in seen and key not in mine], troubles)


def _tools(study: Study, provider: str, at: str, seen: Mapping[str, Found]) -> list[Tool]:
    """Return the tools. `seen` holds the results so far, by address."""

    @tool(safe=True)
    async def search(query: Query) -> ToolOutcome:
        """Search for sources."""
        answer = await study.library.search(provider, query, RESULTS)
        shown = "\n\n".join(map(_shown, answer.found))
        text = study.sealed(shown, "the search") if shown else "Nothing was found."
        return ToolOutcome("\n".join([text, *answer.troubles]), data=msgspec.to_builtins(answer.found))

    @tool(safe=True)
    async def read_page(url: Address) -> str:
        """Read the beginning of a result."""
        hit = seen.get(same(url))
        if hit is None:
            raise LookupError("no search returned this address")
        page = await study.library.read(hit, at)
        return study.sealed(page.text[:PAGE], f"the page {hit.url}")

    return [search, read_page]


def _shown(hit: Found) -> str:
    date = f" ({hit.published})" if hit.published else ""
    return f"Address: {hit.url}\nTitle: {hit.title}{date}\n{hit.snippet}"
