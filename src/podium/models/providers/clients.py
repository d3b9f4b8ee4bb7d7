"""Provider clients, and an HTTP transport that counts requests and caps responses.

Each client is imported when its provider is first used; most of them are not installed.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import httpx2
from pydantic_ai.models import Model as Backend

from podium.errors import ModelUnavailableError
from podium.models.catalogue import Access

CONNECT_S, WRITE_S, READ_S = 10.0, 60.0, 600.0
"""Timeouts of a client in seconds. A call's own timeout replaces `READ_S`."""
SERVER_TIMEOUT = "X-Server-Timeout"
"""Header with which Google's client tells the server its timeout."""

MOST_BODY = 8_000_000
"""Maximum bytes of a response in one piece; real ones are a hundredth of it."""
MOST_STREAM = 48_000_000
"""Maximum bytes of a streamed response: each piece has some hundred bytes of overhead."""

CONNECTIONS = 1000
IDLE = 20
"""Idle connections that are kept. The pool probes each of them before every request: with a hundred, a single
call took 1.6 ms longer and 200 at once half as long again."""


class Tally:
    """HTTP statistics of one call."""

    __slots__ = ("problem", "read_s", "requests", "status")

    def __init__(self, requests: int = 0, read_s: float | None = None) -> None:
        self.requests = requests
        self.read_s = read_s
        """Seconds to wait for the next bytes of the response; `None`: the client's default."""
        self.status = 0
        """HTTP status of the response."""
        self.problem = ""
        """Reason why reading was stopped."""


TALLY: ContextVar[Tally | None] = ContextVar("podium_wire_tally", default=None)
"""The call of the current task."""


class StoppedReadingError(Exception):
    """Reading of a response was stopped because it exceeded a limit."""


class Capped:
    """The bytes of a response, up to a limit."""

    def __init__(self, stream: Any, most: int, tally: Tally | None) -> None:
        self._stream = stream
        self._most = most
        self._tally = tally

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for data in self._stream:
            seen += len(data)
            if seen > self._most:
                raise stopped(self._tally, f"the answer is longer than {self._most // 1_000_000} MB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class CappedStream(Capped, httpx2.AsyncByteStream):
    """The same as a stream class of httpx2."""


def stopped(tally: Tally | None, problem: str) -> StoppedReadingError:
    """Record why reading ends and return the error: the client libraries wrap exceptions raised below
    them."""
    if tally is not None:
        tally.problem = problem
    return StoppedReadingError(problem)


async def count(request: Any) -> None:
    """Request hook: count the request and set the timeout of its call, for every client library."""
    tally = TALLY.get()
    if tally is None:
        return
    tally.requests += 1
    if tally.read_s is None:
        return
    connect = min(CONNECT_S, tally.read_s)
    request.extensions["timeout"] = {"connect": connect, "read": tally.read_s, "write": WRITE_S, "pool": None}
    if SERVER_TIMEOUT in request.headers:
        seconds = max(float(request.headers[SERVER_TIMEOUT]), tally.read_s)
        request.headers[SERVER_TIMEOUT] = str(math.ceil(seconds))


def count_sent(**sent: Any) -> None:
    """Count a request of AWS's client, which calls this in the thread of the request, with this task's
    context."""
    tally = TALLY.get()
    if tally is not None:
        tally.requests += 1


async def cap(response: Any, kind: type[Capped] = CappedStream) -> None:
    """Response hook: limit the size. Rejects compressed responses, which were not requested and could expand
    without limit."""
    tally = TALLY.get()
    if tally is not None:
        tally.status = response.status_code
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise stopped(tally, "the answer is compressed, which was not asked for")
    streamed = "text/event-stream" in response.headers.get("content-type", "")
    response.stream = kind(response.stream, MOST_STREAM if streamed else MOST_BODY, tally)


def timeouts(library: Any = httpx2) -> Any:
    return library.Timeout(connect=CONNECT_S, read=READ_S, write=WRITE_S, pool=None)


def http_client(library: Any = httpx2) -> Any:
    """Return a client of httpx2, or of the older httpx that one provider still uses. Uses hooks, because with
    a custom transport the proxies of the environment would be ignored. Does not follow redirects: a key is
    sent only to the given address."""
    kind = CappedStream
    if library is not httpx2:
        kind = type("CappedStream", (Capped, library.AsyncByteStream), {})
    return library.AsyncClient(
        timeout=timeouts(library),
        limits=library.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"request": [count], "response": [partial(cap, kind=kind)]},
        follow_redirects=False,
    )


NO_KEY = "no-key"
"""Sent if a client requires a key and the server does not."""
WHOLE_STREAMS = {"openai_chat_streaming_requires_finish_reason": True}
"""A stream that ends without a finish reason was cut off: OpenAI always sends one, other servers do not."""


_NO_DOCUMENTS = {"supports_document_input": False}
"""Ollama takes text and images."""


class Opened(NamedTuple):
    """A provider's model, and the function that closes its connections."""

    backend: Backend
    close: Callable[[], Awaitable[Any]]


def open_backend(access: Access) -> Opened:
    """Open the client for a model that `access_to` accepted."""
    return OPENERS.get(access.provider.name, _openai_compatible)(access)


def open_client(access: Access) -> tuple[Any, Callable[[], Awaitable[Any]]]:
    """Return the bare client of an OpenAI-compatible server, for requests other than model calls, and its
    close function."""
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
        access.provider.name, openai_client=_open_ai(access, client)
    )
    kind = _with_call_ids(import_module("pydantic_ai.models.openai").OpenAIChatModel)
    return Opened(kind(access.model, provider=provider), client.aclose)


def _with_call_ids(kind: type[Any]) -> type[Any]:
    """Return a chat model that also reads tool calls whose id is null, as some servers write them."""

    class WithCallIds(kind):
        def _validate_completion(self, response: Any) -> Any:
            for choice in response.choices or ():
                for call in getattr(choice.message, "tool_calls", None) or ():
                    call.id = call.id or ""
            parent: Any = super()
            return parent._validate_completion(response)

    return WithCallIds


def _ollama(access: Access) -> Opened:
    client = http_client()
    provider = import_module("pydantic_ai.providers.ollama").OllamaProvider(
        openai_client=_open_ai(access, client)
    )
    kind = _with_call_ids(import_module("pydantic_ai.models.ollama").OllamaModel)
    return Opened(kind(access.model, provider=provider, profile=_NO_DOCUMENTS), client.aclose)


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
    """Open a Bedrock model. Its client is synchronous and does not use httpx: responses are not capped, but
    its own hook counts requests, and it makes a single attempt. Its timeout cannot be set per call, so it is
    the longest of the settings. Keys and region come from where AWS's own tools look for them."""
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


OPENERS: dict[str, Callable[[Access], Opened]] = {
    "openai": _openai,
    "openai-chat": _openai_chat,
    "ollama": _ollama,
    "openrouter": _openrouter,
    "anthropic": _anthropic,
    "google": _google,
    "mistral": _mistral,
    "groq": _groq,
    "bedrock": _bedrock,
}
"""Providers with a client or a model class of their own."""
