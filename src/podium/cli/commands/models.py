"""`podium models`: usable models, their prices, and a test call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from podium.agents.models import rules, without_effect
from podium.cli.card import print_table, say_line, say_prose
from podium.cli.failure import FAILED, print_error
from podium.cli.flags import AsJson, option
from podium.cli.terminal import out, print_json
from podium.errors import UsageError
from podium.models.catalogue import (
    DEFAULTS,
    PROFILES,
    PROVIDERS,
    Choice,
    behind,
    choose,
    has_price_tables,
    models_of,
    why,
)
from podium.models.model import Price
from podium.models.registry import DEFAULT, Offer, Rated, all_of, offers, rated
from podium.report.data import price_word
from podium.report.words import brief, count, duration, model_name, sentence
from podium.settings import Settings, nearest

if TYPE_CHECKING:
    from podium.api.model_test import Trial

FIGURES = ("in $/M", "out $/M", "window")
SPARE = ("from", "window", "provider", "out $/M", "in $/M")
"""Columns that a narrow terminal leaves out, in this order, so that the model's name stays complete."""
NO_TABLES = (
    "Prices are unknown. Install the price tables with pip install 'podium[openai]' (any provider's extra)."
)


def print_offers(settings: Settings, choice: Choice, offers: list[Offer], ratings: dict[str, Rated]) -> None:
    """Print the whole page."""
    _print_now(settings, choice, ratings)
    usable = [offer for offer in offers if offer.usable]
    above = "" if settings.model or settings.profiles else choice.provider
    _print_usable([o for o in usable if o.defaults and o.provider.name != above], ratings)
    rest = [(offer.provider.name, offer.note) for offer in usable if not offer.defaults]
    rest += [("rehearsal", "offline, made-up answers: --model rehearsal")]
    rest += [("python", "your own function: python:FILE.py:function")]
    _print_pairs("By name", rest)
    say_line(out())
    _print_limits(settings)
    _print_pairs("Not usable yet", [(o.provider.name, o.missing) for o in offers if not o.usable])
    if not has_price_tables():
        say_line(out())
        say_prose(out(), (NO_TABLES, "dim"))


def _print_now(settings: Settings, choice: Choice, ratings: dict[str, Rated]) -> None:
    """Print which model answers with the current settings, and why."""
    console = out()
    profiles = behind(settings, choice)
    if settings.model:
        say_line(console, ("Model of every agent: ", "bold"), model_name(settings.model))
        say_prose(console, (f"set by {settings.sources.get('model', 'the settings')}", "dim"))
        say_line(console)
        return
    say_line(console, ("Now", "bold"))
    rows: list[tuple[str, ...]] = []
    for profile in dict.fromkeys((*PROFILES, *profiles)):
        source = "settings" if profile in settings.profiles else choice.key or "default"
        for place, name in enumerate(models_of(profile, profiles) or [DEFAULT]):
            shown = (profile, source) if place == 0 else ("", "next")
            rows.append((shown[0], model_name(name), *_figures(ratings[name]), shown[1]))
    print_table(console, ("profile", "model", *FIGURES, "from"), rows, figures=FIGURES, spare=SPARE, indent=2)
    reason = why(settings, choice)
    if not reason and models_of("balanced", profiles) == []:
        reason = "no provider key is set, so the answers are made up"
    if reason:
        say_prose(console, (f"  {reason[0].upper()}{reason[1:]}.", "dim"))
    say_line(console)


def _print_usable(offers: list[Offer], ratings: dict[str, Rated]) -> None:
    if not offers:
        return
    say_line(out(), ("Also usable", "bold"))
    rows = [
        (offer.provider.name if not place else "", profile, name, *_figures(ratings[name]))
        for offer in offers
        for place, (profile, name) in enumerate(offer.defaults.items())
    ]
    print_table(
        out(), ("provider", "profile", "model", *FIGURES), rows, figures=FIGURES, spare=SPARE, indent=2
    )
    for offer in offers:
        if offer.provider.keyless and not offer.key:  # whether it is reachable is not checked
            say_prose(out(), (f"  {offer.provider.name}: {offer.note}; availability not checked.", "dim"))
    say_line(out())


def _print_limits(settings: Settings) -> None:
    """Print the limits on duration and length of one reply, the strongest rule first."""
    say_line(out(), ("Limits of one reply", "bold"), ("  the first matching row applies", "dim"))
    names = {"settings": "every agent", "code": "agents without a limit in their code"}
    rows = [
        (
            names.get(rule.table) or f"{rule.table} {model_name(rule.name)}",
            "" if rule.timeout is None else duration(rule.timeout),
            "" if rule.max_tokens is None else f"{rule.max_tokens:,}",
        )
        for rule in rules(settings)
    ]
    print_table(out(), ("for", "time-out", "tokens"), rows, figures=("time-out", "tokens"), indent=2)
    for entry in without_effect(settings):
        say_prose(out(), (f"  {entry} has no effect: there is no such provider.", "yellow"))
    say_line(out())


def _print_pairs(title: str, pairs: list[tuple[str, str]]) -> None:
    if not pairs:
        return
    say_line(out(), (title, "bold"))
    width = max(len(name) for name, _ in pairs)
    for name, text in pairs:
        say_line(out(), f"  {name:<{width}}  ", (text, "dim"))


