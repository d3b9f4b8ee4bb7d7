"""Research workers: searches, scraping and source intake."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from podium.engine.branch import Ok
from podium.engine.process import offload
from podium.errors import StepFailedError
from podium.tools.corpus.corpus import SCHEME
from podium.tools.sources.providers import Found, Retrieved
from podium.workflows.research.context import Study, WorkerOutput
from podium.workflows.research.contracts import Source
from podium.workflows.research.library import SearchAnswer, same
from podium.workflows.research.measures.quotes import is_contained, translations_in, works_of
from podium.workflows.research.measures.support import language_of
from podium.workflows.research.measures.text import relevance_of
from podium.workflows.research.policy import SEARCHES, finds_too_little
from podium.workflows.research.searcher import search_on

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


async def search_as(study: Study, worker: str, provider: str) -> WorkerOutput:
    """Run the worker's queries with the `provider` of a worker: its own or that of its fallback. Where they
    find too little, the searcher searches on."""
    results: dict[str, Found] = {}
    troubles: list[str] = []
    wanted = dict.fromkeys(queries_of(study, worker), results_wanted(study))
    wanted |= {point: POINT_RESULTS for point in points_of(study, worker) if point not in wanted}
    for query, limit in wanted.items():
        answer = await study.run.step(
            "search", study.library.search, provider, query, limit, returns=SearchAnswer
        )
        results |= {hit.url: hit for hit in answer.found if hit.url not in results}
        troubles += [trouble for trouble in answer.troubles if trouble not in troubles]
    picked: dict[str, Any] = {}
    if finds_too_little(len(results)):
        more = await search_on(study, worker, provider, list(wanted), results)
        results |= {hit.url: hit for hit in more.found}
        troubles += more.troubles
        picked = {"picked": len(more.found)}
    hits = Hits(list(results.values()), troubles)
    sources = [{"title": hit.title, "url": hit.url, "kind": hit.kind} for hit in hits.found]
    result = {"found": len(sources), **picked, "sources": sources, "troubles": troubles}
    return WorkerOutput(worker, hits, result=result)


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
        return [point for point in study.unsupported if point not in study.given_up][:MOST_MISSING]
    workers = _search_workers(study)
    return study.points[workers.index(worker) :: len(workers)] if worker in workers else []


def _search_workers(study: Study) -> list[str]:
    return [worker for worker in (study.plan.workers if study.plan else []) if worker in SEARCHES]


def results_wanted(study: Study) -> int:
    """Return the number of results per query: the worker's share of the requested sources, plus a reserve."""
    workers = _search_workers(study)
    share = math.ceil(study.brief.min_sources / max(len(workers), 1))
    return min(share + SPARE + 5 * study.deeper, 25)


async def scrape(study: Study, worker: str) -> WorkerOutput:
    """Read the whole text of every source that is known only by its snippet. An unreadable source keeps its
    snippet; if none can be read, the worker fails."""
    snippets = {source.id: study.found[source.id] for source in study.sources if not source.full_text}
    at = await study.clock.now(study.run, "read")
    texts, failures = await _read(study, snippets, at)
    if failures and not texts:
        raise next(iter(failures.values()))
    troubles = [f"{key} is only known from its snippet: {error.reason}" for key, error in failures.items()]
    result: dict[str, Any] = {"read": len(texts), "snippets": len(failures), "troubles": troubles}
    return WorkerOutput(worker, Texts(texts, troubles), result=result)


async def _read(
    study: Study, hits: Mapping[str, Found], at: str
) -> tuple[dict[str, Retrieved], dict[str, StepFailedError]]:
    """Read texts in parallel. Return those that could be read, and the errors of the others."""

    async def read(hit: Found) -> Retrieved:
        return await study.run.step("read", study.library.read, hit, at, returns=Retrieved)

    texts, failures = dict[str, Retrieved](), dict[str, StepFailedError]()
    outcomes = await study.run.gather({key: read(hit) for key, hit in hits.items()})
    for key, outcome in outcomes.items():
        if isinstance(outcome, Ok):
            texts[key] = outcome.value
        elif isinstance(outcome.error, StepFailedError):
            failures[key] = outcome.error
        else:
            raise outcome.error
    return texts, failures


MOST_SOURCES = 60
"""Maximum number of sources; a prompt cannot hold more."""
PREFERRED = 0.1
"""Addition to the relevance of a source of a preferred kind."""


