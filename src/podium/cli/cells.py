"""Text in terminal cells: a wide character takes two."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

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
