"""Specialist execution: attempt, grade, and retry with feedback until it passes or attempts run out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.studio import agents as roles
from podium.workflows.studio import events
from podium.workflows.studio.context import Department, Studio
from podium.workflows.studio.contracts import Grade, SpecialistResult
from podium.workflows.studio.policy import (
    UNGRADED_SCORE,
    decision_of,
    feedback_line,
    may_retry,
    review_of,
    score_of,
)
from podium.workflows.studio.team import AgentSpec, agent_id

EMPTY = "The answer was empty."
IMPROVE = (
    "quality: make it concrete, complete and well written",
    "relevance: do your own assignment, all of it and nothing else",
    "consistency: agree with the request and with the material",
)
"""Default suggestions for a retry if the grade has none."""


@dataclass(frozen=True)
class Attempt:
    """One attempt of a specialist."""

    number: int
    output: str
    score: float | None
    feedback: str = ""
    suggestions: tuple[str, ...] = ()


@dataclass
class SpecialistRun:
    """State of a specialist's work: its attempts so far."""

    studio: Studio
    department: Department
    key: str
    spec: AgentSpec
    threshold: float
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    error: str = ""
    exhausted: BudgetExhaustedError | None = None
    took: int = 0
    siblings: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Accepted work of the specialists that it depends on."""

    @classmethod
    def begin(
        cls, studio: Studio, department: Department, key: str, done: Mapping[str, SpecialistResult]
    ) -> SpecialistRun:
        """Start a specialist. `done` holds the results of earlier specialists."""
        spec, threshold = department.spec.specialists[key], studio.threshold(department.key, key)
        configured = studio.configured(department.key, key)
        studio.run.emit(
            events.SpecialistStarted(
                department=department.key,
                specialist=key,
                name=spec.name,
                threshold=threshold,
                configured=configured,
            )
        )
        needed = [done[need] for need in department.assignments[key].needs if need in done]
        siblings = [{"name": item.agent_name, "output": item.output} for item in needed if item.is_accepted]
        return cls(studio, department, key, spec, threshold, siblings=siblings)

    @property
    def part(self) -> dict[str, Any]:
        """The specialist and its assignment as data for a prompt."""
        return {
            "key": self.key,
            "name": self.spec.name,
            "specialization": self.spec.specialization,
            "task": self.department.assignments[self.key].task,
            "threshold": f"{self.threshold:g}",
            "siblings": self.siblings,
            "feedback": self.feedback_lines(),
        }

    def others(self) -> list[dict[str, str]]:
        """Return the assignments of the other specialists."""
        return parts_of(self.department, but=self.key)

    @property
    def may_continue(self) -> bool:
        """True if another attempt follows."""
        if self.error or self.exhausted:
            return False
        if not self.attempts:
            return True
        last = self.attempts[-1]
        if last.score is None:  # an ungraded output is final
            return False
        return may_retry(len(self.attempts), self.spec.max_retries, last.score, self.threshold)

    @property
    def best(self) -> Attempt | None:
        written = [attempt for attempt in self.attempts if attempt.output]
        return max(written, key=lambda attempt: review_score(attempt.score), default=None)

    def failed(self) -> dict[str, Any] | None:
        """Return the feedback for a retry, or None before the first attempt."""
        if not self.attempts:
            return None
        last = self.attempts[-1]
        return {
            "output": last.output or "(empty)",
            "afresh": decision_of(last.score or 0.0, self.threshold) == "discard",
            "feedback": self.feedback_lines(),
            "improve": list(last.suggestions or IMPROVE),
        }

    def feedback_lines(self) -> list[str]:
        return [
            feedback_line(attempt.number, attempt.score, self.threshold, attempt.feedback)
            for attempt in self.attempts
            if attempt.score is not None and decision_of(attempt.score, self.threshold) != "accept"
        ]

    def announce(self) -> None:
        """Emit that a retry starts, unless it is the first attempt."""
        failed = self.failed()
        if failed is not None:
            self.studio.run.emit(
                events.SpecialistRetried(
                    department=self.department.key,
                    specialist=self.key,
                    attempt=len(self.attempts) + 1,
                    most=self.spec.max_retries + 1,
                    afresh=bool(failed["afresh"]),
                )
            )

    def take(self, output: str, grade: Grade | None, score: float | None) -> None:
        """Record an attempt and its grade. Emit it unless the budget ran out before the grading."""
        feedback = grade.feedback if grade is not None else EMPTY if not output else ""
        made = Attempt(
            len(self.attempts) + 1, output, score, feedback, tuple(grade.suggestions) if grade else ()
        )
        self.attempts.append(made)
        if self.exhausted is not None:
            return
        self.studio.run.emit(
            events.SpecialistGraded(
                department=self.department.key,
                specialist=self.key,
                attempt=made.number,
                score=score,
                threshold=self.threshold,
                feedback=feedback,
                decision="ungraded" if score is None else decision_of(score, self.threshold),
            )
        )

    def reviewed(self) -> SpecialistResult:
        """Return the review of the best attempt. Without any output, the result is rejected with a score of
        0."""
        best = self.best
        if best is None:
            score, status, notes = 0.0, "rejected", self.error or str(self.exhausted or EMPTY)
        else:
            status, notes = review_of(best.score, self.threshold, len(self.attempts) - 1)
            score = review_score(best.score)
        result = SpecialistResult(
            agent_id=agent_id(self.department.key, self.key),
            agent_name=self.spec.name,
            specialization=self.spec.specialization,
            output=best.output if best else "",
            quality_score=score,
            execution_time=self.took,
            review_status=status,
            review_notes=notes,
            threshold=self.threshold,
            attempts=len(self.attempts),
            feedback=self.feedback_lines(),
            error=self.error,
            assignment=self.department.assignments[self.key].task,
            counted_attempt=best.number if best else 0,
            counted_feedback=best.feedback if best else "",
            counted_suggestions=list(best.suggestions) if best else [],
            graded=best is None or best.score is not None,
        )
        if self.exhausted is not None:  # out of budget: no verdict on the specialist
            return result
        self.studio.run.emit(
            events.SpecialistReviewed(
                department=self.department.key,
                specialist=self.key,
                team=self.studio.team.name,
                agent_id=result.agent_id,
                score=score,
                threshold=self.threshold,
                status=status,
                notes=notes,
                attempts=len(self.attempts),
                error=self.error,
            )
        )
        return result


def review_score(score: float | None) -> float:
    """Return the score of an attempt. An ungraded one counts as average."""
    return UNGRADED_SCORE if score is None else score


def parts_of(department: Department, but: str = "") -> list[dict[str, str]]:
    """Return the assignments of a department's specialists, except `but`."""
    return [
        {"name": department.spec.specialists[key].name, "task": assignment.task}
        for key, assignment in department.assignments.items()
        if key != but
    ]


