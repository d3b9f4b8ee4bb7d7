"""The cited article of `research`: Markdown, evidence cards and HTML pages.

A card is one claim with its sources. In the article every citation links to its card, and the card shows the
words of the source that were actually read.

Both are made from the writer's Markdown after `only_known` has removed everything that names no real source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from podium.report.html import kept_html, made_up_note, prose, templates_of
from podium.report.words import one_line, shorten, web_address
from podium.workflows.research.contracts import Claim, FinalOutput, Passage, Source
from podium.workflows.research.measures.citations import Mark, marks_of, unmarked
from podium.workflows.research.measures.markup import CLOSE, OPEN, blocks_of, cleaned, understands_citations
from podium.workflows.research.measures.quotes import Excerpt, excerpt
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
"""Maximum characters of a quotation that are shown."""
SNIPPET = 400


class Card(msgspec.Struct, frozen=True):
    """One claim with all sources that it cites."""

    number: int
    claim: str
    sources: tuple[Source, ...]
    """The source of the quotation comes first."""
    verdict: str
    """`verified`, `unverified`, `contradicted`, or empty if it was not checked."""
    reason: str
    passage: Excerpt
    quoted_from: str = ""
    """Id of the quoted source. Empty if there is no quotation."""


def quoted(text: str, quote: str, start: int, end: int) -> Excerpt:
    """Return a quotation with its surroundings, from the stored text if there is one."""
    if not text or not 0 <= start < end <= len(text):
        return Excerpt(quote=shorten(quote, LONGEST_QUOTE))
    whole = excerpt(text, start, end)
    return whole._replace(quote=shorten(whole.quote, LONGEST_QUOTE))


def passage_of(passage: Passage, texts: Mapping[str, str]) -> Excerpt:
    """Return a passage of a contradiction with its surroundings."""
    return quoted(texts.get(passage.source_id, ""), passage.quote, passage.start, passage.end)


def cards_of(
    marks: Iterable[Mark], sources: Sequence[Source], claims: Sequence[Claim], texts: Mapping[str, str]
) -> dict[str, Card]:
    """Return a card for every sentence with a citation, in reading order."""
    known = {source.id: source for source in sources}
    checked = {_same(claim.text): claim for claim in claims}
    cited: dict[str, dict[str, Source]] = {}
    for mark in marks:
        own = {source_id: known[source_id] for source_id in mark.source_ids if source_id in known}
        if own:
            cited.setdefault(mark.sentence, {}).update(own)
    return {
        sentence: _card(number, sentence, list(own.values()), checked.get(_same(sentence)), texts)
        for number, (sentence, own) in enumerate(cited.items(), 1)
    }


def _same(sentence: str) -> str:
    """Normalize a sentence for comparison, because an editor may have changed its spaces."""
    return " ".join(sentence.split()).casefold()


def _card(
    number: int, sentence: str, sources: list[Source], claim: Claim | None, texts: Mapping[str, str]
) -> Card:
    if claim is None:
        return Card(number, sentence, tuple(sources), "", "", _snippet(sources[0]))
    first = [source for source in sources if source.id == claim.quote_source]
    if not claim.quote or not first:
        return Card(number, sentence, tuple(sources), claim.verdict, claim.reason, _snippet(sources[0]))
    passage = quoted(texts.get(first[0].id, ""), claim.quote, claim.start, claim.end)
    ordered = (*first, *(source for source in sources if source not in first))
    return Card(number, sentence, ordered, claim.verdict, claim.reason, passage, first[0].id)


def _snippet(source: Source) -> Excerpt:
    """Return the source's search snippet, for a claim without a quotation."""
    return Excerpt(before=shorten(source.snippet.strip(), SNIPPET))


PACKAGE = "podium.workflows.research"
REFERENCES = "References"
_PLACE = re.compile(f"([ \\t]?){OPEN}(\\d+){CLOSE}")
_TITLE = re.compile(r"\A\s*<h1>.*?</h1>\s*", re.DOTALL)
_SECTION = re.compile(r"<h2>")


def content_of(markdown: str, sources: Sequence[Source], style: str = "numeric") -> str:
    """Return the article as Markdown."""
    text, listed = render(unmarked(cleaned(markdown)).strip(), sources, style)
    return f"{text}\n\n## {REFERENCES}\n\n{listed}\n" if listed else f"{text}\n"


