"""Cross-department validation: find conflicts, let heads resolve them, and check again."""

from __future__ import annotations

from collections.abc import Sequence

from podium.engine.branch import Failed
from podium.errors import StepFailedError
from podium.workflows.studio import agents as roles
from podium.workflows.studio import events
from podium.workflows.studio.context import CANON, CanonPort, Conflict, CrossValidation, Denial, Studio, ended
from podium.workflows.studio.contracts import DepartmentReport, FoundConflict, Resolution, Validation
from podium.workflows.studio.memory import extract_facts, recall_texts
from podium.workflows.studio.policy import MAX_CONFLICT_ROUNDS
from podium.workflows.studio.routing import find_key
from podium.workflows.studio.similarity import content_stems, similarity

GONE = "its new text no longer says so."


async def check_against_canon(crossing: CrossValidation) -> list[Conflict]:
    """Check every text that changed since the last check, and return new or reopened conflicts. Nothing is
    checked if a budget left a department unfinished."""
    canon = crossing.studio.canon
    if canon is None or any(report.status == "unfinished" for report in crossing.reports.values()):
        return []
    await _read(crossing, canon)
    return [conflict for key in crossing.working for conflict in _compared(crossing, key)]


async def _read(crossing: CrossValidation, canon: CanonPort) -> None:
    """Extract the facts of unread texts and the settled facts that contradict them."""
    studio = crossing.studio
    new = {key: report for key, report in crossing.working.items() if crossing.read.get(key) != report.output}
    if not new:
        return
    async with studio.run.branch("facts"):
        outcomes = await studio.run.gather(
            {key: extract_facts(studio, report.department_name, report.output) for key, report in new.items()}
        )
        for key, outcome in outcomes.items():
            if isinstance(outcome, Failed):
                raise outcome.error
            crossing.read[key], crossing.facts[key] = new[key].output, outcome.value or []
            crossing.denials[key] = (
                None
                if outcome.value is None
                else await studio.run.step(
                    "contradictions", canon.contradictions, outcome.value, key=key, returns=list[Denial]
                )
            )


def _compared(crossing: CrossValidation, key: str) -> list[Conflict]:
    """Match one department's contradictions of settled facts with its known conflicts, and return the new or
    reopened ones. If its facts could not be extracted, the heads' answers stand."""
    denials = crossing.denials.get(key)
    if denials is None:
        return []
    known = {
        conflict.fact: conflict
        for conflict in crossing.conflicts
        if conflict.fact and key in conflict.departments
    }
    denied = {denial.fact: denial for denial in denials}
    for fact, conflict in known.items():
        if fact not in denied and conflict.status != "resolved":
            crossing.resolve(conflict, key, GONE)
    reported = [known[fact] for fact in known if fact in denied and crossing.reopen(known[fact])]
    for fact, denial in denied.items():
        if fact not in known:
            conflict = Conflict("direct", denial.severity, [key, CANON], denial.description)
            conflict.fact, conflict.settled = fact, denial.settled
            reported.append(crossing.note(conflict))
    return reported


SAME = 0.5
"""Minimum similarity at which two descriptions with the same departments mean the same conflict."""


async def validate_across(studio: Studio, reports: Sequence[DepartmentReport]) -> CrossValidation:
    """Find conflicts, resolve them and check again, also after the last round if it changed a text. Conflicts
    that two rounds did not resolve stay open. Low severity alone starts no round."""
    crossing = CrossValidation(studio, {report.key: report for report in reports}, list(studio.settled))
    changed = False
    async with studio.run.until_exhausted("The departments were not checked to the end"):
        for number in range(1, MAX_CONFLICT_ROUNDS + 1):
            await _look(crossing, number)
            if not crossing.to_settle:
                return crossing
            before = crossing.texts
            for conflict in crossing.to_settle:
                if conflict.status != "resolved":  # a rewrite for another conflict may have resolved it
                    await _settle(crossing, conflict, number)
            changed = crossing.texts != before
        if changed:
            await _look(crossing, MAX_CONFLICT_ROUNDS + 1)
        else:
            crossing.emit_found(await check_against_canon(crossing), MAX_CONFLICT_ROUNDS)
    return crossing


async def _look(crossing: CrossValidation, number: int) -> None:
    """Check against the canon by rules, then ask the master for further conflicts. A single department
    without settled facts has nothing to be checked against."""
    studio, error = crossing.studio, ""
    conflicts = await check_against_canon(crossing)
    await recall_texts(crossing)
    asks = len(crossing.working) + bool(crossing.settled) > 1
    if asks:
        try:
            conflicts += await _find(crossing)
        except StepFailedError as failed:
            error = failed.reason
            studio.run.warn(f"The departments could not be checked against each other: {error}")
    if asks or studio.canon is not None:
        unresolved = len(crossing.open_conflicts)
        low = unresolved - len(crossing.to_settle)
        studio.run.emit(events.Validated(round=number, conflicts=unresolved, low=low, error=error))
    crossing.emit_found(conflicts, number)


