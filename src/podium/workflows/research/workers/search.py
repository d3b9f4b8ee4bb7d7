"""Research workers: searches, scraping and source intake."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from podium.engine.branch import Ok
from podium.engine.process import offload
from podium.errors import StepFailedError
from podium.tools.corpus.corpus import SCHEME
from podium.tools.sources.providers import Found, Retrieved
from podium.workflows.research.context import Study, WorkerOutput
from podium.workflows.research.contracts import Source
from podium.workflows.research.library import SearchAnswer
from podium.workflows.research.measures.quotes import is_contained, translations_in, works_of
from podium.workflows.research.measures.support import language_of
from podium.workflows.research.measures.text import relevance_of
from podium.workflows.research.policy import SEARCHES

QUERIES = {"light": 1, "standard": 2, "deep": 3}
"""Number of queries of a search, before it is extended."""
MOST_MISSING = 4
"""Maximum queries for aspects that the last version left out."""
POINT_RESULTS = 3
"""Results of a query for one point of a complete answer."""
SPARE = 3
"""Results in addition to a worker's share, because several workers may find the same."""


class Hits(msgspec.Struct, frozen=True):
    """Results of a search worker."""

    found: list[Found]
    troubles: list[str] = []


class Texts(msgspec.Struct, frozen=True):
    """Texts that the scraper read, by source id."""

    texts: dict[str, Retrieved]
    troubles: list[str] = []


async def search(study: Study, worker: str) -> WorkerOutput:
    """Run a search worker's own queries with its own provider."""
    return await search_as(study, worker, worker)


async def search_as(study: Study, worker: str, asked: str) -> WorkerOutput:
    """Run the worker's queries with the provider of `asked`: the worker itself or its fallback."""
    found: dict[str, Found] = {}
    troubles: list[str] = []
    wanted = dict.fromkeys(queries_of(study, worker), results_wanted(study))
    wanted |= {point: POINT_RESULTS for point in points_of(study, worker) if point not in wanted}
    for query, limit in wanted.items():
        answer = await study.run.step(
            "search", study.library.search, asked, query, limit, returns=SearchAnswer
        )
        found |= {one.url: one for one in answer.found if one.url not in found}
        troubles += [one for one in answer.troubles if one not in troubles]
    hits = Hits(list(found.values()), troubles)
    sources = [{"title": one.title, "url": one.url, "kind": one.kind} for one in hits.found]
    return WorkerOutput(
        worker, hits, result={"found": len(sources), "sources": sources, "troubles": troubles}
    )


def queries_of(study: Study, worker: str) -> list[str]:
    """Return the worker's queries. Each worker starts at a different place in the planner's list, so that
    their results differ."""
    planned = study.assessment.queries if study.assessment else []
    known = list(dict.fromkeys([*planned, study.brief.topic, *study.aspects]))
    first = SEARCHES.index(worker) % len(known)
    wanted = QUERIES[study.brief.depth] + 2 * study.deeper
    regular = [*known[first:], *known[:first]][:wanted]
    return list(dict.fromkeys([*study.missing[:MOST_MISSING], *regular]))


def points_of(study: Study, worker: str) -> list[str]:
    """Return the points of a complete answer that this worker searches for. In the first iteration each point
    has one worker; later all search workers look for uncovered aspects that were not searched for yet."""
    if study.iteration > 1:
        return [one for one in study.unsupported if one not in study.given_up][:MOST_MISSING]
    workers = [one for one in (study.plan.workers if study.plan else []) if one in SEARCHES]
    return study.points[workers.index(worker) :: len(workers)] if worker in workers else []


def results_wanted(study: Study) -> int:
    """Return the number of results per query: the worker's share of the requested sources, plus a reserve."""
    workers = [one for one in (study.plan.workers if study.plan else []) if one in SEARCHES]
    share = math.ceil(study.brief.min_sources / max(len(workers), 1))
    return min(share + SPARE + 5 * study.deeper, 25)


async def scrape(study: Study, worker: str) -> WorkerOutput:
    """Read the whole text of every source that is known only by its snippet. An unreadable source keeps its
    snippet; if none can be read, the worker fails."""
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
    return WorkerOutput(worker, Texts(texts, troubles), result=result)


async def _read(study: Study, found: Found, at: str) -> Retrieved:
    return await study.run.step("read", study.library.read, found, at, returns=Retrieved)


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, StepFailedError) else str(error)


MOST_SOURCES = 60
"""Maximum number of sources; a prompt cannot hold more."""
PREFERRED = 0.1
"""Addition to the relevance of a source of a preferred kind."""


