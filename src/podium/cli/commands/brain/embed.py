"""`podium brain embed`: the vectors that search by meaning needs."""

from __future__ import annotations

from podium.cli.facts import ProjectName, opened_brain
from podium.cli.flags import AsJson, StoreUrl
from podium.cli.terminal import print_json, say
from podium.errors import UsageError
from podium.report.words import count, money, one_line


async def embed(*, project: ProjectName = None, store: StoreUrl = None, json: AsJson = False) -> int:
    """Prepare facts for search by meaning.

    Review and import do so by themselves; this is for facts that were told before `[brain] embedding` was set
    in podium.toml, or with another model. It needs one request for each 128 facts.
    """
    async with opened_brain(store, project) as (settings, opened_store, brain):
        if not brain.has_embedding:
            raise UsageError(
                "No embedding model is configured.",
                hint='Write [brain] and embedding = "openai:text-embedding-3-small" into podium.toml.',
            )
        done = await brain.embed()
        share = next(one for one in await opened_store.list_projects() if one.project == brain.project)
    spent = share.embedding
    if json:
        print_json(
            {
                "project": brain.project, "model": settings.brain.embedding, "embedded": done,
                "calls": spent.calls, "cost_usd": round(spent.usd, 9), "unpriced_calls": spent.unpriced_calls,
            }
        )  # fmt: skip
        return 0
    cost = f" So far {count(spent.calls, 'call')}, {money(spent.usd)}." if spent.calls else ""
    unknown = " The price of this model is not known." if spent.unpriced_calls else ""
    say(f"Embedded {count(done, 'fact')} of {one_line(brain.project)}.{cost}{unknown}")
    return 0
