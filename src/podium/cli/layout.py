"""Columns, cells, status badges."""

from __future__ import annotations

from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from podium.report.presentation import Line, Weight
from podium.report.words import one_line


def shorten(text: str, width: int) -> str:
    """Cut at the end, with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def shorten_path(path: str, width: int) -> str:
    """Cut a step's path at its beginning: the end tells more."""
    if cell_len(path) <= width:
        return path
    parts = path.split("/")
    while len(parts) > 1:
        parts = parts[1:]
        shorter = "…/" + "/".join(parts)
        if cell_len(shorter) <= width:
            return shorter
    return "…" + parts[0][-(width - 1) :] if width > 1 else "…"[:width]


def tail(text: str, width: int) -> str:
    """The end of a text, at most `width` cells of it."""
    while cell_len(text) > width:
        text = text[max(cell_len(text) - width, 1) // 2 or 1 :]
    return text


def pad(text: str, width: int) -> str:
    """Fill up to `width` cells; wide characters count as two."""
    return text + " " * max(width - cell_len(text), 0)


def one_row(text: str, width: int) -> str:
    """`text` as one safe line of at most `width` cells."""
    return shorten(one_line(text, width * 2 + 8), width)


NARROW = 72
"""Below this only the most important figure is shown."""
CRAMPED = 60
"""Below this the place is left out: what happened says more than where."""
TIGHT = 8
"""With less room than this for what happened, figures are left out."""

WIDEST_DRAWING = 110
"""Wider, the eye loses the line between a title and its notes."""

STYLES: dict[Weight, str] = {
    "trace": "dim",
    "routine": "dim",
    "result": "",
    "warning": "yellow",
    "failure": "red",
    "attention": "bold",
}

_ASCII = str.maketrans("✓✗↻▸■·…●○█░─→├└│•═▌", "+x~>#-.*o#.->|`|*=|")


def fit(text: str, console: Console) -> str:
    """`text` with signs that this console's encoding can show."""
    return text if console.encoding.lower().startswith("utf") else text.translate(_ASCII)


def row_of(line: Line, path: str, when: datetime, console: Console) -> Text:
    """One line of the live view. On a terminal it never wraps; elsewhere nothing is cut off."""
    time = when.astimezone().strftime("%H:%M:%S")
    width = console.width if console.is_terminal else 0
    where = _where(path, width)
    shown = line.notes[:1] if width and width < NARROW else line.notes[:2]
    notes = "  ".join(note.rjust(7) for note in shown)
    indent = indent_of(line, width) if width else "  " * line.indent
    room = width - 8 - 2 - cell_len(where) - len(indent) - 2
    if notes and room - cell_len(notes) - 2 >= TIGHT:
        room -= cell_len(notes) + 2
    elif width:
        notes = ""
    what = one_row(line.what, room) if width else one_line(line.what)
    style = STYLES[line.weight]
    text = Text.assemble(
        (time, "dim"),
        "  ",
        (where, "dim" if line.weight in ("trace", "routine") else "cyan"),
        (f"{indent}{line.mark} ", style),
        (pad(what, room) if notes else what, style),
    )
    if notes:
        text.append(f"  {notes}", "dim")
    return _encodable(text, console)


def _where(path: str, width: int) -> str:
    """The column that tells where it happened, with the space behind it; `width` 0 cuts nothing."""
    if width and width < CRAMPED:
        return ""
    room = min(max(width // 4, 14), 32) if width else 32
    where = one_line(path or "run")
    return pad(shorten_path(where, room) if width else where, room) + "  "


def indent_of(line: Line, width: int) -> str:
    """Two cells a level; on a narrow terminal deep levels share one."""
    return "  " * min(line.indent, max(width // 20, 1))


def drawn(lines: list[Line], console: Console) -> list[Text]:
    """A workflow's drawing: signs and titles at the left, the notes in columns at the right. Where there is
    no room for all notes the last are left out, and the first, the state in words, stays."""
    width = min(console.width - 1, WIDEST_DRAWING)
    columns = max((len(line.notes) for line in lines), default=0)
    if width < NARROW:
        columns = min(columns, 1)
    sizes = [
        max((cell_len(line.notes[nth]) for line in lines if nth < len(line.notes)), default=0)
        for nth in range(columns)
    ]
    return [_encodable(_drawn(line, width, sizes), console) for line in lines]


def _drawn(line: Line, width: int, sizes: list[int]) -> Text:
    head = f"  {indent_of(line, width)}{line.mark} "
    beside = sum(size + 2 for size in sizes)
    room = width - cell_len(head) - beside
    notes = [*line.notes, *[""] * len(sizes)][: len(sizes)]
    if room < TIGHT:
        room, notes, sizes = width - cell_len(head), [], []
    what = pad(one_row(line.what, max(room, 1)), room)
    # The state stands at the left of its column, figures at the right of theirs.
    told = [
        pad(note, size) if nth == 0 else note.rjust(size)
        for nth, (note, size) in enumerate(zip(notes, sizes, strict=True))
    ]
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{head}{what}", STYLES[line.weight])
    text.append("".join(f"  {note}" for note in told), STYLES[line.weight] or "dim")
    text.rstrip()
    return text


def _encodable(text: Text, console: Console) -> Text:
    shown = fit(text.plain, console)
    if shown == text.plain:
        return text
    return Text(shown, spans=text.spans)


def meter(spent: float, limit: float, cells: int = 10) -> str:
    """A small bar: what is spent of a ceiling."""
    full = cells if limit <= 0 else min(cells, round(cells * spent / limit))
    return "█" * full + "░" * (cells - full)


def clip(text: str, console: Console) -> str:
    """Cut to the width of a terminal."""
    return shorten(fit(text, console), console.width) if console.is_terminal else fit(text, console)


_SIGNS: dict[str, tuple[str, str]] = {
    "queued": ("○", "dim"),
    "running": ("●", "cyan"),
    "waiting": ("?", "bold yellow"),
    "paused": ("■", "yellow"),
    "completed": ("✓", "green"),
    "partial": ("~", "yellow"),
    "failed": ("✗", "red"),
    "cancelled": ("■", "dim"),
    "stale": ("↻", "dim"),
    "interrupted": ("■", "dim"),
}


def badge(status: str, console: Console) -> Text:
    """`✓ completed`, in its colour."""
    sign, style = _SIGNS.get(status, ("·", ""))
    return Text(fit(f"{sign} {status}", console), style=style)


def sign(status: str, console: Console) -> Text:
    """The sign alone, where the word is told elsewhere on the same line."""
    shown, style = _SIGNS.get(status, ("·", ""))
    return Text(fit(shown, console), style=style)
