"""Opening a provider's client: no hidden retries, explicit time-outs, our own HTTP client.

Each client is imported when its provider is first used; most of them are not installed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, NamedTuple

from pydantic_ai.models import Model as Backend

from podium.errors import ModelUnavailableError
from podium.models.catalogue import Access
from podium.models.providers.transport import CONNECT_S, READ_S, count_sent, http_client, timeouts

NO_KEY = "no-key"
"""What is sent where a client insists on a key and the server does not."""
WHOLE_STREAMS = {"openai_chat_streaming_requires_finish_reason": True}
"""A stream that ends without saying why was cut off: OpenAI always says why, other servers do not."""


class Opened(NamedTuple):
    """A provider's model, and how to close its connections."""

    backend: Backend
    close: Callable[[], Awaitable[Any]]


def open_backend(access: Access) -> Opened:
    """The client for a model that `access_to` has found to be usable."""
    return _OPENERS[access.provider.name](access)


def open_client(access: Access) -> tuple[Any, Callable[[], Awaitable[Any]]]:
    """The bare client of a server that speaks as OpenAI does, for what is no model call; and how to close
    it."""
    client = http_client()
    return _open_ai(access, client), client.aclose


def _open_ai(access: Access, client: Any) -> Any:
    return import_module("openai").AsyncOpenAI(
        api_key=access.key or NO_KEY,
        base_url=access.address or "https://api.openai.com/v1",
        http_client=client,
        max_retries=0,
        timeout=timeouts(),
    )


def _openai(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(
        openai_client=_open_ai(access, client)
    )
    model = import_module("pydantic_ai.models.openai").OpenAIResponsesModel(access.model, provider=provider)
    return Opened(model, client.aclose)


def _openai_chat(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(
        openai_client=_open_ai(access, client)
    )
    model = import_module("pydantic_ai.models.openai").OpenAIChatModel(
        access.model, provider=provider, profile=WHOLE_STREAMS
    )
    return Opened(model, client.aclose)


def _openai_compatible(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.openai_compatible").OpenAICompatibleProvider(
        "openai-compatible", openai_client=_open_ai(access, client)
    )
    model = import_module("pydantic_ai.models.openai").OpenAIChatModel(access.model, provider=provider)
    return Opened(model, client.aclose)


def _ollama(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.ollama").OllamaProvider(
        openai_client=_open_ai(access, client)
    )
    return Opened(
        import_module("pydantic_ai.models.ollama").OllamaModel(access.model, provider=provider), client.aclose
    )


def _openrouter(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.openrouter").OpenRouterProvider(
        openai_client=_open_ai(access, client)
    )
    model = import_module("pydantic_ai.models.openrouter").OpenRouterModel(access.model, provider=provider)
    return Opened(model, client.aclose)


def _anthropic(access: Access) -> Opened:
    client = http_client()
    sdk = import_module("anthropic").AsyncAnthropic(
        api_key=access.key or NO_KEY,
        base_url=access.address or "https://api.anthropic.com",
        http_client=client,
        max_retries=0,
        timeout=timeouts(),
    )
    provider = import_module("pydantic_ai.providers.anthropic").AnthropicProvider(anthropic_client=sdk)
    model = import_module("pydantic_ai.models.anthropic").AnthropicModel(access.model, provider=provider)
    return Opened(model, client.aclose)


def _google(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.google").GoogleProvider(
        api_key=access.key or NO_KEY, base_url=access.address or None, http_client=client
    )
    model = import_module("pydantic_ai.models.google").GoogleModel(
        access.model, provider=provider, settings={"max_retries": 0}
    )
    return Opened(model, client.aclose)


def _mistral(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.mistral").MistralProvider(
        api_key=access.key or NO_KEY, base_url=access.address or None, http_client=client
    )
    model = import_module("pydantic_ai.models.mistral").MistralModel(
        access.model, provider=provider, settings={"max_retries": 0}
    )
    return Opened(model, client.aclose)


def _groq(access: Access) -> Opened:
    client = http_client(import_module("httpx"))
    sdk = import_module("groq").AsyncGroq(
        api_key=access.key or NO_KEY,
        base_url=access.address or None,
        http_client=client,
        max_retries=0,
        timeout=timeouts(import_module("httpx")),
    )
    provider = import_module("pydantic_ai.providers.groq").GroqProvider(groq_client=sdk)
    return Opened(
        import_module("pydantic_ai.models.groq").GroqModel(access.model, provider=provider), client.aclose
    )


def _bedrock(access: Access) -> Opened:
    """Its client is synchronous and speaks no httpx: answers are not capped, but requests are counted by its
    own hook, and it is told to make a single attempt. Its time-out cannot be changed
    for one call, so it is the longest of the settings. Keys and region come from where AWS's own tools
    look for them."""
    boto3 = import_module("boto3")
    if not access.key and boto3.Session().get_credentials() is None:
        raise ModelUnavailableError(
            f"The model {access.name} needs credentials of AWS, for example in AWS_BEARER_TOKEN_BEDROCK."
        )
    if boto3.Session().region_name is None:
        raise ModelUnavailableError(
            f"The model {access.name} needs a region of AWS.", hint="export AWS_DEFAULT_REGION=…"
        )
    config = import_module("botocore.config").Config(
        connect_timeout=CONNECT_S, read_timeout=max(READ_S, access.read_s), retries={"total_max_attempts": 1}
    )
    client = boto3.client("bedrock-runtime", config=config, endpoint_url=access.address or None)
    client.meta.events.register("before-send", count_sent)
    provider = import_module("pydantic_ai.providers.bedrock").BedrockProvider(bedrock_client=client)
    model = import_module("pydantic_ai.models.bedrock").BedrockConverseModel(access.model, provider=provider)

    async def close() -> None:
        client.close()

    return Opened(model, close)


_OPENERS: dict[str, Callable[[Access], Opened]] = {
    "openai": _openai,
    "openai-chat": _openai_chat,
    "openai-compatible": _openai_compatible,
    "ollama": _ollama,
    "openrouter": _openrouter,
    "anthropic": _anthropic,
    "google": _google,
    "mistral": _mistral,
    "groq": _groq,
    "bedrock": _bedrock,
}
