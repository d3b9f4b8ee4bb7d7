"""Supervisor: measures the article by program, asks a model for the rest, and decides how to continue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.errors import BudgetExhaustedError, StepFailedError
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
from podium.workflows.research.report_data import against
from podium.workflows.research.workers.quality import article_of, checked_again
from podium.workflows.research.workers.search import MOST_MISSING
from podium.workflows.research.workers.writing import value_of


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
    judged = None if closing else await _judge(study, article)
    measured = measure(study, article, checked, judged)
    scores = components(measured.parts, set(study.made))
    quality = overall(scores)
    coverage = measured.parts.get("coverage")
    stalled = _has_stalled(study, quality, judged)
    decision = decide(quality, study.brief.min_quality, study.iteration, coverage, stalled=stalled)
    study.missing = list(judged.missing) if judged else []
    study.remarks = list(judged.issues) if judged else []
    study.failed = [one for one in checked.claims if one.verdict != "verified"] if checked else []
    if closing and decision == "continue":
        decision = "force_complete"
    _note(study, article, checked, measured, judged)
    _decide(study, measured, judged, decision, quality)
    _tell(study, scores, quality, decision)
    return decision


async def _judge(study: Study, article: str) -> Judgement | None:
    """Ask for what no program can measure. The question is small and may draw on the closing reserve."""
    try:
        async with study.run.closing():
            judged = await study.run.ask(
                SUPERVISOR, "judge", returns=Judgement, task=_judged_task(study),
                article=study.sealed(article, "the article"),
            )  # fmt: skip
    except (StepFailedError, BudgetExhaustedError) as error:
        why = error.reason if isinstance(error, StepFailedError) else error.message
        study.warn(f"Coverage and tone could not be judged: {why}")
        return None
    missing = without_doubles(judged.missing, study.given_up, len(judged.missing))
    return judged.model_copy(update={"missing": missing})


def _give_up(study: Study, checked: Checked | None) -> None:
    """Record the points that no source covers. Those that were also searched for in this iteration are no
    longer required."""
    workers = study.plan.workers if study.plan else []
    if any(one in SEARCHES and one not in study.kept for one in workers):
        waiting = [one for one in study.unsupported if one not in study.given_up]
        searched = [*(study.points if study.iteration == 1 else waiting[:MOST_MISSING])]
        searched += study.missing[:MOST_MISSING]
    else:
        searched = []
    study.unsupported = list(checked.unsupported) if checked else []
    known = [one for one in study.given_up if one in study.unsupported]
    study.given_up = list(dict.fromkeys([*known, *(one for one in study.unsupported if one in searched)]))


def _has_stalled(study: Study, quality: float, judged: Judgement | None) -> bool:
    """True if this iteration improved neither quality nor coverage."""
    before = study.versions[-1].quality.missing if study.versions else []
    now = judged.missing if judged else before
    qualities = [*(one.quality.overall for one in study.versions), quality]
    return has_stalled(qualities, without_doubles(before, [*now, *study.given_up], len(before)))


def _judged_task(study: Study) -> dict[str, Any]:
    """Return the task without the points that no source covers, because the article must leave them out."""
    task = study.task
    points = [one for one in task["points"] if one not in study.unsupported]
    return {**task, "points": points, "feedback": [], "missing": [], "remarks": []}


def measure(study: Study, article: str, checked: Checked | None, judged: Judgement | None) -> Measured:
    """Return every known part of the quality."""
    brief, sources = study.brief, study.sources
    words, used = count_words(article), set(cited_ids(article))
    cited_sources = [one for one in sources if one.id in used]
    kinds = {one.kind for one in cited_sources}
    works = len(works_of({one.id: study.texts.get(one.id, "") for one in cited_sources}))
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
        verified = sum(one.verdict == "verified" for one in checked.claims)
        parts["verified"] = verified / len(checked.claims) if checked.claims else 0.0
        notes["verified"] = f"Only {verified} of {len(checked.claims)} claims are verified in a source."
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
        overall=overall(scores), parts=grouped, threshold=study.brief.min_quality, missing=missing,
        coverage=measured.parts.get("coverage"),
        **{f"{name}_quality": value for name, value in scores.items()},
    )  # fmt: skip


def _note(
    study: Study, article: str, checked: Checked | None, measured: Measured, judged: Judgement | None
) -> None:
    """Store this version. The best one is delivered in the end."""
    study.quality = score(study, measured, study.missing)
    made = dict(study.made)
    study.versions.append(Version(study.iteration, article, checked, study.quality, made, judged))


def _decide(
    study: Study, measured: Measured, judged: Judgement | None, decision: Decision, quality: float
) -> None:
    """Set the feedback for the next plan: all parts below the threshold, the worst first."""
    threshold = study.brief.min_quality
    low = sorted(
        (value, name) for name, value in measured.parts.items() if value < target_of(name, threshold)
    )
    worked = {name for parts in (study.quality.parts if study.quality else {}).values() for name in parts}
    study.issues = [name for _, name in low if name in worked] if decision != "complete" else []
    study.feedback = [
        f"{name} {', target '.join(against(measured.parts[name], target_of(name, threshold)))}. "
        f"{measured.notes[name]}"
        for name in study.issues
    ]
    if study.plan is not None:
        entry = PlanEntry(plan=study.plan, quality=quality, feedback=list(study.feedback))
        study.plan_history.append(entry)


def _tell(study: Study, scores: dict[str, float], quality: float, decision: Decision) -> None:
    study.run.emit(
        events.Evaluated(
            iteration=study.iteration, quality=quality, threshold=study.brief.min_quality, components=scores,
            parts=study.quality.parts if study.quality else {}, decision=decision,
            should_continue=decision == "continue", feedback=study.feedback, issues=study.issues,
        )
    )  # fmt: skip
