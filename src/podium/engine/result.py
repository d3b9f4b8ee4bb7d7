"""Result of one stretch of a run."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import NOTHING, ArtifactCreated, Charge, RunWaiting

EXIT_CODES = {"completed": 0, "failed": 1, "partial": 3, "waiting": 5, "cancelled": 130, "paused": 130}
RESUMABLE_STOPS = frozenset({"budget", "time", "disk full", "store error"})


class RunResult(msgspec.Struct, kw_only=True):
    """The return value of `podium.run`, and the object that `podium run --json` prints."""

    run_id: str
    workflow: str
    status: str
    stop_reason: str = ""
    output: Any = None
    quality: float | None = None
    warnings: list[str] = []
    error: str = ""
    hint: str = ""
    model: str = ""
    rehearsal: bool = False
    usage: Charge = NOTHING
    saved: Charge = NOTHING
    """Cost that cached replies saved; `calls` counts the calls that were not made."""
    duration_s: float = 0.0
    """Total seconds that the run was driven, over all stretches."""
    artifacts: list[ArtifactCreated] = []
    questions: dict[str, RunWaiting] = {}
    """Open questions of a waiting run, by path."""

    wake_at: float | None = None
    """When a sleeping run continues, in seconds since 1970."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        if self.stop_reason in RESUMABLE_STOPS and self.status in {"partial", "paused"}:
            return 4
        return EXIT_CODES.get(self.status, 1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "workflow": self.workflow,
            "status": self.status,
            "stop_reason": self.stop_reason or None,
            "output": self.output,
            "quality": self.quality,
            "warnings": self.warnings,
            "error": self.error or None,
            "model": self.model,
            "rehearsal": self.rehearsal,
            "usage": {**self.usage.to_dict(), **self._saving()},
            "duration_s": round(self.duration_s, 3),
            "artifacts": [
                {"id": made.id, "name": made.name, "media_type": made.media_type, "bytes": made.bytes}
                for made in self.artifacts
            ],
        }

    def _saving(self) -> dict[str, Any]:
        """Return the cache figures; empty if the cache saved nothing, so that runs without a cache keep the
        plain form."""
        if not self.saved.calls:
            return {}
        return {"cached_calls": self.saved.calls, "saved_usd": round(self.saved.usd, 9)}

    def to_json(self) -> bytes:
        """Return one JSON object, in the form of the command line and the server."""
        return encode(self.to_dict())
