"""Which models stand behind the profiles when the settings do not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.models.catalogue import (
    DEFAULTS,
    PROFILES,
    PROVIDERS,
    behind,
    choose,
    defaults_of,
    is_installed,
    models_of,
    resolved,
)
from podium.models.registry import all_of, offers, rated
from podium.settings import OwnPrice, ProviderOptions, Settings

KEYS = {"OPENAI_API_KEY": "a-key", "ANTHROPIC_API_KEY": "another-key"}


@pytest.mark.parametrize("provider", DEFAULTS)
def test_every_default_is_in_the_price_tables_and_they_rise_in_price(provider: str) -> None:
    models = rated(defaults_of(provider).values(), Settings())
    assert [model.price.kind for model in models] == ["known"] * 3
    assert all(model.window for model in models)
    prices = [model.price.output_per_million for model in models]
    assert prices == sorted(prices)


def test_the_documentation_holds_the_same_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    rows = [
        f"| `{name}` | " + " | ".join(f"`{model}`" for model in row) + " |" for name, row in DEFAULTS.items()
    ]
    assert "\n".join(rows) in page


def test_the_first_provider_of_the_table_with_a_key_answers() -> None:
    both = choose(KEYS)
    assert (both.provider, both.key) == ("openai", "OPENAI_API_KEY")
    assert choose({"ANTHROPIC_API_KEY": "x"}).profiles == defaults_of("anthropic")
    assert list(DEFAULTS)[:2] == ["openai", "anthropic"]


def test_without_a_key_nobody_is_chosen() -> None:
    assert choose({}).profiles == {}
    assert choose({"OPENAI_API_KEY": "  "}).provider == ""
    assert resolved(Settings(), {}) == {"profiles": {}}


def test_a_provider_without_a_key_is_not_chosen_for_its_address() -> None:
    assert choose({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OLLAMA_API_KEY": "x"}).provider == ""


@pytest.mark.skipif(is_installed(PROVIDERS["groq"]), reason="the client of groq is installed here")
def test_a_provider_whose_client_is_missing_is_passed_over_and_reported() -> None:
    alone = choose({"GROQ_API_KEY": "x"})
    assert alone.provider == ""
    assert "GROQ_API_KEY" in alone.reason
    assert "pip install 'podium[groq]'" in alone.reason
    assert choose({"GROQ_API_KEY": "x", "OPENROUTER_API_KEY": "y"}).provider == "openrouter"


def test_entries_of_the_settings_win_one_by_one() -> None:
    settings = Settings(profiles={"fast": "rehearsal", "own": ["a:b", "c:d"]})
    profiles = behind(settings, choose(KEYS))
    assert profiles == {**defaults_of("openai"), "fast": "rehearsal", "own": ["a:b", "c:d"]}
    assert resolved(settings, KEYS)["choice"] == "balanced and powerful chosen because OPENAI_API_KEY is set"
    whole = Settings(profiles=dict.fromkeys(PROFILES, "rehearsal"))
    assert "choice" not in resolved(whole, KEYS)


def test_a_profile_that_nobody_has_set_is_as_balanced() -> None:
    assert models_of("creative", {"balanced": ["x:1", "y:2"], "fast": "z:3"}) == ["x:1", "y:2"]
    assert models_of("fast", {"balanced": "x:1", "fast": "z:3"}) == ["z:3"]
    assert models_of("fast", {}) == []


def test_what_a_choice_shows_holds_no_key() -> None:
    assert "a-key" not in str(resolved(Settings(), KEYS))


def test_offers_say_what_is_missing() -> None:
    by_provider = {offer.provider.name: offer for offer in offers(Settings(), KEYS)}
    assert by_provider["openai"].usable
    assert by_provider["openai"].missing == ""
    assert by_provider["openrouter"].missing == "set OPENROUTER_API_KEY"
    assert by_provider["ollama"].usable
    elsewhere = Settings(providers={"openrouter": ProviderOptions(base_url="http://127.0.0.1:1")})
    assert {o.provider.name: o for o in offers(elsewhere, {})}["openrouter"].usable


def test_own_prices_are_the_ones_that_are_listed() -> None:
    name = "anthropic:claude-haiku-5-5"
    settings = Settings(prices={name: OwnPrice(input=7, output=8)})
    [mine] = rated([name], settings)
    assert (mine.price.input_per_million, mine.price.output_per_million) == (7, 8)
    listed = {model.name: model for model in all_of(PROVIDERS["anthropic"], settings)}
    assert listed[name].price == mine.price
    assert (
        rated(["ollama:x", "rehearsal", "openai-compatible:x@http://h/v1"], settings)[0].price.kind == "free"
    )


def test_a_list_holds_only_models_that_are_paid_by_the_token() -> None:
    listed = all_of(PROVIDERS["openai"], Settings())
    assert all(model.price.kind == "known" and model.price.output_per_million for model in listed)
    assert [model.name for model in listed] == sorted(model.name for model in listed)
    assert not {"openai:whisper-1", "openai:text-embedding-3-small"} & {model.name for model in listed}
    assert all_of(PROVIDERS["ollama"], Settings()) == []
