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
from podium.server.state import By, InState
from podium.server.views import iso

router = APIRouter(prefix="/api/models", tags=["models"])


@router.get("", operation_id="listModels", summary="Which models can be used")
async def list_models(state: InState) -> Models:
    """With prices, and what the others would need."""
    settings, choice = state.settings, choose()
    offered, profiles = offers(settings), behind(settings, choice)
    every = dict.fromkeys((*PROFILES, *profiles))
    chosen = {profile: models_of(profile, profiles) or [DEFAULT] for profile in every}
    priced = {
        price.name: price
        for price in rated({name: None for names in chosen.values() for name in names}, settings)
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
        providers=[_offer(price) for price in offered],
    )


@router.get("/{provider:name}", operation_id="listModelsOf", summary="All models of a provider")
async def list_models_of(
    provider: Annotated[str, Path(min_length=1, max_length=100)], state: InState
) -> ProviderModels:
    """Those that the price tables know."""
    if provider not in PROVIDERS:
        raise RefusedError(
            404, f"There is no provider {provider}.", hint=f"Providers: {', '.join(PROVIDERS)}."
        )
    offered = all_of(PROVIDERS[provider], state.settings)
    return ProviderModels(provider=provider, models=[_rated(model) for model in offered])


@router.post("/test", operation_id="testModel", summary="Ask a model one small question")
async def test_model(body: TryModel, state: InState, by: By) -> Tried:
    """Calls the model as an agent would. `ok` is true if it answered."""
    check_operator(by, "the test of a model")
    return Tried.model_validate(trial_data(await try_model(body.model, state.settings)))


def _offer(offer: Found) -> Offer:
    return Offer(
        provider=offer.provider.name,
        usable=offer.usable,
        key=offer.key or None,
        installed=offer.installed,
        missing=offer.missing or None,
        note=offer.note or None,
        profiles=dict(offer.defaults),
    )


def _rated(priced: Price) -> Rated:
    known = priced.price.kind == "known"
    return Rated(
        model=priced.name,
        price=priced.price.kind,
        input_usd_per_million=priced.price.input_per_million if known else None,
        output_usd_per_million=priced.price.output_per_million if known else None,
        context_window=priced.window,
    )


cache_router = APIRouter(prefix="/api/cache", tags=["cache"])


@cache_router.get("", operation_id="readCache", summary="What the cache holds and has saved")
async def read_cache(state: InState, by: By) -> Cache:
    """As a whole, and by model."""
    check_operator(by, "the cache")
    shares = await state.store.cache_shares()
    models = [CacheShare(model=share.model, **_figures(share)) for share in shares]
    return Cache(limit_bytes=state.settings.cache_size, models=models, **_figures(total_of(shares)))


@cache_router.delete("", operation_id="clearCache", summary="Empty the cache")
async def clear_cache(
    state: InState,
    by: By,
    model: Annotated[str, Query(max_length=300, description="Only this model's answers.")] = "",
    unused_s: Annotated[
        float | None,
        Query(ge=0, le=1e9, description="Only entries that were not used for this many seconds."),
    ] = None,
) -> Cleared:
    """Deletes all entries, or only those selected. Active runs call their models again."""
    check_operator(by, "the cache")
    if model and model not in {share.model for share in await state.store.cache_shares()}:
        raise RefusedError(404, f"The cache holds no answer of {model}.")
    before_us = None if unused_s is None else time.time_ns() // 1000 - int(unused_s * 1e6)
    cleared = await state.store.clear_cache(before_us=before_us, model=model)
    return Cleared(entries=cleared.entries, bytes=cleared.bytes)


def _figures(share: Share) -> dict[str, Any]:
    return {
        **share.figures(),
        "oldest": iso(share.oldest_us) if share.oldest_us else None,
        "newest": iso(share.newest_us) if share.newest_us else None,
    }
