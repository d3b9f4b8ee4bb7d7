"""The cache of model calls: what it holds and has saved, and how to empty it. All runs share it."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query

from podium.engine.samples import CacheShare as Share
from podium.engine.samples import total_of
from podium.server.contracts.stock import Cache, CacheShare, Cleared
from podium.server.hall import By, InHall
from podium.server.permissions import check_operator
from podium.server.problems import RefusedError
from podium.server.wire import iso

router = APIRouter(prefix="/api/cache", tags=["cache"])


@router.get("", operation_id="readCache", summary="What the cache holds and has saved")
async def read_cache(hall: InHall, by: By) -> Cache:
    """As a whole, and by model."""
    check_operator(by, "the cache")
    shares = await hall.store.cache_shares()
    models = [CacheShare(model=share.model, **_figures(share)) for share in shares]
    return Cache(limit_bytes=hall.settings.cache_size, models=models, **_figures(total_of(shares)))


@router.delete("", operation_id="clearCache", summary="Empty the cache")
async def clear_cache(
    hall: InHall,
    by: By,
    model: Annotated[str, Query(max_length=300, description="Only this model's answers.")] = "",
    unused_s: Annotated[
        float | None, Query(ge=0, le=1e9, description="Only what was not used for so many seconds.")
    ] = None,
) -> Cleared:
    """All of it, unless it is told which part. Runs that are under way ask their models again."""
    check_operator(by, "the cache")
    if model and model not in {share.model for share in await hall.store.cache_shares()}:
        raise RefusedError(404, f"The cache holds no answer of {model}.")
    before_us = None if unused_s is None else time.time_ns() // 1000 - int(unused_s * 1e6)
    cleared = await hall.store.clear_cache(before_us=before_us, model=model)
    return Cleared(entries=cleared.entries, bytes=cleared.bytes)


def _figures(share: Share) -> dict[str, Any]:
    return {
        **share.figures(),
        "oldest": iso(share.oldest_us) if share.oldest_us else None,
        "newest": iso(share.newest_us) if share.newest_us else None,
    }
