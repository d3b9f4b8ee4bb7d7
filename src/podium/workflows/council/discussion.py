"""Data model of a discussion: messages, ideas, points and the verdict.

Flow and report share these structs. They are plain, so that viewing a run does not import heavy modules.
"""

from __future__ import annotations

from typing import Any

import msgspec

CRITERIA = ("feasibility", "innovation", "impact", "clarity", "completeness")
"""Criteria that the moderator scores, each from 0 to 10."""
DRAFT = "draft"
"""Origin of the idea that the direct draft recommends."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an idea, with the changes from the version before."""

    version: int
    title: str
    description: str
    round: int
    given_up: str = ""
    why: str = ""


class Idea(msgspec.Struct, kw_only=True):
    """One idea, from its first mention to its score. Title and description are those of its last version."""

    id: str
    title: str
    description: str
    category: str = ""
    round: int = 1
    refines: list[str] = []
    """The ideas that this one improves or joins."""
    criteria: dict[str, float] | None = None
    """The five scores. `None` means not scored."""
    score: float | None = None
    """Mean of the five scores, rounded to two decimals."""
    pros: list[str] = []
    cons: list[str] = []
    feedback: str = ""
    validated: bool = False
    """The moderator gave it valid scores."""
    version: int = 1
    history: list[Version] = []
    """All versions, including the first and the current one. Empty if nothing was revised."""
    origin: str = ""
    """`draft` for the idea of the direct draft; empty for the team's own ideas."""


class Message(msgspec.Struct, kw_only=True, rename={"sender": "from", "kind": "type"}):
    """One contribution, as later speakers read it. In JSON: `id, from, to, content, timestamp, type`."""

    id: str
    sender: str
    to: str
    content: str
    timestamp: str
    kind: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A claim and where it comes from."""

    claim: str
    source: str = ""
    link: str = ""
    checked: bool = False
    """True if a tool returned the link. Otherwise it comes from the model's memory."""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """What could go wrong."""

    risk: str
    id: str = ""
    """`R1`, `R2`, …. Repeating an id updates the risk. Empty in logs of earlier releases."""
    idea: str | None = None
    """Id of the idea concerned. `None` means all ideas."""
    severity: str = "medium"
    mitigation: str = ""


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """What the implementer would do."""

    step: str
    idea: str | None = None
    effort: str = ""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """A risk or a question that is no longer open."""

    point: str
    how: str = ""


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a contribution holds besides its text."""

    evidence: list[Evidence] = []
    risks: list[Risk] = []
    open_questions: list[str] = []
    settled: list[Settled] = []
    ideas: list[str] = []
    """Ids of the ideas that it added."""
    revised: list[str] = []
    """Ids of the ideas that it changed."""
    own: int = -1
    """Length of the speaker's own words at the start of the content, in characters. The rest repeats the
    fields above as text. -1 means all of it."""
    next_steps: list[NextStep] = []
    sources: str = ""
    """Sources of the researcher: `model`, or the names of the tools that answered."""


class Spoken(msgspec.Struct, frozen=True):
    """A message with its round and details."""

    message: Message
    round: int
    """0 is before the first round; the last round + 1 is after it."""
    details: Details = Details()


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """The winner as the leader presents it to the user."""

    idea: str
    document: str = ""
    """The whole answer to the request, in Markdown."""
    why: str = ""
    next_steps: list[NextStep] = []


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of the council."""

    idea: str
    """Id of the winner."""
    scored: bool
    below_threshold: bool = False
    leader_choice: str | None = None
    reasoning: str = ""
    """The leader's reason for its own choice."""
    chosen: bool = True
    """False if neither scores nor the leader decided; then the winner is the first idea."""
    recommendation: Recommendation | None = None
    """None if the leader wrote none, or wrote one for another idea."""
    tied: list[str] = []
    """Other ideas with the same score."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The text that is handed over, after the editor's pass and the comparison with the direct draft."""

    document: str
    checked: bool = False
    """The editor has read the text, so `missing` is the editor's list."""
    missing: list[str] = []
    """Parts of the request that the editor found unanswered."""
    preferred: str = ""
    """`team`, `draft` or `equal`. Empty means not compared."""
    why: list[str] = []

    @property
    def comparison(self) -> dict[str, Any] | None:
        """The comparison as data for the output, or None if there was none."""
        return {"preferred": self.preferred, "why": self.why} if self.preferred else None

    @property
    def replaced(self) -> bool:
        """True if the direct draft is delivered instead of the team's text."""
        return self.preferred == DRAFT


class Discussion(msgspec.Struct, kw_only=True):
    """State of a discussion."""

    topic: str
    team: list[str] = []
    rounds: int = 1
    """Planned rounds."""
    rounds_held: int = 0
    """Completed rounds."""
    min_score: float = 0.0
    spoken: list[Spoken] = []
    ideas: list[Idea] = []
    verdict: Verdict | None = None
    warnings: list[str] = []
    page: str = ""
    """Artifact id of the ui_creator's page."""
    delivered: Delivery | None = None
    """None means that the recommendation is delivered as the leader wrote it."""
    baseline: dict[str, Any] | None = None
    """`n`, `preferred`, `why` and `tokens` of the comparison with the best of several direct drafts."""

    @property
    def messages(self) -> list[Message]:
        return [one.message for one in self.spoken]

    @property
    def own_ideas(self) -> list[Idea]:
        """The team's ideas, without the one of the direct draft."""
        return [idea for idea in self.ideas if idea.origin != DRAFT]

    @property
    def draft_idea(self) -> Idea | None:
        return next((idea for idea in self.ideas if idea.origin == DRAFT), None)

    @property
    def final_idea(self) -> Idea | None:
        return None if self.verdict is None else self.idea(self.verdict.idea)

    @property
    def reason(self) -> str:
        """The leader's reason for the winner. Empty if the leader only argued for another idea."""
        verdict = self.verdict
        if verdict is None:
            return ""
        if verdict.recommendation is not None and verdict.recommendation.why:
            return verdict.recommendation.why
        return verdict.reasoning if verdict.leader_choice == verdict.idea else ""

    @property
    def preferred(self) -> Idea | None:
        """The idea that the leader preferred to the winner, or None."""
        verdict = self.verdict
        if verdict is None or verdict.leader_choice == verdict.idea:
            return None
        return self.idea(verdict.leader_choice)

    def idea(self, name: str | None) -> Idea | None:
        return next((idea for idea in self.ideas if idea.id == name), None)


def plain(value: Any) -> Any:
    """Convert a struct to JSON-compatible data."""
    return msgspec.to_builtins(value)
