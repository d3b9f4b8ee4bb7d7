"""Prompt context of `council`.

The parts stand in the order in which they change: who takes part, the request, what was said round by round,
the ideas in their current versions, the open points. Each idea and each point stands there once: a
contribution that brought them only names their ids.

Condensing is done by program, from the oldest round on: of a contribution the sentences that matter most are
kept (decisions, figures, ids, questions, first sentences), in their order, and the place says that it was
condensed. The log holds the whole of it. Ideas are never left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import msgspec

from podium.report.words import count
from podium.workflows.council.discussion import Discussion, Idea, Spoken
from podium.workflows.council.points import Point, points_of
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
"""A sentence that is longer than this is cut."""


class _Unit(msgspec.Struct, frozen=True):
    """A heading or a sentence in its place."""

    text: str
    block: int
    value: int


def condense(text: str, most: int) -> str:
    """The most telling headings and sentences of a text in at most `most` characters; of a text that has
    none that fits, its beginning."""
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
    """The headings and sentences of a text; what repeats itself counts once."""
    units: list[_Unit] = []
    seen: set[str] = set()
    for block, part in enumerate(part.strip() for part in _BREAK.split(text)):
        if not part:
            continue
        flat = part if part.startswith("#") else " ".join(part.split())
        sentences = [flat] if flat.startswith("#") else [one.strip() for one in _SENTENCE.findall(flat)]
        for nth, sentence in enumerate(one for one in sentences if one):
            if sentence not in seen:
                seen.add(sentence)
                units.append(
                    _Unit(cut_text(sentence, _LONGEST_UNIT), block, _value(sentence, first=nth == 0))
                )
    return tuple(units)


def _value(sentence: str, *, first: bool) -> int:
    """How much a sentence tells: decisions, figures, open points and questions before plain words."""
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
    """A text in at most `room` bytes of UTF-8; the place says that it was cut."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= room else data[: max(room - 8, 0)].decode("utf-8", "ignore") + " […]"


def cut_text(text: str, most: int) -> str:
    """A text in at most `most` characters."""
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"


def sentence(text: str) -> str:
    """A text that ends as a sentence does, so that another one can follow."""
    text = text.rstrip()
    return text if not text or text.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{text}."


BYTES_PER_TOKEN = 3
"""Careful: English has about four, other scripts about three."""
DEFAULT_WINDOW = 128_000
SMALLEST_WINDOW = 8_000
USED = 0.8
"""Share of the window that a prompt may take; what is left is for the reply and for wrong estimates."""
REPAIR_BYTES = 9_000
"""Room for an answer that is sent back."""
LEAST_ROOM = 2_000
KEPT = (2_000, 240)
"""Characters that are kept at least of a contribution: first of all rounds, then, if needed, fewer."""
IDEAS_SHARE, POINTS_SHARE, TOPIC_SHARE = 0.5, 0.2, 0.25
"""Parts of the room that ideas, open points and the topic may take."""
LONGEST_POINT = 160

_TAGS = re.compile(r"<(/?)(council|request|discussion|ideas|points)\b", re.IGNORECASE)


class Context(msgspec.Struct, frozen=True):
    """The text, and which messages are condensed in it."""

    text: str
    condensed: tuple[str, ...] = ()


