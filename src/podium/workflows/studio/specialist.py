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
                department=department.key, specialist=key, name=spec.name, threshold=threshold,
                configured=configured,
            )
        )  # fmt: skip
        needed = [done[one] for one in department.assignments[key].needs if one in done]
        siblings = [{"name": one.agent_name, "output": one.output} for one in needed if one.is_accepted]
        return cls(studio, department, key, spec, threshold, siblings=siblings)

    @property
    def part(self) -> dict[str, Any]:
        """The specialist and its assignment as data for a prompt."""
        return {
            "key": self.key, "name": self.spec.name, "specialization": self.spec.specialization,
            "task": self.department.assignments[self.key].task, "threshold": f"{self.threshold:g}",
            "siblings": self.siblings, "feedback": self.feedback_lines(),
        }  # fmt: skip

    def others(self) -> list[dict[str, str]]:
        """Return the assignments of the other specialists."""
        return parts_of(self.department, but=self.key)

    @property
    def goes_on(self) -> bool:
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
        graded = [one for one in self.attempts if one.output]
        return max(graded, key=lambda one: review_score(one.score), default=None)

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
            feedback_line(one.number, one.score, self.threshold, one.feedback)
            for one in self.attempts
            if one.score is not None and decision_of(one.score, self.threshold) != "accept"
        ]

    def announce(self) -> None:
        """Emit that a retry starts, unless it is the first attempt."""
        told = self.failed()
        if told is not None:
            self.studio.run.emit(
                events.SpecialistRetried(
                    department=self.department.key, specialist=self.key, attempt=len(self.attempts) + 1,
                    most=self.spec.max_retries + 1, afresh=bool(told["afresh"]),
                )
            )  # fmt: skip

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
                department=self.department.key, specialist=self.key, attempt=made.number, score=score,
                threshold=self.threshold, feedback=feedback,
                decision="ungraded" if score is None else decision_of(score, self.threshold),
            )
        )  # fmt: skip

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
            agent_id=agent_id(self.department.key, self.key), agent_name=self.spec.name,
            specialization=self.spec.specialization, output=best.output if best else "", quality_score=score,
            execution_time=self.took, review_status=status, review_notes=notes, threshold=self.threshold,
            attempts=len(self.attempts), feedback=self.feedback_lines(), error=self.error,
            assignment=self.department.assignments[self.key].task,
            counted_attempt=best.number if best else 0,
            counted_feedback=best.feedback if best else "",
            counted_suggestions=list(best.suggestions) if best else [],
            graded=best is None or best.score is not None,
        )  # fmt: skip
        if self.exhausted is not None:  # out of budget: no verdict on the specialist
            return result
        self.studio.run.emit(
            events.SpecialistReviewed(
                department=self.department.key, specialist=self.key, team=self.studio.team.name,
                agent_id=result.agent_id, score=score, threshold=self.threshold, status=status, notes=notes,
                attempts=len(self.attempts), error=self.error,
            )
        )  # fmt: skip
        return result


def review_score(score: float | None) -> float:
    """Return the score of an attempt. An ungraded one counts as average."""
    return UNGRADED_SCORE if score is None else score


def parts_of(department: Department, but: str = "") -> list[dict[str, str]]:
    """Return the assignments of a department's specialists, except `but`."""
    return [
        {"name": department.spec.specialists[key].name, "task": one.task}
        for key, one in department.assignments.items()
        if key != but
    ]


async def execute(trying: SpecialistRun) -> str | None:
    """Make one attempt and return its text. An error, a timeout or an exhausted budget ends the specialist's
    work and returns None."""
    try:
        text = await trying.studio.run.ask(
            roles.specialist_of(trying.spec), "execute", request=trying.studio.request,
            failed=trying.failed(), approach=trying.department.approach, part=trying.part,
            others=trying.others(), context=trying.department.context(),
        )  # fmt: skip
    except StepFailedError as error:
        trying.error = error.reason
        return None
    except BudgetExhaustedError as error:
        trying.exhausted = error
        return None
    return trying.studio.run.marked(text)


async def run_specialist(trying: SpecialistRun) -> SpecialistResult:
    """Make attempts one after the other; the head grades each."""
    began = await trying.studio.clock()
    while trying.goes_on:
        trying.announce()
        async with trying.studio.run.branch("attempt"):
            output = await execute(trying)
            if output is None:
                break
            await grade(trying, output)
    trying.took = await trying.studio.clock() - began
    return trying.reviewed()


async def grade(trying: SpecialistRun, output: str) -> None:
    """Let the head grade an output. An empty output scores 0 without a call; if grading fails, the output
    stays ungraded."""
    if not output:
        trying.take(output, None, 0.0)
        return
    found: Grade | None = None
    try:
        found = await trying.studio.run.ask(
            roles.grader_of(trying.department.spec.head), "grade", returns=Grade,
            request=trying.studio.request, approach=trying.department.approach, part=trying.part,
            others=trying.others(), output=output, context=trying.department.context(),
        )  # fmt: skip
    except StepFailedError as error:
        trying.studio.run.warn(f"{trying.spec.name} could not be graded: {error.reason}")
    except BudgetExhaustedError as error:
        trying.exhausted = error
    trying.take(output, found, None if found is None else score_of_grade(found))


def score_of_grade(found: Grade) -> float:
    return score_of(found.quality, found.relevance, found.consistency)
