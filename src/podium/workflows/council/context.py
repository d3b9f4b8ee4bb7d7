"""The discussion as every speaker reads it, in the shape of the seed; condensed where it would not fit.

Condensing is done by program, from the oldest round on: of a contribution its headings and first sentences
are kept, and the place says that it was condensed. The log holds the whole of it. Ideas are never left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from podium.workflows.council.discussion import Idea, Spoken

BYTES_PER_TOKEN = 3
"""Careful: English has about four, other scripts about three."""
DEFAULT_WINDOW = 128_000
SMALLEST_WINDOW = 8_000
REPAIR_BYTES = 9_000
"""Room for an answer that is sent back, and for the words of a prompt around the discussion."""
KEPT = (6_000, 2_000, 700, 240)
"""Characters that are kept of a contribution, tried one after the other."""
DESCRIPTIONS = (100_000, 600, 160, 0)
"""The same for an idea's description."""
LONGEST_TOPIC = 4
"""A topic may take at most this part (a quarter) of the room."""

_SENTENCE = re.compile(r"(.+?[.!?…])(?=\s|$)", re.DOTALL)


class Context(msgspec.Struct, frozen=True):
    """The text, and which messages are condensed in it."""

    text: str
    condensed: tuple[str, ...] = ()


def most_output(own: int, window: int) -> int:
    """The longest reply of an agent: its own, but never more than a quarter of the window."""
    return min(own, window // 4)


def room_for(window: int, max_tokens: int, around: int) -> int:
    """Bytes that a discussion may have beside the reply, the agent's system prompt and its schema."""
    return max(2_000, (window - max_tokens) * BYTES_PER_TOKEN - around - REPAIR_BYTES)


def build_context(topic: str, spoken: Sequence[Spoken], ideas: Sequence[Idea], room: int) -> Context:
    """The whole discussion if it fits into `room` bytes, else a condensed one that does."""
    contents = {one.message.id: _entry(one) for one in spoken}
    text = _put_together(topic, contents.values(), _listed(ideas, DESCRIPTIONS[0]))
    if _size(text) <= room:
        return Context(text)
    topic = _cut(topic, room // LONGEST_TOPIC)
    shown = next((listed for most in DESCRIPTIONS if _size(listed := _listed(ideas, most)) <= room // 2), "")
    shown = shown or _cut(_listed(ideas, 0), room // 2)
    condensed: dict[str, str] = {}
    for most in KEPT:
        for number in sorted({one.round for one in spoken}):
            for one in spoken:
                short = _entry(one, most) if one.round == number else ""
                if short and len(short) < len(contents[one.message.id]):
                    contents[one.message.id] = condensed[one.message.id] = short
            text = _put_together(topic, contents.values(), shown)
            if _size(text) <= room:
                return Context(text, tuple(condensed))
    return Context(_without_oldest(topic, contents, shown, room), tuple(contents))


def _without_oldest(topic: str, contents: dict[str, str], ideas: str, room: int) -> str:
    """Even one line of each is too much: the oldest are only counted."""
    entries = list(contents.values())
    for gone in range(1, len(entries) + 1):
        note = f"[{gone} earlier contributions are left out]"
        text = _put_together(topic, [note, *entries[gone:]], ideas)
        if _size(text) <= room:
            return text
    return _cut(_put_together(topic, [], ideas), room)


def condense(text: str, most: int) -> str:
    """Headings and first sentences, as many as fit; of what has neither, its beginning."""
    parts = [part.strip() for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#]|\d+[.)])\s)", text) if part.strip()]
    firsts = [_first(part) for part in parts]
    share = max(80, most // max(1, len(firsts)))
    kept: list[str] = []
    used = 0
    for first in firsts:
        short = _cut_text(first, share)
        if used + len(short) + 1 > most:
            break
        kept.append(short)
        used += len(short) + 1
    return "\n".join(kept) or _cut_text(text, most)


def _first(part: str) -> str:
    line = part if part.startswith("#") else " ".join(part.split())
    found = _SENTENCE.match(line)
    return found[1] if found else line


def _entry(one: Spoken, most: int = 0) -> str:
    said, content = one.message, one.message.content
    if not most or len(content) <= most:
        return f"[{said.sender} -> {said.to}]: {content}"
    mark = f"(condensed from {len(content):,} characters)"
    return f"[{said.sender} -> {said.to}] {mark}: {condense(content, most)}"


def _listed(ideas: Sequence[Idea], most: int) -> str:
    return "\n".join(_shown(nth, idea, most) for nth, idea in enumerate(ideas, 1))


def _shown(nth: int, idea: Idea, most: int) -> str:
    described = f" - {_cut_text(' '.join(idea.description.split()), most)}" if most else ""
    refines = f" (refines {idea.refines})" if idea.refines else ""
    score = "not scored" if idea.score is None else f"{idea.score:g}/10"
    return f"{nth}. [{idea.id}] {idea.title}{refines}{described}\n   Score: {score}"


def _put_together(topic: str, contents: Iterable[str], ideas: str) -> str:
    said = "\n".join(contents)
    return (
        f"Topic: {topic}\n\nPrevious Discussion:\n{said or '(nobody has spoken yet)'}\n\n"
        f"Current Ideas:\n{ideas or '(none yet)'}"
    )


def _cut(text: str, room: int) -> str:
    data = text.encode("utf-8", "replace")
    return text if len(data) <= room else data[: max(room - 8, 0)].decode("utf-8", "ignore") + " […]"


def _cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
