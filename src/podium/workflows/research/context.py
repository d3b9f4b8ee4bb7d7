"""Shared run state and recorded clock of `research`.

Only the run's main task changes the state. Parallel workers read it and return their results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from podium.agents.ask import Run
from podium.engine.codec import fingerprint
from podium.errors import BudgetExhaustedError
from podium.tools.sources.providers import Found
from podium.tools.tool import untrusted
from podium.workflows.delivery.contracts import Draft
from podium.workflows.delivery.flow import Desk
from podium.workflows.research import events
from podium.workflows.research.contracts import (
    Assessment,
    Brief,
    Claim,
    Contradiction,
    Judgement,
    PhaseEntry,
    Plan,
    PlanEntry,
    QualityScore,
    Source,
)
from podium.workflows.research.library import Library
from podium.workflows.research.measures.quotes import locate
from podium.workflows.research.measures.text import best_passages, nearest, without_doubles
from podium.workflows.research.policy import Phase, check_transition


class Clock(Protocol):
    """Source of time and delays."""

    async def now(self, run: Run, key: str) -> str:
        """Return an ISO time in UTC. The same key returns the same time within a run."""
        ...

    async def wait(self, run: Run, seconds: float) -> None: ...


class WallClock:
    """The system clock. Delays survive a restart."""

    async def now(self, run: Run, key: str) -> str:
        return await run.step("clock", read_time, key=key)

    async def wait(self, run: Run, seconds: float) -> None:
        await run.sleep(seconds)


async def read_time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


PROMPT_ROOM = 90_000
"""Maximum characters of sources in one prompt."""
CLAIM_ROOM = 20_000
"""Maximum characters of additional passages for the claims that are checked."""
MOST_POINTS = 20
"""Maximum points of the direct draft that are searched for besides the planner's aspects."""
SHORTEST_EXCERPT = 400
"""Characters shown of a source without a selected passage."""


@dataclass(frozen=True)
class WorkerOutput:
    """Result of a worker."""

    worker: str
    value: Any
    attempts: int = 1
    fallback: str = ""
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    """Short form for the log."""


@dataclass(frozen=True)
class Checked:
    """Result of a fact check."""

    claims: list[Claim]
    contradictions: list[Contradiction]
    unsupported: list[str] = field(default_factory=list[str])
    """Points for which the fact checker found no passage."""
    cited_only: bool = False
    """True if sentences without a citation count as general knowledge instead of claims."""

    @property
    def verified(self) -> int:
        """Number of verified claims."""
        return sum(claim.verdict == "verified" for claim in self.claims)


@dataclass(frozen=True)
class Version:
    """The article after one iteration."""

    iteration: int
    article: str
    checked: Checked | None
    quality: QualityScore
    made: dict[str, WorkerOutput]
    judged: Judgement | None = None

    @property
    def claims(self) -> list[Claim]:
        return self.checked.claims if self.checked else []

    @property
    def doubtful(self) -> list[Claim]:
        """Claims that are not verified."""
        return [claim for claim in self.claims if claim.verdict != "verified"]

    @property
    def unsupported(self) -> list[str]:
        return self.checked.unsupported if self.checked else []


@dataclass
class Task:
    """One execution of a worker."""

    task_id: str
    worker: str
    step: int
    status: Literal["pending", "completed", "kept", "skipped", "failed"] = "pending"
    retries: int = 0


def _merged(text: str, shown: Mapping[str, str], more: Mapping[str, str], key: str) -> str:
    """Return the passages of one source for a prompt."""
    first = shown.get(key, "")
    new = [passage for passage in more.get(key, "").split("\n\n") if passage not in first]
    return "\n\n".join(part for part in (first, *new) if part) or text[:SHORTEST_EXCERPT]


def _about_form(point: str, brief: Brief) -> bool:
    """True if a point of the checklist is about length or tone, which no source can cover."""
    words = set(re.findall(r"\w+", point.casefold().replace(",", "").replace(".", "")))
    return str(brief.length) in words or {"tone", brief.tone.casefold()} <= words


