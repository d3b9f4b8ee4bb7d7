"""Tasks of a department head: brief, synthesis, and writing alone.

After an error the head is asked again, with the errors so far.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from podium.errors import StepFailedError, was_cut
from podium.report.words import count
from podium.workflows.studio import agents as roles
from podium.workflows.studio import events
from podium.workflows.studio.context import Department, Studio, find_specialist
from podium.workflows.studio.contracts import Brief, SpecialistResult
from podium.workflows.studio.policy import SYNTHESIS_RETRIES, contradictions_among, split_decisions
from podium.workflows.studio.team import AgentSpec

T = TypeVar("T")

PARTIAL_SYNTHESIS = "partial_synthesis_failure"


class HeadFailedError(Exception):
    """Raised when a head failed in all its attempts."""


class EmptyAnswerError(Exception):
    """Raised when a head returned an empty text."""


@dataclass
class HeadResult:
    """Results of a department so far."""

    complexity: str
    results: list[SpecialistResult] = field(default_factory=list[SpecialistResult])
    output: str = ""
    made_by: str = ""
    """Path of the step that wrote the output."""
    flags: list[str] = field(default_factory=list[str])
    contradictions: list[str] = field(default_factory=list[str])
    decisions: list[str] = field(default_factory=list[str])
    stands_in: SpecialistResult | None = None
    """The specialist whose work is the output because the synthesis failed."""
    analysis_time: int = 0

    @property
    def accepted(self) -> list[SpecialistResult]:
        return [result for result in self.results if result.is_accepted and result.output]

    @property
    def best(self) -> SpecialistResult | None:
        return max(self.accepted, key=lambda result: result.quality_score, default=None)


async def by_head(retries: int, ask: Callable[[list[str]], Awaitable[T]]) -> tuple[T, int]:
    """Ask the head until it succeeds or the retries run out. Return the answer and the number of calls. Each
    retry gets the errors so far."""
    errors: list[str] = []
    while True:
        try:
            return await ask(errors), len(errors) + 1
        except (StepFailedError, EmptyAnswerError) as error:
            reason = error.reason if isinstance(error, StepFailedError) else str(error)
            errors = [*errors, f"Attempt {len(errors) + 1}: {reason}"]
            if len(errors) > retries or was_cut(error):
                raise HeadFailedError(
                    f"the head failed {count(len(errors), 'time')}; last: {reason}"
                ) from error


async def brief(studio: Studio, department: Department, wanted: int) -> Brief:
    offered = [
        {"key": key, "name": spec.name, "specialization": spec.specialization, "skills": spec.skills}
        for key, spec in department.spec.specialists.items()
        if spec.active
    ]

    def check(answer: Brief) -> str:
        unknown = [
            assignment.specialist
            for assignment in answer.assignments
            if not find_specialist(department.spec, assignment.specialist)
        ]
        known = ", ".join(str(specialist["key"]) for specialist in offered)
        return f"there is no specialist {', '.join(unknown)}; there are {known}" if unknown else ""

    async def ask(errors: list[str]) -> Brief:
        return await studio.run.ask(
            roles.head_of(department.spec.head),
            "brief",
            returns=Brief,
            check=check,
            request=studio.request,
            wanted=wanted,
            specialists=offered,
            errors=errors,
            context=department.context(),
            points=studio.points,
            first_version=studio.first_version,
        )

    return (await by_head(department.spec.max_retries, ask))[0]


async def write_alone(studio: Studio, department: Department, made: HeadResult) -> None:
    rejected = [
        {
            "name": result.agent_name,
            "task": result.assignment,
            "note": result.review_notes,
            "feedback": result.counted_feedback,
            "output": result.output,
        }
        for result in made.results
    ]

    async def ask(errors: list[str]) -> str:
        text = await studio.run.ask(
            roles.head_of(department.spec.head),
            "head_execute",
            request=studio.request,
            rejected=rejected,
            approach=department.approach,
            errors=errors,
            context=department.context(),
            points=studio.points,
            first_version=studio.first_version,
        )
        return _not_empty(studio.run.marked(text))

    made.output, calls = await by_head(department.spec.max_retries, ask)
    made.made_by = _path(studio, "head_execute", calls)


async def synthesize(studio: Studio, department: Department, made: HeadResult) -> None:
    """Write one text from all accepted work. If the head fails, use the best specialist's output."""
    subjects = [text for spec in department.spec.specialists.values() for text in _subjects(spec)]
    made.contradictions = contradictions_among(
        {result.agent_name: result.output for result in made.accepted}, subjects
    )
    retries = min(SYNTHESIS_RETRIES, department.spec.max_retries)
    rounds, fallback = 0, ""
    try:
        for rounds in range(1, studio.choices.synthesis_rounds + 1):
            text, calls = await _draft(studio, department, made, retries if rounds == 1 else 0)
            made.made_by = _path(studio, "synthesize", rounds - 1 + calls)
            made.output, made.decisions = split_decisions(text)
    except HeadFailedError as error:
        best = made.best
        if not made.output and best is not None:
            made.output, fallback = best.output, best.agent_name
            made.made_by, made.stands_in = best.agent_id, best
            made.flags.append(PARTIAL_SYNTHESIS)
            studio.run.warn(f"{department.spec.name}: {error}; the best specialist's work stands in.")
    studio.run.emit(
        events.Synthesized(
            department=department.key,
            inputs=len(made.accepted),
            rounds=rounds,
            fallback=fallback,
            contradictions=made.contradictions,
            decisions=made.decisions,
        )
    )


def _subjects(spec: AgentSpec) -> list[str]:
    """Return the words of a specialist's field. A heading made of them is not a name."""
    return [spec.specialization, spec.name, *spec.skills]


async def _draft(studio: Studio, department: Department, made: HeadResult, retries: int) -> tuple[str, int]:
    outputs = [
        {
            "name": result.agent_name,
            "task": result.assignment,
            "output": result.output,
            "note": result.review_notes if result.review_status == "revision-needed" else "",
            "feedback": result.counted_feedback,
            "suggestions": result.counted_suggestions,
        }
        for result in made.accepted
    ]
    lost = [
        f"{result.agent_name}: {result.assignment}" for result in made.results if result not in made.accepted
    ]

    async def ask(errors: list[str]) -> str:
        text = await studio.run.ask(
            roles.head_of(department.spec.head),
            "synthesize",
            request=studio.request,
            outputs=outputs,
            approach=department.approach,
            lost=lost,
            contradictions=made.contradictions,
            draft=made.output,
            errors=errors,
            context=department.context(),
            points=studio.points,
        )
        return _not_empty(studio.run.marked(text))

    return await by_head(retries, ask)


def _not_empty(text: str) -> str:
    if not text.strip():
        raise EmptyAnswerError("the answer was empty")
    return text.strip()


def _path(studio: Studio, task: str, nth: int) -> str:
    return f"{studio.run.path}/{task}" + (f"#{nth}" if nth > 1 else "")
