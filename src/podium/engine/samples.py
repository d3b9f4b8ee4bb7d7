"""The contract of a cache that outlives runs: answers kept under the hash of what was asked.

One question may have several answers, because asking twice is meant to give two: they are samples, in the
order of their numbers. Losing any of it costs money at most, so nothing here is waited for and nothing here
may stop a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

import msgspec

from podium.engine.events import NOTHING, Charge


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One answer in the cache."""

    id: str
    """Unique; what a log names when it tells that this answer was used or made."""
    key: str
    """The hash of what was asked."""
    number: int
    """Its place among the answers to the same question, from 1 on."""
    model: str
    data: bytes
    """The answer as its owner wrote it; the store does not look inside."""
    charge: Charge = NOTHING
    """What it cost when it was made: what each later use saves."""
    made_us: int = 0


class CacheShare(msgspec.Struct, frozen=True, kw_only=True):
    """What the cache holds, and has saved, of one model."""

    model: str
    entries: int = 0
    bytes: int = 0
    hits: int = 0
    """Calls that were not made, in the whole life of the cache."""
    saved: Charge = NOTHING
    """What these would have cost."""
    oldest_us: int = 0
    newest_us: int = 0

    def figures(self) -> dict[str, Any]:
        """As every interface tells them."""
        return {
            "entries": self.entries,
            "bytes": self.bytes,
            "hits": self.hits,
            "saved_calls": self.saved.calls,
            "saved_usd": round(self.saved.usd, 9),
            "saved_tokens": self.saved.tokens,
        }


def total_of(shares: Iterable[CacheShare]) -> CacheShare:
    """All models together."""
    whole = CacheShare(model="")
    for share in shares:
        whole = CacheShare(
            model="",
            entries=whole.entries + share.entries,
            bytes=whole.bytes + share.bytes,
            hits=whole.hits + share.hits,
            saved=whole.saved + share.saved,
            oldest_us=min(filter(None, (whole.oldest_us, share.oldest_us)), default=0),
            newest_us=max(whole.newest_us, share.newest_us),
        )
    return whole


class Cleared(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken out of the cache."""

    entries: int = 0
    bytes: int = 0


class Samples(Protocol):
    """The part of a store that keeps the cache."""

    async def find_sample(self, key: str, skip: Collection[str] = ()) -> Sample | None:
        """The answer with the lowest number whose id is not in `skip`."""
        ...

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        """Queue an answer. It gets its number, or the next free one if somebody else was quicker. When the
        cache holds more than `most_bytes`, what was not used for the longest time goes; that is looked
        at now and then, so the cache may be a little larger for a while."""
        ...

    def use_sample(self, sample: Sample, now_us: int) -> None:
        """Queue that an answer was used: it is fresh again, and what it saved is counted."""
        ...

    def drop_sample(self, sample_id: str) -> None:
        """Queue the removal of an answer that is of no use."""
        ...

    async def cache_shares(self) -> list[CacheShare]:
        """What the cache holds and has saved, by model."""
        ...

    async def clear_cache(self, *, before_us: int | None = None, model: str = "") -> Cleared:
        """Remove answers: all, or those that were last used before a moment, or those of one model."""
        ...
