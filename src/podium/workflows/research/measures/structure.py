"""How an article is built: title, introduction, sections, conclusion and paragraphs, by its kind."""

from __future__ import annotations

import re
from statistics import fmean

import msgspec

from podium.workflows.research.measures.markup import Block, blocks_of, without_citations
from podium.workflows.research.measures.words import words_in


class Shape(msgspec.Struct, frozen=True):
    """What is expected of one kind of article."""

    sections: int
    """At least so many headings below the title."""
    paragraph: int
    """Words of the longest paragraph."""
    parts: tuple[tuple[str, str], ...] = ()
    """Headings that it has to have: a name, and a pattern for it."""


CONTENT_TYPES = {
    "article": Shape(3, 160),
    "blog_post": Shape(2, 120),
    "research_report": Shape(
        4,
        220,
        (
            ("a summary", r"\b(?:abstract|summary|key (?:findings|points|takeaways)|overview)\b"),
            ("the findings", r"\b(?:findings?|results?|evidence|analysis|discussion)\b"),
        ),
    ),
}
_INTRODUCTION = re.compile(
    r"\b(?:introduction|background|overview|abstract|summary|why|what is)\b", re.IGNORECASE
)
_CONCLUSION = re.compile(
    r"\b(?:conclusions?|concluding|summary|outlook|takeaways?|final thoughts|in (?:short|brief)"
    r"|what (?:comes )?next|the bottom line|looking ahead|closing|wrapping up|recommendations?)\b",
    re.IGNORECASE,
)


class Structure(msgspec.Struct, frozen=True):
    """The share of what was expected that is there, and what is not, in words."""

    score: float
    findings: tuple[str, ...]


def structure(markdown: str, content_type: str) -> Structure:
    """Every rule counts the same; sections and paragraphs count by how many of them are right."""
    shape = CONTENT_TYPES.get(content_type, CONTENT_TYPES["article"])
    blocks = blocks_of(markdown)
    told = [
        _title(blocks),
        _introduction(blocks),
        _sections(blocks, shape),
        _conclusion(blocks),
        _levels(blocks),
        _paragraphs(blocks, shape),
        *(_part(blocks, *part) for part in shape.parts),
    ]
    if not any(one.kind in ("paragraph", "item") for one in blocks):
        return Structure(0.0, ("There is no text.",))
    return Structure(fmean(score for score, _ in told), tuple(finding for _, finding in told if finding))


def sections_of(blocks: tuple[Block, ...]) -> list[Block]:
    """The headings below the title, of the highest level that is used more than once."""
    below = [one for one in blocks if one.kind == "heading" and one.level > 1]
    top = min((one.level for one in below), default=0)
    return [one for one in below if one.level == top]


def _title(blocks: tuple[Block, ...]) -> tuple[float, str]:
    titles = [one for one in blocks if one.kind == "heading" and one.level == 1]
    if len(titles) == 1 and blocks[0] is titles[0]:
        return 1.0, ""
    return (0.5, "There are several titles.") if len(titles) > 1 else (
        (0.5, "The title is not at the top.") if titles else (0.0, "There is no title.")
    )  # fmt: skip


def _introduction(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """Text before the first section, or a first section that is one."""
    for one in blocks:
        if one.kind == "heading" and one.level > 1:
            fits = bool(_INTRODUCTION.search(one.text))
            return float(fits), "" if fits else "There is no introduction before the first section."
        if one.kind == "paragraph":
            return 1.0, ""
    return 0.0, "There is no introduction."


def _sections(blocks: tuple[Block, ...], shape: Shape) -> tuple[float, str]:
    found = len(sections_of(blocks))
    told = "" if found >= shape.sections else f"{found} of {shape.sections} sections."
    return min(found / shape.sections, 1.0), told


def _conclusion(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """One of the last two headings says so (references may follow), and text stands below it."""
    headings = [nth for nth, one in enumerate(blocks) if one.kind == "heading" and one.level > 1]
    for nth in headings[-2:]:
        written = nth + 1 < len(blocks) and blocks[nth + 1].kind != "heading"
        if written and _CONCLUSION.search(blocks[nth].text):
            return 1.0, ""
    return 0.0, "There is no conclusion."


def _levels(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """No level is left out on the way down, and no heading stands above nothing."""
    levels = [one.level for one in blocks if one.kind == "heading"]
    jumps = sum(after > before + 1 for before, after in zip([1, *levels], levels, strict=False))
    if not jumps:
        return 1.0, ""
    return 1 - jumps / len(levels), f"{jumps} of {len(levels)} headings skip a level."


def _paragraphs(blocks: tuple[Block, ...], shape: Shape) -> tuple[float, str]:
    lengths = [len(words_in(without_citations(one.text))) for one in blocks if one.kind == "paragraph"]
    if not lengths:
        return 0.0, "There are no paragraphs."
    long = sum(words > shape.paragraph for words in lengths)
    told = f"{long} of {len(lengths)} paragraphs have more than {shape.paragraph} words." if long else ""
    return 1 - long / len(lengths), told


def _part(blocks: tuple[Block, ...], name: str, pattern: str) -> tuple[float, str]:
    found = any(one.kind == "heading" and re.search(pattern, one.text, re.IGNORECASE) for one in blocks)
    return float(found), "" if found else f"A research report has a section with {name}."
