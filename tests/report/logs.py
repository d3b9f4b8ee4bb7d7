"""Logs made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from podium.engine.events import Event, EventData

BEGIN = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def log(*entries: tuple[str, EventData]) -> list[Event]:
    """Events a second apart: `(path, data)`."""
    return [
        Event(seq, "run0run0run0", BEGIN + timedelta(seconds=seq), path, data.type, data)
        for seq, (path, data) in enumerate(entries, 1)
    ]
