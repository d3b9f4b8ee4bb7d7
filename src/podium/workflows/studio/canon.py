"""What a project knows, as a studio sees it: names for the router, facts for everybody, contradictions with
what is settled, and facts to be proposed. `--project` opens it; without one there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec
from pydantic import Field

from podium.agents.ask import Run
from podium.engine.events import Charge
from podium.engine.facts import FactKind
from podium.workflows.studio.contracts import Reply

RECALLED = 20
"""Facts that everybody is told."""
CANON = "canon"
"""Stands for what is settled where departments are named."""


class NewFact(Reply):
    """Something that a department has settled."""

    subject: str = Field(min_length=1)
    predicate: str = Field(min_length=1)
    value: str
    kind: FactKind = "other"
    quote: str = ""


class NewFacts(Reply):
    facts: list[NewFact]


class Recalled(msgspec.Struct, frozen=True):
    """What is settled and has to do with a request."""

    lines: list[str]
    warning: str = ""
    """Why it may be less than it could be."""


class Denial(msgspec.Struct, frozen=True):
    """A new fact that cannot be true together with a settled one."""

    description: str
    severity: str
    fact: str
    """Which settled fact: another contradiction of the same one is the same conflict."""
    settled: str
    """That fact, as everybody is told it."""


class Canon(Protocol):
    """The memory of one project."""

    async def names(self) -> list[str]:
        """Names that the project knows."""
        ...

    def recall_cost(self, text: str) -> Charge | None:
        """The most that recalling can cost; `None`: nothing."""
        ...

    async def recall(self, text: str, limit: int) -> Recalled:
        """Settled facts that have to do with a text."""
        ...

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        """Where new facts deny settled ones."""
        ...

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        """Keep facts until a person has looked at them; returns how many of this run's do. To propose the
        same again changes nothing."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


OpenCanon = Callable[[Run, str], Awaitable[Canon]]
"""Opens the memory of a project for a run."""
