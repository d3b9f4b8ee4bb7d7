"""Which models can be asked from the server, and whether one really answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from podium.api.trial import trial_data, try_model
from podium.models.catalogue import PROVIDERS
from podium.models.offers import Offer as Found
from podium.models.offers import Rated as Price
from podium.models.offers import all_of, offers, rated
from podium.models.profiles import PROFILES, behind, choose, models_of
from podium.models.registry import DEFAULT
from podium.server.contracts.stock import ProviderModels, Tried, TryModel
from podium.server.contracts.world import Models, Offer, Profile, Rated
from podium.server.hall import By, InHall
from podium.server.permissions import check_operator
from podium.server.problems import RefusedError

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