async def shelve(study: Study, found: Iterable[Found], step: int) -> list[str]:
    """Add the new results as sources and return their ids. Corpus documents are read at once, because that
    needs no network; other sources have only a snippet until the scraper reads them."""
    known = {same(one.url) for one in study.sources} | study.copies
    fresh: dict[str, Found] = {}
    for one in found:
        key = same(one.url)
        if key not in known and key not in fresh and len(study.sources) + len(fresh) < MOST_SOURCES:
            fresh[key] = one
    at = await study.clock.now(study.run, f"shelved-{step}")
    first = max((int(one.id[1:]) for one in study.sources), default=0) + 1
    ids = {f"s{nth}": one for nth, one in enumerate(fresh.values(), first)}
    read = await _read_documents(study, ids, at)
    hashes = {one.sha256 for one in study.sources if one.full_text}
    taken: list[str] = []
    for rank, (key, one) in enumerate(ids.items()):
        text = read.get(key) or _snippet(one, at)
        if text.text.strip() and not (key in read and text.sha256 in hashes):
            hashes.add(text.sha256)
            taken.append(key)
            await keep(study, key, one, text, rank=rank, whole=key in read)
    await _drop_copies(study, taken)
    return [one for one in taken if one in study.texts]


async def _drop_copies(study: Study, fresh: Iterable[str]) -> None:
    """Keep one source of each work: the whole book instead of its chapters, the web page instead of the PDF
    file. Once something is written, only new sources are dropped."""
    texts = {one.id: study.texts[one.id] for one in study.sources if one.full_text}
    works = await offload(works_of, texts)
    written = bool(study.versions) or "article_writer" in study.made
    for work in (one for one in works if len(one) > 1):
        kept = {one for one in work if written and one not in set(fresh)}
        kept = kept or {_preferred(work, texts, {one.id: one.url for one in study.sources})}
        _drop(study, (one for one in work if one not in kept))
    local = {one.id: one.url for one in study.sources if one.full_text and one.url.startswith(SCHEME)}
    translated = translations_in(local, language_of(study.brief.topic))
    _drop(study, translated if not written else translated & set(fresh))


def _drop(study: Study, keys: Iterable[str]) -> None:
    for key in sorted(keys):
        study.copies.add(same(study.found[key].url))
        study.sources = [one for one in study.sources if one.id != key]
        del study.texts[key]


def _preferred(work: Sequence[str], texts: Mapping[str, str], urls: Mapping[str, str]) -> str:
    """Return the most readable text among those that contain the whole work: web pages before plain text and
    PDF files."""
    whole = [one for one in work if is_contained(texts[work[0]], texts[one])]
    return min(whole, key=lambda one: (_markup(urls[one]), work.index(one)))


def _markup(url: str) -> int:
    """Rate the text quality of a file type, 0 is best: PDF files lose spaces, page sources contain markup."""
    name = url.lower()
    return 2 if name.endswith(".pdf") else int(name.endswith((".rst", ".rst.txt", ".txt", ".adoc")))


async def keep(study: Study, key: str, found: Found, text: Retrieved, *, rank: int, whole: bool) -> None:
    """Store a source and its text. A better text of a known source replaces the old one."""
    made = await study.run.artifact(f"{key}.txt", text.text)
    relevance = relevance_of(study.brief.topic, study.aspects, text.title, text.text, rank)
    wanted = PREFERRED if found.kind in study.brief.preferred_sources else 0.0
    source = Source(
        id=key, title=(text.title or found.title or found.url)[:300], url=found.url, kind=found.kind,
        authors=list(text.authors), published=text.published, retrieved_at=text.retrieved_at,
        sha256=text.sha256, artifact_id=made.id, snippet=found.snippet[:1000], provider=found.provider,
        relevance=min(relevance + wanted, 1.0), full_text=whole,
    )  # fmt: skip
    study.texts[key], study.found[key] = text.text, found
    study.sources = [source if one.id == key else one for one in study.sources]
    if not any(one.id == key for one in study.sources):
        study.sources.append(source)


async def take_texts(study: Study, texts: Texts) -> None:
    """Store the texts that the scraper read. The snippets stay in the log, under the same names in another
    branch."""
    async with study.run.branch("texts"):
        for nth, (key, text) in enumerate(texts.texts.items()):
            if text.text.strip():
                await keep(study, key, study.found[key], text, rank=nth, whole=True)
    await _drop_copies(study, texts.texts)
    for trouble in texts.troubles:
        study.warn(trouble)


async def _read_documents(study: Study, ids: dict[str, Found], at: str) -> dict[str, Retrieved]:
    async def read(found: Found) -> Retrieved:
        return await study.run.step("read", study.library.read, found, at, returns=Retrieved)

    local = {key: one for key, one in ids.items() if one.url.startswith(SCHEME)}
    outcomes = await study.run.gather({key: read(one) for key, one in local.items()})
    texts: dict[str, Retrieved] = {}
    for key, outcome in outcomes.items():
        if isinstance(outcome, Ok):
            texts[key] = outcome.value
        elif isinstance(outcome.error, StepFailedError):
            study.warn(f"{local[key].url} is only known from its snippet: {outcome.error.reason}")
        else:
            raise outcome.error
    return texts


def _snippet(found: Found, at: str) -> Retrieved:
    text = found.snippet.strip()
    return Retrieved(
        url=found.url, title=found.title, text=text, kind=found.kind, published=found.published,
        authors=found.authors, retrieved_at=at, sha256=hashlib.sha256(text.encode()).hexdigest(),
        media_type="text/plain",
    )  # fmt: skip


def same(url: str) -> str:
    """Normalize an address."""
    if url.startswith(SCHEME):
        return url
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{parts.path.rstrip('/')}{query}".lower()
