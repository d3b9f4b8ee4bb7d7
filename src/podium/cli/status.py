"""A status as people see it: sign, word and colour; never colour alone."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from podium.cli.layout import fit

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