def print_everything(by_provider: dict[str, list[Rated]]) -> None:
    """Print every model of these providers, one line each."""
    rows = [(model.name, *_figures(model)) for models in by_provider.values() for model in models]
    if rows:
        print_table(out(), ("model", *FIGURES), rows, figures=FIGURES, spare=SPARE)
        say_line(out(), (f"{count(len(rows), 'model')} in the price tables.", "dim"))
    elif not has_price_tables():
        say_prose(out(), NO_TABLES)
    else:
        say_prose(
            out(),
            f"The price tables have no models of {', '.join(by_provider)}; any of its model names works.",
        )


def _figures(model: Rated) -> tuple[str, str, str]:
    into, output = _price(model.price)
    return into, output, _window(model) if model.price.kind != "free" else ""


def _window(model: Rated) -> str:
    if not model.window:
        return "?"
    return f"{model.window / 1e6:.3g}M" if model.window >= 1_000_000 else f"{model.window / 1000:.0f}k"


def _price(price: Price) -> tuple[str, str]:
    if price.kind == "known":
        return f"{price.input_per_million:.2f}", f"{price.output_per_million:.2f}"
    return ("free", "free") if price.kind == "free" else ("?", "?")


TEST = "test"


async def models(
    provider: Annotated[
        str, option("Provider whose models to list, or `test` to call MODEL once.", metavar="PROVIDER|test")
    ] = "",
    model: Annotated[str, option("With `test`: model or profile.", metavar="MODEL")] = "",
    /,
    *,
    all_models: Annotated[bool, option("List all models in the price tables.", name="--all")] = False,
    json: AsJson = False,
) -> int:
    """List usable models with their prices, and what the others need.

    `podium models PROVIDER` lists all models of a provider. `podium models test MODEL` makes one small paid
    call, like an agent's, and shows the reply.
    """
    if provider == TEST:
        return await _test(model, json)
    _check(provider, model)
    settings = Settings.load()
    if provider or all_models:
        names = [provider] if provider else list(DEFAULTS)
        by_provider = {name: all_of(PROVIDERS[name], settings) for name in names}
        if json:
            print_json({"models": [_rated_data(entry) for group in by_provider.values() for entry in group]})
        else:
            print_everything(by_provider)
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
        raise UsageError("podium models test needs MODEL.", hint="For example: `podium models test fast`.")

    return await try_model(model, as_json=json)


def _check(what: str, model: str) -> None:
    if what and what not in PROVIDERS:
        if ":" in what or what in PROFILES:
            raise UsageError(
                f"{what} is a model, not a provider.", hint=f"Test it with `podium models test {what}`."
            )
        meant = nearest(what, (TEST, *PROVIDERS))
        known = f"Providers: {', '.join(PROVIDERS)}."
        raise UsageError(
            f"There is no provider {what}.", hint=f"Did you mean {meant}? {known}" if meant else known
        )
    if model:
        raise UsageError(
            f"podium models {what} does not take {model!r}.",
            hint=f"Test a model with `podium models test {model}`.",
        )


def _ratings(settings: Settings, choice: Choice, usable: list[Offer]) -> dict[str, Rated]:
    """Return price and context window of every model on the page."""
    names = {settings.model or DEFAULT: None}
    for profile in behind(settings, choice):
        names |= dict.fromkeys(models_of(profile, behind(settings, choice)))
    for offer in usable:
        names |= dict.fromkeys(offer.defaults.values() if offer.usable else ())
    return {model.name: model for model in rated(names, settings)}


def _as_data(
    settings: Settings, choice: Choice, offered: list[Offer], ratings: dict[str, Rated]
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
        "providers": [_offer_data(offer, ratings) for offer in offered],
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


def _rated_data(model: Rated) -> dict[str, Any]:
    known = model.price.kind == "known"
    return {
        "model": model.name,
        "price": model.price.kind,
        "input_usd_per_million": model.price.input_per_million if known else None,
        "output_usd_per_million": model.price.output_per_million if known else None,
        "context_window": model.window,
    }


async def try_model(name: str, *, as_json: bool) -> int:
    """Ask the model, print its reply and return the exit code."""
    from podium.api import model_test  # noqa: PLC0415 - a run of its own, with everything that it needs

    def asking(model: str) -> None:
        if not as_json:
            say_line(out(), (f"Asking {model_name(model)} …", "dim"))

    trial = await model_test.try_model(name, Settings.load(), asking=asking)
    if as_json:
        print_json(model_test.trial_data(trial))
    elif trial.ok:
        _print(trial)
    else:
        print_error(sentence(model_test.problem_of(trial)), model_test.hint_of(trial))
    return 0 if trial.ok else FAILED


def _print(trial: Trial) -> None:
    console, last, used = out(), trial.last, trial.usage
    if last is None:
        raise AssertionError("an answer without an attempt")
    say_line(console, ("✓ answered  ", "green"), model_name(last.model))
    pairs = [
        ("latency", f"{last.latency_ms:,.0f} ms"),
        ("mode", last.mode),
        ("tokens", f"{used.input_tokens:,} in, {used.output_tokens:,} out"),
        ("cost", price_word(used)),
        ("attempts", count(len(trial.attempts), "call") if len(trial.attempts) > 1 else ""),
        ("repairs", str(trial.repairs or "")),
        *(
            ("instead of", f"{model_name(fallback.from_model)}: {fallback.error}")
            for fallback in trial.fell_back
        ),
        ("reply", brief(trial.result.output, 300)),
        ("note", "a rehearsal: the answer is made up, no model was called" if last.rehearsal else ""),
    ]
    for label, text in pairs:
        if text:
            say_prose(console, (label.ljust(12), "dim"), text)
