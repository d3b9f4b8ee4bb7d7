"""A report as JSON, for programs: what was spent has the same shape as in a run's result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.report.facts import Facts, StepFacts
from podium.report.presentation import Section


def to_json(facts: Facts, sections: Sequence[Section]) -> bytes:
    """One object. The workflow's own sections stand under their names."""
    told = msgspec.structs.asdict(facts)
    told |= {
        "stop_reason": facts.stop_reason or None,
        "usage": facts.usage.to_dict(),
        "saved": facts.saved.to_dict(),
        "steps": [_step(step) for step in facts.steps],
        "by_agent": {name: usage.to_dict() for name, usage in facts.by_agent.items()},
        "by_model": {name: usage.to_dict() for name, usage in facts.by_model.items()},
        "costs": [
            {"agent": cost.agent, "model": cost.model or None, "usage": cost.usage.to_dict()}
            for cost in facts.costs
        ],
        "sections": {one.name: one.data for one in sections},
    }
    return msgspec.json.format(encode(told), indent=2) + b"\n"


def _step(step: StepFacts) -> dict[str, Any]:
    plain = msgspec.structs.asdict(step)
    return plain | {"usage": step.usage.to_dict(), "saved": step.saved.to_dict()}