async def _find(crossing: CrossValidation) -> list[Conflict]:
    """Ask the master for conflicts, and return those that are new or reopened."""
    studio, working = crossing.studio, crossing.working
    by_rule = [conflict.description for conflict in crossing.open_conflicts if conflict.fact]

    def check(answer: Validation) -> str:
        named = {name for conflict in answer.conflicts for name in conflict.departments}
        allowed = _names(crossing)
        unknown = ", ".join(sorted(name for name in named if not find_key(name, allowed)))
        return f"there is no department {unknown}; there are {', '.join(allowed)}" if unknown else ""

    answer = await studio.run.ask(
        roles.MASTER,
        "validate",
        returns=Validation,
        check=check,
        request=studio.request,
        settled=crossing.settled,
        known=by_rule,
        outputs=[
            {"key": key, "name": report.department_name, "output": report.output}
            for key, report in working.items()
        ],
    )
    return [noted for conflict in answer.conflicts if (noted := _noted(crossing, conflict)) is not None]


def _names(crossing: CrossValidation) -> dict[str, tuple[str, ...]]:
    """Return the keys and names of all possible parties of a conflict."""
    names = {key: (report.department_name,) for key, report in crossing.working.items()}
    return names | ({CANON: ("the project's canon",)} if crossing.settled else {})


def _noted(crossing: CrossValidation, conflict: FoundConflict) -> Conflict | None:
    """Return the conflict if it is new or reopened, else None."""
    names = _names(crossing)
    departments = list(dict.fromkeys(find_key(name, names) for name in conflict.departments))
    if len(departments) < 2:
        return None
    for known in crossing.conflicts:
        alike = similarity(content_stems(known.description), content_stems(conflict.description)) >= SAME
        if set(known.departments) == set(departments) and alike:
            return known if crossing.reopen(known) else None
    return crossing.note(Conflict(conflict.kind, conflict.severity, departments, conflict.description))


async def _settle(crossing: CrossValidation, conflict: Conflict, number: int) -> None:
    """Ask the heads concerned, the least relevant department first, until one yields. Settled facts never
    yield. A head that yields resolves all conflicts between the same departments in one text; the next check
    verifies it."""
    studio = crossing.studio
    conflict.rounds = number
    more = _same_parties(crossing, conflict)
    heads = [key for key in conflict.departments if key != CANON]
    for key in sorted(heads, key=lambda key: studio.route.relevance(key)):
        report = crossing.reports[key]
        try:
            answer = await _ask(crossing, conflict, key, more)
        except StepFailedError as error:
            conflict.said.append(f"{report.department_name} could not answer: {ended(error.reason)}")
            continue
        if not answer.yields:
            conflict.said.append(f"{report.department_name} does not yield: {ended(answer.reason)}")
            continue
        crossing.reports[key] = report.model_copy(update={"output": answer.output.strip()})
        for settled in (conflict, *more):
            settled.rounds = number
            crossing.resolve(settled, key, answer.reason)
        return


def _same_parties(crossing: CrossValidation, conflict: Conflict) -> list[Conflict]:
    """Return the other open conflicts between the same departments. Empty if the canon is a party."""
    if CANON in conflict.departments:
        return []
    departments = set(conflict.departments)
    return [
        other
        for other in crossing.open_conflicts
        if other is not conflict and set(other.departments) == departments
    ]


async def _ask(
    crossing: CrossValidation, conflict: Conflict, key: str, more: Sequence[Conflict]
) -> Resolution:
    studio = crossing.studio
    others = [crossing.reports[other] for other in conflict.departments if other not in (key, CANON)]

    def check(answer: Resolution) -> str:
        return (
            "you yield, so `output` must hold your whole text"
            if answer.yields and not answer.output.strip()
            else ""
        )

    async with studio.run.branch("resolve", key=f"{conflict.id}-{key}-{conflict.rounds}"):
        return await studio.run.ask(
            roles.head_of(studio.team.departments[key].head),
            "resolve",
            returns=Resolution,
            check=check,
            request=studio.request,
            own=crossing.reports[key].output,
            conflict={
                "description": conflict.description,
                "kind": conflict.kind,
                "severity": conflict.severity,
            },
            more=[other.description for other in more],
            others=[{"name": report.department_name, "output": report.output} for report in others],
            said=list(conflict.said),
            settled=_settled(crossing, conflict),
            department=crossing.reports[key].department_name,
        )


def _settled(crossing: CrossValidation, conflict: Conflict) -> list[str]:
    """Return the settled facts that cannot yield, the contradicted one first."""
    if CANON not in conflict.departments:
        return []
    return list(dict.fromkeys([*([conflict.settled] if conflict.settled else []), *crossing.settled]))
