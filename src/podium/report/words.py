"""Formatting of text and numbers, and file names.

In an outline a list has one line per item and an object one line per field. Nested values are indented, empty
ones are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from podium.dimensions import DIMENSIONS
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.state import RunState

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
"""Characters with a meaning in Markdown, unless a backslash precedes them."""


def safe(text: str) -> str:
    """Return `text` without terminal control sequences; tabs and newlines stay."""
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def unknown_calls(usage: Charge) -> str:
    """Return the number of calls whose outcome is unknown because a process died."""
    return f"{count(usage.unknown_calls, 'call')} of unknown outcome"


def cut_off_calls(forfeited: Charge) -> str:
    """Return the number of calls that the budget counts beyond the spent ones: a process died, and its calls
    may have been billed. Empty if none."""
    return f"cut off and counted as made: up to {count(forfeited.calls, 'call')}" if forfeited.calls else ""


def one_line(text: str, width: int = 0) -> str:
    """Return `text` as one safe line of at most `width` characters (0: no limit)."""
    flat = _SPACES.sub(" ", safe(text[: width * 8 + 200] if width else text)).strip()
    return shorten(flat, width) if width else flat


_MARKS = (
    (re.compile(r"^ {0,3}(?:```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:(?:#{1,6}|>)[ \t]+)+", re.MULTILINE), ""),
    (re.compile(r"\A\s*[-*+][ \t]+"), ""),
    (re.compile(r"^[ \t]*[-*+][ \t]+", re.MULTILINE), "· "),
    (re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}\)"), r"\1"),
    (re.compile(r"(\*\*|__|~~)(?=\S)([^\n]{1,300}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=\S)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_])_(?=[^\s_])([^_\n]{1,300}?)(?<=\S)_(?![\w_])"), r"\1"),
    (re.compile(r"(`{1,2})([^`\n]{1,300})\1"), r"\2"),
)
"""Markdown marks with what remains of them: fences, headings, lists, links, bold, italics, code."""


def without_marks(text: str) -> str:
    """Return a text without the marks of Markdown, for places that show plain text; list items get a `·`."""
    for pattern, rest in _MARKS:
        text = pattern.sub(rest, text)
    return text


def shorten(text: str, width: int) -> str:
    """Cut the end of a text, with an ellipsis."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def money(usd: float) -> str:
    """Format US dollars with two decimals, or four for non-zero amounts below $0.10."""
    if usd == 0:
        return "$0.00"
    return f"${usd:.4f}" if abs(usd) < 0.1 else f"${usd:,.2f}"


def count(number: float, word: str) -> str:
    """Format a number with its noun: `1 call`, `3 calls`, `12.3k tokens`."""
    plural = "" if number == 1 else "s"
    return f"{amount(number)} {word}{plural}"


def amount(number: float) -> str:
    """Format a number briefly: from 10,000 on with k, M or G."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            return f"{number / (limit if unit != 'k' else 1e3):.1f}{unit}"
    return f"{number:g}"


def duration(seconds: float) -> str:
    """Format a duration: `40ms`, `1.4s`, `12s`, `3m 05s`, `2h 10m`."""
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
    """Format elapsed time in whole seconds: `0:42`, `1:02:03`."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def ago(when: datetime, now: datetime | None = None) -> str:
    """Return the time since a moment, in one unit."""
    seconds = ((now or datetime.now(UTC)) - when).total_seconds()
    for limit, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= limit:
            return f"{int(seconds // limit)}{unit} ago"
    return "just now" if seconds < 5 else f"{int(seconds)}s ago"


