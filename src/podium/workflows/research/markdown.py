"""The parts of a research report as Markdown; everything that a model or a source said is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from podium.report.markdown import cell
from podium.report.words import count, money
from podium.workflows.research.telling import SIGNS, VERDICTS, Data, against


def of(name: str, data: Any) -> str:
    """A section's text, without its title."""
    return "\n".join(_WRITERS[name](data))


def _quality(data: Data) -> Iterator[str]:
    word = "meets" if data["met"] else "below"
    reached, asked = against(data["overall"], data["threshold"])
    yield f"**{reached}**, {word} the {asked} asked for.\n"
    yield "| component | weight | score | parts |"
    yield "|---|--:|--:|---|"
    for one in data["components"]:
        score = "not measured" if one["score"] is None else f"{one['score']:.2f}"
        parts = ", ".join(f"{cell(name, 40)} {value:.2f}" for name, value in one["parts"].items())
        yield f"| {one['name']} | {one['weight']:.2f} | {score} | {parts or one['meaning']} |"


def _contradictions(data: list[Data]) -> Iterator[str]:
    for one in data:
        yield f"- **{cell(one['about'], 300)}**"
        for side in one["sides"]:
            source = side["source"]
            yield f"  - {_name(source)}: “{cell(side['quote'], 600)}”"


def _name(source: Data) -> str:
    number = f"[{source['number']}] " if source.get("number") else ""
    return f"{number}{cell(str(source.get('title') or 'an unknown source'), 160)}"


def _doubts(data: Data) -> Iterator[str]:
    yield f"{data['verdicts'].get('verified', 0)} of {count(data['claims'], 'claim')} verified.\n"
    for one in data["doubtful"]:
        reason = f" ({cell(one['reason'], 300)})" if one["reason"] else ""
        nobody = "" if one["cites"] else "; it cites nobody"
        told = f"{SIGNS.get(one['verdict'], '·')} {VERDICTS.get(one['verdict'], 'not checked')}{nobody}"
        yield f"- {told}: {cell(one['text'], 400)}{reason}"


def _sources(data: list[Data]) -> Iterator[str]:
    yield "| # | title | kind | date | where | found by |"
    yield "|--:|---|---|---|---|---|"
    for one in data:
        where = f"<{one['link']}>" if one["link"] else cell(one["place"], 160)
        cells = [str(one["number"] or "–"), cell(one["title"] or "Untitled", 200)]
        cells += [cell(one["kind"], 20), cell(one["published"] or "no date", 40), where]
        yield "| " + " | ".join([*cells, cell(one["provider"], 40)]) + " |"


def _iterations(data: list[Data]) -> Iterator[str]:
    for lap in data:
        quality = "not evaluated" if lap["quality"] is None else f"quality {lap['quality']:.2f}"
        yield f"{lap['number']}. {quality} of {lap['threshold']:.2f}, {count(len(lap['workers']), 'worker')}"
        for step in lap["steps"]:
            yield f"   - {cell(str(step['name']), 40)}: {cell(', '.join(step['workers']), 300)}"
        if lap["added"]:
            yield f"   - added: {cell(', '.join(lap['added']), 300)}"
        yield from (f"   - {cell(line, 400)}" for line in lap["feedback"])


def _workers(data: list[Data]) -> Iterator[str]:
    yield "| iteration | worker | status | attempts | cost | |"
    yield "|--:|---|---|--:|--:|---|"
    for one in data:
        cost = money(one["cost"]) if one["cost"] else ""
        told = cell(one["error"] or one["fallback"], 300)
        row = (one["iteration"], one["name"], f"{one['sign']} {one['status']}", one["attempts"], cost, told)
        yield "| " + " | ".join(map(str, row)) + " |"


def _missing(data: Data) -> Iterator[str]:
    if data["coverage"] is not None:
        yield f"The article was judged to cover {data['coverage']:.0%} of the request.\n"
    yield from (f"- {cell(line, 400)}" for line in data["missing"])
    if data["unsupported"]:
        yield "\nNot covered by the sources:\n"
        yield from (f"- {cell(line, 400)}" for line in data["unsupported"])
    if data["unsourced"]:
        yield "\nGeneral knowledge in the article, which nobody has checked:\n"
        yield from (f"- {cell(line, 400)}" for line in data["unsourced"])


def _comparison(data: Data) -> Iterator[str]:
    yield f"{cell(data['verdict'], 200)}.\n"
    yield from (f"- {cell(line, 1000)}" for line in data["why"])


def _answer(data: Data) -> Iterator[str]:
    yield ""


_WRITERS: dict[str, Callable[[Any], Iterable[str]]] = {
    "quality": _quality, "contradictions": _contradictions, "doubts": _doubts, "sources": _sources,
    "iterations": _iterations, "workers": _workers, "answer": _answer, "missing": _missing,
    "comparison": _comparison,
}  # fmt: skip
