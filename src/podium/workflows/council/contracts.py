"""Structured replies of the roles.

Text and lists are separate fields, so that reports can show risks, next steps and evidence by themselves.
Validators accept common deviations: plain text without the lists, a bare list, a text instead of a list with
one item, another field name. Ideas and scores are never guessed from prose: such a reply is sent back.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from podium.workflows.council.discussion import CRITERIA

Name = Field(min_length=1)
Score = Field(ge=0, le=10)

_TEXT = ("text", "content", "message", "answer", "summary")
_CHOICE = ("choice", "selected", "selection", "winner", "final_idea")
_SEVERITIES = {"low": "low", "minor": "low", "high": "high", "critical": "high", "severe": "high"}
_IDEA = ("idea", "idea_id", "ideaId", "id", "title")


class StrictModel(BaseModel):
    """Base of all replies; immutable."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)


class TextReply(StrictModel):
    """A reply that is mainly text."""

    text: str = Field(description="Your contribution as the team reads it, in Markdown.")

    @model_validator(mode="before")
    @classmethod
    def _prose(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"text": value}
        lists = ("risks", "open_questions", "settled", "next_steps")
        return _with_lists(_renamed(value, "text", _TEXT), *lists)


# ── ideation ─────────────────────────────────────────────────────────────────────────────────────


class Draft(StrictModel):
    """One idea."""

    title: str = Field(min_length=1, description="A few words that distinguish it from every other idea.")
    description: str = Field(description="What it is, for whom, and why it would work.")
    category: str = Field(default="", description="One or two words; ideas of one kind share it.")
    refines: list[str] = Field(default=[], description="Ids of the ideas that this one improves or joins.")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        fields = {"title": value} if isinstance(value, str) else _renamed(value, "title", ("title", "name"))
        if not isinstance(fields, dict):
            return fields
        draft = {"description": "", **cast("dict[str, Any]", fields)}
        refines: Any = draft.get("refines") or []
        return {**draft, "refines": cast("Any", refines if isinstance(refines, list) else [str(refines)])}


class RevisionNote(StrictModel):
    """A new version of an idea that is already there."""

    idea: str = Field(min_length=1, description="The id of the idea that changes.")
    title: str = Field(default="", description="Its new title; empty: it keeps its title.")
    description: str = Field(description="The whole idea as it stands now; it replaces the old text.")
    given_up: str = Field(default="", description="Parts that the new version gives up or no longer claims.")
    why: str = Field(default="", description="Objection, fact or figure that made the change necessary.")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        fields = _renamed(value, "idea", ("idea", "idea_id", "ideaId", "id"))
        if not isinstance(fields, dict):
            return fields
        note = {"description": "", **cast("dict[str, Any]", fields)}
        return {**note, **{name: _one_text(note.get(name)) for name in ("title", "given_up", "why")}}


class Ideas(StrictModel):
    """New ideas."""

    ideas: list[Draft]

    @model_validator(mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return _under("ideas", value)


class MoreIdeas(Ideas):
    """New ideas, and new versions of existing ones."""

    revisions: list[RevisionNote] = []

    @model_validator(mode="before")
    @classmethod
    def _only_revisions(cls, value: Any) -> Any:
        if isinstance(value, dict) and "revisions" in value and "ideas" not in value:
            return {**cast("dict[str, Any]", value), "ideas": []}
        return cast("Any", value)


class Rebuttal(TextReply):
    """Ideation's reply to criticism."""

    revisions: list[RevisionNote] = []


# ── research ─────────────────────────────────────────────────────────────────────────────────────


class SettledNote(StrictModel):
    """An open point that is no longer open."""

    point: str = Field(min_length=1, description="The id of the open point, such as R2 or Q1.")
    how: str = Field(default="", description="Change, fact or figure that settled it.")

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"point": value}
        return _renamed(value, "point", ("point", "id", "risk", "question"))


class EvidenceCard(StrictModel):
    claim: str = Name
    source: str = Field(default="", description="Source of the claim: a title, an author, a file.")
    link: str = Field(default="", description="Its address, copied from a tool's answer; else empty.")


class Research(TextReply):
    """The researcher's findings."""

    evidence: list[EvidenceCard] = []
    settled: list[SettledNote] = []


# ── critic and implementer ───────────────────────────────────────────────────────────────────────


class RiskNote(StrictModel):
    risk: str = Name
    id: str = Field(default="", description="The id of an open risk that still stands; empty for a new one.")
    idea: str | None = Field(default=None, description="The id of the idea; none if it concerns all.")
    severity: Literal["low", "medium", "high"] = "medium"
    mitigation: str = ""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return {"risk": value} if isinstance(value, str) else value
        fields = cast("dict[str, Any]", value)
        severity = str(fields.get("severity") or "medium").strip().lower()
        return {**fields, "severity": _SEVERITIES.get(severity, "medium")}


