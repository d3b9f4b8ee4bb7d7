"""Data that the drafter, the editor and the judge return, and the delivered result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from podium.workflows.delivery.events import Edited

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Reply(BaseModel):
    """A reply that cannot change once it was checked."""

    model_config = ConfigDict(frozen=True)


class Draft(Reply):
    """One direct answer to the whole request."""

    points: list[Line] = Field(min_length=1, max_length=30)
    """Points that a complete answer contains."""
    ideas: list[Line] = Field(default=[], max_length=8)
    """Ideas to choose from, where something has to be invented."""
    document: Text


class Part(Reply):
    """One part of the request, and whether the document answered it before the editor changed anything."""

    part: Line
    met: bool
    note: str = ""


class Change(Reply):
    """A passage of the document and what replaces it."""

    find: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
    """Quoted as it stands, with its spaces: in code and lists they count."""
    replace: str


class Edit(Reply):
    """The editor's check of a document, and what the editor changed in it."""

    parts: list[Part] = Field(min_length=1, max_length=40)
    changes: list[Change] = Field(default=[], max_length=60)
    document: str | None = None
    """The whole text anew, where changes to passages are not enough."""
    still_missing: list[Line] = Field(default=[], max_length=20)
    """Parts of the request that are still not answered."""
    send_back: list[Line] = Field(default=[], max_length=12)


class Scores(Reply):
    """Scores of one text for the request, each from 1 to 10."""

    complete: int = Field(ge=1, le=10)
    correct: int = Field(ge=1, le=10)
    usable: int = Field(ge=1, le=10)
    fitting: int = Field(ge=1, le=10)


class Judgement(Reply):
    """A blind comparison of two texts."""

    why: Line
    a: Scores
    b: Scores
    better: Literal["A", "B", "equal"]


class Pick(Reply):
    """The best of several texts."""

    why: Line
    best: int = Field(ge=1)
    """Its number."""


Preferred = Literal["team", "draft", "equal"]


@dataclass(frozen=True)
class Comparison:
    """Result of two blind comparisons, in opposite orders, of the team's text and the direct draft."""

    preferred: Preferred
    why: list[str]
    """The reasons of each judgement that preferred a text."""


@dataclass
class Delivered:
    """The text that is handed over, and how it was checked."""

    document: str
    checked: bool = False
    """The editor has read it; then `missing` is the editor's list."""
    missing: Sequence[str] = ()
    """Parts of the request that the editor found unanswered."""
    edited: Edited | None = None
    """Recorded findings and changes of the editor."""
    comparison: Comparison | None = None
    replaced: str = ""
    """The team's own text, where the direct draft was judged better and is handed over instead."""

    def shown(self) -> dict[str, Any] | None:
        """Return the comparison for the run's JSON output; None where there was none."""
        if self.comparison is None:
            return None
        return {"preferred": self.comparison.preferred, "why": self.comparison.why}
