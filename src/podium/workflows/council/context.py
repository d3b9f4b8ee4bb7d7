"""Prompt context of `council`.

The parts are ordered by how often they change: members, request, contributions by round, current ideas, open
points. Each idea and each point appears once; the contribution that introduced it only names its id.

Contributions are condensed by program, the oldest round first. The most important sentences are kept in order
(decisions, figures, ids, questions, first sentences), and a mark says that the text was condensed. The log
holds the full text. Ideas are never left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import msgspec

from podium.engine.codec import encode
from podium.models.messages import ToolDefinition
from podium.report.words import count
from podium.workflows.council.discussion import Details, Discussion, Idea, Point, Spoken, points_of
from podium.workflows.council.policy import score_text

_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#>|]|\d+[.)])\s)")
_SENTENCE = re.compile(r".+?(?:[.!?…。！？]+[\"”»)]*(?=\s|$)|$)", re.DOTALL)
_MARKER = re.compile(r"^\s*(?:[-*>]|\d+[.)])\s+")
_ID = re.compile(r"\b[IRQ]\d+\b")
_DECISION = re.compile(
    r"\b(?:decid|decision|agree|must|reject|drop|keep|kept|choose|chose|instead|priorit|focus|"
    r"give up|given up|revis|settle|condition|deadline|budget|cost|"
    r"entscheid|entschied|beschl|verwerf|streich|statt|muss|behalten|kosten|frist|"
    r"décid|rejet|gard|doit|coût|abandon|decid|rechaz|debe|coste)",
    re.IGNORECASE,
)
_LONGEST_UNIT = 600
"""Maximum characters of a sentence; longer ones are cut."""


class _Unit(msgspec.Struct, frozen=True):
    """A heading or a sentence, with its block number and its value."""

    text: str
    block: int
    value: int


def condense(text: str, most: int) -> str:
    """Return the most important headings and sentences in at most `most` characters. If none fits, return the
    start of the text."""
    if len(text) <= most:
        return text
    units = _units(text)
    chosen: set[int] = set()
    used = 0
    for nth in sorted(range(len(units)), key=lambda nth: (-units[nth].value, nth)):
        length = len(units[nth].text) + 1
        if used + length <= most:
            chosen.add(nth)
            used += length
    if not chosen:
        return cut_text(text, most)
    lines: dict[int, list[str]] = {}
    for nth in sorted(chosen):
        lines.setdefault(units[nth].block, []).append(units[nth].text)
    return "\n".join(" ".join(sentences) for sentences in lines.values())


@lru_cache(maxsize=256)
def _units(text: str) -> tuple[_Unit, ...]:
    """Return the headings and sentences of a text, without duplicates."""
    units: list[_Unit] = []
    seen: set[str] = set()
    for block, part in enumerate(part.strip() for part in _BREAK.split(text)):
        if not part:
            continue
        flat = part if part.startswith("#") else " ".join(part.split())
        sentences = [flat] if flat.startswith("#") else map(str.strip, _SENTENCE.findall(flat))
        for nth, sentence in enumerate(filter(None, sentences)):
            if sentence not in seen:
                seen.add(sentence)
                units.append(
                    _Unit(cut_text(sentence, _LONGEST_UNIT), block, _value(sentence, first=nth == 0))
                )
    return tuple(units)


def _value(sentence: str, *, first: bool) -> int:
    """Rate a sentence: decisions and figures count most, then ids, questions and first sentences, then
    emphasis."""
    bare = _ID.sub("", _MARKER.sub("", sentence))
    return (
        3 * bool(_DECISION.search(bare))
        + 3 * bool(re.search(r"\d", bare))
        + 2 * bool(_ID.search(sentence))
        + 2 * sentence.endswith(("?", "？"))
        + 2 * first
        + (sentence.startswith("#") or "**" in sentence)
    )


def cut_bytes(text: str, room: int) -> str:
    """Cut a text to at most `room` bytes of UTF-8 and mark the cut."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= room else data[: max(room - 8, 0)].decode("utf-8", "ignore") + " […]"


def cut_text(text: str, most: int) -> str:
    """Cut a text to at most `most` characters."""
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"


def sentence(text: str) -> str:
    """End a text with a full stop, unless it already ends like a sentence."""
    text = text.rstrip()
    return text if not text or text.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{text}."


BYTES_PER_TOKEN = 3
"""Conservative estimate: English has about four bytes per token, other scripts about three."""
DEFAULT_WINDOW = 128_000
SMALLEST_WINDOW = 8_000
USED = 0.8
"""Share of the context window that a prompt may use. The rest is for the reply and for wrong estimates."""
REPAIR_BYTES = 9_000
"""Bytes reserved for an invalid answer that is sent back for repair."""
LEAST_ROOM = 2_000
KEPT = (2_000, 240)
"""Minimum characters kept of a condensed contribution. The second value applies only if the first is not
enough."""
IDEAS_SHARE, POINTS_SHARE, TOPIC_SHARE = 0.5, 0.2, 0.25
"""Shares of the room for ideas, open points and the topic."""
LONGEST_POINT = 160

