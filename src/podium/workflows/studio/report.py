"""Presentation of a studio run: lines, lanes, deliverable and sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from podium.engine.codec import decode
from podium.engine.events import ArtifactCreated, Event, StepCompleted, StepFailed
from podium.engine.state import RunState
from podium.report.markdown import cell
from podium.report.presentation import Line, Presentation, Section
from podium.report.words import count
from podium.workflows.studio.fold import StudioState, as_data
from podium.workflows.studio.policy import DRAFT_IS_RESULT, REPLACED, TEAM_QUALITY
from podium.workflows.studio.view import STATUSES, draw, figure, is_noise, line_of

PROPOSE = "propose"
"""The step that proposes facts. Its result is the number of pending facts."""
SIGNS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}


class StudioPresentation(Presentation):
    """Presentation of a studio run."""

    def __init__(self) -> None:
        self.studio = StudioState()
        self._exhausted = 0
        self._files: dict[str, str] = {}
        self._run_id = ""
        self._facts = 0
        """Number of facts that are pending review."""
        self._failures: dict[str, str] = {}
        """Path of the first failed step of each department's head, by department."""

    def apply(self, event: Event) -> None:
        self.studio.apply(event)
        self._run_id = event.run_id
        if isinstance(event.data, StepFailed) and event.path.count("/") == 1:
            self._failures.setdefault(event.path.split("/")[0], event.path)
        elif isinstance(event.data, StepCompleted) and event.path == PROPOSE:
            self._facts = decode(event.data.result) or 0
        if event.type == "budget.exhausted":
            self._exhausted += 1
        elif event.type == "run.resumed":
            self._exhausted = 0
        elif isinstance(event.data, ArtifactCreated):
            self._files[event.data.name] = event.data.id

    def line(self, event: Event, state: RunState) -> Line | None:
        return line_of(event, self.studio)

    def is_hidden(self, event: Event) -> bool:
        if event.type == "budget.exhausted":
            return self._exhausted > 1  # every branch hits the same ceiling
        return is_noise(event, self.studio)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.studio, most, alive=alive)

    def summary(self) -> str:
        """`4 departments · 7 of 8 specialists accepted · 3 retries`."""
        departments = self.studio.departments.values()
        if not departments:
            return ""
        done = sum(one.status == "completed" for one in departments)
        whole = count(len(departments), "department")
        told = [whole if done == len(departments) else f"{done} of {whole} done"]
        reviewed = [each for one in departments for each in one.specialists.values() if each.status]
        if reviewed:
            passed = sum(each.status != "rejected" for each in reviewed)
            told.append(f"{passed} of {count(len(reviewed), 'specialist')} accepted")
        retries = sum(max(each.attempts - 1, 0) for each in reviewed)
        told += [f"{retries} {'retry' if retries == 1 else 'retries'}"] if retries else []
        conflicts = self.studio.conflicts.values()
        told += [count(len(conflicts), "conflict")] if conflicts else []
        figures = " · ".join(told)
        return f"{DRAFT_IS_RESULT}; of the team: {figures}" if self.studio.replaced else figures

    def deliverable(self, output: Any) -> str | None:
        text = cast("dict[str, Any]", output).get("deliverable") if isinstance(output, dict) else None
        return text if isinstance(text, str) else None

    def leading(self, output: Any) -> list[str]:
        return [self._files[name] for name in ("deliverable.md", "deliverable.html") if name in self._files]

    def suggestions(self) -> list[tuple[tuple[str, ...], str]]:
        """Suggest a review of new facts, and a fork from the first failure of a failed department."""
        told: list[tuple[tuple[str, ...], str]] = []
        failed = {key for key, one in self.studio.departments.items() if one.status == "failed"}
        again = next((path for key, path in self._failures.items() if key in failed), "")
        if again:
            told.append((("fork", self._run_id, "--at", again), "try again"))
        if self._facts:
            told.append((("brain", "review", self._run_id), "review"))
        return told

    def sections(self, *, alive: bool) -> list[Section]:
        if self.studio.routed is None:
            return []
        data = as_data(self.studio)
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
    open_ones = [one for one in data["conflicts"] if not one["yielded"]]
    if open_ones:
        yield "Open conflicts:\n"
        yield from (_conflict(one, f"unresolved. {one['in_result']}".strip()) for one in open_ones)
        yield ""
    if data["checks"]:
        yield from (f"- {cell(line, 600)}" for line in data["checks"])
        yield ""
    chosen = {one["key"] for one in data["departments"]}
    yield f"{data['mode']}, {data['complexity']}, team {cell(data['team'], 60)}\n"
    yield "| department | relevance | why |"
    yield "|---|--:|---|"
    for one in data["scores"]:
        name = f"**{one['department']}**" if one["department"] in chosen else one["department"]
        yield f"| {name} | {one['relevance']:g} | {cell(one['reason'], 200)} |"
    yield ""
    for one in data["departments"]:
        yield from _department(one)
    for one in data["conflicts"]:
        if one["yielded"]:
            yield _conflict(one, f"{one['yielded']} yielded: {one['reason']}")


def _conflict(one: dict[str, Any], end: str) -> str:
    who = cell(" and ".join(one["departments"]), 200)
    return f"- ! {who} ({one['severity']}): {cell(one['description'], 300)}; {cell(end, 300)}"


def _department(one: dict[str, Any]) -> Iterator[str]:
    sign = STATUSES.get(one["status"], ("·", "routine"))[0]
    told = [f"score {figure(one['score'])}" if one["status"] == "completed" else one["status"]]
    told += [count(one["calls"], "call"), *one["flags"]]
    yield f"- {sign} **{cell(one['name'], 100)}**: {' · '.join(told)}"
    if one["error"]:
        yield f"  - {cell(one['error'], 400)}"
    for each in one["specialists"]:
        dots = " → ".join(figure(tried["score"]) for tried in each["tried"])
        sign = SIGNS.get(each["status"], "…")
        notes = cell(each["error"] or each["notes"], 300)
        yield f"  - {sign} {cell(each['name'], 100)} {dots} of {each['threshold']:g}: {notes}"
    for line in one["decisions"]:
        yield f"  - decided: {cell(line, 300)}"


PRESENTATION = StudioPresentation
