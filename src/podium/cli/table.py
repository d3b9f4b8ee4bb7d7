"""A small table without lines: words to the left, figures to the right, never wider than a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from podium.cli.card import say_line
from podium.cli.cells import one_row, pad
from podium.report.words import one_line

GAP = 2
LEAST = 6
"""Cells that a column of words keeps, however narrow it gets."""


def print_table(
    console: Console,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    figures: Sequence[str] = (),
    spare: Sequence[str] = (),
    indent: int = 0,
) -> None:
    """One line per row. On a terminal that is too narrow, columns that can be spared go first (in that
    order), then the widest words give way; elsewhere nothing is cut off."""
    if console.is_terminal and spare and _width(titles, rows) > console.width - indent:
        kept = [place for place, title in enumerate(titles) if title != spare[0]]
        fewer = [[row[place] for place in kept] for row in (titles, *rows)]
        print_table(console, fewer[0], fewer[1:], figures=figures, spare=spare[1:], indent=indent)
        return
    cells = [[one_line(cell) for cell in row] for row in rows]
    right = [title in figures for title in titles]
    widths = _widths(titles, cells)
    if console.is_terminal:
        _narrow(widths, right, console.width - indent)
    for number, row in enumerate((titles, *cells)):
        shown = [one_row(cell, width) for cell, width in zip(row, widths, strict=True)]
        placed = [
            " " * (width - cell_len(cell)) + cell if figure else pad(cell, width)
            for cell, width, figure in zip(shown, widths, right, strict=True)
        ]
        line = " " * indent + (" " * GAP).join(placed).rstrip()
        say_line(console, Text(line, style="dim" if number == 0 else ""))


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_len(row[place]) for row in (titles, *rows)) for place in range(len(titles))]


def _width(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(_widths(titles, rows)) + GAP * (len(titles) - 1)


def _narrow(widths: list[int], right: list[bool], room: int) -> None:
    """Take from the widest column of words until all fit."""
    while sum(widths) + GAP * (len(widths) - 1) > room:
        words = [place for place, figure in enumerate(right) if not figure and widths[place] > LEAST]
        if not words:
            return
        widths[max(words, key=widths.__getitem__)] -= 1
