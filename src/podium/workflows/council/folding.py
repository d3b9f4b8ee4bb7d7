"""A council as its log tells it: a pure fold over events, for the live view and the reports."""

from __future__ import annotations

import msgspec

from podium.engine.events import Event, RunCreated, RunResumed, StepCompleted, StepFailed, StepStarted
from podium.engine.folding import Fold
from podium.workflows.council import events
from podium.workflows.council.discussion import Discussion, Idea, Message, Spoken, Verdict
from podium.workflows.council.policy import as_ids, revised
from podium.workflows.delivery.events import BaselineCompared

_TURNS = frozenset(
    ("kickoff", "research", "ideate", "critique", "implement", "rebut", "synthesize", "validate", "select",
     "visualize")
)  # fmt: skip


CLOSING_BRANCH = "closing"
"""Where a discussion that is out of budget is scored. Its key is the number of contributions: a later ending
with more of them is told anew, one with the same is not."""
_GOES_ON = (events.Said, events.IdeaAdded, events.IdeaScored, events.Selected)
"""Events that show, outside of that branch, that the discussion went on after all."""


class CouncilState(Fold):
    """The discussion up to the last event that was applied, and who is speaking."""

    def __init__(self) -> None:
        self.discussion = Discussion(topic="")
        self.phase = ""
        self.round = 0
        self.deep_dive = False
        self.min_ideas = 0
        self.leading: list[str] = []
        """Ids of the recommendation and the report."""
        self.failed: set[tuple[int, str]] = set()
        """Rounds and roles in which somebody failed."""
        self._speaking: dict[str, str] = {}
        self._closing: set[str] = set()
        """What was scored or selected because the budget ran out."""

    @property
    def speaker(self) -> str:
        """The role whose turn it is."""
        return next(iter(self._speaking.values()), "")

    def apply(self, event: Event) -> None:
        """Take one more event into account."""
        data = event.data
        match data:
            case RunCreated():
                self.discussion.topic = data.request if isinstance(data.request, str) else ""
            case StepStarted() if data.about.get("task") in _TURNS:
                self._speaking[event.path] = str(data.about.get("role", ""))
            case StepCompleted():
                self._speaking.pop(event.path, None)
            case StepFailed():
                role = self._speaking.pop(event.path, "")
                self.failed |= {(self.round, role)} if role else set()
            case BaselineCompared():
                self.discussion.baseline = data.shown()
            case RunResumed():
                self._speaking.clear()
            case events.CouncilEvent():
                closing = event.path.startswith(CLOSING_BRANCH)
                if self._closing and not closing and isinstance(data, _GOES_ON):
                    self._reopen()
                self._tell(data)
                if isinstance(data, (events.IdeaScored, events.Selected)) and closing:
                    self._closing.add(data.id if isinstance(data, events.IdeaScored) else "")
            case _:
                if event.type.startswith("run."):
                    self._speaking.clear()

    def _tell(self, data: events.CouncilEvent) -> None:
        held = self.discussion
        match data:
            case events.Phase():
                self.phase, self.round = data.phase, data.round
                self.deep_dive, self.min_ideas = data.deep_dive, data.min_ideas
                held.rounds, held.team, held.min_score = data.rounds, data.team, data.min_score
                held.rounds_held = min(max(data.round - 1, 0), data.rounds)
            case events.Said():
                self._say(data)
            case events.IdeaAdded():
                self._add(data)
            case events.IdeaRevised():
                self._revise(data)
            case events.IdeaScored():
                self._score(data)
            case events.Selected():
                held.verdict = Verdict(
                    idea=data.id, scored=data.scored, below_threshold=data.below_threshold, tied=data.tied,
                    leader_choice=data.leader_choice, reasoning=data.reasoning, chosen=data.chosen,
                    recommendation=data.recommendation,
                )  # fmt: skip
            case events.Delivered():
                held.delivered = data.result
            case events.ReportReady():
                self.leading, held.page = [name for name in (data.result, data.report) if name], data.page
            case events.Warned() if data.message not in held.warnings:
                held.warnings.append(data.message)
            case _:
                pass

    def _reopen(self) -> None:
        """The discussion goes on where the budget had ended it: its scores were not the last word."""
        held, last = self.discussion, self._closing
        held.verdict, held.delivered, self._closing = None, None, set()
        held.ideas = [
            Idea(id=idea.id, title=idea.title, description=idea.description, category=idea.category,
                 refines=idea.refines, round=idea.round, version=idea.version, history=idea.history,
                 origin=idea.origin)
            if idea.id in last else idea
            for idea in held.ideas
        ]  # fmt: skip

    def _say(self, data: events.Said) -> None:
        """What is told anew after a budget ran out stands in the place of what was told before."""
        message = Message(
            id=data.id, sender=data.sender, to=data.to, content=data.content, timestamp=data.timestamp,
            kind=data.kind,
        )  # fmt: skip
        spoken = self.discussion.spoken
        number = int(data.id[1:]) if data.id[1:].isdigit() else len(spoken) + 1
        del spoken[max(number - 1, 0) :]
        spoken.append(Spoken(message, data.round, data.details))

    def _add(self, data: events.IdeaAdded) -> None:
        held = self.discussion
        idea = Idea(
            id=data.id, title=data.title, description=data.description, category=data.category,
            refines=as_ids(data.refines), round=data.round, origin=data.origin,
        )  # fmt: skip
        known = [one.id for one in held.ideas]
        before = held.ideas[: known.index(data.id)] if data.id in known else held.ideas
        held.ideas = [*before, idea]
        held.verdict = held.delivered = None

    def _revise(self, data: events.IdeaRevised) -> None:
        held = self.discussion
        held.ideas = [
            revised(
                idea, title=data.title, description=data.description, given_up=data.given_up, why=data.why,
                number=data.round, version=data.version,
            ) if idea.id == data.id else idea
            for idea in held.ideas
        ]  # fmt: skip

    def _score(self, data: events.IdeaScored) -> None:
        held = self.discussion
        held.ideas = [
            msgspec.structs.replace(
                idea, criteria=data.criteria, score=data.score, pros=data.pros, cons=data.cons,
                feedback=data.feedback, validated=True,
            ) if idea.id == data.id else idea
            for idea in held.ideas
        ]  # fmt: skip
