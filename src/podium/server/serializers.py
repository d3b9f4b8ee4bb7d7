"""Serializers from store rows and log folds to the run schemas of the API."""

from __future__ import annotations

from typing import Any, cast

from podium.api.outcome import result_of, step_data
from podium.engine.codec import decode
from podium.engine.events import EVENT_TYPES, ChargedData
from podium.engine.log import RunRow, Store
from podium.engine.state import RunState, StepState
from podium.models.events import ModelAsked
from podium.report.data import costs_of
from podium.server.schemas.runs import (
    Artifact,
    Cost,
    Forked,
    Question,
    RunDetail,
    RunSummary,
    Step,
    StepDetail,
)
from podium.server.schemas.shared import Ceilings, Status, Usage
from podium.server.sse import iso

CHARGED = tuple(name for name, data in EVENT_TYPES.items() if issubclass(data, ChargedData))


def summary_of(row: RunRow) -> RunSummary:
    return RunSummary.model_construct(**_summary(row))


def _summary(row: RunRow) -> dict[str, Any]:
    return {
        "run_id": row.run_id,
        "workflow": row.workflow,
        "request": row.request,
        "status": cast("Status", row.status),
        "stop_reason": row.stop_reason or None,
        "created_at": iso(row.created_us),
        "updated_at": iso(row.updated_us),
        "model": row.model or None,
        "rehearsal": row.rehearsal,
        "cost_usd": round(row.usage.usd, 9),
        "calls": row.usage.calls,
        "tokens": row.usage.input_tokens + row.usage.output_tokens,
        "budget": Ceilings(**row.budget.to_dict()),
        "duration_s": round(row.driven_s, 3),
        "parent": row.parent or None,
        "holder": row.holder or None,
        "owner": row.owner or None,
    }


async def detail_of(store: Store, row: RunRow) -> RunDetail:
    """Return one run with its result."""
    result, state = await result_of(store, row)
    charged = [found.to_event(row.run_id) for found in await store.read(row.run_id, types=CHARGED)]
    usage = result.usage
    told: dict[str, Any] = {
        **_summary(row),
        "request": state.request if isinstance(state.request, str) else row.request,
        "stop_reason": result.stop_reason or None,
        "output": result.output,
        "quality": result.quality,
        "warnings": result.warnings,
        "missing": state.missing,
        "error": result.error or None,
        "hint": result.hint or None,
        "usage": Usage(
            calls=usage.calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
            cost_usd=round(usage.usd, 9), unpriced_calls=usage.unpriced_calls,
            unknown_calls=usage.unknown_calls,
        ),
        "cached_calls": result.saved.calls,
        "saved_usd": round(result.saved.usd, 9),
        "duration_s": round(result.duration_s, 3),
        "options": state.options,
        "config": state.config,
        "budget": Ceilings(**state.budget.to_dict()),
        "questions": [
            Question(path=path, question=asked.question, choices=asked.choices, details=asked.details)
            for path, asked in result.questions.items()
        ],
        "costs": [
            Cost(
                agent=cost.agent, model=cost.model or None, calls=cost.usage.calls,
                input_tokens=cost.usage.input_tokens, output_tokens=cost.usage.output_tokens,
                cost_usd=round(cost.usage.usd, 9), unpriced_calls=cost.usage.unpriced_calls,
            )
            for cost in costs_of(charged, state)
        ],
        "artifacts": artifacts_of(state),
        "forked_from": _forked(state),
        "resumes": state.resumes,
        "last_seq": state.last_seq,
    }  # fmt: skip
    return RunDetail.model_construct(**told)


def artifacts_of(state: RunState) -> list[Artifact]:
    return [
        Artifact(id=made.id, name=made.name, media_type=made.media_type, bytes=made.bytes, path=path)
        for path, made in state.artifacts.items()
    ]


def _forked(state: RunState) -> Forked | None:
    forked = state.forked_from
    if forked is None:
        return None
    return Forked(source=forked.source, at=forked.at, edit=forked.edit, steps=forked.steps)


def step_of(step: StepState) -> Step:
    return Step.model_construct(**step_data(step))


async def step_detail_of(store: Store, row: RunRow, step: StepState) -> StepDetail:
    """Return one step with its system prompt, prompt, result and event numbers."""
    own = [found for found in await store.read(row.run_id) if found.path == step.path]
    asked: ModelAsked | None = None
    for found in own:
        data = found.to_event(row.run_id).data
        asked = data if isinstance(data, ModelAsked) else asked
    prompt = asked.prompt if asked else None
    if asked is not None and asked.blob:
        prompt = (await store.get_blob(asked.blob)).decode("utf-8", "replace")
    result: Any = decode(step.result) if step.result is not None else None
    if step.blob:
        result = decode(await store.get_blob(step.blob))
    return StepDetail.model_construct(
        **step_data(step), system=asked.system if asked else None, prompt=prompt, result=result,
        events=[found.seq for found in own],
    )  # fmt: skip
