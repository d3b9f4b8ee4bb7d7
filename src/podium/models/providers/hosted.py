"""Hosted models, opening them, and prompt-cache hints.

System prompt and schema come first in every request, so the calls of one agent share a prefix; the prompt,
which changes, comes last. A hint is part of the request itself and never a request of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, cast
from warnings import filterwarnings

import msgspec
from pydantic_ai import UsageExtractionFailedWarning
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model as Backend
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import CacheConfig, ModelSettings

from podium.engine.codec import decode, encode
from podium.engine.events import Charge
from podium.engine.owner_budget import SharedLimits
from podium.errors import ModelUnavailableError
from podium.models.catalogue import Access
from podium.models.model import (
    FREE,
    Call,
    ModelFault,
    OnDelta,
    Price,
    Reply,
    Usage,
    charge,
    impossible,
    input_bytes,
)
from podium.models.prices import Rates, rates_of, window_of
from podium.models.provider_limits import GUARDS, ProviderLimits
from podium.models.providers.clients import TALLY, Opened, Tally, open_backend, stopped
from podium.models.providers.formats import (
    MODES,
    WRAPPED,
    Mode,
    best_mode,
    clean,
    fault_of,
    ordered,
    parameters,
    refusal_of,
    text_of,
    usage_of,
)
from podium.settings import OwnPrice

LONG = 4096
"""Bytes, about 1,000 tokens: no provider caches less, so a hint would be useless."""

_ROUTED = ("openai", "openai-chat")
"""Providers that cache by themselves and use a key to find calls with the same prefix."""


def prefix_bytes(call: Call) -> int:
    """Return the size of the request prefix that stays the same in the next call of this agent."""
    schema = 0 if call.schema is None else len(encode(call.schema))
    return len(call.system.encode("utf-8", "replace")) + schema


def hints(provider: str, call: Call) -> ModelSettings:
    """Return the cache hints for the settings of a request; providers without hints ignore them. Google
    caches by itself and takes no hint that is not a request of its own."""
    if prefix_bytes(call) < LONG:
        return ModelSettings()
    told: dict[str, Any] = {"cache": CacheConfig(messages=False)}
    if provider in _ROUTED:
        told["openai_prompt_cache_key"] = _word(call)
    return cast("ModelSettings", told)


def _word(call: Call) -> str:
    """Return a key that is the same for all calls with the same prefix. A hash, so that it reveals
    nothing."""
    return f"podium-{hashlib.blake2b(encode([call.system, call.schema]), digest_size=12).hexdigest()}"


filterwarnings("ignore", category=UsageExtractionFailedWarning)  # such a call is counted as estimated
MOST_TEXT = 4_000_000
"""Maximum characters of one streamed reply."""
_FINISH = {"tool_call": "stop"}
"""A reply through the answer tool is complete."""
_FRAME, _TOOL_FRAME = 200, 800
"""Tokens that providers add around messages, and around a schema or a tool."""


class HostedModel:
    """A model of a provider."""

    rehearsal: bool = False

    def __init__(
        self,
        name: str,
        opened: Opened,
        rates: Rates,
        guard: ProviderLimits,
        *,
        mode: Mode = "",
        hinted: bool = True,
        mark: Sequence[str] = (),
        window: int | None = None,
    ) -> None:
        self.name = name
        self.guard = guard
        self._backend = opened.backend
        self._provider = name.partition(":")[0]
        self._rates = rates
        self._mode: Mode = mode
        """Structured-output mode of the settings; empty: the best one."""
        self._hinted = hinted
        """Cache hints are sent to the provider."""
        self._mark = [*mark, mode]
        self._close = opened.close
        self._profile = opened.backend.profile
        profile: dict[str, Any] = dict(self._profile)
        self.longest_reply: int | None = profile.get("anthropic_max_output_tokens") or window
        """Maximum tokens that the model can write, if known; its context window is a bound too."""
        self._tempered = _takes_temperature(opened.backend)

    @property
    def price(self) -> Price:
        return self._rates.price

    async def close(self) -> None:
        """Close its connections."""
        await self._close()

    def worst_case(self, call: Call) -> Charge:
        """Return the worst-case cost. Schemas are rewritten for some providers, so they count twice."""
        schema = 0 if call.schema is None else len(encode(call.schema)) + _TOOL_FRAME
        tokens = Usage(input_bytes(call) + schema + _FRAME, call.max_tokens)
        hinted = self._hinted and prefix_bytes(call) >= LONG
        return charge(self._rates.at(tokens.input_tokens, remembered=hinted), tokens)

    def cache_mark(self, call: Call) -> list[str]:
        """Return what its replies depend on besides the call: the address and the structured-output mode."""
        return self._mark

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        """Answer a call. If a client refuses a schema for its strict mode before anything is sent, use the
        next mode."""
        modes = self._modes(call.schema)
        for mode in modes:
            try:
                return await self._ask(call, mode, on_delta)
            except ModelFault as fault:
                fault.mode = mode
                if fault.calls or mode == modes[-1]:
                    raise
        raise AssertionError("there is always a way of asking")

    def _modes(self, schema: dict[str, Any] | None) -> list[Mode]:
        if schema is None:
            return [""]
        best = self._mode or best_mode(self._profile, schema, self._backend.system)
        return MODES[MODES.index(best) :]

    async def _ask(self, call: Call, mode: Mode, on_delta: OnDelta | None) -> Reply:
        tally = Tally(read_s=call.timeout)
        token = TALLY.set(tally)
        try:
            asked, wrapped = ModelRequestParameters(), False
            if call.schema is not None:
                schema, wrapped = ordered(call.schema)
                asked = parameters(mode, schema)
            response = await self._respond(call, asked, on_delta, tally)
            return self._reply(response, mode, wrapped, tally)
        except ModelFault:
            raise
        except Exception as error:
            raise fault_of(error, tally, self._backend.base_url or "") from error
        finally:
            TALLY.reset(token)

    async def _respond(
        self, call: Call, asked: ModelRequestParameters, on_delta: OnDelta | None, tally: Tally
    ) -> ModelResponse:
        message = ModelRequest(
            parts=[UserPromptPart(clean(call.prompt))], instructions=clean(call.system) or None
        )
        settings = ModelSettings(max_tokens=call.max_tokens)
        if self._tempered:
            settings["temperature"] = call.temperature
        if self._hinted:
            settings |= hints(self._provider, call)
        if on_delta is None:
            return await model_request(
                self._backend, [message], model_settings=settings, model_request_parameters=asked
            )
        opened = model_request_stream(
            self._backend, [message], model_settings=settings, model_request_parameters=asked
        )
        seen = 0
        async with opened as stream:
            async for event in stream:
                if text := _delta(event):
                    seen += len(text)
                    if seen > MOST_TEXT:
                        raise stopped(tally, f"the answer is longer than {MOST_TEXT // 1_000_000} MB")
                    on_delta(clean(text))
            return stream.get()

    def _reply(self, response: ModelResponse, mode: str, wrapped: bool, tally: Tally) -> Reply:
        calls = max(1, tally.requests)
        if response.state != "complete":
            raise ModelFault(
                "dropped", "the answer broke off", retry=True, billed=True, down=True, calls=calls
            )
        usage = usage_of(response)
        if usage is not None and not impossible(usage):
            usage = self._rates.cost(response.usage, usage)
        text = text_of(response)
        refusal = refusal_of(response)
        ended = response.finish_reason or ""
        return Reply(
            text=refusal or (_unwrapped(text) if wrapped else text),
            usage=usage,
            model=self.name,
            finish="refusal" if refusal else _FINISH.get(ended, ended),
            mode=mode,
            calls=calls,
        )


def _delta(event: Any) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case PartStartEvent(part=ToolCallPart(args=str(text))):
            return text
        case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(text))):
            return text
        case _:
            return ""


def _unwrapped(text: str) -> str:
    """Return the reply inside the object that was put around its schema; any other text is unchanged."""
    try:
        whole = decode(clean(text).encode())
    except (msgspec.DecodeError, RecursionError):
        return text
    if isinstance(whole, dict) and set(whole) == {WRAPPED}:  # pyright: ignore[reportUnknownArgumentType]
        return encode(whole[WRAPPED]).decode()
    return text


def _takes_temperature(backend: Backend) -> bool:
    """Return whether the model accepts a temperature. Reasoning models refuse it or warn on every call."""
    profile: dict[str, Any] = dict(backend.profile)
    if profile.get("anthropic_disallows_sampling_settings"):
        return False
    thinks = profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default")
    return not (profile.get("openai_supports_reasoning") and thinks)


def open_hosted(
    access: Access, prices: Mapping[str, OwnPrice], limits: SharedLimits | None = None
) -> HostedModel:
    """Open a hosted model. Sends nothing yet. `limits` are the shared rate limits of a fleet."""
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
    """Return the price of a model: from the settings, free (Ollama), or from the tables."""
    if access.provider.name == "ollama" and access.name not in prices:
        return Rates(FREE)
    if access.name in prices:  # also for names that contain an address
        own = prices[access.name]
        return rates_of(access.provider.name, access.model, {f"{access.provider.name}:{access.model}": own})
    return rates_of(access.provider.name, access.model, prices)
