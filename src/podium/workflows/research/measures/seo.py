"""How well an article can be found: title, words of the topic, headings, description and links."""

from __future__ import annotations

import re
from statistics import fmean

import msgspec

from podium.brain.words import word_set
from podium.report.words import shorten
from podium.workflows.research.measures.markup import CITED, Block, blocks_of, without_citations
from podium.workflows.research.measures.words import words_in

TITLE = (20, 65)
DESCRIPTION = (70, 160)
"""Characters that a page of search results shows."""
DENSITY = (0.003, 0.04)
"""The share of the topic's words among all: less is missed, more is stuffed."""
BEGINNING = 100
"""Words in which the topic should be named."""
_STOP = word_set(
    "a an and are as at be by can do does for from had has have how in into is it its of on or our should"
    " than that the their them these this those to was we what when where which who why will with you your"
    " about after before between current future impact use using new"
)


class Seo(msgspec.Struct, frozen=True):
    """The mean of all rules, and what could be better."""

    score: float
    findings: tuple[str, ...]


def seo(markdown: str, topic: str) -> Seo:
    """Every rule counts the same."""
    blocks = blocks_of(markdown)
    keys = keywords(topic)
    told = [
        _title(blocks),
        _in_title(blocks, keys),
        _in_beginning(blocks, keys),
        _in_headings(blocks, keys),
        _density(blocks, keys),
        _description(markdown),
        _links(blocks),
    ]
    return Seo(fmean(score for score, _ in told), tuple(finding for _, finding in told if finding))


def keywords(topic: str) -> frozenset[str]:
    """The words of a topic that somebody would search for, in one number."""
    found = [word.lower() for word in words_in(topic[:500])]
    kept = [word for word in found if word not in _STOP and len(word) > 1]
    return frozenset(map(_stem, kept or found))


def title_of(markdown: str) -> str:
    """The article's own title; empty if it has none."""
    titles = (one.text for one in blocks_of(markdown) if one.kind == "heading" and one.level == 1)
    return without_citations(next(titles, ""))


def description_of(markdown: str) -> str:
    """What a page of search results says about it: the beginning of its first paragraph."""
    first = next((one.text for one in blocks_of(markdown) if one.kind == "paragraph"), "")
    text = without_citations(first)
    if len(text) <= DESCRIPTION[1]:
        return text
    end = re.search(r"[.!?](?=\s)", text[DESCRIPTION[0] : DESCRIPTION[1]])
    if end is not None:
        return text[: DESCRIPTION[0] + end.end()]
    cut = text[: DESCRIPTION[1] - 1]
    return shorten(cut.rpartition(" ")[0] + " …" if " " in cut else cut, DESCRIPTION[1])


def _stem(word: str) -> str:
    word = word.lower()
    return (
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
    )


def _share(text: str, keys: frozenset[str]) -> float:
    """How many of the topic's words a text holds."""
    return len(keys & {_stem(word) for word in words_in(text)}) / len(keys) if keys else 1.0


def _title(blocks: tuple[Block, ...]) -> tuple[float, str]:
    title = next((one.text for one in blocks if one.kind == "heading" and one.level == 1), "")
    if not title:
        return 0.0, "There is no title."
    if TITLE[0] <= len(title) <= TITLE[1]:
        return 1.0, ""
    return 0.5, f"The title has {len(title)} characters; {TITLE[0]} to {TITLE[1]} are shown whole."


def _in_title(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    title = next((one.text for one in blocks if one.kind == "heading" and one.level == 1), "")
    share = _share(title, keys)
    return min(share * 2, 1.0), "" if share >= 0.5 else "The title does not name the topic."


def _in_beginning(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    texts = (without_citations(one.text) for one in blocks if one.kind in ("paragraph", "item"))
    share = _share(" ".join(words_in(" ".join(texts))[:BEGINNING]), keys)
    return min(share * 2, 1.0), "" if share >= 0.5 else "The first words do not name the topic."


def _in_headings(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    headings = [one.text for one in blocks if one.kind == "heading" and one.level > 1]
    if not headings:
        return 0.0, "There are no headings."
    found = any(_share(text, keys) > 0 for text in headings)
    return (1.0, "") if found else (0.5, "No heading has a word of the topic.")


def _density(blocks: tuple[Block, ...], keys: frozenset[str]) -> tuple[float, str]:
    words = [
        _stem(word) for one in blocks if one.kind != "code" for word in words_in(without_citations(one.text))
    ]
    if not words or not keys:
        return 0.0, "There is no text."
    share = sum(word in keys for word in words) / len(words) / len(keys)
    if share < DENSITY[0]:
        return share / DENSITY[0], "The topic's words are hardly used."
    if share > DENSITY[1]:
        return DENSITY[1] / share, "The topic's words are used too often."
    return 1.0, ""


def _description(markdown: str) -> tuple[float, str]:
    length = len(description_of(markdown))
    if length >= DESCRIPTION[0]:
        return 1.0, ""
    return length / DESCRIPTION[0], "The first paragraph is too short for a description."


def _links(blocks: tuple[Block, ...]) -> tuple[float, str]:
    """Citations become links, so they count."""
    found = any(one.links or CITED.search(one.text) for one in blocks)
    return float(found), "" if found else "Nothing links to a source."