async def shelve(study: Study, hits: Iterable[Found], step: int) -> list[str]:
    """Add the new results as sources and return their ids. Corpus documents are read at once, because that
    needs no network; other sources have only a snippet until the scraper reads them."""
    known = {same(source.url) for source in study.sources} | study.copies
    fresh: dict[str, Found] = {}
    for hit in hits:
        key = same(hit.url)
        if key not in known and key not in fresh and len(study.sources) + len(fresh) < MOST_SOURCES:
            fresh[key] = hit
    at = await study.clock.now(study.run, f"shelved-{step}")
    first = max((int(source.id[1:]) for source in study.sources), default=0) + 1
    ids = {f"s{nth}": hit for nth, hit in enumerate(fresh.values(), first)}
    read, failures = await _read(
        study, {key: hit for key, hit in ids.items() if hit.url.startswith(SCHEME)}, at
    )
    for key, error in failures.items():
        study.warn(f"{ids[key].url} is only known from its snippet: {error.reason}")
    hashes = {source.sha256 for source in study.sources if source.full_text}
    added: list[str] = []
    for rank, (key, hit) in enumerate(ids.items()):
        text = read.get(key) or _snippet(hit, at)
        if text.text.strip() and not (key in read and text.sha256 in hashes):
            hashes.add(text.sha256)
            added.append(key)
            await keep(study, key, hit, text, rank=rank, whole=key in read)
    await _drop_copies(study, added)
    return [key for key in added if key in study.texts]


async def _drop_copies(study: Study, fresh: Iterable[str]) -> None:
    """Keep one source of each work: the whole book instead of its chapters, the web page instead of the PDF
    file. Once something is written, only new sources are dropped."""
    texts = {source.id: study.texts[source.id] for source in study.sources if source.full_text}
    works = await offload(works_of, texts)
    written = bool(study.versions) or "article_writer" in study.made
    for work in (group for group in works if len(group) > 1):
        kept = {key for key in work if written and key not in set(fresh)}
        kept = kept or {_preferred(work, texts, {source.id: source.url for source in study.sources})}
        _drop(study, (key for key in work if key not in kept))
    documents = (source for source in study.sources if source.full_text and source.url.startswith(SCHEME))
    local = {source.id: source.url for source in documents}
    translated = translations_in(local, language_of(study.brief.topic))
    _drop(study, translated if not written else translated & set(fresh))


def _drop(study: Study, keys: Iterable[str]) -> None:
    for key in sorted(keys):
        study.copies.add(same(study.found[key].url))
        study.sources = [source for source in study.sources if source.id != key]
        del study.texts[key]


def _preferred(work: Sequence[str], texts: Mapping[str, str], urls: Mapping[str, str]) -> str:
    """Return the most readable text among those that contain the whole work: web pages before plain text and
    PDF files."""
    whole = [key for key in work if is_contained(texts[work[0]], texts[key])]
    return min(whole, key=lambda key: (_markup(urls[key]), work.index(key)))


def _markup(url: str) -> int:
    """Rate the text quality of a file type, 0 is best: PDF files lose spaces, page sources contain markup."""
    name = url.lower()
    return 2 if name.endswith(".pdf") else int(name.endswith((".rst", ".rst.txt", ".txt", ".adoc")))


async def keep(study: Study, key: str, hit: Found, text: Retrieved, *, rank: int, whole: bool) -> None:
    """Store a source and its text. A better text of a known source replaces the old one."""
    made = await study.run.artifact(f"{key}.txt", text.text)
    relevance = relevance_of(study.brief.topic, study.aspects, text.title, text.text, rank)
    wanted = PREFERRED if hit.kind in study.brief.preferred_sources else 0.0
    source = Source(
        id=key,
        title=(text.title or hit.title or hit.url)[:300],
        url=hit.url,
        kind=hit.kind,
        authors=list(text.authors),
        published=text.published,
        retrieved_at=text.retrieved_at,
        sha256=text.sha256,
        artifact_id=made.id,
        snippet=hit.snippet[:1000],
        provider=hit.provider,
        relevance=min(relevance + wanted, 1.0),
        full_text=whole,
    )
    study.texts[key], study.found[key] = text.text, hit
    study.sources = [source if other.id == key else other for other in study.sources]
    if not any(other.id == key for other in study.sources):
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


def _snippet(hit: Found, at: str) -> Retrieved:
    text = hit.snippet.strip()
    return Retrieved(
        url=hit.url,
        title=hit.title,
        text=text,
        kind=hit.kind,
        published=hit.published,
        authors=hit.authors,
        retrieved_at=at,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        media_type="text/plain",
    )
