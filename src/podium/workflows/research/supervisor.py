"""Supervisor: measures the article by program, asks a model for the rest, and decides how to continue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.report.words import count
from podium.workflows.research import events
from podium.workflows.research.agents import SUPERVISOR
from podium.workflows.research.context import Checked, Study, Version
from podium.workflows.research.contracts import Edit, Judgement, PlanEntry, QualityScore
from podium.workflows.research.measures.citations import check_citations, cited_ids
from podium.workflows.research.measures.quotes import works_of
from podium.workflows.research.measures.structure import readability, structure
from podium.workflows.research.measures.text import count_words, length_score, without_doubles
from podium.workflows.research.policy import (
    PARTS,
    SEARCHES,
    Decision,
    components,
    count_score,
    decide,
    diversity_score,
    has_stalled,
    overall,
    target_of,
)
from podium.workflows.research.quality import article_of, checked_again
from podium.workflows.research.report_data import against
from podium.workflows.research.search import MOST_MISSING
from podium.workflows.research.writer import value_of


@dataclass(frozen=True)
class Measured:
    """Measurements of an article, and the issues in words."""

    parts: dict[str, float]
    notes: dict[str, str]
    """For each part, advice for the writer."""


async def evaluate(study: Study, *, closing: bool = False) -> Decision:
    """Score the current article and decide how to continue. Out of budget, only measurements by program
    count."""
    article = article_of(study)
    checked = value_of(study, "fact_checker", Checked)
    checked = checked_again(study, checked, article)
    _give_up(study, checked)
    judged = None if closing else await judge(study, article)
    measured = measure(study, article, checked, judged)
    study.missing = list(judged.missing) if judged else []
    study.remarks = list(judged.issues) if judged else []
    quality = score(study, measured, study.missing)
    stalled = _has_stalled(study, quality.overall, judged)
    decision = decide(quality.overall, quality.threshold, study.iteration, quality.coverage, stalled=stalled)
    if closing and decision == "continue":
        decision = "force_complete"
    version = Version(study.iteration, article, checked, quality, dict(study.made), judged)
    study.versions.append(version)
    study.failed = version.doubtful
    _set_feedback(study, measured, quality, decision)
    study.run.emit(
        events.Evaluated(
            iteration=study.iteration,
            quality=quality.overall,
            threshold=quality.threshold,
            components=components(measured.parts, set(study.made)),
            parts=quality.parts,
            decision=decision,
            should_continue=decision == "continue",
            feedback=study.feedback,
            issues=study.issues,
        )
    )
    return decision


async def judge(study: Study, article: str) -> Judgement | None:
    """Ask for what no program can measure. The question is small and may draw on the closing reserve."""
    run, warning = study.run, "Coverage and tone could not be judged"
    async with run.until_exhausted(warning, warn=study.warn, or_failed=True), run.closing():
        judged = await run.ask(
            SUPERVISOR,
            "judge",
            returns=Judgement,
            task=_judged_task(study),
            article=study.sealed(article, "the article"),
        )
        missing = without_doubles(judged.missing, study.given_up, len(judged.missing))
        return judged.model_copy(update={"missing": missing})
    return None


def _give_up(study: Study, checked: Checked | None) -> None:
    """Record the points that no source covers. Those that were also searched for in this iteration are no
    longer required."""
    workers = study.plan.workers if study.plan else []
    if any(worker in SEARCHES and worker not in study.kept for worker in workers):
        waiting = [point for point in study.unsupported if point not in study.given_up]
        searched = [*(study.points if study.iteration == 1 else waiting[:MOST_MISSING])]
        searched += study.missing[:MOST_MISSING]
    else:
        searched = []
    study.unsupported = list(checked.unsupported) if checked else []
    known = [point for point in study.given_up if point in study.unsupported]
    study.given_up = list(
        dict.fromkeys([*known, *(point for point in study.unsupported if point in searched)])
    )


def _has_stalled(study: Study, quality: float, judged: Judgement | None) -> bool:
    """True if this iteration improved neither quality nor coverage."""
    before = study.versions[-1].quality.missing if study.versions else []
    now = judged.missing if judged else before
    qualities = [*(version.quality.overall for version in study.versions), quality]
    return has_stalled(qualities, without_doubles(before, [*now, *study.given_up], len(before)))


def _judged_task(study: Study) -> dict[str, Any]:
    """Return the task without the points that no source covers, because the article must leave them out."""
    task = study.task
    points = [point for point in task["points"] if point not in study.unsupported]
    return {**task, "points": points, "feedback": [], "missing": [], "remarks": []}


def measure(study: Study, article: str, checked: Checked | None, judged: Judgement | None) -> Measured:
    """Return every known part of the quality."""
    brief, sources = study.brief, study.sources
    words, used = count_words(article), set(cited_ids(article))
    cited_sources = [source for source in sources if source.id in used]
    kinds = {source.kind for source in cited_sources}
    works = len(works_of({source.id: study.texts.get(source.id, "") for source in cited_sources}))
    built, cited = structure(article, brief.content_type), check_citations(article, sources)
    read = readability(article)
    parts = {
        "length": length_score(words, brief.length),
        "structure": built.score,
        "count": count_score(works, brief.min_sources),
        "citations": cited.accuracy,
        "readability": read.score,
    }
    notes = {
        "length": f"It has {words} words; {brief.length} are asked for.",
        "structure": f"The structure is not there yet: {' '.join(built.findings)}",
        "count": f"Only {count(works, 'source')} cited (need {brief.min_sources}).",
        "diversity": f"Only {', '.join(sorted(kinds)) or 'no'} sources; other kinds are missing.",
        "citations": f"{count(len(cited.missing), 'sentence')} without a citation that should have one.",
        "readability": "It is hard to read: write shorter sentences and plainer words.",
    }
    if len(set(brief.sources)) > 1:  # with one kind of source there is no diversity to measure
        parts["diversity"] = diversity_score(kinds, brief.sources)
    edited = value_of(study, "editor", Edit)
    if edited is not None:
        parts["grammar"] = edited.grammar
        notes["grammar"] = f"The language is not right yet: {'; '.join(edited.changes[:5])}."
    if judged is not None:
        parts |= {"coverage": judged.coverage, "tone": judged.tone}
        missing = ", ".join(judged.missing) or "; ".join(judged.issues[:3]) or "go deeper"
        notes |= {
            "coverage": f"It does not cover enough: {missing}.",
            "tone": f"The tone should be {brief.tone}.",
        }
    if checked is not None:
        total = len(checked.claims)
        parts["verified"] = checked.verified / total if total else 0.0
        notes["verified"] = f"Only {checked.verified} of {total} claims are verified in a source."
    return Measured(parts, notes)


def score(study: Study, measured: Measured, missing: list[str]) -> QualityScore:
    """Return the quality score with components and parts."""
    scores = components(measured.parts, set(study.made))
    grouped = {
        component: {name: measured.parts[name] for name in names if name in measured.parts}
        for component, names in PARTS.items()
        if component in scores
    }
    return QualityScore(
        overall=overall(scores),
        parts=grouped,
        threshold=study.brief.min_quality,
        missing=missing,
        coverage=measured.parts.get("coverage"),
        **{f"{name}_quality": value for name, value in scores.items()},
    )


def _set_feedback(study: Study, measured: Measured, quality: QualityScore, decision: Decision) -> None:
    """Set the feedback for the next plan: all parts below their target, the worst first."""
    targets = {name: target_of(name, quality.threshold) for parts in quality.parts.values() for name in parts}
    low = sorted((measured.parts[name], name) for name in targets if measured.parts[name] < targets[name])
    study.issues = [name for _, name in low] if decision != "complete" else []
    study.feedback = [
        f"{name} {', target '.join(against(measured.parts[name], targets[name]))}. {measured.notes[name]}"
        for name in study.issues
    ]
    if study.plan is not None:
        entry = PlanEntry(plan=study.plan, quality=quality.overall, feedback=list(study.feedback))
        study.plan_history.append(entry)
