"""Hosted models, opening them, and prompt-cache hints.

System prompt and schema come first in every request, so the calls of one agent share a prefix; the prompt,
which changes, comes last. A hint is part of the request itself and never a request of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from podium.models.catalogue import PROVIDERS, Access
from podium.models.messages import user
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
    message_size,
)
from podium.models.prices import Rates, rates_of, window_of
from podium.models.prompted_tools import NO_MORE_TOOLS, as_prompted, calls_in_text
from podium.models.provider_limits import GUARDS, ProviderLimits
from podium.models.providers.clients import TALLY, Opened, Tally, open_backend, stopped
from podium.models.providers.conversation import calls_in, native_parts, wire_messages, wire_tools
from podium.models.providers.formats import (
    MODES,
    TOOL,
    WRAPPED,
    Mode,
    ToolMode,
    best_mode,
    clean,
    fault_of,
    ordered,
    parameters,
    refusal_of,
    text_of,
    unreadable_file,
    usage_of,
)
from podium.settings import OwnPrice

LONG = 4096
"""Bytes, about 1,000 tokens: no provider caches less, so a hint would be useless."""

_ROUTED = ("openai", "openai-chat")
"""Providers that cache by themselves and use a key to find calls with the same prefix."""


def prefix_bytes(call: Call) -> int:
    """Return about how large the request prefix is that stays the same in the next call: system prompt,
    schema and tools, and the conversation if it goes on and the rest is short."""
    schema = 0 if call.schema is None else len(encode(call.schema))
    size = len(call.system.encode("utf-8", "replace")) + schema
    if call.tools:
        size += len(encode(call.tools))
    if size < LONG and goes_on(call):
        size += sum(map(message_size, call.messages))
    return size


def goes_on(call: Call) -> bool:
    """Return whether the next request probably begins with this whole conversation."""
    return not call.must_answer and (bool(call.tools) or len(call.messages) > 1)


def hints(provider: str, call: Call) -> ModelSettings:
    """Return the cache hints for the settings of a request; providers without hints ignore them. Google
    caches by itself and takes no hint that is not a request of its own."""
    if prefix_bytes(call) < LONG:
        return ModelSettings()
    settings: dict[str, Any] = {"cache": CacheConfig(messages=goes_on(call))}
    if provider in _ROUTED:
        settings["openai_prompt_cache_key"] = _word(call)
    return cast("ModelSettings", settings)


def _word(call: Call) -> str:
    """Return a key that is the same for all calls with the same prefix. A hash, so that it reveals
    nothing."""
    prefix = [call.system, call.schema, call.tools] if call.tools else [call.system, call.schema]
    return f"podium-{hashlib.blake2b(encode(prefix), digest_size=12).hexdigest()}"


filterwarnings("ignore", category=UsageExtractionFailedWarning)  # such a call is counted as estimated
MOST_TEXT = 4_000_000
"""Maximum characters of one streamed reply."""
_FINISH = {"tool_call": "stop"}
"""A reply through the answer tool is complete."""
_FRAME, _TOOL_FRAME = 200, 800
"""Tokens that providers add around messages, and around a schema or tools."""
_TOOLS_OR_SCHEMA = ("ollama", "openai-compatible")
"""Local servers: a native schema constrains every token there, so that no tool can be called beside it."""
_CHAT = frozenset(name for name, one in PROVIDERS.items() if one.package == "openai") - {"openai"}
"""Providers that speak OpenAI's Chat format: all that use its client, except for its own Responses API."""
_NO_TOOLS = re.compile(
    r"not support (tool|function)|support tool use|tools? (is|are) not supported"
    r"|enable-auto-tool-choice",
    re.IGNORECASE,
)
"""Error replies of servers and models without native tool calling."""


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
        tools: ToolMode = "",
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
        self._prompted = tools == "prompted" or (
            not tools and not opened.backend.profile.get("supports_tools", True)
        )
        """Tools are offered in the system prompt, not through the provider's tool calling."""
        self._may_prompt = not tools
        self._unfinished = False
        """A stream with calls ended without a finish reason, so calls are no longer streamed: some servers
        never send one, and without it a reply that broke off cannot be told from a whole one."""
        self._hinted = hinted
        """Cache hints are sent to the provider."""
        self._mark = [*mark, mode, tools] if tools else [*mark, mode]
        self._close = opened.close
        self._profile = opened.backend.profile
        profile: dict[str, Any] = dict(self._profile)
        self.longest_reply: int | None = profile.get("anthropic_max_output_tokens") or window
        """Maximum tokens that the model can write, if known; its context window is a bound too."""
        self.window = window
        """Context window in tokens, if known."""
        self._tempered = _takes_temperature(opened.backend)

    @property
    def price(self) -> Price:
        return self._rates.price

    async def close(self) -> None:
        """Close its connections."""
        await self._close()

    def worst_case(self, call: Call) -> Charge:
        """Return the worst-case cost. Schemas are rewritten for some providers, so they count twice."""
        frames = _FRAME + (_TOOL_FRAME if call.tools else 0)
        if call.tools and self._prompted:
            call = as_prompted(call)
        schema = 0 if call.schema is None else len(encode(call.schema)) + _TOOL_FRAME
        tokens = Usage(input_bytes(call) + schema + frames, call.max_tokens)
        hinted = self._hinted and prefix_bytes(call) >= LONG
        return charge(self._rates.at(tokens.input_tokens, remembered=hinted), tokens)

    def cache_mark(self, call: Call) -> list[str]:
        """Return what its replies depend on besides the call: the address and the structured-output mode."""
        return self._mark

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        """Answer a call. If a client refuses a schema for its strict mode before anything is sent, use the
        next mode."""
        prompted = bool(call.tools) and self._prompted
        tools: ToolMode = "prompted" if prompted else "native" if call.tools else ""
        self._check_files(call)
        sent = as_prompted(call) if prompted else call
        if call.tools and call.must_answer:
            sent = msgspec.structs.replace(sent, messages=(*sent.messages, user(NO_MORE_TOOLS)))
        modes = self._modes(call, prompted)
        for mode in modes:
            try:
                return await self._ask(call, sent, mode, tools, on_delta)
            except ModelFault as fault:
                fault.mode, fault.tools = mode, tools
                if self._may_prompt and tools == "native" and _NO_TOOLS.search(str(fault)) and fault.status:
                    self._prompted = fault.retry = True
                    fault.wait_s = 0.0
                    raise
                if fault.calls or mode == modes[-1]:
                    raise
        raise AssertionError("there is always a way of asking")

    def _modes(self, call: Call, prompted: bool) -> list[Mode]:
        if call.schema is None:
            return [""]
        callable_tools = bool(call.tools) and not call.must_answer
        if callable_tools and prompted:
            return ["prompted"]  # anything else would only allow the answer
        best = self._mode or best_mode(self._profile, call.schema, self._backend.system)
        if not self._mode and best == "native" and callable_tools and self._provider in _TOOLS_OR_SCHEMA:
            best = "tool"
        return MODES[MODES.index(best) :]

    def _check_files(self, call: Call) -> None:
        """Raise if the model cannot read a file of the conversation."""
        for part in (part for message in call.messages for part in message.files):
            if problem := unreadable_file(self._profile, part):
                raise ModelFault("rejected", problem, calls=0)

    async def _ask(
        self, call: Call, sent: Call, mode: Mode, tools: ToolMode, on_delta: OnDelta | None
    ) -> Reply:
        """Send a call once. `sent` is the call as the provider gets it."""
        tally = Tally(read_s=call.timeout)
        token = TALLY.set(tally)
        try:
            request, wrapped = ModelRequestParameters(), False
            if call.schema is not None:
                schema, wrapped = ordered(call.schema)
                request = parameters(mode, schema)
            if sent.tools and not (sent.must_answer and self._provider == "ollama"):
                # Ollama ignores `tool_choice`, so it gets no tools if it must answer.
                request = replace(request, function_tools=wire_tools(sent.tools))
            response = await self._respond(sent, request, on_delta, tally)
            streamed = on_delta is not None
            reply = self._reply(response, call, tally, mode, tools, wrapped=wrapped, streamed=streamed)
            return _with_calls_in_text(reply, call) if tools == "prompted" else reply
        except ModelFault:
            raise
        except Exception as error:
            raise fault_of(error, tally, self._backend.base_url or "") from error
        finally:
            TALLY.reset(token)

    async def _respond(
        self, call: Call, request: ModelRequestParameters, on_delta: OnDelta | None, tally: Tally
    ) -> ModelResponse:
        if call.messages:
            messages = wire_messages(call, self.name)
        else:
            prompt = UserPromptPart(clean(call.prompt))
            messages = [ModelRequest(parts=[prompt], instructions=clean(call.system) or None)]
        settings = ModelSettings(max_tokens=call.max_tokens)
        if call.must_answer and request.function_tools:
            settings["tool_choice"] = [TOOL] if request.output_tools else "none"
        if self._tempered:
            settings["temperature"] = call.temperature
        if self._hinted:
            settings |= hints(self._provider, call)
        # Mistral's client fails at streamed text beside an answer tool, and later calls replace earlier ones.
        unstreamed = self._provider == "mistral" and (request.function_tools or request.output_tools)
        if on_delta is None or unstreamed or (self._unfinished and request.function_tools):
            return await model_request(
                self._backend, messages, model_settings=settings, model_request_parameters=request
            )
        opened = model_request_stream(
            self._backend, messages, model_settings=settings, model_request_parameters=request
        )
        seen, deltas = 0, _Deltas(TOOL if request.function_tools else "")
        async with opened as stream:
            async for event in stream:
                if text := deltas.text(event):
                    seen += len(text)
                    if seen > MOST_TEXT:
                        raise stopped(tally, f"the answer is longer than {MOST_TEXT // 1_000_000} MB")
                    on_delta(clean(text))
            return stream.get()

    def _finished(self, response: ModelResponse) -> bool:
        """Return whether a stream had a finish reason. Chat models make one up if it is missing."""
        if self._provider in _CHAT and "finish_reason" not in (response.provider_details or {}):
            return False
        return response.finish_reason is not None

    def _reply(
        self,
        response: ModelResponse,
        call: Call,
        tally: Tally,
        mode: Mode,
        tools: ToolMode,
        *,
        wrapped: bool,
        streamed: bool,
    ) -> Reply:
        calls = max(1, tally.requests)
        wanted = calls_in(response, call.tools) if tools == "native" else ()
        paused = response.state == "suspended"
        unfinished = streamed and bool(wanted) and not self._finished(response)
        self._unfinished |= unfinished
        if (response.state != "complete" and not paused) or unfinished:
            raise ModelFault(
                "dropped", "the answer broke off", retry=True, billed=True, down=True, calls=calls
            )
        usage = usage_of(response)
        if usage is not None and not impossible(usage):
            usage = self._rates.cost(response.usage, usage)
        text = text_of(response, tools=tools == "native")
        refusal = refusal_of(response)
        ended = "length" if paused else response.finish_reason or ""  # a paused reply is incomplete
        return Reply(
            text=refusal or (_unwrapped(text) if wrapped else text),
            usage=usage,
            model=self.name,
            finish="refusal" if refusal else _FINISH.get(ended, ended),
            mode=mode,
            calls=calls,
            tool_calls=wanted,
            native=native_parts(response, self.name) if wanted else None,
            tools=tools,
        )


def _with_calls_in_text(reply: Reply, call: Call) -> Reply:
    """Return a reply with the tool calls that its text holds."""
    if reply.finish == "refusal":
        return reply
    calls = calls_in_text(reply.text, call.tools, whole=reply.finish != "length")
    if calls is None:
        return msgspec.structs.replace(reply, finish="length" if reply.finish == "length" else "error")
    return msgspec.structs.replace(reply, tool_calls=calls, text="") if calls else reply


class _Deltas:
    """The text of a streamed reply, piece by piece. Arguments are text only if they are the answer's."""

    def __init__(self, only: str) -> None:
        self._only = only
        """The tool whose arguments are shown; empty: any."""
        self._hidden: set[int] = set()

    def text(self, event: Any) -> str:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                return text
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                return text
            case PartStartEvent(part=ToolCallPart(tool_name=name)) if self._only not in ("", name):
                self._hidden.add(event.index)
            case PartStartEvent(part=ToolCallPart(args=str(text))):
                return text
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(text))):
                return "" if event.index in self._hidden else text
            case _:
                pass
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
        tools=options.tools,
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
