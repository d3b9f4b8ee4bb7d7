"""What a driven stretch of a run came to."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import NOTHING, ArtifactCreated, Charge, RunWaiting

EXIT_CODES = {"completed": 0, "failed": 1, "partial": 3, "waiting": 5, "cancelled": 130, "paused": 130}
RESUMABLE_STOPS = frozenset({"budget", "time", "disk full", "store error"})


class RunResult(msgspec.Struct, kw_only=True):
    """The answer of `podium.run`, and what `podium run --json` prints."""

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
    """What was not spent, because the cache held the answer; `calls` are those that were not made."""
    duration_s: float = 0.0
    """Time that the run was driven, in all its lives."""
    artifacts: list[ArtifactCreated] = []
    questions: dict[str, RunWaiting] = {}
    """What a waiting run wants to know, by path."""

    wake_at: float | None = None
    """When a run goes on that was put to sleep, in seconds since 1970."""

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
            "usage": {**self.usage.to_dict(), **self._told_saving()},
            "duration_s": round(self.duration_s, 3),
            "artifacts": [
                {"id": made.id, "name": made.name, "media_type": made.media_type, "bytes": made.bytes}
                for made in self.artifacts
            ],
        }

    def _told_saving(self) -> dict[str, Any]:
        """Only where there is something to tell: a run without a cache keeps the plain shape."""
        if not self.saved.calls:
            return {}
        return {"cached_calls": self.saved.calls, "saved_usd": round(self.saved.usd, 9)}

    def to_json(self) -> bytes:
        """One JSON object, in the shape that the command line and the server show."""
        return encode(self.to_dict())
