"""Analysis and writing workers."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from podium.tools.tool import unfenced
from podium.workflows.research.agents import agent_of
from podium.workflows.research.context import Study, WorkerOutput
from podium.workflows.research.contracts import Insights, Summaries, Synthesis
from podium.workflows.research.measures.citations import cited_ids, only_known
from podium.workflows.research.measures.text import count_words

T = TypeVar("T")
A = TypeVar("A", Synthesis, Summaries, Insights)


async def synthesize(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    reply = await _analyse(study, worker, "synthesize", Synthesis, cheaper)
    result = {"points": len(reply.points), "sections": len(reply.outline)}
    return WorkerOutput(worker, reply, result={**result, "disagreements": reply.disagreements})


async def summarize(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    reply = await _analyse(study, worker, "summarize", Summaries, cheaper)
    return WorkerOutput(worker, reply, result={"summaries": len(reply.summaries)})


async def extract_insights(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    reply = await _analyse(study, worker, "extract_insights", Insights, cheaper)
    return WorkerOutput(worker, reply, result={"insights": len(reply.insights)})


async def _analyse(study: Study, worker: str, task: str, returns: type[A], cheaper: bool) -> A:
    """Ask an analyst. An answer that names an unknown source is sent back."""

    def check(reply: A) -> str:
        listed = {source.id for source in study.sources}
        unknown = sorted(set(reply.source_ids) - listed)
        return f"there is no source {', '.join(unknown[:10])}" if unknown else ""

    agent = agent_of(worker, cheaper=cheaper)
    return await study.run.ask(agent, task, returns=returns, check=check, **material(study))


def material(study: Study) -> dict[str, Any]:
    """Return the task and the sources for a prompt."""
    return {"task": study.task, "sources": study.fenced()}


def known(study: Study) -> dict[str, Any]:
    """Return the available results of the analysis workers for a prompt."""
    synthesis = value_of(study, "content_synthesizer", Synthesis)
    summaries = value_of(study, "summarization", Summaries)
    insights = value_of(study, "insight_extractor", Insights)
    return {
        "points": [point.shown() for point in synthesis.points] if synthesis else [],
        "outline": [section.shown() for section in synthesis.outline] if synthesis else [],
        "disagreements": synthesis.disagreements if synthesis else [],
        "summaries": [summary.shown() for summary in summaries.summaries] if summaries else [],
        "insights": [point.shown() for point in insights.insights] if insights else [],
    }


def value_of(study: Study, worker: str, kind: type[T]) -> T | None:
    """Return the result of a worker, or None if there is none of this type."""
    made = study.made.get(worker)
    return made.value if made is not None and isinstance(made.value, kind) else None


OPENING, ENDING = 0.1, 0.08
"""Shares of the length for a separate introduction and conclusion."""
MOST_FAILED = 40
"""Maximum unconfirmed claims in a writer's prompt."""
_TITLE = re.compile(r"\A\s*#\s+(.+)$", re.MULTILINE)


async def write_article(study: Study, worker: str, *, cheaper: bool, alone: bool = False) -> WorkerOutput:
    """Write the body, plus the introduction and the conclusion if no other worker writes them."""
    workers = study.plan.workers if study.plan and not alone else []
    opening, ending = "introduction_writer" not in workers, "conclusion_writer" not in workers
    share = 1 - (0 if opening else OPENING) - (0 if ending else ENDING)
    text = await study.run.ask(
        agent_of(worker, cheaper=cheaper, words=study.brief.length),
        "write_article",
        own_introduction=opening,
        own_conclusion=ending,
        words=round(study.brief.length * share),
        **material(study),
        **known(study),
        **revised(study),
    )
    return _written(study, worker, text)


def revised(study: Study) -> dict[str, Any]:
    """Return the last version and its unconfirmed claims, for a rewrite."""
    version = study.final or (study.versions[-1] if study.versions else None)
    last = version.article if version else ""
    failed = [{"text": claim.text, "reason": claim.reason} for claim in study.failed[:MOST_FAILED]]
    return {"last": study.sealed(last, "the last version") if last else "", "failed": failed}


async def write_introduction(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    text = await study.run.ask(
        agent_of(worker, cheaper=cheaper),
        "write_introduction",
        words=round(study.brief.length * OPENING),
        **material(study),
        **known(study),
        **revised(study),
    )
    return _written(study, worker, text)


async def write_conclusion(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    text = await study.run.ask(
        agent_of(worker, cheaper=cheaper),
        "write_conclusion",
        task=study.task,
        draft=study.sealed(clean_draft(study)[0], "the article"),
        words=round(study.brief.length * ENDING),
        **revised(study),
    )
    return _written(study, worker, text)


def _written(study: Study, worker: str, text: str) -> WorkerOutput:
    plain = unwrapped(text)
    result = {"word_count": count_words(plain), "cites": cited_ids(plain)}
    return WorkerOutput(worker, study.run.marked(plain), result=result)


def draft_of(study: Study) -> str:
    """Return title, introduction, body and conclusion as written, including invented sources."""
    body = value_of(study, "article_writer", str) or ""
    opening = value_of(study, "introduction_writer", str) or ""
    ending = value_of(study, "conclusion_writer", str) or ""
    parts = [
        f"# {title_of(body, study.brief.topic)}",
        _headless(opening),
        _TITLE.sub("", body, count=1).strip(),
    ]
    parts += [f"## Conclusion\n\n{_headless(ending)}"] if ending.strip() else []
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def clean_draft(study: Study) -> tuple[str, list[str]]:
    """Return the draft with real sources only, and the parts that were removed."""
    known = only_known(draft_of(study), study.sources)
    return known.markdown, list(known.removed)


def title_of(markdown: str, otherwise: str) -> str:
    match = _TITLE.match(markdown)
    return match[1].strip() if match else otherwise


def _headless(text: str) -> str:
    """Remove an unrequested heading."""
    return re.sub(r"\A\s*#{1,6}\s+[^\n]*\n+", "", text).strip()


def unwrapped(text: str) -> str:
    """Remove the fences that a model put around its Markdown."""
    text = unfenced(text.strip())
    match = re.fullmatch(r"\s*```(?:markdown|md)?\s*\n(.*)\n```\s*", text, re.DOTALL)
    return match[1] if match else text