@dataclass
class Study:
    """State of one research run."""

    run: Run
    brief: Brief
    library: Library
    clock: Clock
    seal: str
    """Random value of this run. Authors of sources cannot know it."""
    started_at: str = ""
    phase: Phase | None = None
    iteration: int = 1
    assessment: Assessment | None = None
    plan: Plan | None = None
    kept: set[str] = field(default_factory=set[str])
    deeper: int = 0
    """Number of times that the searches were extended."""
    made: dict[str, WorkerOutput] = field(default_factory=dict[str, WorkerOutput])
    sources: list[Source] = field(default_factory=list[Source])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Stored text of each source by id."""
    found: dict[str, Found] = field(default_factory=dict[str, Found])
    copies: set[str] = field(default_factory=set[str])
    """Addresses of texts that are copies or parts of a source."""
    tasks: list[Task] = field(default_factory=list[Task])
    issues: list[str] = field(default_factory=list[str])
    feedback: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])
    """Aspects that the last version left out."""
    failed: list[Claim] = field(default_factory=list[Claim])
    """Claims of the last version that are not verified."""
    remarks: list[str] = field(default_factory=list[str])
    """Other issues that the judge found."""
    unsupported: list[str] = field(default_factory=list[str])
    """Points of a complete answer that no source covers, according to the fact checker."""
    given_up: list[str] = field(default_factory=list[str])
    """The subset of `unsupported` that was also searched for. These points are no longer required."""
    closing: str = ""
    """Set when a budget has ended the run."""
    desk: Desk | None = None
    """Drafter, editor and judges. `None` if both floor and editor are off."""
    draft: Draft | None = None
    final: Version | None = None
    """The version to deliver, after the editor's pass."""
    edited: bool = False
    """The editor has checked the final version against the request."""
    sources_only: bool = False
    """The article may state only what a source says."""
    comparison: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list[str])
    """Notes about the final editor for the record."""
    versions: list[Version] = field(default_factory=list[Version])
    phase_history: list[PhaseEntry] = field(default_factory=list[PhaseEntry])
    plan_history: list[PlanEntry] = field(default_factory=list[PlanEntry])
    warnings: list[str] = field(default_factory=list[str])

    @property
    def execution_id(self) -> str:
        """`exec_20241125_143022`, from the start time."""
        digits = "".join(char for char in self.started_at[:19] if char.isdigit())
        return f"exec_{digits[:8]}_{digits[8:14]}"

    async def enter(self, phase: Phase, reason: str = "") -> None:
        """Enter another phase, if the transition is allowed, and emit it."""
        check_transition(self.phase, phase)
        try:
            at = await self.clock.now(self.run, self.moment(str(phase)))
        except BudgetExhaustedError:  # out of time: reuse the last timestamp
            if not self.closing:
                raise
            at = self.phase_history[-1].timestamp if self.phase_history else ""
        before = str(self.phase or "")
        self.phase = phase
        self.phase_history.append(PhaseEntry(from_=before, to=str(phase), timestamp=at))
        if phase is Phase.INITIALIZED:
            self.started_at = at
        self.run.emit(
            events.PhaseChanged(iteration=self.iteration, from_=before, to=str(phase), time=at, reason=reason)
        )

    def moment(self, name: str) -> str:
        """Return a key for a value that is recorded once per iteration. An end forced by a budget has its own
        keys, because the run may be resumed before it."""
        return "-".join(part for part in (name, str(self.iteration), self.closing) if part)

    def warn(self, message: str) -> None:
        """Add a warning to the result and the run, once per text."""
        if message not in self.warnings:
            self.warnings.append(message)
            self.run.warn(message)

    def note(self, message: str, first: bool) -> None:
        """Store a warning that was already emitted."""
        self.warnings.insert(0 if first else len(self.warnings), message)

    # ── prompt data ─────────────

    @property
    def aspects(self) -> list[str]:
        return self.assessment.aspects if self.assessment else [self.brief.topic]

    @property
    def points(self) -> list[str]:
        """Points of a complete answer besides the aspects: the checklist of the direct draft."""
        if self.draft is None:
            return []
        points = [point for point in self.draft.points if not _about_form(point, self.brief)]
        new = without_doubles(points, [self.brief.topic, *self.aspects], len(points))
        return nearest(new, " ".join([self.brief.topic, *self.aspects]), MOST_POINTS)

    @property
    def checklist(self) -> list[str]:
        """Points that the fact checker looks for in the sources: points, aspects, and gaps of the last
        version."""
        return [*self.points, *without_doubles([*self.aspects, *self.missing], self.points, MOST_POINTS)]

    @property
    def contexts(self) -> dict[str, str]:
        """For each source, the names that its passages need not repeat: its title and the topic."""
        return {source.id: f"{source.title}\n{self.brief.topic}" for source in self.sources}

    @property
    def task(self) -> dict[str, Any]:
        """The task description that every prompt contains."""
        brief = self.brief
        return {
            "topic": brief.topic,
            "content_type": brief.content_type.replace("_", " "),
            "length": brief.length,
            "tone": brief.tone,
            "depth": brief.depth,
            "aspects": [aspect for aspect in self.aspects if aspect not in self.given_up] or self.aspects,
            "points": [point for point in self.points if point not in self.given_up],
            "uncovered": list(self.given_up),
            "feedback": list(self.feedback),
            "missing": list(self.missing),
            "remarks": list(self.remarks),
        }

    def fenced(self, claims: Iterable[str] = (), only: Iterable[str] | None = None) -> list[str]:
        """Return the most relevant passages of the sources for the topic, each aspect and each missing
        aspect, fenced with markers that their authors cannot forge, within the room of a prompt.

        Passages that support verified claims of the last version are kept. The fact checker gets the writer's
        passages and more for its `claims`. A source without a selected passage is shown by its beginning.
        """
        return [self.sealed(text, name) for name, text in self.passages(claims, only)]

    @property
    def shows_all(self) -> bool:
        """A prompt holds the whole texts of all sources."""
        return sum(len(self.texts.get(source.id, "")) for source in self.sources) <= PROMPT_ROOM

    def passages(
        self, claims: Iterable[str] = (), only: Iterable[str] | None = None
    ) -> list[tuple[str, str]]:
        """Return the same passages as pairs of name and text, such as `source s3` and its passages."""
        wanted = None if only is None else set(only)
        chosen = [source for source in self.sources if wanted is None or source.id in wanted]
        every = {source.id: self.texts.get(source.id, "") for source in self.sources}
        about = list(dict.fromkeys([self.brief.topic, *self.aspects, *self.points, *self.missing]))
        shown = best_passages(every, about, PROMPT_ROOM, self._kept_spans())
        texts = {source.id: every[source.id] for source in chosen}
        claim_texts = list(claims)
        more = best_passages(texts, claim_texts, CLAIM_ROOM) if claim_texts and shown != every else {}
        return [self._named(source, _merged(texts[source.id], shown, more, source.id)) for source in chosen]

    def _kept_spans(self) -> dict[str, list[tuple[int, int]]]:
        """Return the spans that support verified claims of the last version, by source."""
        version = self.final or (self.versions[-1] if self.versions else None)
        spans: dict[str, list[tuple[int, int]]] = {}
        for claim in version.claims if version else ():
            for passage in claim.passages if claim.verdict == "verified" else ():
                text, span = self.texts.get(passage.source_id, ""), (passage.start, passage.end)
                place = span if text[slice(*span)] == passage.quote else locate(passage.quote, text)
                if place is not None:
                    spans.setdefault(passage.source_id, []).append(place)
        return spans

    def _named(self, source: Source, text: str) -> tuple[str, str]:
        about = [f"Title: {source.title}", f"Kind: {source.kind}"]
        about += [f"Authors: {', '.join(source.authors)}"] if source.authors else []
        about += [f"Published: {source.published}"] if source.published else []
        return f"source {source.id}", "\n".join([*about, "", text])

    def sealed(self, text: str, name: str) -> str:
        """Fence untrusted text for a prompt, including an article that was written from it."""
        return untrusted(text, name, number=fingerprint([self.seal, name])[:16])
