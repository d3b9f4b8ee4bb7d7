"""The result as two pages: the article alone, and the record of how it came about. No script, nothing remote,
light, dark, on a phone and on paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from podium.report.frame import templates_of
from podium.report.prose import kept_html
from podium.report.words import one_line
from podium.workflows.research.article import PACKAGE
from podium.workflows.research.contracts import FinalOutput
from podium.workflows.research.evidence import passage_of
from podium.workflows.research.measures.markup import blocks_of
from podium.workflows.research.measures.seo import description_of
from podium.workflows.research.telling import (
    PHASES,
    SIGNS,
    VERDICTS,
    Data,
    checks_of,
    comparison_of,
    contradictions_of,
    iterations_of,
    kinds_of,
    missing_of,
    output_quality,
    rows,
    sources_of,
)

_CITED = re.compile(r"\s*\[[\d, ]+\]")


def to_page(output: FinalOutput, *, topic: str, run_id: str, rehearsal: bool, incomplete: str = "") -> str:
    """The article alone. `incomplete` names the texts that were cut off."""
    article = output.article
    content = article.content if article else ""
    return templates_of(PACKAGE).get_template("page.html").render(
        title=one_line(article.title if article else topic, 200), topic=topic, run_id=run_id,
        rehearsal=rehearsal, description=description_of(content), words=article.word_count if article else 0,
        minutes=article.reading_time if article else 0, parts=_parts(content), incomplete=incomplete,
        article=kept_html(article.html) if article else "There is no article.",
    )  # fmt: skip


def to_record(
    output: FinalOutput,
    *,
    topic: str,
    run_id: str,
    rehearsal: bool,
    models: Sequence[str] = (),
    texts: Mapping[str, str] | None = None,
    incomplete: str = "",
) -> str:
    """How the article came about: what is missing, scores, verification, sources, iterations, phases. With
    the `texts` of the sources, contradictions are shown in their passages."""
    data = output.shown()
    article = output.article
    title = one_line(article.title if article else topic, 200)
    return templates_of(PACKAGE).get_template("record.html").render(
        title=f"Record: {title}", topic=topic, run_id=run_id, rehearsal=rehearsal, models=list(models),
        status=output.status, words=article.word_count if article else 0,
        cited=len(article.cited) if article else 0, incomplete=incomplete,
        unsourced=len(article.unsourced) if article else 0,
        warnings=[one for one in output.warnings if one != incomplete], notes=list(output.system_notes),
        sources=data["sources"], quality=output.quality.overall if output.quality else None,
        checks=checks_of(data), metrics=output.metrics,
        tasks=", ".join(f"{count} {word}" for word, count in output.metrics.tasks.items() if count),
        phases=[PHASES.get(one["to"], one["to"]) for one in rows(data, "phase_history")],
        sections=_sections(data, output, texts or {}),
    )  # fmt: skip


def _parts(content: str) -> list[str]:
    """The article's own sections; the references are made by us and stand elsewhere."""
    return [
        _CITED.sub("", one.text) for one in blocks_of(content)
        if one.kind == "heading" and one.level == 2 and one.text != "References"
    ]  # fmt: skip


def _sections(data: Data, output: FinalOutput, texts: Mapping[str, str]) -> list[tuple[str, str, Markup]]:
    """Those that have something to tell, each from the template that the report uses too."""
    templates = templates_of(PACKAGE)
    passages = [[_words(passage_of(side, texts)) for side in one.passages] for one in output.contradictions]
    checks = checks_of(data)
    sources = sources_of(data)
    quality = output_quality(data)
    laps = iterations_of(rows(data, "plan_history"), quality.get("threshold", 0.0))
    wanted: list[tuple[str, str, Any, Data]] = [
        ("missing", "What is missing or has no source", missing_of(data), {}),
        ("comparison", "Beside a direct draft", comparison_of(data), {}),
        ("quality", "Quality", quality, {}),
        ("contradictions", "Where the sources disagree", contradictions_of(data, passages), {}),
        ("doubts", "What was not confirmed", checks if checks["doubtful"] else None, WORDS),
        ("sources", "Sources", sources, {"kinds": kinds_of(sources)}),
        ("iterations", "Iterations", laps, {}),
    ]
    return [
        (name, heading, _rendered(templates, name, shown, context))
        for name, heading, shown, context in wanted
        if shown
    ]


WORDS: Data = {"signs": SIGNS, "verdicts": VERDICTS}


def _words(passage: Any) -> Data:
    return {"before": passage.before, "quote": passage.quote, "after": passage.after}


def _rendered(templates: Environment, name: str, data: Any, context: Data) -> Markup:
    return Markup(templates.get_template(f"{name}.html").render(data=data, **context))
