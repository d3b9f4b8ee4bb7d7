"""The research workers: searches, and the scraper that reads what they found."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from podium.engine.branch import Ok
from podium.errors import StepFailedError
from podium.tools.sources.found import Found, Retrieved
from podium.workflows.research.library import Answer
from podium.workflows.research.policy import SEARCHES
from podium.workflows.research.study import Made, Study

QUERIES = {"light": 1, "standard": 2, "deep": 3}
"""How many queries a search is given, before it is sent further."""
MOST_MISSING = 4
"""Queries for aspects that the last version left out."""
POINT_RESULTS = 3
"""Results of a query for one point of a complete answer."""
SPARE = 3
"""More results than the share of a worker: some are found by several."""


class Hits(msgspec.Struct, frozen=True):
    """What a search worker found."""

    found: list[Found]
    troubles: list[str] = []


class Texts(msgspec.Struct, frozen=True):
    """What the scraper read, by source id."""

    texts: dict[str, Retrieved]
    troubles: list[str] = []


async def search(study: Study, worker: str) -> Made:
    """Ask what stands behind the worker, with queries of its own."""
    return await search_as(study, worker, worker)


async def search_as(study: Study, worker: str, asked: str) -> Made:
    """The worker's queries, put to what stands behind `asked`: itself, or who stands in for it."""
    found: dict[str, Found] = {}
    troubles: list[str] = []
    wanted = dict.fromkeys(queries_of(study, worker), results_wanted(study))
    wanted |= {point: POINT_RESULTS for point in points_of(study, worker) if point not in wanted}
    for query, limit in wanted.items():
        answer = await study.run.step("search", study.library.search, asked, query, limit, returns=Answer)
        found |= {one.url: one for one in answer.found if one.url not in found}
        troubles += [one for one in answer.troubles if one not in troubles]
    hits = Hits(list(found.values()), troubles)
    sources = [{"title": one.title, "url": one.url, "kind": one.kind} for one in hits.found]
    return Made(worker, hits, result={"found": len(sources), "sources": sources, "troubles": troubles})


def queries_of(study: Study, worker: str) -> list[str]:
    """Every search begins elsewhere in the planner's list, so that they do not all find the same."""
    planned = study.assessment.queries if study.assessment else []
    known = list(dict.fromkeys([*planned, study.brief.topic, *study.aspects]))
    first = SEARCHES.index(worker) % len(known)
    wanted = QUERIES[study.brief.depth] + 2 * study.deeper
    regular = [*known[first:], *known[:first]][:wanted]
    return list(dict.fromkeys([*study.missing[:MOST_MISSING], *regular]))


def points_of(study: Study, worker: str) -> list[str]:
    """The points of a complete answer that this worker looks for: each is looked for once. In a later
    iteration everybody who searches looks for aspects that no source covered and nobody has searched for."""
    if study.iteration > 1:
        return [one for one in study.unsupported if one not in study.given_up][:MOST_MISSING]
    workers = [one for one in (study.plan.workers if study.plan else []) if one in SEARCHES]
    return study.points[workers.index(worker) :: len(workers)] if worker in workers else []


def results_wanted(study: Study) -> int:
    """Of one query: the worker's share of the sources that are asked for, and some to spare."""
    workers = [one for one in (study.plan.workers if study.plan else []) if one in SEARCHES]
    share = math.ceil(study.brief.min_sources / max(len(workers), 1))
    return min(share + SPARE + 5 * study.deeper, 25)


async def scrape(study: Study, worker: str) -> Made:
    """Read the whole text of every source of which only a snippet is known. One that cannot be read keeps its
    snippet; if none can be read, the worker has failed."""
    snippets = {one.id: study.found[one.id] for one in study.sources if not one.full_text}
    at = await study.clock.now(study.run, "read")
    outcomes = await study.run.gather({key: _read(study, found, at) for key, found in snippets.items()})
    texts: dict[str, Retrieved] = {}
    failures: dict[str, Exception] = {}
    for key, outcome in outcomes.items():
        if isinstance(outcome, Ok):
            texts[key] = outcome.value
        elif isinstance(outcome.error, StepFailedError):
            failures[key] = outcome.error
        else:
            raise outcome.error
    if failures and not texts:
        raise next(iter(failures.values()))
    troubles = [f"{key} is only known from its snippet: {_reason(error)}" for key, error in failures.items()]
    result: dict[str, Any] = {"read": len(texts), "snippets": len(failures), "troubles": troubles}
    return Made(worker, Texts(texts, troubles), result=result)


async def _read(study: Study, found: Found, at: str) -> Retrieved:
    return await study.run.step("read", study.library.read, found, at, returns=Retrieved)


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, StepFailedError) else str(error)
