"""How help pages look: two aligned columns without boxes, so that narrow terminals read well too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions


class TwoColumns:
    """A help formatter for cyclopts."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if not panel.entries:
            return
        console.print(Text(str(panel.title), style="bold"))
        rows = [(_label(entry), _description(entry)) for entry in panel.entries]
        widest = max(len(label) for label, _ in rows)
        if console.width < 72 and widest > console.width // 3:
            self._stacked(console, rows)
        else:
            self._beside(console, rows)
        console.print()

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        if usage:
            plain = usage.plain if isinstance(usage, Text) else str(usage)
            console.print(Text("Usage: " + plain.strip().removeprefix("Usage: ")))
            console.print()

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        if description:
            console.print(description)

    @staticmethod
    def _beside(console: Console, rows: list[tuple[str, str]]) -> None:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for label, description in rows:
            table.add_row(Text("  " + label, style="cyan"), Text(description))
        console.print(table)

    @staticmethod
    def _stacked(console: Console, rows: list[tuple[str, str]]) -> None:
        for label, description in rows:
            console.print(Text("  " + label, style="cyan"))
            table = Table.grid(padding=(0, 0, 0, 6))
            table.add_column(overflow="fold")
            table.add_row(Text(description))
            console.print(table)


def _label(entry: HelpEntry) -> str:
    return ", ".join(entry.display_labels_with_metavar)


def _description(entry: HelpEntry) -> str:
    """The sentence, then what may be given and what is taken otherwise."""
    described = entry.description
    inner = getattr(described, "primary_renderable", described)
    parts = [inner.plain.strip() if isinstance(inner, Text) else str(inner or "").strip()]
    if entry.choices:
        parts.append(f"One of: {', '.join(entry.choices)}.")
    if entry.default is not None:
        parts.append(f"[default: {entry.default}]")
    return " ".join(part for part in parts if part)
