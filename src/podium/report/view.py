"""View of a run: what a page shows of it, as data, and the merge patch between two views.

A field with a default is left out of the JSON while it has that default, so that nothing is ever null: a
merge patch (RFC 7396) removes a field with null. Parts that did not change are the same objects in two views
that follow each other, which makes the comparison cheap.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from podium.engine.events import Charge
from podium.report.messages import ShownCall, ShownConversation
from podium.report.presentation import Detail, Line, View, ViewGrade, Weight


class ViewLine(msgspec.Struct, frozen=True, kw_only=True):
    """The line of an event, as the terminal shows it."""

    text: str
    weight: Weight
    """`trace` is left out of the terminal's live view; `routine` is shown there, but not important."""
    mark: str
    indent: int
    """Nesting level below the run."""
    notes: list[str]
    """Figures that the terminal shows on the right: score, cost, time."""

    @classmethod
    def of(cls, line: Line) -> ViewLine:
        return cls(
            text=line.what, weight=line.weight, mark=line.mark, indent=line.indent, notes=list(line.notes)
        )


class ViewUsage(View, frozen=True, kw_only=True):
    """An amount of what a budget limits."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int = 0
    unknown_calls: int = 0
    """Calls whose outcome is not known, because the process died."""

    @classmethod
    def of(cls, charge: Charge) -> ViewUsage:
        return cls(**charge.to_dict())


class ViewBudget(View, frozen=True, kw_only=True):
    """The limits that are set."""

    usd: float | msgspec.UnsetType = msgspec.UNSET
    tokens: int | msgspec.UnsetType = msgspec.UNSET
    calls: int | msgspec.UnsetType = msgspec.UNSET
    seconds: float | msgspec.UnsetType = msgspec.UNSET
    depth: int | msgspec.UnsetType = msgspec.UNSET


class ViewStep(View, frozen=True, kw_only=True):
    """One step. Prompt and result are in its events, and in `GET /api/runs/{run_id}/step`."""

    kind: str
    agent: str
    task: str
    call: str = ""
    """A tool call on one line."""
    turn: int = 0
    """Number of the turn of an agent with tools, or of a thread; 0: it is no turn."""
    model: str
    status: str
    """`running`, `completed`, `failed`, `stale` (it will run again) or `interrupted`."""
    seq: int
    """Number of the event that started it."""
    started_ms: int
    usage: ViewUsage
    ended_ms: int = 0
    retries: int = 0
    repairs: int = 0
    """Replies that did not fit and were sent back."""
    error: str = ""
    inherited: bool = False
    edited: bool = False
    cached: bool = False
    cut: bool = False
    """The result ends where a model's reply was cut off."""
    clock: bool = False
    """A reading of the clock, which no page shows."""
    attempt: int = 1
    """Number of the attempt whose branch it is in."""
    asked_seq: int = 0
    """Number of the last event with its prompt."""
    prompt_blob: bool = False
    prompt_chars: int = 0
    """Length of the prompt; 0 if it is a blob."""
    ended_seq: int = 0
    """Number of the event with its result or error."""
    result_blob: bool = False
    result_hash: str = ""
    """Equal results have equal hashes."""
    result_line: str = ""
    """Beginning of the result on one line; empty if it is a blob."""
    failed_calls_ms: tuple[int, ...] = ()
    """When model calls failed."""


