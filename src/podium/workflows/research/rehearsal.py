"""Scripted answers of `research`.

It reports what sources say and does nothing that they ask for. It always says that it is a rehearsal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from podium.models.model import Call
from podium.models.rehearsal import rehearses
from podium.models.request_words import number, pick
from podium.models.sample_values import LABEL
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
    for value, unit in _FIGURE.findall(text):
        found.setdefault(unit.rstrip("s").replace("percent", "per cent"), set()).add(value)
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


ASPECTS = ("what it is about", "what was observed", "where accounts differ", "what follows in practice")
LEADS = (
    "{quote} {mark}",
    "According to one source, “{quote}” {mark}.",
    "{quote} {mark}",
    "Another account says: “{quote}” {mark}.",
)
_CLAIM = re.compile(r"^- (c\d+) \(cites ([^)]*)\): (.*)$", re.MULTILINE)
_POINT = re.compile(r"^- (p\d+): (.*)$", re.MULTILINE)
_ITERATION = re.compile(r"iteration\[(\d+)\]")


@rehearses("research", "assess")
def rehearse_assessment(call: Call) -> dict[str, Any]:
    """The same rules as those of an estimate, so that a rehearsal follows the plan that was shown."""
    topic, wanted = (
        section_of(call.prompt, "Topic").partition("\n\nWanted:")[0].strip(),
        wanted_in(call.prompt),
    )
    brief = Brief(topic=topic, **wanted)
    words = sorted(terms_of(topic), key=topic.lower().find)
    pairs = [" ".join(pair) for pair in combinations(words[:4], 2)]
    return {
        "complexity": estimate_complexity(brief),
        "reason": f"{LABEL} judged by rules",
        "aspects": [f"{topic.rstrip('?.! ')}: {one}" for one in ASPECTS],
        "queries": list(dict.fromkeys([topic, *pairs]))[:6],
    }


# ── analysis ─────────────────────────────────────────────────────────────────────────────────────


@rehearses("research", "synthesize")
def rehearse_synthesis(call: Call) -> dict[str, Any]:
    found = passages_in(call.prompt)
    best = _best_of_each(found)
    ids = [one.source for one in best]
    parts = _shares(ids, len(ASPECTS))
    return {
        "points": [{"text": one.text, "source_ids": [one.source]} for one in best] or _nothing(call),
        "outline": [
            {"heading": aspect.capitalize(), "points": [f"{LABEL} {aspect}"], "source_ids": part}
            for aspect, part in zip(ASPECTS, parts, strict=True)
        ],
        "disagreements": [
            f"{one.source} and {other.source}: {about}" for one, other, about in disagreements(found)
        ],
    }


@rehearses("research", "summarize")
def rehearse_summaries(call: Call) -> dict[str, Any]:
    best = _best_of_each(passages_in(call.prompt))
    return {"summaries": [{"source_id": one.source, "summary": f"{LABEL} {one.text}"} for one in best]}


@rehearses("research", "extract_insights")
def rehearse_insights(call: Call) -> dict[str, Any]:
    best = sorted(_best_of_each(passages_in(call.prompt)), key=lambda one: -one.score)[:6]
    return {"insights": [{"text": one.text, "source_ids": [one.source]} for one in best]}


def _nothing(call: Call) -> list[dict[str, Any]]:
    known = re.findall(r"from source (s\d+)", call.prompt)
    return [{"text": f"{LABEL} nothing that could be quoted", "source_ids": known[:1]}]


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


@rehearses("research", "write_article")
def rehearse_article(call: Call) -> str:
    topic, found = _topic(call), passages_in(call.prompt)
    words = int((re.search(r"^About (\d+) words", call.prompt, re.MULTILINE) or ["", "800"])[1])
    parts = [f"# {topic[:1].upper()}{topic[1:]}"]
    if "Somebody else writes the introduction" not in call.prompt:
        parts.append(_opening(topic, found))
    room = words - sum(len(part.split()) for part in parts) - 60
    parts += _sections(found, room)
    if "Somebody else writes the conclusion" not in call.prompt:
        parts.append(f"## Conclusion\n\n{_summing_up(topic)}")
    return "\n\n".join(parts)


@rehearses("research", "write_introduction")
def rehearse_introduction(call: Call) -> str:
    return _opening(_topic(call), passages_in(call.prompt))


@rehearses("research", "write_conclusion")
def rehearse_conclusion(call: Call) -> str:
    return f"{LABEL} {_summing_up(_topic(call))}"


def _opening(topic: str, found: Sequence[Passage]) -> str:
    told = (
        f"{LABEL} This text stands for an article about {topic.rstrip('?.!')}. No model wrote it: its "
        "sentences are taken from the sources, and every one of them can be followed."
    )
    first = max(found, key=lambda one: one.score, default=None)
    return f"{told} {first.text} [@{first.source}]" if first else told


def _summing_up(topic: str) -> str:
    return (
        f"This is what the sources say about {topic.rstrip('?.!')}. Where they differ, the text "
        "names both sides and leaves the choice to its reader. A real writer would weigh them here."
    )


def _sections(found: Sequence[Passage], room: int) -> Iterator[str]:
    """One for each aspect: other sentences, from other sources, until the length is reached. Where two
    sources contradict each other both are told, next to each other."""
    disputed = [(one, other) for one, other, _ in disagreements(found)][:3]
    told = {one.text for pair in disputed for one in pair}
    ranked = [one for one in _taking_turns(found) if one.text not in told]
    share = max(room // len(ASPECTS), 40)
    for nth, aspect in enumerate(ASPECTS):
        lines: list[str] = []
        if aspect == "where accounts differ":
            lines += [
                f"{one.text} [@{one.source}] Yet {_lowered(other.text)} [@{other.source}]"
                for one, other in disputed
            ]
        while ranked and sum(len(line.split()) for line in lines) < share:
            one = ranked.pop(0)
            lead = LEADS[(nth + len(lines)) % len(LEADS)]
            lines.append(
                lead.format(quote=one.text.rstrip(".") if "“" in lead else one.text, mark=f"[@{one.source}]")
            )
        if lines:
            yield f"## {aspect.capitalize()}\n\n{_paragraphs(lines)}"


def _lowered(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text if first.isupper() or first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


def _paragraphs(lines: Sequence[str]) -> str:
    return "\n\n".join(" ".join(lines[at : at + 3]) for at in range(0, len(lines), 3))


def _taking_turns(found: Sequence[Passage]) -> list[Passage]:
    """The best sentence of every source, then everybody's second best, and so on; those that hold one word
    of the topic, or none, come when the others are used up."""
    ordered: list[Passage] = []
    for least in (2, 1, 0):
        group = [one for one in found if min(one.score, 2) == least]
        queues: dict[str, list[Passage]] = {}
        for one in sorted(group, key=lambda one: -one.score):
            queues.setdefault(one.source, []).append(one)
        turns = max((len(queue) for queue in queues.values()), default=0)
        ordered += [queue[turn] for turn in range(turns) for queue in queues.values() if turn < len(queue)]
    return ordered


def _best_of_each(found: Sequence[Passage]) -> list[Passage]:
    best: dict[str, Passage] = {}
    for one in found:
        if one.source not in best or one.score > best[one.source].score:
            best[one.source] = one
    return list(best.values())


def _shares(ids: Sequence[str], parts: int) -> list[list[str]]:
    return [list(ids[nth::parts]) for nth in range(parts)]


# ── quality ──────────────────────────────────────────────────────────────────────────────────────


@rehearses("research", "fact_check")
def rehearse_fact_check(call: Call) -> dict[str, Any]:
    """Look the claims up in the passages: the same words, or nearly the same, in a source that is cited. A
    first look misses one in five, so that there is something to do better."""
    found, tries = passages_in(call.prompt), _iteration(call)
    checks: list[dict[str, Any]] = []
    for claim, cited, text in _CLAIM.findall(section_of(call.prompt, "Claims")):
        own = [one for one in found if one.source in cited.split(", ")]
        match = max(own, key=lambda one: alike(one.text, text), default=None)
        seen = tries > 1 or number(text) % 5
        if match is not None and seen and alike(match.text, text) >= 0.6:
            checks.append({"claim_id": claim, "verdict": "verified", "source_id": match.source,
                           "quote": match.text, "reason": f"{LABEL} the words stand there"})  # fmt: skip
        else:
            checks.append({"claim_id": claim, "verdict": "unverified", "reason": f"{LABEL} not found"})
    sides = [
        {"about": about, "first": {"source_id": one.source, "quote": one.text},
         "second": {"source_id": other.source, "quote": other.text}}
        for one, other, about in disagreements(found)[:8]
    ]  # fmt: skip
    return {"checks": checks, "contradictions": sides, "points": list(_points(call.prompt, found))}


def _points(prompt: str, found: Sequence[Passage]) -> Iterator[dict[str, Any]]:
    """The sentence that shares most words with each point; none, if no word of it is told anywhere."""
    for point, text in _POINT.findall(section_of(prompt, "Points of a complete answer")):
        words = terms_of(text)
        best = max(found, key=lambda one: len(words & terms_of(one.text)), default=None)
        if best is not None and words & terms_of(best.text):
            yield {"point_id": point, "source_id": best.source, "quote": best.text}
        else:
            yield {"point_id": point}


@rehearses("research", "edit")
def rehearse_edit(call: Call) -> dict[str, Any]:
    """The article as it is: a rehearsal has nothing to mend, but it grades."""
    text = unfenced(call.prompt.partition("# Article\n\n")[2].rpartition("\n\n# Answer")[0])
    grade = 0.84 + number(_topic(call), "grammar") % 8 / 100 + 0.03 * (_iteration(call) - 1)
    return {
        "article": text,
        "grammar": round(min(grade, 0.97), 2),
        "changes": [f"{LABEL} nothing was changed"],
    }


@rehearses("research", "judge")
def rehearse_judgement(call: Call) -> dict[str, Any]:
    """A first version leaves something out; the next ones leave out less."""
    tries, topic = _iteration(call), _topic(call)
    coverage = min(0.7 + number(topic, "coverage") % 16 / 100 + 0.14 * (tries - 1), 0.96)
    tone = min(0.72 + number(topic, "tone") % 12 / 100 + 0.08 * (tries - 1), 0.96)
    aspect = pick(ASPECTS, topic)
    return {
        "coverage": round(coverage, 2),
        "tone": round(tone, 2),
        "missing": [] if coverage > 0.85 else [f"{topic.rstrip('?.! ')}: {aspect}"],
        "issues": [] if coverage > 0.85 else [f"{LABEL} say more about {aspect}"],
    }


def _iteration(call: Call) -> int:
    found = _ITERATION.search(call.path)
    return int(found[1]) if found else 1


def _topic(call: Call) -> str:
    return section_of(call.prompt, "Topic").partition("\n\n")[0].strip()
