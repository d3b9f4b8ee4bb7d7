"""Which function does a worker's part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from podium.workflows.research.policy import SEARCHES
from podium.workflows.research.study import Made, Study
from podium.workflows.research.workers import analysis, quality, research, writing


class Asking(Protocol):
    """A worker in which a model works."""

    def __call__(self, study: Study, worker: str, *, cheaper: bool) -> Awaitable[Made]: ...


PROGRAMS: Mapping[str, Callable[[Study, str], Awaitable[Made]]] = {
    **dict.fromkeys(SEARCHES, research.search),
    "web_scraper": research.scrape,
    "citation_formatter": quality.format_citations,
    "seo_optimizer": quality.optimize_seo,
    "readability_checker": quality.check_readability,
    "plagiarism_checker": quality.check_plagiarism,
}
ASKING: Mapping[str, Asking] = {
    "content_synthesizer": analysis.synthesize,
    "summarization": analysis.summarize,
    "insight_extractor": analysis.extract_insights,
    "introduction_writer": writing.write_introduction,
    "article_writer": writing.write_article,
    "conclusion_writer": writing.write_conclusion,
    "fact_checker": quality.check_facts,
    "editor": quality.edit,
}


async def do(study: Study, worker: str) -> Made:
    """One attempt of a worker."""
    if worker in PROGRAMS:
        return await PROGRAMS[worker](study, worker)
    cheaper = study.plan is not None and worker in study.plan.cheaper
    return await ASKING[worker](study, worker, cheaper=cheaper)
