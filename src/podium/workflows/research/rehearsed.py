"""What a rehearsal reads out of its prompts: the sentences of the sources, and where two of them disagree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from podium.workflows.research.excerpts import terms_of

_FENCED = re.compile(
    r"BEGIN UNTRUSTED (\w+) from source (s\d+)\n\([^\n]*\)\n(.*?)\nEND UNTRUSTED \1", re.DOTALL
)
_ORDERS = re.compile(
    r"\b(ignore|disregard|forget|override|instructions?|prompts?|assistant|system message"
    r"|you (must|are now|should)|do not (cite|mention|tell|reveal)"
    r"|reply with|respond with|output only|api key|password|as an ai)\b",
    re.IGNORECASE,
)
"""Sentences that speak to a model instead of telling something; nothing is made of them."""
_MARKUP = re.compile(r"[|`<>{}\[\]#*_]|https?:")
_FIGURE = re.compile(
    r"(\d+(?:[.,]\d+)*)\s?(mg|ml|kg|°C|per cent|percent|hours?|minutes?|seconds?|years?|bar|grams?)\b"
)
"""A number with what it counts."""
_BREAK = re.compile(r"\n\s*\n|\n(?=[-*#|>])|\[…\]|(?<=[^.!?:;,\n])(?<!\w{30})\n(?=[A-ZÀ-ÖØ-Þ][^\n]{80})")
"""Where a paragraph ends; a line without a full stop before a long one is a heading."""
LEAST, MOST = 40, 320
"""Characters of a sentence that can be quoted."""


class Passage(NamedTuple):
    """A sentence of a source, as it stands there."""

    source: str
    text: str
    score: int
    """How many words of the topic it holds."""


def passages_in(prompt: str) -> list[Passage]:
    """Every sentence of the fenced sources that tells something."""
    wanted = terms_of(section_of(prompt, "Topic"))
    found: dict[str, Passage] = {}
    for _, source, body in _FENCED.findall(prompt):
        text = body.partition("\n\n")[2]
        for sentence in _sentences(text):
            score = len(wanted & terms_of(sentence))
            if sentence not in found:
                found[sentence] = Passage(source, sentence, score)
    return list(found.values())


def _sentences(text: str) -> list[str]:
    plain = re.sub(r"(\*\*|__)(?=\S)|(?<=\S)(\*\*|__)", "", text)
    paragraphs = (" ".join(one.split()) for one in _BREAK.split(plain))
    found = (one for flat in paragraphs for one in re.split(r"(?<=[.!?])\s+(?=[A-ZÀ-ÖØ-Þ“„\"])", flat))
    return [one for one in found if _tells_something(one)]


def _tells_something(sentence: str) -> bool:
    whole = LEAST <= len(sentence) <= MOST and sentence.endswith(".") and sentence[:1].isupper()
    return whole and not _ORDERS.search(sentence) and not _MARKUP.search(sentence)


def disagreements(found: Sequence[Passage]) -> list[tuple[Passage, Passage, str]]:
    """Pairs of sentences of two sources that speak of the same thing with other figures."""
    told = [(one, terms_of(one.text), figures_in(one.text)) for one in found]
    counted = [one for one in told if one[2]]
    pairs: list[tuple[float, Passage, Passage, str]] = []
    for (one, words, figures), (other, others, values) in combinations(counted, 2):
        shared = {word for word in words & others if not word.isdigit()}
        units = [unit for unit in figures if unit in values and not figures[unit] & values[unit]]
        likeness = len(shared) / min(len(words), len(others))
        if one.source != other.source and units and len(shared) >= 4 and likeness >= 0.35:
            ordered = sorted(shared, key=one.text.lower().find)
            pairs.append((likeness, one, other, f"other figures in {units[0]} for {', '.join(ordered[:5])}"))
    pairs.sort(key=lambda pair: -pair[0])
    return [(one, other, about) for _, one, other, about in pairs]


def figures_in(text: str) -> dict[str, set[str]]:
    """The numbers of a sentence by what they count."""
    found: dict[str, set[str]] = {}
    for number, unit in _FIGURE.findall(text):
        found.setdefault(unit.rstrip("s").replace("percent", "per cent"), set()).add(number)
    return found


def alike(sentence: str, claim: str) -> float:
    """Which share of a sentence's words stand in a claim; 1 if it stands there as it is."""
    if sentence.rstrip(".").lower() in claim.lower():
        return 1.0
    words = set(sentence.lower().split())
    return len(words & set(claim.lower().split())) / len(words) if words else 0.0


def section_of(prompt: str, title: str) -> str:
    """What stands under a heading of a prompt, up to the next one of the same rank."""
    found = re.search(rf"^# {re.escape(title)}\n\n(.*?)(?=^# |\Z)", prompt, re.DOTALL | re.MULTILINE)
    return found[1].strip() if found else ""


def wanted_in(prompt: str) -> dict[str, Any]:
    """What the planner's prompt says of the brief."""
    found = re.search(
        r"^Wanted: (.+?) of about (\d+) words\. .*?Depth: (\w+)\. At least (\d+) sources",
        prompt,
        re.MULTILINE,
    )
    if found is None:
        return {}
    return {
        "content_type": found[1].replace(" ", "_"), "length": int(found[2]), "depth": found[3],
        "min_sources": int(found[4]),
    }  # fmt: skip
