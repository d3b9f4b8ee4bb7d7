"""The half of the store that keeps what projects know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from podium.engine.events import NOTHING, Charge
from podium.engine.facts import Fact, FactChange, FactUpdate, ProjectShare
from podium.stores.sqlite import facts as sql
from podium.stores.sqlite.driving import Driving


class Remembering(Driving):
    """Facts, as `podium.engine.facts.Facts` describes them. Each write is one transaction."""

    async def add_facts(self, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        return await self._do(sql.add, facts, change)

    async def change_facts(self, updates: Sequence[FactUpdate], at: str) -> list[str]:
        return await self._do(sql.change, updates, at)

    async def forget_facts(self, project: str, ids: Collection[str] | None = None) -> int:
        return await self._do(sql.forget, project, ids)

    async def list_facts(
        self,
        project: str = "",
        *,
        status: Collection[str] = (),
        source_run: str = "",
        ids: Collection[str] = (),
        limit: int = 0,
    ) -> list[Fact]:
        return await self._reader.brain.facts(project, status, source_run, ids, limit)

    async def match_facts(
        self, project: str, terms: Sequence[str], *, status: Collection[str] = (), limit: int = 100
    ) -> list[Fact]:
        return self._reader.brain.match(project, terms, status, limit)

    async def fact_history(self, project: str, fact_id: str) -> list[FactChange]:
        return self._reader.brain.history(project, fact_id)

    async def list_projects(self) -> list[ProjectShare]:
        return self._reader.brain.projects()

    async def project_revision(self, project: str) -> int:
        return self._reader.brain.revision(project)

    async def put_vectors(
        self, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge = NOTHING
    ) -> None:
        await self._do(sql.put_vectors, project, model, vectors, charge)

    async def get_vectors(
        self, project: str, model: str, *, ids: Collection[str] | None = None
    ) -> dict[str, bytes]:
        return self._reader.brain.vectors(project, model, ids)
