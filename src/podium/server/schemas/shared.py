"""What every answer is made of, and what a problem looks like."""

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
    """Something that the server tells."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)


class RequestModel(BaseModel):
    """Something that a client asks for: a misspelt field is told, not ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class Problem(ResponseModel):
    """What went wrong, in one sentence for a person."""

    error: str
    hint: str = ""
    """What to do about it."""
    problems: list[str] = []
    """Each flaw of a request by itself, where there are several."""


class Usage(ResponseModel):
    """What was spent."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    """Calls whose price is not known."""
    unknown_calls: int = 0
    """Calls whose outcome is not known, because the process died: counted at their worst case."""


class Budgets(RequestModel):
    """Ceilings of a run; for one that is resumed, new totals."""

    usd: Annotated[float, Field(ge=0, le=1e9)] | None = None
    tokens: Annotated[int, Field(ge=0, le=10**15)] | None = None
    calls: Annotated[int, Field(ge=0, le=10**9)] | None = None
    seconds: Annotated[float, Field(ge=0, le=1e9)] | None = None


class Ceilings(ResponseModel):
    """The ceilings of a run as they are now; `null`: there is none."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output together."""
    calls: int | None = None
    seconds: float | None = None
    """Of being driven; waiting for a person does not count."""
    depth: int | None = None
    """How deep its branches may be nested."""


class Done(ResponseModel):
    """It was done, and there is nothing else to tell."""

    ok: Literal[True] = True


Json = dict[str, Any]
