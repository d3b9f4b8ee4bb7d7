"""What `podium models` prints: who answers now, what else could, and what the rest would need."""

from __future__ import annotations

from collections.abc import Iterable

from podium.agents.limits import rules, without_effect
from podium.cli.card import say_line, say_prose
from podium.cli.table import print_table
from podium.cli.terminal import out
from podium.models.catalogue import has_price_tables
from podium.models.model import Price
from podium.models.offers import Offer, Rated
from podium.models.profiles import PROFILES, Choice, behind, models_of, why
from podium.models.registry import DEFAULT
from podium.report.words import count, duration, model_name
from podium.settings import Settings

FIGURES = ("in $/M", "out $/M", "window")
SPARE = ("from", "window", "provider", "out $/M", "in $/M")
"""What a narrow terminal does without: a model's name has to be whole."""
NO_TABLES = "Prices are not known: pip install 'podium[openai]' (any provider's extra) brings the tables."


def print_offers(settings: Settings, choice: Choice, found: list[Offer], ratings: dict[str, Rated]) -> None:
    """The whole page."""
    _print_now(settings, choice, ratings)
    usable = [offer for offer in found if offer.usable]
    above = "" if settings.model or settings.profiles else choice.provider
    _print_usable([o for o in usable if o.defaults and o.provider.name != above], ratings)
    rest = [(offer.provider.name, offer.note) for offer in usable if not offer.defaults]
    rest += [("rehearsal", "offline, made-up answers: --model rehearsal")]
    rest += [("python", "a function of your own: python:FILE.py:function")]
    _print_pairs("By name", rest)
    say_line(out())
    _print_limits(settings)
    _print_pairs("Not usable yet", [(o.provider.name, o.missing) for o in found if not o.usable])
    if not has_price_tables():
        say_line(out())
        say_prose(out(), (NO_TABLES, "dim"))


def _print_now(settings: Settings, choice: Choice, ratings: dict[str, Rated]) -> None:
    """Who answers when a run is started like this, and why."""
    console = out()
    profiles = behind(settings, choice)
    if settings.model:
        say_line(console, ("Every agent is answered by ", "bold"), model_name(settings.model))
        say_prose(console, (f"because {settings.sources.get('model', 'the settings')} says so", "dim"))
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
    told = why(settings, choice)
    if not told and models_of("balanced", profiles) == []:
        told = "no provider key is set, so the answers are made up"
    if told:
        say_prose(console, (f"  {told[0].upper()}{told[1:]}.", "dim"))
    say_line(console)


def _print_usable(found: list[Offer], ratings: dict[str, Rated]) -> None:
    if not found:
        return
    say_line(out(), ("Also usable", "bold"))
    rows = [
        (offer.provider.name if not place else "", profile, name, *_figures(ratings[name]))
        for offer in found
        for place, (profile, name) in enumerate(offer.defaults.items())
    ]
    print_table(
        out(), ("provider", "profile", "model", *FIGURES), rows, figures=FIGURES, spare=SPARE, indent=2
    )
    for offer in found:
        if offer.provider.keyless and not offer.key:  # nobody has looked whether it can be used
            say_prose(out(), (f"  {offer.provider.name}: {offer.note}; not looked for here.", "dim"))
    say_line(out())


def _print_limits(settings: Settings) -> None:
    """Print how long one reply may take and be, the strongest rule first."""
    say_line(out(), ("Limits of one reply", "bold"), ("  the first that applies holds", "dim"))
    names = {"settings": "every agent", "code": "an agent whose code sets none"}
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
    for name, told in pairs:
        say_line(out(), f"  {name:<{width}}  ", (told, "dim"))


def print_everything(found: dict[str, list[Rated]]) -> None:
    """Every model of these providers, one line each."""
    rows = [(one.name, *_figures(one)) for one in _flat(found.values())]
    if rows:
        print_table(out(), ("model", *FIGURES), rows, figures=FIGURES, spare=SPARE)
        say_line(out(), (f"{count(len(rows), 'model')} that the price tables know.", "dim"))
    elif not has_price_tables():
        say_prose(out(), NO_TABLES)
    else:
        say_prose(out(), f"The price tables know no models of {', '.join(found)}; name any that it has.")


def _flat(groups: Iterable[list[Rated]]) -> list[Rated]:
    return [one for group in groups for one in group]


def _figures(one: Rated) -> tuple[str, str, str]:
    into, output = _price(one.price)
    return into, output, _window(one) if one.price.kind != "free" else ""


def _window(one: Rated) -> str:
    if not one.window:
        return "?"
    return f"{one.window / 1e6:.3g}M" if one.window >= 1_000_000 else f"{one.window / 1000:.0f}k"


def _price(price: Price) -> tuple[str, str]:
    if price.kind == "known":
        return f"{price.input_per_million:.2f}", f"{price.output_per_million:.2f}"
    return ("free", "free") if price.kind == "free" else ("?", "?")
