"""A small table for people: names to the left, figures to the right, two spaces between columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from podium.cli.card import say_line
from podium.cli.terminal import out


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1) -> None:
    """The first `names` columns are words, the others figures."""
    widths = [max(cell_len(row[column]) for row in (titles, *rows)) for column in range(len(titles))]
    for number, row in enumerate((titles, *rows)):
        cells = [
            _padded(cell, width, left=column < names)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say_line(out(), Text("  ".join(cells).rstrip(), style="" if number else "dim"))


def _padded(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if left else space + cell
