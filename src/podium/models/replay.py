"""`replay:RUN_ID`: the answers of an earlier run, found by the path of the step that asks.

Good for trying a changed workflow without paying for the answers that did not change.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from podium.engine.codec import decode
from podium.engine.events import Charge, StepCompleted
from podium.engine.log import UNREADABLE, Row, Store, damaged_event
from podium.errors import ModelFailedError
from podium.models.model import FREE, Call, OnDelta, Price, Reply, estimate, worst_case


@dataclass(frozen=True, slots=True)
class _Recorded:
    result: bytes
    blob: str


def _recorded(row: Row) -> _Recorded:
    try:
        data = msgspec.json.decode(row.data, type=StepCompleted)
    except UNREADABLE as error:
        raise damaged_event(row, error) from error
    return _Recorded(bytes(data.result), data.blob)


class ReplayModel:
    """A model that only repeats. Its log is read once, at `prepare` or with the first call."""

    price: Price = FREE

    def __init__(self, run_id: str, store: Store) -> None:
        self.name = f"replay:{run_id}"
        self.rehearsal = False
        """Set by `prepare` where the earlier run was a rehearsal: what it repeats is made up as well."""
        self._run_id = run_id
        self._store = store
        self._answers: dict[str, _Recorded] | None = None
        self._reading = asyncio.Lock()

    async def prepare(self) -> None:
        """Read the log; `UnknownRunError` if there is none of that id."""
        async with self._reading:
            if self._answers is not None:
                return
            run = await self._store.get(self._run_id)
            rows = await self._store.read(run.run_id, types=("step.completed",))
            self._answers = {row.path: _recorded(row) for row in rows}
            self.name, self.rehearsal = f"replay:{run.run_id}", run.rehearsal

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        await self.prepare()
        recorded = (self._answers or {}).get(call.path)
        if recorded is None:
            raise ModelFailedError(
                call.path,
                "NotRecorded",
                f"the run {self._run_id} holds no answer for {call.path}",
                model=self.name,
            )
        raw = await self._store.get_blob(recorded.blob) if recorded.blob else recorded.result
        text = raw.decode()
        if call.schema is None:
            value = decode(raw)
            text = value if isinstance(value, str) else text
        return Reply(text, estimate(call, text), self.name)

    def worst_case(self, call: Call) -> Charge:
        return worst_case(call, self.price)
