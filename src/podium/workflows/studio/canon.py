"""What a project knows, as a studio sees it: names for the router, facts for heads, contradictions with what
is settled, and facts to be proposed. `--project` opens it; without one there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

from pydantic import Field

from podium.engine.log import Store
from podium.workflows.studio.contracts import Reply

RECALLED = 20
"""Facts that a department is told."""

FactKind = Literal["character", "scene", "place", "object", "rule", "other"]


class NewFact(Reply):
    """Something that a department has settled."""

    subject: str = Field(min_length=1)
    predicate: str = Field(min_length=1)
    value: str
    kind: FactKind = "other"
    quote: str = ""


class NewFacts(Reply):
    facts: list[NewFact]


class Canon(Protocol):
    """The memory of one project."""

    async def names(self) -> list[str]:
        """Names that the project knows."""
        ...

    async def recall(self, text: str, limit: int) -> list[str]:
        """Settled facts that have to do with a text, one line each."""
        ...

    async def contradictions(self, run_id: str, facts: Sequence[NewFact]) -> list[str]:
        """Where new facts deny settled ones, one line each."""
        ...

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> None:
        """Keep facts until a person has looked at them. To propose the same again changes nothing."""
        ...


OpenCanon = Callable[[Store, str], Awaitable[Canon]]
"""Opens the memory of a project."""
