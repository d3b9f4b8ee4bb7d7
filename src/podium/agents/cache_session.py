"""Cache use of one run: the nth identical call of a run gets the nth sample.

The samples that a run has used or stored are in its log, so a resumed or forked run continues from there. A
step that runs again gets the same sample again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from podium.engine.effect import Effect
from podium.engine.store_parts import Sample
from podium.errors import StoreError
from podium.models import cache
from podium.models.events import ModelCached, ModelKept, ModelUncached
from podium.models.model import Call, Model, Reply

Fits = Callable[[Reply], bool]
"""Returns whether a reply is valid for the wanted type."""


class Place(NamedTuple):
    """The place of a reply in the cache."""

    key: str
    number: int
    """Ordinal of this call among the run's calls with the same request."""


class _Taken(msgspec.Struct, frozen=True):
    """The common fields of `model.cached` and `model.kept`."""

    key: str = ""
    sample: str = ""


class CacheSession:
    """The cache use of one run. Only created if the run was started with the cache."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._by_key: dict[str, dict[str, str]] = {}
        """Request key, sample id, and the path that used it."""
        self._asked: dict[str, int] = {}
        """Number of calls per request key."""
        self._turn = asyncio.Lock()
        """FIFO order, also with a slow store."""
        self._remembered = False

    async def take(self, effect: Effect, model: Model, call: Call, fits: Fits) -> Reply | Place | None:
        """Return the next cached reply that this run has not used; else the place for the new reply; `None`
        if this model's replies are not cached."""
        key = cache.key_of(model, call)
        if not key:
            return None
        effect.core.check()
        async with self._turn:
            try:
                await self._remember(effect)
                sample = await self._next(effect, key, model, fits)
            except StoreError as error:  # a cache that cannot be read counts as empty
                effect.emit(ModelUncached(model=model.name, reason=error.message))
                return None
            if sample is not None:
                return self._served(effect, model, call, *sample)
            self._asked[key] = self._asked.get(key, 0) + 1
            return Place(key, self._asked[key])

    def keep(self, effect: Effect, model: Model, place: Place, reply: Reply) -> None:
        """Store a reply that proved valid. It is written together with the step's result."""
        if not cache.is_good(reply) or effect.core.journal.closed:
            return
        journal = effect.core.journal
        sample = Sample(
            id=secrets.token_hex(8),
            key=place.key,
            number=place.number,
            model=model.name,
            data=journal.redact(cache.written(reply)),
            charge=cache.cost_of(model, reply),
            made_us=journal.now_us(),
        )
        self._note(place.key, sample.id, effect.path)
        journal.store.keep_sample(sample, self._most_bytes)
        effect.emit(ModelKept(model=model.name, key=place.key, sample=sample.id))

    # ── used samples ──

    async def _next(self, effect: Effect, key: str, model: Model, fits: Fits) -> tuple[Sample, Reply] | None:
        """Return the first sample that no other step of this run has used; remove invalid ones."""
        store = effect.core.journal.store
        dropped: list[str] = []
        while True:
            had = self._by_key.get(key, {})
            others = [sample for sample, path in had.items() if path != effect.path]
            sample = await store.find_sample(key, [*others, *dropped])
            if sample is None:
                return None
            reply = cache.read(sample.data)
            if reply is not None and fits(reply):
                return sample, reply
            why = "it is damaged" if reply is None else "it does not fit what is wanted"
            effect.emit(ModelUncached(model=model.name, reason=f"a cached answer was removed: {why}"))
            store.drop_sample(sample.id)
            dropped.append(sample.id)

    def _served(self, effect: Effect, model: Model, call: Call, sample: Sample, reply: Reply) -> Reply:
        now_us = effect.core.journal.now_us()
        if sample.id not in self._by_key.get(sample.key, {}):
            self._note(sample.key, sample.id, effect.path)
            self._asked[sample.key] = self._asked.get(sample.key, 0) + 1
        effect.core.journal.store.use_sample(sample, now_us)
        effect.core.saved += sample.charge
        effect.emit(
            ModelCached(
                model=model.name,
                attempt=call.attempt,
                key=sample.key,
                sample=sample.id,
                number=sample.number,
                age_s=round(max(0, now_us - sample.made_us) / 1e6, 1),
                saved=sample.charge,
            )
        )
        return reply

    def _note(self, key: str, sample: str, path: str) -> None:
        self._by_key.setdefault(key, {})[sample] = path

    async def _remember(self, effect: Effect) -> None:
        """Read the samples that were used before a resume; once, on first use."""
        if self._remembered:
            return
        journal = effect.core.journal
        before = journal.lease.last_seq
        rows = await journal.store.read(journal.lease.run_id, types=(ModelCached.type, ModelKept.type))
        for row in rows:
            if row.seq <= before:
                event = msgspec.json.decode(row.data, type=_Taken)
                if event.sample not in self._by_key.get(event.key, {}):
                    self._note(event.key, event.sample, row.path)
                    self._asked[event.key] = self._asked.get(event.key, 0) + 1
        self._remembered = True
