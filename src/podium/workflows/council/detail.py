"""The part of a run's view that is the council's own: rounds, contributions and ideas."""

from __future__ import annotations

import msgspec

from podium.report.presentation import Detail, View
from podium.workflows.council.discussion import Idea, Spoken
from podium.workflows.council.policy import ranked, score_text
from podium.workflows.council.view import ORDER, PHASES, CouncilState, gist_of, name_of


class CouncilViewRound(View, frozen=True, kw_only=True):
    """A column of the discussion."""

    title: str


class CouncilViewSpeaker(View, frozen=True, kw_only=True):
    """A row of the discussion."""

    order: int
    name: str


class CouncilViewContribution(View, frozen=True, kw_only=True):
    """One contribution of a speaker."""

    order: int
    round: int
    speaker: str
    kind: str
    gist: str
    content: str
    path: str = ""
    """Path of the step that it came from. Absent if unknown."""


class CouncilViewIdea(View, frozen=True, kw_only=True):
    """An idea with its rank and score."""

    rank: int
    title: str
    description: str
    category: str
    round: int
    refines: list[str]
    version: int
    score_text: str
    criteria: dict[str, float]
    pros: list[str]
    cons: list[str]
    score: float | msgspec.UnsetType = msgspec.UNSET
    low: bool = False
    """The score is below the threshold."""
    chosen: bool = False
    feedback: str = ""


class CouncilViewChoice(View, frozen=True, kw_only=True):
    """The winner."""

    id: str
    title: str
    reasoning: str


class CouncilView(Detail, frozen=True, kw_only=True, tag="council"):
    """The discussion of a council."""

    min_score: float
    min_ideas: int
    rounds: dict[str, CouncilViewRound]
    speakers: dict[str, CouncilViewSpeaker]
    contributions: dict[str, CouncilViewContribution]
    """By id."""
    ideas: dict[str, CouncilViewIdea]
    """By id."""
    selected: CouncilViewChoice | msgspec.UnsetType = msgspec.UNSET


class CouncilViews:
    """Builds the views of one council; a contribution is built once."""

    def __init__(self) -> None:
        self._built: dict[str, tuple[Spoken, CouncilViewContribution]] = {}

    def build(self, council: CouncilState) -> CouncilView:
        held = council.discussion
        numbers = {number for _, number in council.phases} | {spoken.round for spoken in held.spoken}
        speakers = [role for role in ORDER if role in held.team]
        speakers += [role for role in held.team if role not in speakers]
        speakers += [spoken.message.sender for spoken in held.spoken]
        verdict, winner = held.verdict, held.final_idea
        return CouncilView(
            min_score=held.min_score,
            min_ideas=council.min_ideas,
            rounds={str(number): _round(council, number) for number in sorted(numbers)},
            speakers={
                role: CouncilViewSpeaker(order=order, name=name_of(role))
                for order, role in enumerate(dict.fromkeys(speakers))
            },
            contributions={
                spoken.message.id: self._contribution(council, spoken, order)
                for order, spoken in enumerate(held.spoken)
            },
            ideas={
                idea.id: _idea(idea, rank, held.min_score, verdict is not None and idea.id == verdict.idea)
                for rank, idea in enumerate(ranked(held.ideas), start=1)
            },
            selected=msgspec.UNSET
            if verdict is None or winner is None
            else CouncilViewChoice(id=winner.id, title=winner.title, reasoning=held.reason),
        )

    def _contribution(self, council: CouncilState, spoken: Spoken, order: int) -> CouncilViewContribution:
        message = spoken.message
        built = self._built.get(message.id)
        if built is None or built[0] is not spoken:
            view = CouncilViewContribution(
                order=order,
                round=spoken.round,
                speaker=message.sender,
                kind=message.kind,
                gist=gist_of(message, spoken.details),
                content=message.content,
                path=council.paths.get(message.id, ""),
            )
            built = self._built[message.id] = (spoken, view)
        return built[1]


def _round(council: CouncilState, number: int) -> CouncilViewRound:
    phases = list(dict.fromkeys(phase for phase, held in council.phases if held == number))
    if number == 0:
        return CouncilViewRound(title=PHASES["kickoff"])
    named = [PHASES.get(phase, phase) for phase in phases]
    explored = "exploration" in phases or not named
    return CouncilViewRound(title=f"Round {number}" if explored else ", ".join(named))


def _idea(idea: Idea, rank: int, min_score: float, chosen: bool) -> CouncilViewIdea:
    return CouncilViewIdea(
        rank=rank,
        title=idea.title,
        description=idea.description,
        category=idea.category,
        round=idea.round,
        refines=idea.refines,
        version=idea.version,
        score_text=score_text(idea.score),
        criteria=idea.criteria or {},
        pros=idea.pros,
        cons=idea.cons,
        score=msgspec.UNSET if idea.score is None else idea.score,
        low=idea.score is not None and idea.score < min_score,
        chosen=chosen,
        feedback=idea.feedback,
    )