def most_output(own: int, window: int) -> int:
    """The longest reply of an agent: its own, but never more than a quarter of the window."""
    return min(own, window // 4)


def room_for(window: int, max_tokens: int, around: int) -> int:
    """Bytes that a discussion may have: 80 % of the window, or what the reply leaves, less what stands
    `around` it: the system prompt, the schema and the words of the task."""
    tokens = min(int(window * USED), window - max_tokens)
    return max(LEAST_ROOM, tokens * BYTES_PER_TOKEN - around - REPAIR_BYTES)


def build_context(held: Discussion, room: int, about: str = "") -> Context:
    """The whole discussion if it fits into `room` bytes, else a condensed one that does. `about` says who
    takes part and how the council works; it comes first."""
    points = points_of(held.spoken)
    parts = _Parts(about, held.topic, _ideas(held.ideas), _points(points), held)
    whole = {one.message.id: entry(one) for one in held.spoken}
    if _size(text := parts.around(whole)) <= room:
        return Context(text)
    room_ideas, room_points = int(room * IDEAS_SHARE), int(room * POINTS_SHARE)
    parts = _Parts(
        about=about if len(about) < room // 4 else "",
        topic=cut_bytes(held.topic, int(room * TOPIC_SHARE)),
        ideas=_fitted(lambda most: _ideas(held.ideas, most), room_ideas),
        points=_fitted(lambda most: _points(points, min(most, LONGEST_POINT), settled=False), room_points),
        held=held,
    )
    return _condensed(held, parts, whole, room)


class _Parts(msgspec.Struct, frozen=True):
    """What stands around the contributions."""

    about: str
    topic: str
    ideas: str
    points: str
    held: Discussion

    def around(self, entries: Mapping[str, str], note: str = "") -> str:
        """The whole text with these contributions, each under the mark of its round."""
        lines, last = [note] if note else list[str](), -1
        for one in self.held.spoken:
            if one.message.id not in entries:
                continue
            if one.round != last:
                lines.append(f"--- {stage(self.held, one.round)} ---")
                last = one.round
            lines.append(entries[one.message.id])
        said = "\n".join(lines) or "(nobody has spoken yet)"
        origin = "the Ideation Specialist"
        origin += " and one expert who answered alone" if self.held.draft_idea is not None else ""
        blocks = [
            f"<council>\n{self.about}\n</council>" if self.about else "",
            f'<request from="the user">\nTopic: {_inert(self.topic)}\n</request>',
            f'<discussion from="the members, oldest first">\nPrevious Discussion:\n{said}\n</discussion>',
            f'<ideas from="{origin}, in their current versions">\nCurrent Ideas:\n'
            f"{self.ideas or '(none yet)'}\n</ideas>",
            f'<points from="the Critic">\n{self.points}\n</points>' if self.points else "",
        ]
        return "\n\n".join(block for block in blocks if block)


def _condensed(held: Discussion, parts: _Parts, whole: dict[str, str], room: int) -> Context:
    """Shorten contributions, the oldest round first, just as far as it is needed."""
    entries = dict(whole)
    for least in KEPT:
        for number in sorted({one.round for one in held.spoken}):
            spoken = [one for one in held.spoken if one.round == number]
            shorter = {**entries, **_shortened(spoken, least)}
            if _size(parts.around(shorter)) <= room:
                longest = max(len(one.message.content) for one in spoken)
                fits = partial(_fits, parts, entries, spoken, room)
                entries = {**entries, **_shortened(spoken, _largest(fits, least, longest))}
                changed = tuple(name for name, text in entries.items() if text != whole[name])
                return Context(parts.around(entries), changed)
            entries = shorter
    return Context(_without_oldest(held, parts, entries, room), tuple(entries))


def _shortened(spoken: Sequence[Spoken], most: int) -> dict[str, str]:
    return {one.message.id: entry(one, most) for one in spoken}


def _fits(parts: _Parts, entries: Mapping[str, str], spoken: Sequence[Spoken], room: int, most: int) -> bool:
    """Whether all fits when these contributions have at most so many characters."""
    return _size(parts.around({**entries, **_shortened(spoken, most)})) <= room


def _without_oldest(held: Discussion, parts: _Parts, entries: dict[str, str], room: int) -> str:
    """Even a few lines of each are too much: the oldest are only counted."""
    names = list(entries)
    for gone in range(1, len(names) + 1):
        kept = {name: entries[name] for name in names[gone:]}
        text = parts.around(kept, f"[{gone} earlier contributions are left out]")
        if _size(text) <= room:
            return text
    return cut_bytes(parts.around({}), room)


def stage(held: Discussion, number: int) -> str:
    """What a round is called: the kickoff, a round, or what comes after the last one."""
    if number == 0:
        return "Kickoff"
    return f"Round {number} of {held.rounds}" if number <= held.rounds else "Validation and selection"


# ── contributions ──


def entry(one: Spoken, most: int = 0) -> str:
    """A contribution as others read it: the speaker's own words, and the ids of what it brought."""
    said, details = one.message, one.details
    own = said.content if details.own < 0 else said.content[: details.own]
    names = _names(one)
    mark = ""
    if most and len(own) > most:
        mark, own = f" (condensed from {len(own):,} characters)", condense(own, most)
    return f"[{said.sender} -> {said.to}]{mark}: {' '.join(part for part in (_inert(own), names) if part)}"


def _names(one: Spoken) -> str:
    """What a contribution brought and the lists below hold."""
    details = one.details
    if details.own < 0:
        return ""
    told = [
        f"new ideas: {', '.join(details.ideas)}" if details.ideas else "",
        f"revised: {', '.join(details.revised)}" if details.revised else "",
        f"risks: {', '.join(risk.id for risk in details.risks)}" if details.risks else "",
        count(len(details.open_questions), "open question") if details.open_questions else "",
        f"settled: {', '.join(note.point for note in details.settled)}" if details.settled else "",
    ]
    listed = "; ".join(part for part in told if part)
    return f"({listed})" if listed else ""


# ── ideas and points ──


def _ideas(ideas: Sequence[Idea], most: int = 0) -> str:
    return "\n".join(_idea(nth, idea, most) for nth, idea in enumerate(ideas, 1))


def _idea(nth: int, idea: Idea, most: int) -> str:
    text = " ".join(idea.description.split())
    text = text if not most or len(text) <= most else condense(text, most) if most > 1 else ""
    notes = [
        f"version {idea.version}" if idea.version > 1 else "",
        f"refines {', '.join(idea.refines)}" if idea.refines else "",
    ]
    told = "; ".join(note for note in notes if note)
    described = f" - {' '.join(_inert(text).split())}" if text else ""
    score = "not scored" if idea.score is None else f"{score_text(idea.score)}/10"
    title = _inert(idea.title)
    return f"{nth}. [{idea.id}] {title}{f' ({told})' if told else ''}{described}\n   Score: {score}"


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
    """A list whose texts are as long as the room allows."""
    if _size(text := listed(0)) <= room:
        return text
    best = _largest(lambda most: _size(listed(most)) <= room, 1, 100_000)
    return cut_bytes(listed(best), room)


def _largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest number up to `high` that fits; `low` is taken to fit."""
    while high - low > max(8, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _inert(text: str) -> str:
    """A text that cannot close or open one of the parts."""
    return _TAGS.sub(r"‹\1\2", text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
