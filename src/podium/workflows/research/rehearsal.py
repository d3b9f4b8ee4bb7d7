"""Scripted answers of `research`: articles made of sentences of the sources, and checks that look them up.

Sentences that give orders to a model are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from podium.models.model import Call
from podium.models.rehearsal import rehearses, section
from podium.models.sample_values import LABEL, number, pick
from podium.tools.tool import unfenced
from podium.workflows.research.contracts import Brief
from podium.workflows.research.measures.text import terms_of
from podium.workflows.research.plan_rules import estimate_complexity

_FENCED = re.compile(
    r"BEGIN UNTRUSTED (\w+) from source (s\d+)\n\([^\n]*\)\n(.*?)\nEND UNTRUSTED \1", re.DOTALL
)
_ORDERS = re.compile(
    r"\b(ignore|disregard|forget|override|instructions?|prompts?|assistant|system message"
    r"|you (must|are now|should)|do not (cite|mention|tell|reveal)"
    r"|reply with|respond with|output only|api key|password|as an ai)\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[|`<>{}\[\]#*_]|https?:")
_FIGURE = re.compile(
    r"(\d+(?:[.,]\d+)*)\s?(mg|ml|kg|°C|per cent|percent|hours?|minutes?|seconds?|years?|bar|grams?)\b"
)
_BREAK = re.compile(r"\n\s*\n|\n(?=[-*#|>])|\[…\]|(?<=[^.!?:;,\n])(?<!\w{30})\n(?=[A-ZÀ-ÖØ-Þ][^\n]{80})")
"""End of a paragraph; a line without a full stop before a long one is a heading."""
_WANTED = re.compile(
    r"^Wanted: (.+?) of about (\d+) words\. .*?Depth: (\w+)\. At least (\d+) sources", re.MULTILINE
)
_CLAIM = re.compile(r"^- (c\d+) \(cites ([^)]*)\): (.*)$", re.MULTILINE)
_POINT = re.compile(r"^- (p\d+): (.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"^Address: (\S+)$", re.MULTILINE)
_ITERATION = re.compile(r"iteration\[(\d+)\]")
LEAST, MOST = 40, 320
"""Characters of a sentence that can be quoted."""
ASPECTS = ("what it is about", "what was observed", "where accounts differ", "what follows in practice")


class Passage(NamedTuple):
    """A sentence of a source, word for word."""

    source: str
    text: str
    score: int
    """Number of words of the topic in it."""


def passages_in(prompt: str) -> list[Passage]:
    """Return every quotable sentence of the fenced sources."""
    wanted = terms_of(section(prompt, "Topic"))
    passages: dict[str, Passage] = {}
    for _, source, body in _FENCED.findall(prompt):
        for sentence in _sentences(body.partition("\n\n")[2]):
            passages.setdefault(sentence, Passage(source, sentence, len(wanted & terms_of(sentence))))
    return list(passages.values())


def _sentences(text: str) -> Iterator[str]:
    plain = re.sub(r"(\*\*|__)(?=\S)|(?<=\S)(\*\*|__)", "", text)
    for paragraph in _BREAK.split(plain):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-ZÀ-ÖØ-Þ“„\"])", " ".join(paragraph.split())):
            whole = LEAST <= len(sentence) <= MOST and sentence.endswith(".") and sentence[:1].isupper()
            if whole and not _ORDERS.search(sentence) and not _MARKUP.search(sentence):
                yield sentence


def disagreements(passages: Sequence[Passage]) -> list[tuple[Passage, Passage, str]]:
    """Return pairs of sentences from two sources that give different figures for the same thing."""
    figured = [(passage, _figures_in(passage.text)) for passage in passages]
    counted = [(passage, terms_of(passage.text), figures) for passage, figures in figured if figures]
    pairs: list[tuple[float, Passage, Passage, str]] = []
    for (passage, words, figures), (other, others, values) in combinations(counted, 2):
        shared = {word for word in words & others if not word.isdigit()}
        units = [unit for unit in figures if unit in values and not figures[unit] & values[unit]]
        likeness = len(shared) / min(len(words), len(others))
        if passage.source != other.source and units and len(shared) >= 4 and likeness >= 0.35:
            ordered = sorted(shared, key=passage.text.lower().find)
            about = f"other figures in {units[0]} for {', '.join(ordered[:5])}"
            pairs.append((likeness, passage, other, about))
    return [(passage, other, about) for _, passage, other, about in sorted(pairs, key=lambda pair: -pair[0])]


def _figures_in(text: str) -> dict[str, set[str]]:
    figures: dict[str, set[str]] = {}
    for value, unit in _FIGURE.findall(text):
        figures.setdefault(unit.rstrip("s").replace("percent", "per cent"), set()).add(value)
    return figures


def _best_of_each(passages: Sequence[Passage]) -> list[Passage]:
    best: dict[str, Passage] = {}
    for passage in passages:
        if passage.source not in best or passage.score > best[passage.source].score:
            best[passage.source] = passage
    return list(best.values())


@rehearses("research", "assess")
def rehearse_assessment(call: Call) -> dict[str, Any]:
    """Assess by the rules of an estimate, so that a rehearsal follows the plan that was shown."""
    topic, _, options = section(call.prompt, "Topic").partition("\n\nWanted:")
    wanted: dict[str, Any] = {}
    if match := _WANTED.search(f"Wanted:{options}"):
        wanted = {"length": int(match[2]), "depth": match[3], "min_sources": int(match[4])}
        wanted["content_type"] = match[1].replace(" ", "_")
    brief = Brief(topic=topic, **wanted)
    words = sorted(terms_of(topic), key=topic.lower().find)
    return {
        "complexity": estimate_complexity(brief),
        "reason": f"{LABEL} judged by rules",
        "aspects": [f"{topic.rstrip('?.! ')}: {aspect}" for aspect in ASPECTS],
        "queries": list(dict.fromkeys([topic, *map(" ".join, combinations(words[:4], 2))]))[:6],
    }


@rehearses("research", "find_sources")
def rehearse_searcher(call: Call) -> dict[str, Any]:
    """Pick the first results of the searches."""
    shown = "\n".join(message.text for message in call.messages if message.role == "tool")
    return {"urls": list(dict.fromkeys(_ADDRESS.findall(shown)))[:2]}


# ── analysis ─────────────────────────────────────────────────────────────────────────────────────


@rehearses("research", "synthesize")
def rehearse_synthesis(call: Call) -> dict[str, Any]:
    passages = passages_in(call.prompt)
    best = _best_of_each(passages)
    nothing = {
        "text": f"{LABEL} nothing that could be quoted",
        "source_ids": re.findall(r"from source (s\d+)", call.prompt)[:1],
    }
    return {
        "points": [{"text": passage.text, "source_ids": [passage.source]} for passage in best] or [nothing],
        "outline": [
            {
                "heading": aspect.capitalize(),
                "points": [f"{LABEL} {aspect}"],
                "source_ids": [passage.source for passage in best[nth :: len(ASPECTS)]],
            }
            for nth, aspect in enumerate(ASPECTS)
        ],
        "disagreements": [
            f"{first.source} and {second.source}: {about}" for first, second, about in disagreements(passages)
        ],
    }


@rehearses("research", "summarize")
def rehearse_summaries(call: Call) -> dict[str, Any]:
    best = _best_of_each(passages_in(call.prompt))
    return {
        "summaries": [{"source_id": passage.source, "summary": f"{LABEL} {passage.text}"} for passage in best]
    }


@rehearses("research", "extract_insights")
def rehearse_insights(call: Call) -> dict[str, Any]:
    best = sorted(_best_of_each(passages_in(call.prompt)), key=lambda passage: -passage.score)[:6]
    return {"insights": [{"text": passage.text, "source_ids": [passage.source]} for passage in best]}


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


@rehearses("research", "write_article")
def rehearse_article(call: Call) -> str:
    topic = _topic(call)
    words = int((re.search(r"^About (\d+) words", call.prompt, re.MULTILINE) or ["", "800"])[1])
    parts = [f"# {topic[:1].upper()}{topic[1:]}"]
    if "Another writer writes the introduction" not in call.prompt:
        parts.append(rehearse_introduction(call))
    room = words - sum(len(part.split()) for part in parts) - 60
    parts += _sections(passages_in(call.prompt), room)
    if "Another writer writes the conclusion" not in call.prompt:
        parts.append(f"## Conclusion\n\n{rehearse_conclusion(call)}")
    return "\n\n".join(parts)


@rehearses("research", "write_introduction")
def rehearse_introduction(call: Call) -> str:
    first = max(passages_in(call.prompt), key=lambda passage: passage.score, default=None)
    text = (
        f"{LABEL} This text stands for an article about {_topic(call).rstrip('?.!')}. No model wrote it: its "
        "sentences are taken from the sources, and every one of them can be followed."
    )
    return f"{text} {first.text} [@{first.source}]" if first else text


@rehearses("research", "write_conclusion")
def rehearse_conclusion(call: Call) -> str:
    topic = _topic(call).rstrip("?.!")
    return f"{LABEL} This is what the sources say about {topic}. A real writer would weigh it here."


def _sections(passages: Sequence[Passage], room: int) -> Iterator[str]:
    """Yield a section for each aspect, with other sentences, until the length is reached. Sentences that
    contradict each other stand side by side."""
    disputed = [passage for pair in disagreements(passages)[:3] for passage in pair[:2]]
    ranked = [passage for passage in _taking_turns(passages) if passage not in disputed]
    for aspect in ASPECTS:
        chosen = list(disputed) if aspect == "where accounts differ" else []
        while ranked and sum(len(passage.text.split()) for passage in chosen) < max(room // len(ASPECTS), 40):
            chosen.append(ranked.pop(0))
        lines = [f"{passage.text} [@{passage.source}]" for passage in chosen]
        if lines:
            paragraphs = (" ".join(lines[at : at + 3]) for at in range(0, len(lines), 3))
            yield f"## {aspect.capitalize()}\n\n" + "\n\n".join(paragraphs)


def _taking_turns(passages: Sequence[Passage]) -> list[Passage]:
    """Return the best sentence of every source, then the second best of each, and so on; sentences that hold
    hardly a word of the topic come last."""
    turns: Counter[tuple[int, str]] = Counter()
    ordered: list[tuple[int, int, Passage]] = []
    for passage in sorted(passages, key=lambda passage: -passage.score):
        relevance = min(passage.score, 2)
        turns[relevance, passage.source] += 1
        ordered.append((-relevance, turns[relevance, passage.source], passage))
    return [passage for _, _, passage in sorted(ordered, key=lambda row: row[:2])]


# ── quality ──────────────────────────────────────────────────────────────────────────────────────


@rehearses("research", "fact_check")
def rehearse_fact_check(call: Call) -> dict[str, Any]:
    """Look the claims up in the passages of the cited sources. The first check misses one in five, so that
    the next iteration has something to improve."""
    passages, tries = passages_in(call.prompt), _iteration(call)
    checks: list[dict[str, Any]] = []
    for claim, cited, text in _CLAIM.findall(section(call.prompt, "Claims")):
        cited_passages = [passage for passage in passages if passage.source in cited.split(", ")]
        own = [passage for passage in cited_passages if passage.text.rstrip(".") in text]
        if own and (tries > 1 or number(text) % 5):
            checks.append(
                {
                    "claim_id": claim,
                    "verdict": "verified",
                    "source_id": own[0].source,
                    "quote": own[0].text,
                    "reason": f"{LABEL} the words stand there",
                }
            )
        else:
            checks.append({"claim_id": claim, "verdict": "unverified", "reason": f"{LABEL} not passages"})
    sides = [
        {
            "about": about,
            "first": {"source_id": passage.source, "quote": passage.text},
            "second": {"source_id": other.source, "quote": other.text},
        }
        for passage, other, about in disagreements(passages)[:8]
    ]
    return {"checks": checks, "contradictions": sides, "points": list(_points(call.prompt, passages))}


def _points(prompt: str, passages: Sequence[Passage]) -> Iterator[dict[str, Any]]:
    """Yield each point with the sentence that shares most words with it, if any does."""
    for point, text in _POINT.findall(section(prompt, "Points of a complete answer")):
        words = terms_of(text)
        best = max(passages, key=lambda passage: len(words & terms_of(passage.text)), default=None)
        known = best is not None and words & terms_of(best.text)
        yield {"point_id": point} | ({"source_id": best.source, "quote": best.text} if best and known else {})


@rehearses("research", "edit")
def rehearse_edit(call: Call) -> dict[str, Any]:
    """Return the article unchanged, with a grade."""
    text = unfenced(call.prompt.partition("# Article\n\n")[2].rpartition("\n\n# Answer")[0])
    grade = 0.84 + number(_topic(call), "grammar") % 8 / 100 + 0.03 * (_iteration(call) - 1)
    changes = [f"{LABEL} nothing was changed"]
    return {"article": text, "grammar": round(min(grade, 0.97), 2), "changes": changes}


@rehearses("research", "judge")
def rehearse_judgement(call: Call) -> dict[str, Any]:
    """Find something missing in a first version, and less in the next ones."""
    tries, topic = _iteration(call), _topic(call)
    coverage = min(0.7 + number(topic, "coverage") % 16 / 100 + 0.14 * (tries - 1), 0.96)
    tone = min(0.72 + number(topic, "tone") % 12 / 100 + 0.08 * (tries - 1), 0.96)
    aspect, enough = pick(ASPECTS, topic), coverage > 0.85
    return {
        "coverage": round(coverage, 2),
        "tone": round(tone, 2),
        "missing": [] if enough else [f"{topic.rstrip('?.! ')}: {aspect}"],
        "issues": [] if enough else [f"{LABEL} say more about {aspect}"],
    }


def _iteration(call: Call) -> int:
    match = _ITERATION.search(call.path)
    return int(match[1]) if match else 1


def _topic(call: Call) -> str:
    return section(call.prompt, "Topic").partition("\n\n")[0].strip()
