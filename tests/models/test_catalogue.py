"""Names of hosted models: what each needs, and the one sentence that says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from podium.errors import ModelUnavailableError
from podium.models.catalogue import PROVIDERS, access_to, keys_set
from podium.models.providers.clients import OPENERS
from podium.models.registry import open_model
from podium.settings import ProviderOptions, Settings, variable

KEYED = [name for name, provider in PROVIDERS.items() if not provider.keyless]


@pytest.mark.parametrize("provider", KEYED)
def test_a_missing_key_is_one_sentence_with_the_variable(provider: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        open_model(f"{provider}:some-model", env={})
    variable = PROVIDERS[provider].keys[0]
    assert str(caught.value) == f"The model {provider}:some-model needs a key in {variable}."


@pytest.mark.parametrize("provider", ["google", "mistral", "groq", "bedrock"])
def test_a_missing_extra_is_one_sentence_with_the_command(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, PROVIDERS[provider].package, None)  # how Python marks what is not there
    with pytest.raises(ModelUnavailableError) as caught:
        open_model(f"{provider}:m", env={PROVIDERS[provider].keys[0]: "k"})
    wanted = f"The model {provider}:m needs one more package: pip install 'podium[{provider}]'"
    assert str(caught.value) == wanted


def test_the_first_variable_that_is_set_counts() -> None:
    assert access_to("openai:m", {}, {"OPENAI_API_KEY": "a"}).key == "a"
    assert access_to("openai:m", {}, {"OPENAI_API_KEY": "  b  "}).key == "b"
    assert (
        variable("GOOGLE_API_KEY", "GEMINI_API_KEY", env={"GOOGLE_API_KEY": "", "GEMINI_API_KEY": "c"}) == "c"
    )


def test_addresses_come_from_settings_then_from_the_providers_own_variable() -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    assert access_to("openai:m", {}, env).address == "http://127.0.0.1:1/v1"
    mine = {"openai": ProviderOptions(base_url="http://127.0.0.1:2/v1")}
    assert access_to("openai:m", mine, env).address == "http://127.0.0.1:2/v1"


def test_another_address_needs_no_key() -> None:
    assert access_to("openai:m", {}, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}).key == ""


def test_ollama_is_on_loopback_unless_reported_otherwise() -> None:
    assert access_to("ollama:llama3", {}, {}).address == "http://127.0.0.1:11434/v1"
    elsewhere = {"OLLAMA_BASE_URL": "http://10.0.0.7:11434/v1"}
    assert access_to("ollama:llama3", {}, elsewhere).address == "http://10.0.0.7:11434/v1"
    bare = {"OLLAMA_BASE_URL": "http://10.0.0.7:11434/"}
    assert access_to("ollama:llama3", {}, bare).address == "http://10.0.0.7:11434/v1"


@pytest.mark.parametrize("model", ["qwen3", "org/model:7b", "a@b"])
def test_a_model_at_an_address(model: str) -> None:
    access = access_to(f"openai-compatible:{model}@http://127.0.0.1:8000/v1/", {}, {})
    assert (access.model, access.address) == (model, "http://127.0.0.1:8000/v1")


def test_an_openai_key_is_not_sent_to_another_service() -> None:
    env = {"OPENAI_API_KEY": "sk-openai", "OPENAI_COMPATIBLE_API_KEY": "other"}
    assert access_to("openai-compatible:m@https://example.com/v1", {}, env).key == "other"
    del env["OPENAI_COMPATIBLE_API_KEY"]
    assert access_to("openai-compatible:m@https://example.com/v1", {}, env).key == ""


@pytest.mark.parametrize("rest", ["qwen3", "@http://127.0.0.1/v1", "m@ftp://host/v1", "m@"])
def test_an_incomplete_address_shows_the_form(rest: str) -> None:
    with pytest.raises(ModelUnavailableError, match="openai-compatible:MODEL@URL"):
        open_model(f"openai-compatible:{rest}", env={})


@pytest.mark.parametrize(
    "url", ["https://user:hunter2@host/v1", "https://hunter2@host/v1", "https://host/v1?key=hunter2"]
)
def test_an_address_with_a_secret_in_it_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        open_model(f"openai-compatible:m@{url}", env={})
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"
    assert "OPENAI_COMPATIBLE_API_KEY" in caught.value.hint


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ModelUnavailableError, match="no http or https URL"):
        open_model("openai:m", env={"OPENAI_BASE_URL": "localhost:8000"})


def test_the_key_is_not_shown() -> None:
    assert "sk-secret" not in repr(access_to("openai:m", {}, {"OPENAI_API_KEY": "sk-secret"}))


def test_prices() -> None:
    env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    known = open_model("openai:gpt-4o", env=env).price
    assert (known.kind, known.input_per_million > 0, known.output_per_million > 0) == ("known", True, True)
    assert open_model("anthropic:claude-sonnet-4-5", env=env).price.kind == "known"
    assert open_model("openai:no-such-model", env=env).price.kind == "unknown"
    assert open_model("ollama:llama3", env={}).price.kind == "free"
    assert open_model("openai-compatible:m@http://127.0.0.1:9/v1", env={}).price.kind == "unknown"


def test_own_prices_are_stronger() -> None:
    settings = Settings.load(
        env={},
        prices={
            "openai:gpt-4o": {"input": 1.5, "output": 3},
            "openai-compatible:m@http://127.0.0.1:9/v1": {"input": 0.5, "output": 0},
        },
    )
    price = open_model("openai:gpt-4o", settings=settings, env={"OPENAI_API_KEY": "k"}).price
    assert (price.kind, price.input_per_million, price.output_per_million) == ("known", 1.5, 3.0)
    local = open_model("openai-compatible:m@http://127.0.0.1:9/v1", settings=settings, env={}).price
    assert (local.kind, local.input_per_million) == ("known", 0.5)


def test_no_provider_is_imported_before_a_hosted_name_is_used() -> None:
    code = (
        "import sys; from podium.models.registry import open_model; open_model('rehearsal');"
        "assert not {'pydantic_ai', 'openai', 'anthropic', 'genai_prices'} & set(sys.modules);"
        "open_model('openai:gpt-4o', env={'OPENAI_API_KEY': 'k'});"
        "assert 'openai' in sys.modules and 'anthropic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_keys_that_are_set_are_named_once() -> None:
    env = {"OPENAI_API_KEY": "x", "AWS_SECRET_ACCESS_KEY": "y", "PATH": "/bin", "GROQ_API_KEY": " "}
    assert keys_set(env) == ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"]


def test_a_provider_with_a_client_of_its_own_has_an_opener() -> None:
    assert {name for name, provider in PROVIDERS.items() if provider.package != "openai"} <= set(OPENERS)
    assert set(OPENERS) <= set(PROVIDERS)
