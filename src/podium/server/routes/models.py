"""Routes for models and the response cache."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from podium.api.model_test import trial_data, try_model
from podium.engine.store_parts import CacheShare as Share
from podium.engine.store_parts import total_of
from podium.models.catalogue import PROFILES, PROVIDERS, behind, choose, models_of
from podium.models.registry import DEFAULT, all_of, offers, rated
from podium.models.registry import Offer as Found
from podium.models.registry import Rated as Price
from podium.server.permissions import check_operator
from podium.server.problems import RefusedError
from podium.server.schemas.knowledge import Cache, CacheShare, Cleared, ProviderModels, Tried, TryModel
from podium.server.schemas.system import Models, Offer, Profile, Rated
from podium.server.sse import iso
from podium.server.state import By, InHall

router = APIRouter(prefix="/api/models", tags=["models"])


@router.get("", operation_id="listModels", summary="Which models can be used")
async def list_models(hall: InHall) -> Models:
    """With prices, and what the others would need."""
    settings, choice = hall.settings, choose()
    found, profiles = offers(settings), behind(settings, choice)
    every = dict.fromkeys((*PROFILES, *profiles))
    chosen = {profile: models_of(profile, profiles) or [DEFAULT] for profile in every}
    priced = {
        one.name: one for one in rated({name: None for names in chosen.values() for name in names}, settings)
    }
    return Models(
        model=settings.model or None,
        profiles={
            profile: Profile(
                source="settings" if profile in settings.profiles else choice.key or "default",
                models=[_rated(priced[name]) for name in names],
            )
            for profile, names in chosen.items()
        },
        providers=[_offer(one) for one in found],
    )


@router.get("/{provider:name}", operation_id="listModelsOf", summary="All models of a provider")
async def list_models_of(
    provider: Annotated[str, Path(min_length=1, max_length=100)], hall: InHall
) -> ProviderModels:
    """Those that the price tables know."""
    if provider not in PROVIDERS:
        raise RefusedError(
            404, f"There is no provider {provider}.", hint=f"Providers: {', '.join(PROVIDERS)}."
        )
    found = all_of(PROVIDERS[provider], hall.settings)
    return ProviderModels(provider=provider, models=[_rated(one) for one in found])


@router.post("/test", operation_id="testModel", summary="Ask a model one small question")
async def test_model(asked: TryModel, hall: InHall, by: By) -> Tried:
    """As an agent of a run would; `ok` tells whether it has answered."""
    check_operator(by, "the test of a model")
    return Tried.model_validate(trial_data(await try_model(asked.model, hall.settings)))


def _offer(offer: Found) -> Offer:
    return Offer(
        provider=offer.provider.name, usable=offer.usable, key=offer.key or None, installed=offer.installed,
        missing=offer.missing or None, note=offer.note or None, profiles=dict(offer.defaults),
    )  # fmt: skip


def _rated(one: Price) -> Rated:
    known = one.price.kind == "known"
    return Rated(
        model=one.name, price=one.price.kind,
        input_usd_per_million=one.price.input_per_million if known else None,
        output_usd_per_million=one.price.output_per_million if known else None, context_window=one.window,
    )  # fmt: skip


cache_router = APIRouter(prefix="/api/cache", tags=["cache"])


@cache_router.get("", operation_id="readCache", summary="What the cache holds and has saved")
async def read_cache(hall: InHall, by: By) -> Cache:
    """As a whole, and by model."""
    check_operator(by, "the cache")
    shares = await hall.store.cache_shares()
    models = [CacheShare(model=share.model, **_figures(share)) for share in shares]
    return Cache(limit_bytes=hall.settings.cache_size, models=models, **_figures(total_of(shares)))


@cache_router.delete("", operation_id="clearCache", summary="Empty the cache")
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
