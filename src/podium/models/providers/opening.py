"""From what it takes to ask a hosted model to the model itself."""

from __future__ import annotations

from collections.abc import Mapping

from podium.engine.limits import Limits
from podium.errors import ModelUnavailableError
from podium.models.catalogue import Access
from podium.models.guards import GUARDS
from podium.models.model import FREE
from podium.models.prices import Rates, rates_of, window_of
from podium.models.providers.backends import open_backend
from podium.models.providers.hosted import HostedModel
from podium.settings import OwnPrice


def open_hosted(access: Access, prices: Mapping[str, OwnPrice], limits: Limits | None = None) -> HostedModel:
    """Open a hosted model. Nothing is sent yet. `limits` is where a fleet keeps the provider's pace."""
    provider, options = access.provider.name, access.options
    try:
        opened = open_backend(access)
    except ModelUnavailableError:
        raise
    except Exception as error:
        raise ModelUnavailableError(
            f"The client for {access.name} cannot be opened: {type(error).__name__}: {error}."
        ) from error
    return HostedModel(
        access.name,
        opened,
        rates_for(access, prices),
        GUARDS.of(provider, access.address, options.requests_per_minute, options.tokens_per_minute, limits),
        mode=options.output,
        hinted=options.prompt_cache,
        mark=(access.address,),
        window=window_of(provider, access.model),
    )


def rates_for(access: Access, prices: Mapping[str, OwnPrice]) -> Rates:
    """What a model costs here: one's own price, nothing, or what the tables say."""
    if access.provider.name == "ollama" and access.name not in prices:
        return Rates(FREE)
    if access.name in prices:  # also for names that hold an address
        own = prices[access.name]
        return rates_of(access.provider.name, access.model, {f"{access.provider.name}:{access.model}": own})
    return rates_of(access.provider.name, access.model, prices)
