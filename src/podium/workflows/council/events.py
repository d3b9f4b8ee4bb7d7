"""Event types of `council`."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from podium.engine.events import EventData
from podium.workflows.council.discussion import Delivery, Details, Recommendation


class CouncilEvent(EventData, frozen=True, kw_only=True):
    """Every event of a council belongs to a round; 0 is before the first one."""

    round: int = 0


class Phase(CouncilEvent, frozen=True, kw_only=True):
    """A phase began; exploration begins once for each round."""

    type: ClassVar[str] = "council.phase"
    phase: str
    """`kickoff, exploration, validation, visualization`."""
    rounds: int = 1
    team: list[str] = msgspec.field(default_factory=list[str])
    min_ideas: int = 0
    min_score: float = 0.0
    deep_dive: bool = False


class Said(CouncilEvent, frozen=True, kw_only=True, rename={"sender": "from", "kind": "type"}):
    """A member contributed: the fields of a message, and its details as data."""

    type: ClassVar[str] = "council.message"
    id: str
    sender: str
    to: str
    content: str
    timestamp: str
    kind: str
    details: Details = msgspec.field(default_factory=Details)


class IdeaAdded(CouncilEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "council.idea_added"
    id: str
    title: str
    description: str
    category: str = ""
    refines: list[str] | str | None = None
    """Ids. Logs of earlier releases hold one id or none."""
    origin: str = ""
    """`draft` for the recommendation of the direct draft."""


class IdeaRevised(CouncilEvent, frozen=True, kw_only=True):
    """An idea has a new version, which replaces the one before."""

    type: ClassVar[str] = "council.idea_revised"
    id: str
    version: int
    title: str
    description: str
    given_up: str = ""
    why: str = ""


class IdeaScored(CouncilEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "council.idea_scored"
    id: str
    criteria: dict[str, float]
    score: float
    pros: list[str] = msgspec.field(default_factory=list[str])
    cons: list[str] = msgspec.field(default_factory=list[str])
    feedback: str = ""


class Selected(CouncilEvent, frozen=True, kw_only=True):
    """The council came to a result."""

    type: ClassVar[str] = "council.selected"
    id: str
    title: str
    score: float | None
    scored: bool
    below_threshold: bool = False
    leader_choice: str | None = None
    reasoning: str = ""
    tied: list[str] = msgspec.field(default_factory=list[str])
    chosen: bool = True
    recommendation: Recommendation | None = None


class Delivered(CouncilEvent, frozen=True, kw_only=True):
    """The text to deliver is final, after the editor and the judges."""

    type: ClassVar[str] = "council.delivered"
    result: Delivery


class ReportReady(CouncilEvent, frozen=True, kw_only=True):
    """The report, and the ui_creator's page if there is one, are among the artifacts."""

    type: ClassVar[str] = "council.report_ready"
    report: str
    page: str = ""
    result: str = ""
    """Artifact id of the recommendation alone. Empty if there is none."""


class Warned(CouncilEvent, frozen=True, kw_only=True):
    """A problem that did not stop the discussion."""

    type: ClassVar[str] = "council.warning"
    message: str
    role: str = ""