class ViewQuestion(View, frozen=True, kw_only=True):
    """An open question to a person."""

    question: str
    choices: list[str]
    seq: int
    details: Any = None
    answers: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Answers with data, by name: JSON schemas."""


class ViewTool(View, frozen=True, kw_only=True):
    """Calls and cost of one tool."""

    calls: int
    failed: int = 0
    cost_usd: float = 0.0
    """For a sub-agent, including its own model and tool calls."""
    seconds: float = 0.0


class ViewArtifact(View, frozen=True, kw_only=True):
    """A file that the run made."""

    id: str
    name: str
    media_type: str
    bytes: int
    branch: str
    """Path of the work that made it. Empty: the run itself."""
    seq: int


class ViewFork(View, frozen=True, kw_only=True):
    """The origin of a forked run."""

    source: str
    at: str
    edit: str
    steps: int
    """Finished steps that it inherited."""


class RunMessages(View, frozen=True, kw_only=True):
    """Conversations of a run: of asks with tools, and of threads."""

    seq: int
    """Number of the last event that they include."""
    conversations: list[ShownConversation]
    left_out: int = 0
    """Earlier messages that are left out."""
    call: ShownCall | msgspec.UnsetType = msgspec.UNSET
    """The call whose step was asked for."""


class ViewNotice(View, frozen=True, kw_only=True):
    """The reason why a run stopped, worded as in the terminal."""

    text: str
    weight: Weight
    hint: str = ""


class RunView(View, frozen=True, kw_only=True):
    """Everything that a page shows of a run, up to one event."""

    run_id: str
    workflow: str
    status: str
    """As the log says it. The stream's `status` event also knows whether a process drives the run."""
    request: str
    options: dict[str, Any]
    config: dict[str, Any]
    budget: ViewBudget
    created_ms: int
    updated_ms: int
    driven_s: float
    """Driven time up to the last event that starts or ends something."""
    driven_before_s: float
    usage: ViewUsage
    saved: ViewUsage
    """Saved by the cache."""
    reserved: ViewUsage
    """Worst case of the calls in flight."""
    usage_at_rest: ViewUsage
    """Usage that includes calls of unknown outcome: for a run that no process drives."""
    agents: dict[str, ViewUsage]
    """Usage by agent; `steps` is what was used outside of agents."""
    tools: dict[str, ViewTool]
    """Calls and cost by tool."""
    steps_total: int
    """Number of steps without readings of the clock."""
    steps_running: int
    steps: dict[str, ViewStep]
    """By path."""
    questions: dict[str, ViewQuestion]
    """Open questions by path."""
    artifacts: dict[str, ViewArtifact]
    """By path."""
    grades: dict[str, dict[str, ViewGrade]]
    """By path of the graded branch, then by number of the event."""
    warnings: list[str]
    missing: list[str]
    resumes: int
    conversations: int = 0
    """Number of asks with turns; their messages are in `GET /api/runs/{run_id}/messages`."""
    rehearsal: bool = False
    driving_since_ms: int = 0
    """While it is driven: its driven time is `driven_before_s` plus the time since this moment."""
    quality: float | msgspec.UnsetType = msgspec.UNSET
    quality_text: str = ""
    """The quality as it is shown: `0.87`, of a rehearsal `0.87 (made up)`."""
    scores_note: str = ""
    """A sentence to show beside scores that a rehearsal made up."""
    summary: str = ""
    """Key figures of the workflow on one line."""
    stop_reason: str = ""
    notice: ViewNotice | msgspec.UnsetType = msgspec.UNSET
    error: str = ""
    hint: str = ""
    delivered: bool = False
    """It has ended and has an output."""
    output_seq: int = 0
    """Number of the event with the output."""
    output_blob: bool = False
    forked: ViewFork | msgspec.UnsetType = msgspec.UNSET
    detail: Detail | msgspec.UnsetType = msgspec.UNSET
    """The workflow's own part, by `kind`. Absent for workflows without one."""


def without_nulls(value: Any) -> Any:
    """Return JSON data without null fields, which a merge patch cannot set."""
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    return {key: without_nulls(part) for key, part in fields.items() if part is not None}


def merge_patch(before: Any, after: Any) -> Any:
    """Return the merge patch (RFC 7396) from one value of a view to the next one of the same kind."""
    if isinstance(before, dict) and isinstance(after, dict):
        return _patch_dict(cast("dict[str, Any]", before), cast("dict[str, Any]", after))
    if isinstance(before, View) and type(before) is type(after):
        return _patch_struct(before, after)
    return msgspec.to_builtins(after)


def _patch_dict(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = msgspec.to_builtins(value)
        elif before[key] is not value and before[key] != value:
            patch[key] = merge_patch(before[key], value)
    return patch


def _patch_struct(before: msgspec.Struct, after: msgspec.Struct) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    defaults = _defaults(type(after))
    for name in after.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if old is new or old == new:
            continue
        if name not in defaults:
            patch[name] = merge_patch(old, new)
        elif new == defaults[name]:
            patch[name] = None
        elif old == defaults[name]:
            patch[name] = msgspec.to_builtins(new)
        else:
            patch[name] = merge_patch(old, new)
    return patch


_DEFAULTS: dict[type[msgspec.Struct], dict[str, Any]] = {}


def _defaults(cls: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the defaults of a struct: fields with their default are absent from its JSON."""
    if cls not in _DEFAULTS:
        defaults: dict[str, Any] = {}
        for field in msgspec.structs.fields(cls):
            if field.default is not msgspec.NODEFAULT:
                defaults[field.name] = field.default
            elif field.default_factory is not msgspec.NODEFAULT:
                defaults[field.name] = field.default_factory()
        _DEFAULTS[cls] = defaults
    return _DEFAULTS[cls]