_TAGS = re.compile(r"<(/?)(council|request|discussion|ideas|points)\b", re.IGNORECASE)


class Context(msgspec.Struct, frozen=True):
    """The discussion as prompt text, and the ids of the messages that are condensed in it."""

    text: str
    condensed: tuple[str, ...] = ()


def most_output(own: int, window: int) -> int:
    """Return the maximum reply tokens of an agent: its own limit, but at most a quarter of the window."""
    return min(own, window // 4)


def room_for(window: int, max_tokens: int, around: int) -> int:
    """Return the bytes available for the discussion: 80 % of the window, or less if the reply needs more,
    minus the repair reserve and the bytes `around` it (system prompt, schema, task text)."""
    tokens = min(int(window * USED), window - max_tokens)
    return max(LEAST_ROOM, tokens * BYTES_PER_TOKEN - around - REPAIR_BYTES)


def room_for_tools(window: int, tools: Sequence[ToolDefinition]) -> int:
    """Return the bytes that tools need: their definitions, and a quarter of the window for results."""
    definitions = sum(len(encode(tool)) for tool in tools)
    return definitions + window * BYTES_PER_TOKEN // 4


def build_context(discussion: Discussion, room: int, about: str = "") -> Context:
    """Return the whole discussion if it fits into `room` bytes, otherwise a condensed one. `about` describes
    the members and the rules; it comes first."""
    points = points_of(discussion.spoken)
    parts = _Parts(about, discussion.topic, _ideas(discussion.ideas), _points(points), discussion)
    whole = {contribution.message.id: entry(contribution) for contribution in discussion.spoken}
    if _size(text := parts.around(whole)) <= room:
        return Context(text)
    room_ideas, room_points = int(room * IDEAS_SHARE), int(room * POINTS_SHARE)
    parts = _Parts(
        about=about if len(about) < room // 4 else "",
        topic=cut_bytes(discussion.topic, int(room * TOPIC_SHARE)),
        ideas=_fitted(lambda most: _ideas(discussion.ideas, most), room_ideas),
        points=_fitted(lambda most: _points(points, min(most, LONGEST_POINT), settled=False), room_points),
        discussion=discussion,
    )
    return _condensed(discussion, parts, whole, room)


class _Parts(msgspec.Struct, frozen=True):
    """The parts of the prompt other than the contributions."""

    about: str
    topic: str
    ideas: str
    points: str
    discussion: Discussion

    def around(self, entries: Mapping[str, str], note: str = "") -> str:
        """Return the whole text with these contributions, grouped under round headings."""
        lines, last = [note] if note else list[str](), -1
        for contribution in self.discussion.spoken:
            if contribution.message.id not in entries:
                continue
            if contribution.round != last:
                lines.append(f"--- {stage(self.discussion, contribution.round)} ---")
                last = contribution.round
            lines.append(entries[contribution.message.id])
        spoken = "\n".join(lines) or "(no contributions yet)"
        origin = "the Ideation Specialist"
        origin += " and one expert who answered alone" if self.discussion.draft_idea is not None else ""
        blocks = [
            f"<council>\n{self.about}\n</council>" if self.about else "",
            f'<request from="the user">\nTopic: {_inert(self.topic)}\n</request>',
            f'<discussion from="the members, oldest first">\nPrevious Discussion:\n{spoken}\n</discussion>',
            f'<ideas from="{origin}, in their current versions">\nCurrent Ideas:\n'
            f"{self.ideas or '(none yet)'}\n</ideas>",
            f'<points from="the Critic">\n{self.points}\n</points>' if self.points else "",
        ]
        return "\n\n".join(block for block in blocks if block)


def _condensed(discussion: Discussion, parts: _Parts, whole: dict[str, str], room: int) -> Context:
    """Shorten contributions, the oldest round first, only as far as necessary."""
    entries = dict(whole)
    for least in KEPT:
        for number in sorted({contribution.round for contribution in discussion.spoken}):
            spoken = [contribution for contribution in discussion.spoken if contribution.round == number]
            shorter = {**entries, **_shortened(spoken, least)}
            if _size(parts.around(shorter)) <= room:
                longest = max(len(contribution.message.content) for contribution in spoken)
                fits = partial(_fits, parts, entries, spoken, room)
                entries = {**entries, **_shortened(spoken, _largest(fits, least, longest))}
                changed = tuple(name for name, text in entries.items() if text != whole[name])
                return Context(parts.around(entries), changed)
            entries = shorter
    return Context(_without_oldest(discussion, parts, entries, room), tuple(entries))


def _shortened(spoken: Sequence[Spoken], most: int) -> dict[str, str]:
    return {contribution.message.id: entry(contribution, most) for contribution in spoken}


def _fits(parts: _Parts, entries: Mapping[str, str], spoken: Sequence[Spoken], room: int, most: int) -> bool:
    """True if the text fits when these contributions have at most `most` characters."""
    return _size(parts.around({**entries, **_shortened(spoken, most)})) <= room


def _without_oldest(discussion: Discussion, parts: _Parts, entries: dict[str, str], room: int) -> str:
    """Drop the oldest contributions, and only count them, when even the shortest versions do not fit."""
    names = list(entries)
    for gone in range(1, len(names) + 1):
        remaining = {name: entries[name] for name in names[gone:]}
        text = parts.around(remaining, f"[{gone} earlier contributions are left out]")
        if _size(text) <= room:
            return text
    return cut_bytes(parts.around({}), room)


def stage(discussion: Discussion, number: int) -> str:
    """Return the title of a round: the kickoff, a numbered round, or the validation after the last one."""
    if number == 0:
        return "Kickoff"
    return (
        f"Round {number} of {discussion.rounds}"
        if number <= discussion.rounds
        else "Validation and selection"
    )


# ── contributions ──


def entry(contribution: Spoken, most: int = 0) -> str:
    """Render a contribution: the speaker's own words, and the ids of the ideas and points that it added."""
    message, details = contribution.message, contribution.details
    own = message.content if details.own < 0 else message.content[: details.own]
    names = _names(details)
    mark = ""
    if most and len(own) > most:
        mark, own = f" (condensed from {len(own):,} characters)", condense(own, most)
    return (
        f"[{message.sender} -> {message.to}]{mark}: {' '.join(part for part in (_inert(own), names) if part)}"
    )


def _names(details: Details) -> str:
    """List the ids of the ideas and points that a contribution added, revised or settled."""
    if details.own < 0:
        return ""
    notes = [
        f"new ideas: {', '.join(details.ideas)}" if details.ideas else "",
        f"revised: {', '.join(details.revised)}" if details.revised else "",
        f"risks: {', '.join(risk.id for risk in details.risks)}" if details.risks else "",
        count(len(details.open_questions), "open question") if details.open_questions else "",
        f"settled: {', '.join(note.point for note in details.settled)}" if details.settled else "",
    ]
    listed = "; ".join(part for part in notes if part)
    return f"({listed})" if listed else ""


# ── ideas and points ──


def _ideas(ideas: Sequence[Idea], most: int = 0) -> str:
    return "\n".join(_idea(nth, idea, most) for nth, idea in enumerate(ideas, 1))


def _idea(nth: int, idea: Idea, most: int) -> str:
    text = _on_one_line(idea.description)
    text = text if not most or len(text) <= most else condense(text, most) if most > 1 else ""
    notes = [
        f"version {idea.version}" if idea.version > 1 else "",
        f"refines {', '.join(idea.refines)}" if idea.refines else "",
    ]
    remarks = "; ".join(note for note in notes if note)
    described = f" - {' '.join(_inert(text).split())}" if text else ""
    score = "not scored" if idea.score is None else f"{score_text(idea.score)}/10"
    title = _inert(idea.title)
    return f"{nth}. [{idea.id}] {title}{f' ({remarks})' if remarks else ''}{described}\n   Score: {score}"


@lru_cache(maxsize=64)
def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _points(points: Sequence[Point], most: int = 0, *, settled: bool = True) -> str:
    still = [_point(point, most) for point in points if not point.settled]
    done = [f"{point.id}{f' ({point.how})' if point.how else ''}" for point in points if point.settled]
    lines = ["Open points:", *still] if still else []
    lines += [f"Settled: {_inert('; '.join(done))}"] if done and settled else []
    return "\n".join(lines)


def _point(point: Point, most: int) -> str:
    kind = f"{point.severity} risk" if point.kind == "risk" else "question"
    about = f", {point.idea}" if point.idea else ""
    helps = f" What helps: {sentence(point.mitigation)}" if point.mitigation else ""
    text = " ".join(f"{sentence(point.text)}{helps}".split())
    return f"- {point.id} ({kind}{about}): {_inert(cut_text(text, most) if most else text)}"


# ── sizes ──


def _fitted(listed: Callable[[int], str], room: int) -> str:
    """Render a list with item texts as long as the room allows."""
    if _size(text := listed(0)) <= room:
        return text
    best = _largest(lambda most: _size(listed(most)) <= room, 1, 100_000)
    return cut_bytes(listed(best), room)


def _largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Binary search for the largest number up to `high` that fits. `low` is assumed to fit."""
    while high - low > max(8, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _inert(text: str) -> str:
    """Escape the tags that separate the parts, so that a text cannot open or close one."""
    return _TAGS.sub(r"‹\1\2", text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
