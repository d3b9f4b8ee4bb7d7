"""Merger: builds the final output from the best version, with everything a reader needs to judge it."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from podium.engine.process import offload
from podium.errors import BudgetExhaustedError
from podium.report.words import cut_note, shorten
from podium.workflows.research import events
from podium.workflows.research.article import content_of, html_of, to_page, to_record
from podium.workflows.research.context import Study, Version
from podium.workflows.research.contracts import Article, Edit, FinalOutput, Metrics, Source
from podium.workflows.research.measures.citations import cited_ids, unsourced_in
from podium.workflows.research.measures.text import count_words, reading_minutes, shared_most
from podium.workflows.research.policy import ABOUT_IT, LEAST_COVERAGE, improvement
from podium.workflows.research.workers.quality import COPIED
from podium.workflows.research.workers.writing import clean_draft, title_of

Status = Literal["completed", "partial"]


class Figures(msgspec.Struct, frozen=True):
    """Recorded usage of the run so far."""

    usd: float
    tokens: int
    seconds: float


async def merge(study: Study, status: Status, notes: list[str]) -> FinalOutput:
    """Return the final output: the best version, its sources by relevance, metrics and history."""
    version = best_version(study)
    if version is not None:
        study.made = dict(version.made)
        if version.iteration != study.versions[-1].iteration:
            notes.append(f"The version of iteration {version.iteration} is handed over: it was the best.")
        _tell_flaws(study, version)
    checked = version.checked if version is not None else None
    written = version is not None and version.article.strip()
    article = await offload(_article, study, version) if written else None
    output = FinalOutput(
        request_id=study.run.id, execution_id=study.execution_id, article=article,
        quality=version.quality if version is not None else None, sources=ranked(study.sources),
        claims=checked.claims if checked else [], contradictions=checked.contradictions if checked else [],
        metrics=await _metrics(study), status=status, system_notes=[*_notes(study), *notes],
        plan_history=study.plan_history,
        warnings=[*study.warnings, *filter(None, [cut_note(study.run.cut_steps)])],
        coverage=version.quality.coverage if version is not None else None,
        missing=version.quality.missing if version is not None else [],
        unsupported=list(checked.unsupported) if checked else [], comparison=study.comparison,
    )  # fmt: skip
    _tell(study, output)
    return output


def best_version(study: Study) -> Version | None:
    """Return the editor's version or, before that, the one with the highest quality, the latest of equals.
    Sufficient coverage of the brief takes precedence."""
    return study.final or max(study.versions, key=_rank, default=None)


def _rank(version: Version) -> tuple[bool, float, int]:
    covered = version.quality.coverage is None or version.quality.coverage >= LEAST_COVERAGE
    return covered, version.quality.overall, version.iteration


def ranked(sources: list[Source]) -> list[Source]:
    return sorted(sources, key=lambda one: (-one.relevance, int(one.id[1:])))


async def keep_files(study: Study, output: FinalOutput) -> None:
    """Save the article, the record of how it was made, and the list of sources as JSON."""
    run = study.run
    if output.article is not None:
        page, record = await offload(_pages, study, output)
        await run.artifact("article.md", output.article.content, "text/markdown")
        await run.artifact("article.html", page, "text/html")
        await run.artifact("record.html", record, "text/html")
    listed = msgspec.json.format(msgspec.json.encode([one.shown() for one in output.sources]))
    await run.artifact("sources.json", listed, "application/json")


def _pages(study: Study, output: FinalOutput) -> tuple[str, str]:
    config, topic, run_id = study.run.config, study.brief.topic, study.run.id
    rehearsal, incomplete = bool(config.get("rehearsal")), cut_note(study.run.cut_steps)
    page = to_page(output, topic=topic, run_id=run_id, rehearsal=rehearsal, incomplete=incomplete)
    whole = output.model_copy(update={"phase_history": list(study.phase_history)})
    record = to_record(
        whole, topic=topic, run_id=run_id, rehearsal=rehearsal, models=config.get("models", ()),
        texts=study.texts, incomplete=incomplete,
    )  # fmt: skip
    return page, record


def _article(study: Study, version: Version) -> Article:
    text, style = version.article, study.brief.citation_style
    claims = version.checked.claims if version.checked else []
    words = count_words(text)
    return Article(
        title=title_of(text, study.brief.topic), content=content_of(text, study.sources, style),
        html=html_of(text, study.sources, claims, study.texts, style), word_count=words,
        reading_time=max(reading_minutes(words), 1), cited=cited_ids(text), unsourced=unsourced_in(text),
    )  # fmt: skip


def _tell_flaws(study: Study, version: Version) -> None:
    """Warn about flaws of the article: sources about something else, invented sources, copied words,
    contradicting sources."""
    whole = [study.texts[one.id] for one in study.sources if one.full_text]  # a snippet is too short to judge
    if whole and shared_most(study.brief.topic, whole) < ABOUT_IT:
        study.warn("No source holds even half of the topic's words: the article may be about something else.")
    removed = list(clean_draft(study)[1])
    edited = study.made.get("editor")
    if edited is not None and isinstance(edited.value, Edit) and edited.value.article:
        removed += edited.result.get("removed", [])
    for one in dict.fromkeys(removed):
        study.warn(f"Citation error, taken out of the article: {one}")
    copied = study.made.get("plagiarism_checker")
    if copied is not None and copied.result["share"] >= COPIED:
        share = copied.result["share"]
        study.warn(f"{share:.0%} of the article's words stand in its sources as they are.")
    if version.checked is None:
        study.warn("No claim was checked: it is unknown whether the sources confirm the article.")
    if version.quality.coverage is None:
        study.warn("It is unknown how much of the brief the article covers.")
    elif version.quality.missing and not study.edited:
        study.warn(f"The article leaves out: {'; '.join(version.quality.missing)}.")
    if version.checked and version.checked.unsupported:
        known = "" if study.sources_only else " What the article says of it is general knowledge."
        study.warn(f"Not covered by the sources: {'; '.join(version.checked.unsupported)}.{known}")
    titles = {one.id: shorten(one.title, 80) for one in study.sources}
    for one in version.checked.contradictions if version.checked else []:
        who = " and ".join(f"“{titles[side.source_id]}”" for side in one.passages)
        study.warn(f"{who} contradict each other: {one.about}")


def _notes(study: Study) -> list[str]:
    """Return notes on how the article was made and on the findings of the optional checks."""
    rounds = len(study.plan_history)
    told = [f"It took {rounds} iterations."] if rounds > 1 else []
    told += [*(study.plan.notes if study.plan else []), *study.notes]
    results = {worker: made.result for worker, made in study.made.items()}
    if (read := results.get("readability_checker")) and read["flesch"] is not None:
        told.append(f"Readability: Flesch {read['flesch']:.0f}, school grade {read['grade']:.0f}.")
    if found := results.get("seo_optimizer"):
        told.append(f"SEO {found['score']:.2f}. {' '.join(found['findings'][:3])}".strip())
    if copied := results.get("plagiarism_checker"):
        told.append(f"{copied['share']:.0%} of the words stand in the sources as they are.")
    return told


async def _metrics(study: Study) -> Metrics:
    async def read() -> Figures:
        spent = study.run.spent
        return Figures(spent.usd, spent.tokens, study.run.driven_s)

    try:
        figures = await study.run.step("figures", read, key=study.moment("merged"))
    except BudgetExhaustedError:  # out of time: all of it counts as used
        figures = Figures(study.run.spent.usd, study.run.spent.tokens, study.run.budget.seconds or 0.0)
    counts = Counter(task.status for task in study.tasks)
    version = best_version(study)
    claims = version.checked.claims if version is not None and version.checked else []
    qualities = [one.quality.overall for one in study.versions[: (version.iteration if version else 0)]]
    return Metrics(
        duration=round(figures.seconds, 3), cost=round(figures.usd, 9), tokens=figures.tokens,
        iteration_count=study.iteration, improvement=improvement(qualities), tasks=dict(counts),
        retries=sum(task.retries for task in study.tasks), claims=len(claims),
        verified_claims=sum(one.verdict == "verified" for one in claims),
    )  # fmt: skip


def _tell(study: Study, output: FinalOutput) -> None:
    study.run.emit(
        events.Merged(
            iteration=study.iteration, status=output.status,
            sources=len(output.article.cited) if output.article else 0,
            quality=output.quality.overall if output.quality else None,
            word_count=output.article.word_count if output.article else 0,
            improvement=output.metrics.improvement, warnings=output.warnings,
        )
    )  # fmt: skip
