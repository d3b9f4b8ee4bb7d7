"""Columns, cells and status badges."""

from __future__ import annotations

from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from podium.report.presentation import Line, Weight
from podium.report.words import one_line


def shorten(text: str, width: int) -> str:
    """Cut the end of a text to `width` cells, with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def shorten_path(path: str, width: int) -> str:
    """Cut the beginning of a step's path, because its end is more informative."""
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
    """Return the end of a text, at most `width` cells."""
    while cell_len(text) > width:
        text = text[max(cell_len(text) - width, 1) // 2 or 1 :]
    return text


def pad(text: str, width: int) -> str:
    """Pad to `width` cells; wide characters count as two."""
    return text + " " * max(width - cell_len(text), 0)


def one_row(text: str, width: int) -> str:
    """Return `text` as one safe line of at most `width` cells."""
    return shorten(one_line(text, width * 2 + 8), width)


NARROW = 72
"""Below this width, in columns, only the most important figure is shown."""
CRAMPED = 60
"""Below this width the path column is left out: the event is more important."""
TIGHT = 8
"""With less width than this for the event, figures are left out."""

WIDEST_DRAWING = 110
"""Maximum width of a drawing. In wider ones it is hard to follow the line from a title to its notes."""

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
    """Return `text`, with symbols replaced that the console's encoding cannot show."""
    return text if console.encoding.lower().startswith("utf") else text.translate(_ASCII)


def row_of(line: Line, path: str, when: datetime, console: Console) -> Text:
    """Return one line of the live view. On a terminal it never wraps; elsewhere nothing is cut off."""
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
    """Return the path column, padded. With `width` 0 nothing is cut; below `CRAMPED` it is empty."""
    if width and width < CRAMPED:
        return ""
    room = min(max(width // 4, 14), 32) if width else 32
    where = one_line(path or "run")
    return pad(shorten_path(where, room) if width else where, room) + "  "


def indent_of(line: Line, width: int) -> str:
    """Return two spaces per level. A narrow terminal limits the number of levels."""
    return "  " * min(line.indent, max(width // 20, 1))


def drawn(lines: list[Line], console: Console) -> list[Text]:
    """Return a workflow's drawing: marks and titles on the left, notes in columns on the right. If not all
    notes fit, the last are dropped; the first, the state in words, stays."""
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
    # The state is left-aligned in its column, figures are right-aligned.
    cells = [
        pad(note, size) if nth == 0 else note.rjust(size)
        for nth, (note, size) in enumerate(zip(notes, sizes, strict=True))
    ]
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{head}{what}", STYLES[line.weight])
    text.append("".join(f"  {note}" for note in cells), STYLES[line.weight] or "dim")
    text.rstrip()
    return text


def _encodable(text: Text, console: Console) -> Text:
    shown = fit(text.plain, console)
    if shown == text.plain:
        return text
    return Text(shown, spans=text.spans)


def meter(spent: float, limit: float, cells: int = 10) -> str:
    """Return a small bar for the spent share of a limit."""
    full = cells if limit <= 0 else min(cells, round(cells * spent / limit))
    return "█" * full + "░" * (cells - full)


def clip(text: str, console: Console) -> str:
    """Cut to the width of the terminal; elsewhere only replace symbols."""
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
    """Return sign and word of a status in its colour: `✓ completed`."""
    sign, style = _SIGNS.get(status, ("·", ""))
    return Text(fit(f"{sign} {status}", console), style=style)


def sign(status: str, console: Console) -> Text:
    """Return only the sign, for lines that contain the status elsewhere."""
    shown, style = _SIGNS.get(status, ("·", ""))
    return Text(fit(shown, console), style=style)
