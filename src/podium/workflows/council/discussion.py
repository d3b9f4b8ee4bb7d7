"""A discussion as data: who said what, which ideas there are, and what became of them.

Flow and report share these shapes. They are plain structs, so that looking at a run loads nothing heavy.
"""

from __future__ import annotations

from typing import Any

import msgspec

CRITERIA = ("feasibility", "innovation", "impact", "clarity", "completeness")
"""What the moderator scores, each from 0 to 10."""
DRAFT = "draft"
"""Origin of the idea that the direct draft recommends."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an idea, and how it differs from the version before."""

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
    """The five scores; `None`: not scored."""
    score: float | None = None
    """Their mean, two decimals."""
    pros: list[str] = []
    cons: list[str] = []
    feedback: str = ""
    validated: bool = False
    """The moderator has given it valid scores."""
    version: int = 1
    history: list[Version] = []
    """All versions, the first and the current one included; empty as long as nothing was revised."""
    origin: str = ""
    """`draft`: what one expert recommended alone; empty: the team's own."""


class Message(msgspec.Struct, kw_only=True, rename={"sender": "from", "kind": "type"}):
    """One contribution as later speakers read it. In JSON: `id, from, to, content, timestamp, type`."""

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
    """The link is one that a tool returned; anything else is what the model remembers."""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """What could go wrong."""

    risk: str
    id: str = ""
    """`R1`, `R2`, …: the same id again updates the risk. Empty in logs of earlier releases."""
    idea: str | None = None
    """The id of the idea that it concerns; `None`: all of them."""
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
    """Ids of the ideas that it brought."""
    revised: list[str] = []
    """Ids of the ideas that it changed."""
    own: int = -1
    """Characters of the content that are the speaker's own words; the rest repeats the fields above as text.
    -1: all of it."""
    next_steps: list[NextStep] = []
    sources: str = ""
    """What the researcher worked from: `model`, or the names of the tools that answered."""


class Spoken(msgspec.Struct, frozen=True):
    """A message in its place."""

    message: Message
    round: int
    """0: before the first round; one more than the last: after it."""
    details: Details = Details()


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """The winner as the leader presents it to the user."""

    idea: str
    document: str = ""
    """The whole answer to the request, in Markdown."""
    why: str = ""
    next_steps: list[NextStep] = []


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the council came to."""

    idea: str
    """The id of the winner."""
    scored: bool
    below_threshold: bool = False
    leader_choice: str | None = None
    reasoning: str = ""
    """Why the leader made its own choice, in its words."""
    chosen: bool = True
    """False: neither scores nor the leader decided; it is just the first idea."""
    recommendation: Recommendation | None = None
    """None: the leader wrote none, or wrote one for another idea."""
    tied: list[str] = []
    """Other ideas with the same score."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The text that is handed over, after the editor's pass and the comparison with the direct draft."""

    document: str
    checked: bool = False
    """The editor has read it; then `missing` is the editor's list."""
    missing: list[str] = []
    """Parts of the request that the editor found unanswered."""
    preferred: str = ""
    """`team`, `draft` or `equal`; empty: not compared."""
    why: list[str] = []

    @property
    def comparison(self) -> dict[str, Any] | None:
        """The comparison as it stands in the output; None where there was none."""
        return {"preferred": self.preferred, "why": self.why} if self.preferred else None

    @property
    def replaced(self) -> bool:
        """Whether the direct draft is handed over instead of the team's text."""
        return self.preferred == DRAFT


class Discussion(msgspec.Struct, kw_only=True):
    """Everything so far."""

    topic: str
    team: list[str] = []
    rounds: int = 1
    """How many are planned."""
    rounds_held: int = 0
    """How many came to their end."""
    min_score: float = 0.0
    spoken: list[Spoken] = []
    ideas: list[Idea] = []
    verdict: Verdict | None = None
    warnings: list[str] = []
    page: str = ""
    """The id of the ui_creator's page."""
    delivered: Delivery | None = None
    """None: the recommendation is handed over as the leader wrote it."""
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
        """What the leader says for the winner; empty if it only spoke for another idea."""
        verdict = self.verdict
        if verdict is None:
            return ""
        if verdict.recommendation is not None and verdict.recommendation.why:
            return verdict.recommendation.why
        return verdict.reasoning if verdict.leader_choice == verdict.idea else ""

    @property
    def preferred(self) -> Idea | None:
        """The idea that the leader would have taken instead of the winner."""
        verdict = self.verdict
        if verdict is None or verdict.leader_choice == verdict.idea:
            return None
        return self.idea(verdict.leader_choice)

    def idea(self, name: str | None) -> Idea | None:
        return next((idea for idea in self.ideas if idea.id == name), None)


def plain(value: Any) -> Any:
    """A struct as the JSON data that an output holds."""
    return msgspec.to_builtins(value)
