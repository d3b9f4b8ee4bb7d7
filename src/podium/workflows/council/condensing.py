"""Texts in less room: shortened by meaning, so that the sentences that matter most are kept, or cut."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

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
