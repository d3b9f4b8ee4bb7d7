"""Words and numbers for people: safe, short, and the same in terminal, report and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from podium.engine.codec import encode
from podium.engine.events import Charge

_ESCAPES = re.compile(
    r"(?:\x1b\]|\x9d).*?(?:\x07|\x1b\\|\x9c|$)"  # OSC: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]).*?(?:\x1b\\|\x9c|$)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor, screen
    r"|\x1b[ -/]*[0-~]?",  # everything else that begins with ESC
    re.DOTALL,
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile(r"\s+")
MARKUP = r"[\\`*_\[\]<>|]"
"""Signs that mean something in Markdown, unless a backslash stands before them."""


def safe(text: str) -> str:
    """`text` without anything that could steer a terminal; tabs and line ends stay."""
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def unknown_calls(usage: Charge) -> str:
    """Say how many calls have an unknown outcome, because a process died."""
    return f"{count(usage.unknown_calls, 'call')} of unknown outcome"


def cut_off_calls(forfeited: Charge) -> str:
    """What a budget counts beyond what was spent: a process died, and its calls may have been billed."""
    return f"cut off and counted as made: up to {count(forfeited.calls, 'call')}" if forfeited.calls else ""


def one_line(text: str, width: int = 0) -> str:
    """`text` as one safe line of at most `width` cells (0: as long as it is)."""
    flat = _SPACES.sub(" ", safe(text[: width * 8 + 200] if width else text)).strip()
    return shorten(flat, width) if width else flat


def shorten(text: str, width: int) -> str:
    """Cut at the end, with an ellipsis."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def money(usd: float) -> str:
    """Dollars with the digits that matter."""
    if usd == 0:
        return "$0.00"
    return f"${usd:.4f}" if abs(usd) < 0.1 else f"${usd:,.2f}"


def count(number: float, word: str) -> str:
    """`1 call`, `3 calls`, `12.3k tokens`."""
    plural = "" if number == 1 else "s"
    return f"{amount(number)} {word}{plural}"


def amount(number: float) -> str:
    """A number that stays short."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            return f"{number / (limit if unit != 'k' else 1e3):.1f}{unit}"
    return f"{number:g}"


def duration(seconds: float) -> str:
    """`40ms`, `1.4s`, `12s`, `3m 05s`, `2h 10m`."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def clock(seconds: float) -> str:
    """Elapsed time that does not jump about: `0:42`, `1:02:03`."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def ago(when: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit."""
    seconds = ((now or datetime.now(UTC)) - when).total_seconds()
    for limit, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= limit:
            return f"{int(seconds // limit)}{unit} ago"
    return "just now" if seconds < 5 else f"{int(seconds)}s ago"


def size(number: int) -> str:
    """Bytes for people."""
    if number < 1000:
        return f"{number} B"
    for unit in ("kB", "MB", "GB"):
        number_f = number / {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
        if number_f < 1000 or unit == "GB":
            return f"{number_f:.1f} {unit}"
    return f"{number} B"


def brief(value: Any, width: int = 60) -> str:
    """Any JSON-like value on one line."""
    text = value if isinstance(value, str) else encode(value).decode()
    return one_line(text, width)


def outline(value: Any, width: int = 300) -> str:
    """Data in passing, on one line: `score 86 · reason clear and doable`; text as it is."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        value = " · ".join(f"{key} {brief(item, 80)}" for key, item in fields.items() if item is not None)
    elif isinstance(value, list):
        value = " · ".join(brief(item, 80) for item in cast("list[Any]", value))
    return brief(value, width)


def model_name(name: str) -> str:
    """A model as people know it: a function of one's own without the folders of this machine."""
    kind, colon, file = name.partition(":")
    return f"python:{file.rpartition('/')[2]}" if kind == "python" and colon else name


def ceilings(budget: Mapping[str, float]) -> str:
    """Every ceiling that was set: `$2.00, 6 calls, 2h 00m`."""
    words: dict[str, Callable[[float], str]] = {
        "usd": money,
        "calls": lambda value: count(value, "call"),
        "tokens": lambda value: count(value, "token"),
        "seconds": duration,
        "depth": lambda value: count(value, "level"),
    }  # fmt: skip
    return ", ".join(words[key](value) for key, value in budget.items() if key in words)


def without_title(text: str, title: str) -> str:
    """A document whose first heading is the title that already stands above it, without that heading."""
    first, _, rest = text.lstrip().partition("\n")
    heading = one_line(first.removeprefix("# ").replace("\\", ""))
    same = first.startswith("# ") and heading and one_line(title).startswith(heading.rstrip("…"))
    return rest.lstrip() if same and rest.strip() else text


def pretty(value: Any) -> str:
    """Text as it is, anything else as indented JSON."""
    return value if isinstance(value, str) else msgspec.json.format(encode(value), indent=2).decode()


def sentence(text: str) -> str:
    """With a full stop at its end, and none added to what has one."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…" else text + "."
