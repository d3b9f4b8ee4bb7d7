"""Models shared by all responses, and error responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

Status = Literal["queued", "running", "waiting", "paused", "completed", "partial", "failed", "cancelled"]

RunRef = Annotated[
    str,
    Path(min_length=6, max_length=64, pattern=r"^[0-9a-z]+$", description="A run's id, or how it begins."),
]


class ResponseModel(BaseModel):
    """Base of all responses."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)


class RequestModel(BaseModel):
    """Base of all requests. Unknown fields are errors."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class Problem(ResponseModel):
    """Error message in one sentence."""

    error: str
    hint: str = ""
    """Suggested remedy."""
    problems: list[str] = []
    """All problems of a request, if there are several."""


class Usage(ResponseModel):
    """Usage and cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    """Calls with an unknown price."""
    unknown_calls: int = 0
    """Calls with an unknown outcome, because the process died; counted at their worst case."""


class Budgets(RequestModel):
    """Limits of a run; new totals for a resumed run."""

    usd: Annotated[float, Field(ge=0, le=1e9)] | None = None
    tokens: Annotated[int, Field(ge=0, le=10**15)] | None = None
    calls: Annotated[int, Field(ge=0, le=10**9)] | None = None
    seconds: Annotated[float, Field(ge=0, le=1e9)] | None = None


class Ceilings(ResponseModel):
    """Current limits of a run; `null`: no limit."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output together."""
    calls: int | None = None
    seconds: float | None = None
    """Execution time; waiting for a person does not count."""
    depth: int | None = None
    """Maximum nesting of branches."""


class Done(ResponseModel):
    """Success without a body."""

    ok: Literal[True] = True


Json = dict[str, Any]
