"""The analysis workers: what the sources say together, each by itself, and what is worth remembering."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from podium.workflows.research.contracts import Insights, Point, Summaries, Synthesis
from podium.workflows.research.roles import agent_of
from podium.workflows.research.study import Made, Study

T = TypeVar("T")


async def synthesize(study: Study, worker: str, *, cheaper: bool) -> Made:
    def check(answer: Synthesis) -> str:
        points = [*answer.points, *answer.outline]
        return unknown_ids(study, (one for point in points for one in point.source_ids))

    found = await study.run.ask(
        agent_of(worker, cheaper=cheaper), "synthesize", returns=Synthesis, check=check, **material(study)
    )
    told = {"points": len(found.points), "sections": len(found.outline)}
    return Made(worker, found, result={**told, "disagreements": found.disagreements})


async def summarize(study: Study, worker: str, *, cheaper: bool) -> Made:
    def check(answer: Summaries) -> str:
        return unknown_ids(study, (one.source_id for one in answer.summaries))

    found = await study.run.ask(
        agent_of(worker, cheaper=cheaper), "summarize", returns=Summaries, check=check, **material(study)
    )
    return Made(worker, found, result={"summaries": len(found.summaries)})


async def extract_insights(study: Study, worker: str, *, cheaper: bool) -> Made:
    def check(answer: Insights) -> str:
        return unknown_ids(study, (one for point in answer.insights for one in point.source_ids))

    found = await study.run.ask(
        agent_of(worker, cheaper=cheaper), "extract_insights", returns=Insights, check=check,
        **material(study),
    )  # fmt: skip
    return Made(worker, found, result={"insights": len(found.insights)})


def material(study: Study) -> dict[str, Any]:
    """What is wanted, and what there is to work with."""
    return {"task": study.task, "sources": study.fenced()}


def known(study: Study) -> dict[str, Any]:
    """What the analysis made of the sources, as far as it was made."""
    synthesis = value_of(study, "content_synthesizer", Synthesis)
    summaries = value_of(study, "summarization", Summaries)
    insights = value_of(study, "insight_extractor", Insights)
    return {
        "points": _points(synthesis.points) if synthesis else [],
        "outline": [one.shown() for one in synthesis.outline] if synthesis else [],
        "disagreements": synthesis.disagreements if synthesis else [],
        "summaries": [one.shown() for one in summaries.summaries] if summaries else [],
        "insights": _points(insights.insights) if insights else [],
    }


def value_of(study: Study, worker: str, kind: type[T]) -> T | None:
    """What a worker of the plan has made."""
    made = study.made.get(worker)
    return made.value if made is not None and isinstance(made.value, kind) else None


def unknown_ids(study: Study, ids: Iterable[str]) -> str:
    """What is wrong with ids that a model names; nothing: they are all sources."""
    listed = {one.id for one in study.sources}
    unknown = sorted({one for one in ids if one not in listed})
    return f"there is no source {', '.join(unknown[:10])}" if unknown else ""


def _points(points: list[Point]) -> list[dict[str, Any]]:
    return [one.shown() for one in points]
