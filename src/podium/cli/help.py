"""How help pages look: two aligned columns without boxes, so that narrow terminals read well too."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

LEAST_BESIDE = 36
"""With less room than this beside the labels, descriptions stand below them."""


class TwoColumns:
    """A help formatter for cyclopts."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if not panel.entries:
            return
        console.print(Text(str(panel.title), style="bold"))
        rows = [
            (", ".join(entry.display_labels_with_metavar), _description(entry)) for entry in panel.entries
        ]
        widest = max(len(label) for label, _ in rows)
        beside = console.width - widest - 4 >= LEAST_BESIDE
        for label, description in rows:
            _print_row(console, label, description, widest + 4 if beside else 0)
        console.print()

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        if usage:
            console.print(Text("Usage: " + _plain(usage).removeprefix("Usage: ")))
            console.print()

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """Prose is folded to the width of the terminal; indented lines (commands) stay as they are."""
        lines = _plain(description).splitlines()
        for prose, group in groupby(lines, key=lambda line: line[:1] not in ("", " ")):
            given = list(group)
            for line in wrap(" ".join(given), console.width) if prose else given:
                console.print(Text(line), soft_wrap=True)
        if lines:
            console.print()


def _print_row(console: Console, label: str, description: str, column: int) -> None:
    """A label with its description beside it from `column` on, or (0) below it."""
    indent = column or 6
    lines = wrap(description, console.width - indent)
    first = lines.pop(0) if lines and column else ""
    console.print(Text.assemble((f"  {label}".ljust(column if first else 0), "cyan"), first))
    for line in lines:
        console.print(Text(" " * indent + line))


def _plain(renderable: Any) -> str:
    inner = getattr(renderable, "primary_renderable", renderable)
    return (inner.plain if isinstance(inner, Text) else str(inner or "")).strip()


def _description(entry: HelpEntry) -> str:
    """The sentence, then what may be given and what is taken otherwise."""
    parts = [_plain(entry.description)]
    if entry.choices:
        parts.append(f"One of: {', '.join(entry.choices)}.")
    if entry.default not in (None, '""'):  # an empty text says nothing
        parts.append(f"[default: {entry.default}]")
    if entry.required and entry.positional_label is None:
        parts.append("[required]")
    return " ".join(part for part in parts if part)
