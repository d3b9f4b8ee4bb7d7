"""`podium models`: which models can be asked from here, and whether one really answers."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from podium.agents.limits import rules
from podium.cli.flags import AsJson
from podium.cli.model_table import print_everything, print_offers
from podium.cli.terminal import print_json
from podium.errors import UsageError
from podium.models.catalogue import PROVIDERS
from podium.models.offers import Offer, Rated, all_of, offers, rated
from podium.models.profiles import DEFAULTS, PROFILES, Choice, behind, choose, models_of
from podium.models.registry import DEFAULT
from podium.settings import Settings, nearest

TEST = "test"


async def models(
    provider: Annotated[
        str,
        Parameter(
            metavar="PROVIDER|test", show_default=False,
            help="A provider: all its models. `test`: ask MODEL one small question.",
        ),
    ] = "",
    model: Annotated[
        str, Parameter(metavar="MODEL", show_default=False, help="With `test`: a model or a profile.")
    ] = "",
    /,
    *,
    all_models: Annotated[
        bool,
        Parameter(
            name="--all", negative="", show_default=False,
            help="Every model that the price tables know, of every provider.",
        ),
    ] = False,
    json: AsJson = False,
) -> int:  # fmt: skip
    """Which models can be used now, what they cost, and what the others need.

    `podium models PROVIDER` lists all models of a provider. `podium models test MODEL` makes one small call,
    as any agent would, and shows what came back: it costs what such a call costs.
    """
    if provider == TEST:
        return await _test(model, json)
    _check(provider, model)
    settings = Settings.load()
    if provider or all_models:
        names = [provider] if provider else list(DEFAULTS)
        found = {name: all_of(PROVIDERS[name], settings) for name in names}
        _tell_all(found, json)
        return 0
    choice, found_offers = choose(), offers(settings)
    ratings = _ratings(settings, choice, found_offers)
    if json:
        print_json(_as_data(settings, choice, found_offers, ratings))
    else:
        print_offers(settings, choice, found_offers, ratings)
    return 0


async def _test(model: str, json: bool) -> int:
    if not model:
        raise UsageError("podium models test needs a model.", hint="For example: podium models test fast.")
    from podium.cli.trial import try_model  # noqa: PLC0415 - a run of its own, with everything that it needs

    return await try_model(model, as_json=json)


def _check(what: str, model: str) -> None:
    if what and what not in PROVIDERS:
        if ":" in what or what in PROFILES:
            raise UsageError(
                f"{what} is a model, not a provider.", hint=f"Ask it something: podium models test {what}"
            )
        meant = nearest(what, (TEST, *PROVIDERS))
        known = f"Providers: {', '.join(PROVIDERS)}."
        raise UsageError(
            f"There is no provider {what}.", hint=f"Did you mean {meant}? {known}" if meant else known
        )
    if model:
        raise UsageError(
            f"podium models {what} takes nothing after it.", hint=f"To test one: podium models test {model}"
        )


def _ratings(settings: Settings, choice: Choice, found: list[Offer]) -> dict[str, Rated]:
    """Price and window of every model that the page names."""
    names = {settings.model or DEFAULT: None}
    for profile in behind(settings, choice):
        names |= dict.fromkeys(models_of(profile, behind(settings, choice)))
    for offer in found:
        names |= dict.fromkeys(offer.defaults.values() if offer.usable else ())
    return {one.name: one for one in rated(names, settings)}


def _tell_all(found: dict[str, list[Rated]], json: bool) -> None:
    if json:
        print_json({"models": [_rated_data(one) for models in found.values() for one in models]})
    else:
        print_everything(found)


def _as_data(
    settings: Settings, choice: Choice, found: list[Offer], ratings: dict[str, Rated]
) -> dict[str, Any]:
    profiles = behind(settings, choice)
    return {
        "model": settings.model or None,
        "chosen_by": choice.key or None,
        "profiles": {
            profile: {
                "from": "settings" if profile in settings.profiles else choice.key or "default",
                "models": [_rated_data(ratings[name]) for name in models_of(profile, profiles) or [DEFAULT]],
            }
            for profile in dict.fromkeys((*PROFILES, *profiles))
        },
        "providers": [_offer_data(offer, ratings) for offer in found],
        "reply_limits": [
            {
                "table": rule.table,
                "name": rule.name or None,
                "reply_timeout_s": rule.timeout,
                "reply_tokens": rule.max_tokens,
            }
            for rule in rules(settings)
        ],
    }


def _offer_data(offer: Offer, ratings: dict[str, Rated]) -> dict[str, Any]:
    return {
        "provider": offer.provider.name,
        "usable": offer.usable,
        "key": offer.key or None,
        "installed": offer.installed,
        "missing": offer.missing or None,
        "note": offer.note or None,
        "profiles": {
            profile: _rated_data(ratings[name]) if name in ratings else {"model": name}
            for profile, name in offer.defaults.items()
        },
    }


def _rated_data(one: Rated) -> dict[str, Any]:
    known = one.price.kind == "known"
    return {
        "model": one.name,
        "price": one.price.kind,
        "input_usd_per_million": one.price.input_per_million if known else None,
        "output_usd_per_million": one.price.output_per_million if known else None,
        "context_window": one.window,
    }
