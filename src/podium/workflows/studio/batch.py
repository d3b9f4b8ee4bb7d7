"""Specialists of a department side by side with one grade call for all that finish together."""

from __future__ import annotations

from collections.abc import Mapping

from podium.engine.branch import Ok
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.studio import roles
from podium.workflows.studio.assigning import names_of
from podium.workflows.studio.contracts import Grades, NamedGrade, SpecialistResult
from podium.workflows.studio.routing import find_key
from podium.workflows.studio.specialist import Trying, execute, score_of_grade
from podium.workflows.studio.working import Department, Studio


async def run_batch(
    studio: Studio, department: Department, keys: list[str], done: Mapping[str, SpecialistResult]
) -> list[Trying]:
    """Rounds: everybody who goes on makes an attempt, then the head grades them all in one call."""
    all_tryings = {key: Trying.begin(studio, department, key, done) for key in keys}
    began = await studio.clock()
    while going := {key: one for key, one in all_tryings.items() if one.goes_on}:
        for trying in going.values():
            trying.announce()
        async with studio.run.branch("round"):
            outcomes = await studio.run.gather({key: execute(one) for key, one in going.items()})
            for key, outcome in outcomes.items():
                if not isinstance(outcome, Ok):
                    all_tryings[key].error = str(outcome.error)
            texts = {
                key: outcome.value
                for key, outcome in outcomes.items()
                if isinstance(outcome, Ok) and outcome.value is not None
            }
            await _grade(studio, department, going, texts)
        took = await studio.clock() - began
        for trying in going.values():
            trying.took = took
    return list(all_tryings.values())


async def _grade(
    studio: Studio, department: Department, going: Mapping[str, Trying], texts: Mapping[str, str]
) -> None:
    for key in [key for key, text in texts.items() if not text]:
        going[key].take("", None, 0.0)
    written = {key: text for key, text in texts.items() if text}
    if not written:
        return

    names = names_of({key: going[key].spec for key in written})

    def check(answer: Grades) -> str:
        missing = sorted(set(written) - {find_key(one.specialist, names) for one in answer.grades})
        return f"there is no grade for {', '.join(missing)}" if missing else ""

    grades: dict[str, NamedGrade] = {}
    try:
        found = await studio.run.ask(
            roles.grader_of(department.spec.head), "grade", prompt=roles.PROMPTS["grade_batch"],
            returns=Grades, check=check, request=studio.request, context=department.context(),
            approach=department.approach,
            outputs=[{**going[key].part, "output": text} for key, text in written.items()],
        )  # fmt: skip
        grades = {find_key(one.specialist, names): one for one in reversed(found.grades)}
    except StepFailedError as error:
        studio.run.warn(f"{department.spec.name}: the specialists could not be graded: {error.reason}")
    except BudgetExhaustedError as error:
        for key in written:
            going[key].exhausted = error
    for key, text in written.items():
        grade = grades.get(key)
        going[key].take(text, grade, None if grade is None else score_of_grade(grade))
