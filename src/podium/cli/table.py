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
    indent: int = 0,
) -> None:
    """One line per row. On a terminal the widest words give way; elsewhere nothing is cut off."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    right = [title in figures for title in titles]
    widths = [max(cell_len(row[place]) for row in (titles, *cells)) for place in range(len(titles))]
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


def _narrow(widths: list[int], right: list[bool], room: int) -> None:
    """Take from the widest column of words until all fit."""
    while sum(widths) + GAP * (len(widths) - 1) > room:
        words = [place for place, figure in enumerate(right) if not figure and widths[place] > LEAST]
        if not words:
            return
        widths[max(words, key=widths.__getitem__)] -= 1