def html_of(
    markdown: str,
    sources: Sequence[Source],
    claims: Sequence[Claim],
    texts: Mapping[str, str],
    style: str = "numeric",
) -> str:
    """Return the article, its references and a card for every cited claim as safe HTML, without a title.

    `texts` holds the stored texts of the sources by id; without one, a card shows only the quotation.
    """
    markdown, style = cleaned(markdown), style if style in STYLES else "numeric"
    marks = marks_of(markdown)
    markdown = unmarked(markdown)
    cards = cards_of(marks, sources, claims, texts)
    entries = references(markdown, sources, style)
    labels = {entry.source_id: _label(entry) for entry in entries}
    shown = _render(
        "evidence",
        cards=cards.values(),
        references=entries,
        labels=labels,
        numeric=style == "numeric",
        first=_first_marks(marks, cards),
        signs=SIGNS,
        verdicts=VERDICTS,
        address=web_address,
    )
    cites = _citations(marks, cards, labels, style == "numeric")
    return f'<div class="prose article">{_body(markdown, cites)}</div>\n{shown}'


def _citations(
    marks: Sequence[Mark], cards: Mapping[str, Card], labels: Mapping[str, str], numeric: bool
) -> list[str]:
    """Return every citation of the text as HTML links to the card of its sentence."""
    cite: Any = templates_of(PACKAGE).get_template("_cite.html").module
    links: list[str] = []
    for number, mark in enumerate(marks, 1):
        cited = [(source_id, labels[source_id]) for source_id in mark.source_ids if source_id in labels]
        links.append(str(cite.cite(number, cards.get(mark.sentence), cited, numeric, VERDICTS)))
    return links


def _body(markdown: str, citations: Sequence[str]) -> str:
    """Return the text as HTML without its title, with an anchor for each section."""
    numbers = count(1)
    text = _TITLE.sub("", prose(markdown, understands_citations, _leaves_places), count=1)
    text = _SECTION.sub(lambda _: f'<h2 id="part-{next(numbers)}">', text)
    return _PLACE.sub(lambda match: citations[int(match[2]) - 1], text).strip()


def _leaves_places(parser: MarkdownIt) -> None:
    """Render a citation as its number between two marker characters, which can occur only in text, not in
    attributes."""

    def place(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
        env["citations"] = env.get("citations", 0) + 1
        return f"{OPEN}{env['citations']}{CLOSE}"

    parser.add_render_rule("citation", place)


def _label(entry: Reference) -> str:
    """Return a citation label as plain text."""
    return re.sub(r"\\(.)", r"\1", entry.mark)


def _first_marks(marks: Sequence[Mark], cards: Mapping[str, Card]) -> dict[int, int]:
    """Return the number of the first citation of each card."""
    first: dict[int, int] = {}
    for number, mark in enumerate(marks, 1):
        if mark.sentence in cards:
            first.setdefault(cards[mark.sentence].number, number)
    return first


_CITED = re.compile(r"\s*\[[\d, ]+\]")


def to_page(output: FinalOutput, *, topic: str, run_id: str, rehearsal: bool, incomplete: str = "") -> str:
    """Return the HTML page of the article alone. `incomplete` names the truncated texts."""
    article = output.article
    content = article.content if article else ""
    return _render(
        "page",
        title=one_line(article.title if article else topic, 200),
        topic=topic,
        run_id=run_id,
        rehearsal=rehearsal,
        description=description_of(content),
        article=article,
        parts=_parts(content),
        incomplete=incomplete,
        content=kept_html(article.html) if article else "There is no article.",
    )


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
    """Return the HTML record of how the article was made: missing parts, scores, verification, sources,
    iterations, phases. With the sources' `texts`, contradictions are shown in their passages."""
    data = output.shown()
    article = output.article
    title = one_line(article.title if article else topic, 200)
    return _render(
        "record",
        title=f"Record: {title}",
        topic=topic,
        run_id=run_id,
        rehearsal=rehearsal,
        models=list(models),
        output=output,
        article=article,
        incomplete=incomplete,
        warnings=[warning for warning in output.warnings if warning != incomplete],
        checks=checks_of(data),
        tasks=", ".join(f"{count} {word}" for word, count in output.metrics.tasks.items() if count),
        phases=[PHASES.get(entry["to"], entry["to"]) for entry in rows(data, "phase_history")],
        sections=_sections(data, output, texts or {}, rehearsal),
    )


def _render(name: str, **context: Any) -> str:
    return templates_of(PACKAGE).get_template(f"{name}.html").render(**context)


def _parts(content: str) -> list[str]:
    """Return the article's own section titles, without the generated references."""
    return [
        _CITED.sub("", block.text)
        for block in blocks_of(content)
        if block.kind == "heading" and block.level == 2 and block.text != "References"
    ]


def _sections(
    data: Data, output: FinalOutput, texts: Mapping[str, str], rehearsal: bool
) -> list[tuple[str, str, Markup]]:
    """Return the sections that have content, rendered with the report's templates."""
    passages = [
        [passage_of(side, texts)._asdict() for side in contradiction.passages]
        for contradiction in output.contradictions
    ]
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
            made_up_note(rehearsal and name in SCORED) + Markup(_render(name, data=shown, **context)),
        )
        for name, heading, shown, context in wanted
        if shown
    ]


WORDS: Data = {"signs": SIGNS, "verdicts": VERDICTS}
