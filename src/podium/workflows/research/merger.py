"""Merger: builds the final output from the best version, with everything a reader needs to judge it."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from podium.engine.process import offload
from podium.report.words import cut_note, shorten
from podium.workflows.research import events
from podium.workflows.research.article import content_of, html_of, to_page, to_record
from podium.workflows.research.context import Study, Version
from podium.workflows.research.contracts import Article, Edit, FinalOutput, Metrics
from podium.workflows.research.measures.citations import cited_ids, unsourced_in
from podium.workflows.research.measures.text import count_words, reading_minutes, shared_most
from podium.workflows.research.policy import ABOUT_IT, LEAST_COVERAGE, improvement
from podium.workflows.research.quality import COPIED
from podium.workflows.research.writer import clean_draft, title_of

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
            notes.append(f"The version of iteration {version.iteration} is the result: it was the best.")
        _warn_of_flaws(study, version)
    checked = version.checked if version is not None else None
    written = version is not None and version.article.strip()
    article = await offload(_article, study, version) if written else None
    output = FinalOutput(
        request_id=study.run.id,
        execution_id=study.execution_id,
        article=article,
        quality=version.quality if version is not None else None,
        sources=sorted(study.sources, key=lambda source: (-source.relevance, int(source.id[1:]))),
        claims=version.claims if version is not None else [],
        contradictions=checked.contradictions if checked else [],
        metrics=await _metrics(study),
        status=status,
        system_notes=[*_notes(study), *notes],
        plan_history=study.plan_history,
        warnings=[*study.warnings, *filter(None, [cut_note(study.run.cut_steps)])],
        coverage=version.quality.coverage if version is not None else None,
        missing=version.quality.missing if version is not None else [],
        unsupported=list(version.unsupported) if version is not None else [],
        comparison=study.comparison,
    )
    study.run.emit(
        events.Merged(
            iteration=study.iteration,
            status=output.status,
            sources=len(article.cited) if article else 0,
            quality=output.quality.overall if output.quality else None,
            word_count=article.word_count if article else 0,
            improvement=output.metrics.improvement,
            warnings=output.warnings,
        )
    )
    return output


def best_version(study: Study) -> Version | None:
    """Return the editor's version or, before that, the one with the highest quality, the latest of equals.
    Sufficient coverage of the brief takes precedence."""
    return study.final or max(study.versions, key=_rank, default=None)


def _rank(version: Version) -> tuple[bool, float, int]:
    covered = version.quality.coverage is None or version.quality.coverage >= LEAST_COVERAGE
    return covered, version.quality.overall, version.iteration


async def keep_files(study: Study, output: FinalOutput) -> None:
    """Save the article, the record of how it was made, and the list of sources as JSON."""
    run = study.run
    if output.article is not None:
        page, record = await offload(_pages, study, output)
        await run.artifact("article.md", output.article.content, "text/markdown")
        await run.artifact("article.html", page, "text/html")
        await run.artifact("record.html", record, "text/html")
    listed = msgspec.json.format(msgspec.json.encode([source.shown() for source in output.sources]))
    await run.artifact("sources.json", listed, "application/json")


def _pages(study: Study, output: FinalOutput) -> tuple[str, str]:
    config, topic, run_id = study.run.config, study.brief.topic, study.run.id
    rehearsal, incomplete = bool(config.get("rehearsal")), cut_note(study.run.cut_steps)
    page = to_page(output, topic=topic, run_id=run_id, rehearsal=rehearsal, incomplete=incomplete)
    whole = output.model_copy(update={"phase_history": list(study.phase_history)})
    record = to_record(
        whole,
        topic=topic,
        run_id=run_id,
        rehearsal=rehearsal,
        models=config.get("models", ()),
        texts=study.texts,
        incomplete=incomplete,
    )
    return page, record


def _article(study: Study, version: Version) -> Article:
    text, style = version.article, study.brief.citation_style
    words = count_words(text)
    return Article(
        title=title_of(text, study.brief.topic),
        content=content_of(text, study.sources, style),
        html=html_of(text, study.sources, version.claims, study.texts, style),
        word_count=words,
        reading_time=max(reading_minutes(words), 1),
        cited=cited_ids(text),
        unsourced=unsourced_in(text),
    )


def _warn_of_flaws(study: Study, version: Version) -> None:
    """Warn about flaws of the article: sources about something else, invented sources, copied words,
    contradicting sources."""
    whole = [
        study.texts[source.id] for source in study.sources if source.full_text
    ]  # a snippet is too short to judge
    if whole and shared_most(study.brief.topic, whole) < ABOUT_IT:
        study.warn(
            "No source contains even half of the topic's words: the article may be about something else."
        )
    removed = list(clean_draft(study)[1])
    edited = study.made.get("editor")
    if edited is not None and isinstance(edited.value, Edit) and edited.value.article:
        removed += edited.result.get("removed", [])
    for error in dict.fromkeys(removed):
        study.warn(f"Citation error, removed from the article: {error}")
    copied = study.made.get("plagiarism_checker")
    if copied is not None and copied.result["share"] >= COPIED:
        share = copied.result["share"]
        study.warn(f"{share:.0%} of the article's words are copied from its sources.")
    if version.checked is None:
        study.warn("No claim was checked: it is unknown whether the sources confirm the article.")
    if version.quality.coverage is None:
        study.warn("It is unknown how much of the brief the article covers.")
    elif version.quality.missing and not study.edited:
        study.warn(f"The article leaves out: {'; '.join(version.quality.missing)}.")
    if version.unsupported:
        known = "" if study.sources_only else " What the article says of it is general knowledge."
        study.warn(f"Not covered by the sources: {'; '.join(version.unsupported)}.{known}")
    titles = {source.id: shorten(source.title, 80) for source in study.sources}
    for contradiction in version.checked.contradictions if version.checked else []:
        who = " and ".join(f"“{titles[side.source_id]}”" for side in contradiction.passages)
        study.warn(f"{who} contradict each other: {contradiction.about}")


def _notes(study: Study) -> list[str]:
    """Return notes on how the article was made and on the findings of the optional checks."""
    rounds = len(study.plan_history)
    notes = [f"It took {rounds} iterations."] if rounds > 1 else []
    notes += [*(study.plan.notes if study.plan else []), *study.notes]
    results = {worker: made.result for worker, made in study.made.items()}
    if (read := results.get("readability_checker")) and read["flesch"] is not None:
        notes.append(f"Readability: Flesch {read['flesch']:.0f}, school grade {read['grade']:.0f}.")
    if seo := results.get("seo_optimizer"):
        notes.append(f"SEO {seo['score']:.2f}. {' '.join(seo['findings'][:3])}".strip())
    if copied := results.get("plagiarism_checker"):
        notes.append(f"{copied['share']:.0%} of the words are copied from the sources.")
    return notes


async def _metrics(study: Study) -> Metrics:
    async def read() -> Figures:
        spent = study.run.spent
        return Figures(spent.usd, spent.tokens, study.run.driven_s)

    spent = study.run.spent
    figures = Figures(spent.usd, spent.tokens, study.run.budget.seconds or 0.0)  # if time is used up
    async with study.run.until_exhausted():
        figures = await study.run.step("figures", read, key=study.moment("merged"))
    counts = Counter(task.status for task in study.tasks)
    version = best_version(study)
    qualities = [
        earlier.quality.overall for earlier in study.versions[: (version.iteration if version else 0)]
    ]
    return Metrics(
        duration=round(figures.seconds, 3),
        cost=round(figures.usd, 9),
        tokens=figures.tokens,
        iteration_count=study.iteration,
        improvement=improvement(qualities),
        tasks=dict(counts),
        retries=sum(task.retries for task in study.tasks),
        claims=len(version.claims) if version else 0,
        verified_claims=version.checked.verified if version and version.checked else 0,
    )
