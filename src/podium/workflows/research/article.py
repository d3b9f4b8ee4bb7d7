"""Cited article, evidence cards, page of `research`.

A card is one claim with one source. In the article every citation leads to its card, and the card shows the
words of the source that were really read.

Both are made of the writer's Markdown, after `only_known` has taken out of it what names no real source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from jinja2 import Environment
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from podium.report.html import kept_html, made_up_note, prose, templates_of
from podium.report.words import one_line, shorten, web_address
from podium.workflows.research.contracts import Claim, FinalOutput, Passage, Source
from podium.workflows.research.measures.citations import Mark, marks_of, unmarked
from podium.workflows.research.measures.markup import CLOSE, OPEN, blocks_of, cleaned, understands_citations
from podium.workflows.research.measures.quotes import excerpt
from podium.workflows.research.measures.structure import description_of
from podium.workflows.research.measures.styles import STYLES, Reference, references, render
from podium.workflows.research.report_data import (
    PHASES,
    SCORED,
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

LONGEST_QUOTE = 1_200
"""Characters of a quotation that are shown."""
SNIPPET = 400


class Quoted(msgspec.Struct, frozen=True):
    """Words of a source with those around them."""

    before: str = ""
    quote: str = ""
    after: str = ""


class Card(msgspec.Struct, frozen=True):
    """One claim, and all sources that it cites."""

    number: int
    claim: str
    sources: tuple[Source, ...]
    """The one that holds the quotation first."""
    verdict: str
    """`verified`, `unverified`, `contradicted`, or empty: nobody checked it."""
    reason: str
    passage: Quoted
    quoted_from: str = ""
    """The id of the source whose words are shown; empty: there are none."""


def quoted(text: str, quote: str, start: int, end: int) -> Quoted:
    """A quotation in its passage. It is taken from the kept text, where that is at hand."""
    if not text or not 0 <= start < end <= len(text):
        return Quoted(quote=shorten(quote, LONGEST_QUOTE))
    before, words, after = excerpt(text, start, end)
    return Quoted(before, shorten(words, LONGEST_QUOTE), after)


def passage_of(passage: Passage, texts: Mapping[str, str]) -> Quoted:
    """A passage of a contradiction."""
    return quoted(texts.get(passage.source_id, ""), passage.quote, passage.start, passage.end)


def cards_of(
    marks: Iterable[Mark], sources: Sequence[Source], claims: Sequence[Claim], texts: Mapping[str, str]
) -> dict[str, Card]:
    """A card for every sentence that cites somebody, in the order of reading."""
    known = {one.id: one for one in sources}
    checked = {_same(one.text): one for one in claims}
    cited: dict[str, dict[str, Source]] = {}
    for mark in marks:
        found = {one: known[one] for one in mark.source_ids if one in known}
        if found:
            cited.setdefault(mark.sentence, {}).update(found)
    return {
        sentence: _card(number, sentence, list(found.values()), checked.get(_same(sentence)), texts)
        for number, (sentence, found) in enumerate(cited.items(), 1)
    }


def _same(sentence: str) -> str:
    """A sentence as it is compared: an editor may have changed its spaces."""
    return " ".join(sentence.split()).casefold()


def _card(
    number: int, sentence: str, sources: list[Source], claim: Claim | None, texts: Mapping[str, str]
) -> Card:
    if claim is None:
        return Card(number, sentence, tuple(sources), "", "", _snippet(sources[0]))
    first = [one for one in sources if one.id == claim.quote_source]
    if not claim.quote or not first:
        return Card(number, sentence, tuple(sources), claim.verdict, claim.reason, _snippet(sources[0]))
    passage = quoted(texts.get(first[0].id, ""), claim.quote, claim.start, claim.end)
    ordered = (*first, *(one for one in sources if one not in first))
    return Card(number, sentence, ordered, claim.verdict, claim.reason, passage, first[0].id)


def _snippet(source: Source) -> Quoted:
    """What a search said of the source, where no words of it are tied to the claim."""
    return Quoted(before=shorten(source.snippet.strip(), SNIPPET))


PACKAGE = "podium.workflows.research"
REFERENCES = "References"
_PLACE = re.compile(f"([ \\t]?){OPEN}(\\d+){CLOSE}")
_TITLE = re.compile(r"\A\s*<h1>.*?</h1>\s*", re.DOTALL)
_SECTION = re.compile(r"<h2>")


def content_of(markdown: str, sources: Sequence[Source], style: str = "numeric") -> str:
    """The article as Markdown."""
    text, listed = render(unmarked(cleaned(markdown)).strip(), sources, style)
    return f"{text}\n\n## {REFERENCES}\n\n{listed}\n" if listed else f"{text}\n"


def html_of(
    markdown: str,
    sources: Sequence[Source],
    claims: Sequence[Claim],
    texts: Mapping[str, str],
    style: str = "numeric",
) -> str:
    """The article, its references, and a card for everything that it cites; without a title, safe to show.

    `texts` are the kept texts of the sources by their ids; without one, a card shows the bare quotation.
    """
    markdown, style = cleaned(markdown), style if style in STYLES else "numeric"
    marks = marks_of(markdown)
    markdown = unmarked(markdown)
    cards = cards_of(marks, sources, claims, texts)
    entries = references(markdown, sources, style)
    labels = {one.source_id: _label(one) for one in entries}
    templates = templates_of(PACKAGE)
    shown = templates.get_template("evidence.html").render(
        cards=cards.values(), references=entries, labels=labels, numeric=style == "numeric",
        first=_first_marks(marks, cards), signs=SIGNS, verdicts=VERDICTS, address=web_address,
    )  # fmt: skip
    cites = _citations(marks, cards, labels, style == "numeric")
    return f'<div class="prose article">{_body(markdown, cites)}</div>\n{shown}'


def _citations(
    marks: Sequence[Mark], cards: Mapping[str, Card], labels: Mapping[str, str], numeric: bool
) -> list[str]:
    """Every citation of the text as HTML: links to the card of its sentence."""
    cite: Any = templates_of(PACKAGE).get_template("_cite.html").module
    found: list[str] = []
    for number, mark in enumerate(marks, 1):
        cited = [(one, labels[one]) for one in mark.source_ids if one in labels]
        found.append(str(cite.cite(number, cards.get(mark.sentence), cited, numeric, VERDICTS)))
    return found


def _body(markdown: str, citations: Sequence[str]) -> str:
    """The text without its title; a link can lead to each of its sections."""
    numbers = count(1)
    text = _TITLE.sub("", prose(markdown, understands_citations, _leaves_places), count=1)
    text = _SECTION.sub(lambda _: f'<h2 id="part-{next(numbers)}">', text)
    return _PLACE.sub(lambda found: citations[int(found[2]) - 1], text).strip()


def _leaves_places(parser: MarkdownIt) -> None:
    """A citation is rendered as its number between two marks, which only text can hold, no attribute."""

    def place(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
        env["citations"] = env.get("citations", 0) + 1
        return f"{OPEN}{env['citations']}{CLOSE}"

    parser.add_render_rule("citation", place)


def _label(entry: Reference) -> str:
    """A citation as plain text."""
    return re.sub(r"\\(.)", r"\1", entry.mark)


def _first_marks(marks: Sequence[Mark], cards: Mapping[str, Card]) -> dict[int, int]:
    """Where in the text each card is cited first."""
    found: dict[int, int] = {}
    for number, mark in enumerate(marks, 1):
        if mark.sentence in cards:
            found.setdefault(cards[mark.sentence].number, number)
    return found


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
        sections=_sections(data, output, texts or {}, rehearsal),
    )  # fmt: skip


def _parts(content: str) -> list[str]:
    """The article's own sections; the references are made by us and stand elsewhere."""
    return [
        _CITED.sub("", one.text) for one in blocks_of(content)
        if one.kind == "heading" and one.level == 2 and one.text != "References"
    ]  # fmt: skip


def _sections(
    data: Data, output: FinalOutput, texts: Mapping[str, str], rehearsal: bool
) -> list[tuple[str, str, Markup]]:
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
        (
            name,
            heading,
            made_up_note(rehearsal and name in SCORED) + _rendered(templates, name, shown, context),
        )
        for name, heading, shown, context in wanted
        if shown
    ]


WORDS: Data = {"signs": SIGNS, "verdicts": VERDICTS}


def _words(passage: Any) -> Data:
    return {"before": passage.before, "quote": passage.quote, "after": passage.after}


def _rendered(templates: Environment, name: str, data: Any, context: Data) -> Markup:
    return Markup(templates.get_template(f"{name}.html").render(data=data, **context))