class Critique(TextReply):
    risks: list[RiskNote] = []
    open_questions: list[str] = []
    settled: list[SettledNote] = []


class StepNote(StrictModel):
    step: str = Name
    idea: str | None = Field(default=None, description="The id of the idea that it belongs to.")
    effort: str = Field(default="", description="For example: two days, one person.")

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        return {"step": value} if isinstance(value, str) else value


class Implementation(TextReply):
    next_steps: list[StepNote] = []


# ── moderator and leader ─────────────────────────────────────────────────────────────────────────


class Evaluation(StrictModel):
    """The scores of one idea."""

    idea: str = Field(min_length=1, description="The idea's id.")
    feasibility: float = Score
    innovation: float = Score
    impact: float = Score
    clarity: float = Score
    completeness: float = Score
    pros: list[str] = []
    cons: list[str] = []
    feedback: str = ""

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return flat_evaluation(value)


class Evaluations(StrictModel):
    """The scores of all ideas."""

    evaluations: list[Evaluation] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return _under("evaluations", value)


class LooseEvaluations(StrictModel):
    """Evaluations without validation of scores, to salvage an invalid reply."""

    evaluations: list[dict[str, Any]]

    @model_validator(mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        evaluations = cast("dict[str, Any]", value).get("evaluations") if isinstance(value, dict) else value
        if not isinstance(evaluations, list):
            return {"evaluations": evaluations}
        entries = [flat_evaluation(entry) for entry in cast("list[Any]", evaluations)]
        return {"evaluations": [cast("Any", entry) for entry in entries if isinstance(entry, dict)]}


class RecommendationNote(StrictModel):
    """The winning idea, written for the user."""

    idea: str = Field(min_length=1, description="The id of the idea that wins by the rules above.")
    document: str = Field(description="The complete answer to the request, in Markdown, without ids.")
    why: str = Field(default="", description="Two to four sentences that argue for this idea, without ids.")
    next_steps: list[StepNote] = []

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        fields = _renamed(value, "idea", ("idea", "idea_id", "ideaId", "id"))
        fields = _renamed(fields, "document", ("document", *_TEXT))
        return _with_lists(fields, "next_steps")


class Selection(StrictModel):
    """The leader's choice, and its presentation of the winner."""

    choice: str = Field(min_length=1, description="The id of the idea that you would choose.")
    reasoning: str = Field(description="Why you would choose it, as the team reads it.")
    """Empty if the model gave only its choice."""
    recommendation: RecommendationNote | None = Field(description="The winner, written for the user.")
    """None if the model gave only its choice."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        fields = (
            {"choice": value} if isinstance(value, str) else _renamed(value, "choice", (*_CHOICE, *_IDEA))
        )
        fields = _renamed(fields, "reasoning", ("reasoning", "reason", "explanation", *_TEXT))
        empty = {"reasoning": "", "recommendation": None}
        return {**empty, **cast("Any", fields)} if isinstance(fields, dict) else fields


def flat_evaluation(value: Any) -> Any:
    """Flatten nested scores and normalize the names of fields."""
    if not isinstance(value, dict):
        return value
    fields = dict(cast("dict[str, Any]", value))
    for nest in ("criteria", "scores"):
        inner = fields.get(nest)
        if isinstance(inner, dict):
            fields = {**cast("dict[str, Any]", inner), **fields}
    fields = {(low if (low := key.lower()) in CRITERIA else key): score for key, score in fields.items()}
    return _with_lists(_renamed(fields, "idea", _IDEA), "pros", "cons")


def _under(name: str, value: Any) -> Any:
    """Put a bare list, or the only list under another name, under `name`."""
    if isinstance(value, list):
        return {name: cast("Any", value)}
    if not isinstance(value, dict) or name in value:
        return cast("Any", value)
    fields = cast("dict[str, Any]", value)
    lists = [key for key, item in fields.items() if isinstance(item, list)]
    return {**fields, name: fields[lists[0]]} if len(lists) == 1 else fields


def _with_lists(value: Any, *names: str) -> Any:
    """Convert texts in these fields to lists with one item."""
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    alone = {
        name: [fields[name]] for name in names if isinstance(fields.get(name), str) and fields[name].strip()
    }
    return {**fields, **alone}


def _one_text(value: Any) -> Any:
    """Join a list of texts; None becomes an empty text."""
    if isinstance(value, list):
        return "; ".join(str(text) for text in cast("list[Any]", value))
    return "" if value is None else value


def _renamed(value: Any, wanted: str, names: tuple[str, ...]) -> Any:
    """Rename the first present field of `names` to `wanted`."""
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    present = next((name for name in names if fields.get(name) is not None), None)
    return fields if present is None or wanted in fields else {**fields, wanted: fields[present]}