def size(number: int) -> str:
    """Format a number of bytes."""
    if number < 1000:
        return f"{number} B"
    for unit in ("kB", "MB", "GB"):
        number_f = number / {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
        if number_f < 1000 or unit == "GB":
            return f"{number_f:.1f} {unit}"
    return f"{number} B"


def brief(value: Any, width: int = 60) -> str:
    """Return any JSON-like value on one line."""
    text = value if isinstance(value, str) else encode(value).decode()
    return one_line(text, width)


def outline(value: Any, width: int = 300) -> str:
    """Return data on one line: `score 86 · reason clear and doable`. Text stays as it is."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        value = " · ".join(f"{key} {brief(item, 80)}" for key, item in fields.items() if item is not None)
    elif isinstance(value, list):
        value = " · ".join(brief(item, 80) for item in cast("list[Any]", value))
    return brief(value, width)


def model_name(name: str) -> str:
    """Return a model's name for display: a `python:` function without its folder."""
    kind, colon, file = name.partition(":")
    return f"python:{file.rpartition('/')[2]}" if kind == "python" and colon else name


def ceilings(budget: Mapping[str, float]) -> str:
    """Return every budget limit that is set: `$2.00, 6 calls, 2h 00m`."""
    return ", ".join(limit_words(kind, value) for kind, value in budget.items() if kind in DIMENSIONS)


def limit_words(kind: str, value: float) -> str:
    """Return an amount of one dimension of a budget: `$2.00`, `6 calls`, `2h 00m`."""
    unit = DIMENSIONS[kind].unit
    return count(value, unit) if unit else duration(value) if DIMENSIONS[kind].is_time else money(value)


def without_title(text: str, title: str) -> str:
    """Return a document without its first heading, if that repeats the title shown above it."""
    first, _, rest = text.lstrip().partition("\n")
    heading = one_line(first.removeprefix("# ").replace("\\", ""))
    same = first.startswith("# ") and heading and one_line(title).startswith(heading.rstrip("…"))
    return rest.lstrip() if same and rest.strip() else text


def pretty(value: Any) -> str:
    """Return text as it is, anything else as indented JSON."""
    return value if isinstance(value, str) else msgspec.json.format(encode(value), indent=2).decode()


def sentence(text: str) -> str:
    """Return the text with a full stop at its end, unless it ends with punctuation."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…" else text + "."


INDENT = "  "


def document_outline(value: Any) -> str:
    """Return text as it is, lists and objects as lines."""
    return "\n".join(_lines(value))


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [line for key, part in _fields(cast(Mapping[Any, Any], value)) for line in _field(key, part)]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [line for item in cast(Sequence[Any], value) for line in _item(item)]
    return [_plain(value)]


def _fields(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    return [
        (str(key).replace("_", " "), part) for key, part in value.items() if part not in (None, "", [], {})
    ]


def _field(key: str, value: Any) -> list[str]:
    if _flat(value):
        return [f"{key}: {_inline(value)}"]
    return [f"{key}:", *(INDENT + line for line in _lines(value))]


def _item(value: Any) -> list[str]:
    """Return the lines of a list item. An object is named by its first field; short fields share its line."""
    if not isinstance(value, Mapping):
        first, *rest = _lines(value) or [""]
        return [f"- {first}", *(INDENT + line for line in rest)]
    fields = _fields(cast(Mapping[Any, Any], value))
    if not fields:
        return []
    (_, name), *others = fields
    line = " · ".join([_inline(name), *(f"{key} {_inline(part)}" for key, part in others if _flat(part))])
    nested = [line for key, part in others if not _flat(part) for line in _field(key, part)]
    return [f"- {line}", *(INDENT + line for line in nested)]


def _flat(value: Any) -> bool:
    if isinstance(value, Mapping):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return all(not isinstance(item, Mapping | list) for item in cast(Sequence[Any], value))
    return True


def _inline(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return ", ".join(_plain(item) for item in cast(Sequence[Any], value))
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


SHOWN = 5
"""Number of steps named in the note; the table of steps marks all of them."""


def cut_steps(state: RunState) -> list[str]:
    """Return the sorted paths of the steps whose text was cut off."""
    return sorted(step.path for step in state.steps.values() if step.cut and step.status == "completed")


def cut_note(paths: Sequence[str]) -> str:
    """Return one sentence that names the incomplete texts; empty if there are none."""
    if not paths:
        return ""
    verb = "was cut off and is" if len(paths) == 1 else "were cut off and are"
    named = ", ".join(one_line(path, 100) for path in paths[:SHOWN])
    rest = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return f"{count(len(paths), 'text')} {verb} not complete: {named}{rest}."


MOST_BYTES = 255
"""Maximum length of a file name in bytes on common file systems."""
MOST_SUFFIX = 20
"""Maximum length in bytes of an extension that is kept when a name is shortened."""
_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names that Windows reserves for devices, with any extension."""


def file_name(name: str, otherwise: str = "artifact") -> str:
    """Return a name that is safe inside any folder: no path, no hidden file, no reserved name, at most 255
    bytes. The extension stays. A shortened name contains part of its hash, so that two long names stay
    different."""
    last = one_line(name).replace("\\", "/").rpartition("/")[2]
    clean = _FORBIDDEN.sub("_", last).strip(" ").lstrip(". ").rstrip(". ")
    if not clean:
        return otherwise
    if _RESERVED.fullmatch(clean):
        clean = f"_{clean}"
    return shortened(clean)


def shortened(name: str, most: int = MOST_BYTES) -> str:
    """Return a name of at most `most` bytes in UTF-8, with its extension."""
    data = name.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    stem, dot, suffix = name.rpartition(".")
    tail = f"{dot}{suffix}" if stem and len(suffix.encode("utf-8", "replace")) <= MOST_SUFFIX else ""
    mark = f"~{hashlib.sha256(data).hexdigest()[:8]}{tail}"
    room = most - len(mark.encode("utf-8", "replace"))
    return data[:room].decode("utf-8", "ignore").rstrip(" .") + mark


class FileNames:
    """Unique file names for one folder, also on file systems that ignore case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> str:
        """Return a safe name that was not returned before; equal names get a number as prefix."""
        safe = file_name(name)
        chosen, number = safe, 1
        while chosen.casefold() in self._taken:
            number += 1
            chosen = f"{number}-{shortened(safe, MOST_BYTES - len(str(number)) - 1)}"
        self._taken.add(chosen.casefold())
        return chosen


_UNSAFE = re.compile(r"[\s<>\"'`\\\x00-\x20\x7f-\x9f]|[^\x21-\x7e]")
LONGEST = 2_000


def web_address(url: str) -> str:
    """Return an http(s) URL, quoted so that it is safe in HTML and Markdown. Empty if it is not one, contains
    credentials or is longer than `LONGEST`."""
    url = url.strip()
    if len(url) > LONGEST:
        return ""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return ""
    return _UNSAFE.sub(_quoted, url)


def _quoted(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def site_of(url: str) -> str:
    """Return the host name of a page's URL without `www.`; empty if it is not a web address."""
    try:
        host = urlsplit(url).hostname if web_address(url) else ""
    except ValueError:
        return ""
    return (host or "").removeprefix("www.")


SCORES_MADE_UP = "Made up in a rehearsal: the scores, grades and verdicts in this part."


def needs(score: str, threshold: str) -> str:
    """Return a score with the least that passes: `88 (needs 80)`."""
    return f"{score} (needs {threshold})"


def scored(text: str, rehearsal: bool) -> str:
    """Return a score as it is shown to a person: `quality 87`, of a rehearsal `quality 87 (made up)`."""
    return f"{text} (made up)" if rehearsal else text
