"""Presentation of a studio run: lines, lanes, deliverable and sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from podium.engine.codec import decode
from podium.engine.events import Event, StepCompleted, StepFailed
from podium.report.markdown import cell
from podium.report.presentation import Line, Section, ViewGrade, WorkflowPresentation
from podium.report.words import count
from podium.workflows.studio import events
from podium.workflows.studio.detail import StudioView, detail_of, grade_of
from podium.workflows.studio.fold import StudioState, as_data
from podium.workflows.studio.policy import DRAFT_IS_RESULT, REPLACED, TEAM_QUALITY
from podium.workflows.studio.view import LINES, STATUSES, draw, figure

PROPOSE = "propose"
"""The step that proposes facts. Its result is the number of pending facts."""
SIGNS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}


class StudioPresentation(WorkflowPresentation[StudioState]):
    """Presentation of a studio run."""

    detail_type = StudioView
    lines = LINES
    own_events = events.StudioEvent
    one_exhausted = True
    leading_files = ("deliverable.md", "deliverable.html")

    def __init__(self) -> None:
        super().__init__(StudioState())
        self._run_id = ""
        self._facts = 0
        """Number of facts that are pending review."""
        self._failures: dict[str, str] = {}
        """Path of the first failed step of each department's head, by department."""

    def apply(self, event: Event) -> None:
        super().apply(event)
        self._run_id = event.run_id
        if isinstance(event.data, StepFailed) and event.path.count("/") == 1:
            self._failures.setdefault(event.path.split("/")[0], event.path)
        elif isinstance(event.data, StepCompleted) and event.path == PROPOSE:
            self._facts = decode(event.data.result) or 0

    def is_hidden(self, event: Event) -> bool:
        if isinstance(event.data, events.SpecialistGraded):
            return event.data.decision == "accept"  # the review follows at once
        return super().is_hidden(event)

    def is_shown(self, warning: str) -> bool:
        return any(
            department.error and department.error in warning for department in self.fold.departments.values()
        )

    def detail(self, *, alive: bool) -> StudioView:
        return detail_of(self.fold, alive=alive)

    def grade(self, event: Event) -> ViewGrade | None:
        return grade_of(event)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.fold, most, alive=alive)

    def summary(self) -> str:
        """`4 departments · 7 of 8 specialists accepted · 3 retries`."""
        departments = self.fold.departments.values()
        if not departments:
            return ""
        done = sum(department.status == "completed" for department in departments)
        whole = count(len(departments), "department")
        parts = [whole if done == len(departments) else f"{done} of {whole} done"]
        reviewed = [
            each for department in departments for each in department.specialists.values() if each.status
        ]
        if reviewed:
            passed = sum(each.status != "rejected" for each in reviewed)
            parts.append(f"{passed} of {count(len(reviewed), 'specialist')} accepted")
        retries = sum(max(each.attempts - 1, 0) for each in reviewed)
        parts += [f"{retries} {'retry' if retries == 1 else 'retries'}"] if retries else []
        conflicts = self.fold.conflicts.values()
        parts += [count(len(conflicts), "conflict")] if conflicts else []
        figures = " · ".join(parts)
        return f"{DRAFT_IS_RESULT}; of the team: {figures}" if self.fold.replaced else figures

    def deliverable(self, output: Any) -> str | None:
        text = cast("dict[str, Any]", output).get("deliverable") if isinstance(output, dict) else None
        return text if isinstance(text, str) else None

    def suggestions(self) -> list[tuple[tuple[str, ...], str]]:
        """Suggest a review of new facts, and a fork from the first failure of a failed department."""
        warnings: list[tuple[tuple[str, ...], str]] = []
        failed = {key for key, department in self.fold.departments.items() if department.status == "failed"}
        again = next((path for key, path in self._failures.items() if key in failed), "")
        if again:
            warnings.append((("fork", self._run_id, "--at", again), "try again"))
        if self._facts:
            warnings.append((("brain", "review", self._run_id), "review"))
        return warnings

    def sections(self, *, alive: bool) -> list[Section]:
        if self.fold.routed is None:
            return []
        data = as_data(self.fold)
        return [
            Section(
                name="studio",
                title="The studio",
                data=data,
                markdown=lambda: "\n".join(_lines(data)),
                package="podium.workflows.studio",
                template="studio.html",
                scored=True,
                context={
                    "signs": SIGNS,
                    "replaced": REPLACED,
                    "team_quality": TEAM_QUALITY,
                    "states": {key: sign for key, (sign, _) in STATUSES.items()},
                },
                style="studio.css",
            )
        ]


def _lines(data: dict[str, Any]) -> Iterator[str]:
    """Render open conflicts, checks, routing, each department with its specialists, then the settled
    conflicts."""
    if data["replaced"]:
        yield f"**{REPLACED}**\n"
        if data["quality"] is not None:
            yield f"{TEAM_QUALITY} {figure(data['quality'])}.\n"
    unresolved = [conflict for conflict in data["conflicts"] if not conflict["yielded"]]
    if unresolved:
        yield "Open conflicts:\n"
        yield from (
            _conflict(conflict, f"unresolved. {conflict['in_result']}".strip()) for conflict in unresolved
        )
        yield ""
    if data["checks"]:
        yield from (f"- {cell(line, 600)}" for line in data["checks"])
        yield ""
    chosen = {department["key"] for department in data["departments"]}
    yield f"{data['mode']}, {data['complexity']}, team {cell(data['team'], 60)}\n"
    yield "| department | relevance | why |"
    yield "|---|--:|---|"
    for entry in data["scores"]:
        name = f"**{entry['department']}**" if entry["department"] in chosen else entry["department"]
        yield f"| {name} | {entry['relevance']:g} | {cell(entry['reason'], 200)} |"
    yield ""
    for department in data["departments"]:
        yield from _department(department)
    for conflict in data["conflicts"]:
        if conflict["yielded"]:
            yield _conflict(conflict, f"{conflict['yielded']} yielded: {conflict['reason']}")


def _conflict(conflict: dict[str, Any], end: str) -> str:
    who = cell(" and ".join(conflict["departments"]), 200)
    return f"- ! {who} ({conflict['severity']}): {cell(conflict['description'], 300)}; {cell(end, 300)}"


def _department(department: dict[str, Any]) -> Iterator[str]:
    sign = STATUSES.get(department["status"], ("·", "routine"))[0]
    notes = [
        f"score {figure(department['score'])}"
        if department["status"] == "completed"
        else department["status"]
    ]
    notes += [count(department["calls"], "call"), *department["flags"]]
    yield f"- {sign} **{cell(department['name'], 100)}**: {' · '.join(notes)}"
    if department["error"]:
        yield f"  - {cell(department['error'], 400)}"
    for each in department["specialists"]:
        dots = " → ".join(figure(tried["score"]) for tried in each["tried"])
        sign = SIGNS.get(each["status"], "…")
        remarks = cell(each["error"] or each["notes"], 300)
        yield f"  - {sign} {cell(each['name'], 100)} {dots} of {each['threshold']:g}: {remarks}"
    for line in department["decisions"]:
        yield f"  - decided: {cell(line, 300)}"


PRESENTATION = StudioPresentation