async def execute(specialist: SpecialistRun) -> str | None:
    """Make one attempt and return its text. An error, a timeout or an exhausted budget ends the specialist's
    work and returns None."""
    try:
        text = await specialist.studio.run.ask(
            roles.specialist_of(specialist.spec),
            "execute",
            request=specialist.studio.request,
            failed=specialist.failed(),
            approach=specialist.department.approach,
            part=specialist.part,
            others=specialist.others(),
            context=specialist.department.context(),
        )
    except StepFailedError as error:
        specialist.error = error.reason
        return None
    except BudgetExhaustedError as error:
        specialist.exhausted = error
        return None
    return specialist.studio.run.marked(text)


async def run_specialist(specialist: SpecialistRun) -> SpecialistResult:
    """Make attempts one after the other; the head grades each."""
    began = await specialist.studio.clock()
    while specialist.may_continue:
        specialist.announce()
        async with specialist.studio.run.branch("attempt"):
            output = await execute(specialist)
            if output is None:
                break
            await grade(specialist, output)
    specialist.took = await specialist.studio.clock() - began
    return specialist.reviewed()


async def grade(specialist: SpecialistRun, output: str) -> None:
    """Let the head grade an output. An empty output scores 0 without a call; if grading fails, the output
    stays ungraded."""
    if not output:
        specialist.take(output, None, 0.0)
        return
    answer: Grade | None = None
    try:
        answer = await specialist.studio.run.ask(
            roles.grader_of(specialist.department.spec.head),
            "grade",
            returns=Grade,
            request=specialist.studio.request,
            approach=specialist.department.approach,
            part=specialist.part,
            others=specialist.others(),
            output=output,
            context=specialist.department.context(),
        )
    except StepFailedError as error:
        specialist.studio.run.warn(f"{specialist.spec.name} could not be graded: {error.reason}")
    except BudgetExhaustedError as error:
        specialist.exhausted = error
    specialist.take(output, answer, None if answer is None else score_of_grade(answer))


def score_of_grade(grade: Grade) -> float:
    return score_of(grade.quality, grade.relevance, grade.consistency)
