"""Parts of the settings that are tables of their own: prices, providers, traces, facts, news."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from podium.settings.limits import ReplyTokens

HIGHEST_PRICE = 1_000_000.0
"""US dollars per million tokens. A higher price is a mistake of units, and would break sums."""

Natural = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
PerMinute = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
PerMillion = Annotated[float, msgspec.Meta(ge=0, le=HIGHEST_PRICE)]


class OwnPrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, where the price tables do not know it or are wrong: `[prices."openai:gpt-x"]`."""

    input: PerMillion
    """US dollars per million tokens of input."""
    output: PerMillion
    """US dollars per million tokens of output."""
    cache_read: PerMillion | None = None
    """US dollars per million tokens of input that the provider remembered; not given: as `input`."""
    cache_write: PerMillion | None = None
    """US dollars per million tokens of input that the provider was asked to remember; not given: as
    `input`."""

    def __post_init__(self) -> None:
        """Refuse prices that no sum can hold, also those that a program gives."""
        for name in self.__struct_fields__:
            price = getattr(self, name)
            if price is not None and not (math.isfinite(price) and 0 <= price <= HIGHEST_PRICE):
                raise ValueError(f"the price `{name}` must be from 0 to {HIGHEST_PRICE:,.0f}, not {price}")


class ProviderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one provider is talked to: `[providers.openai]`."""

    base_url: str = ""
    """Another address than its own; stronger than the provider's variable."""
    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None
    """Input and output together, as the provider counts them: the longest reply, until it is there."""
    output: Literal["", "native", "tool", "prompted"] = ""
    """How structured replies are asked for; empty: the best way that the model supports."""
    prompt_cache: bool = True
    """Ask the provider to remember what stays the same between calls, where it has a way to be asked."""
    reply_timeout: float | None = None
    """Seconds that one reply of its models may take; written like `time_limit`."""
    reply_tokens: ReplyTokens | None = None
    """Most tokens of one reply of its models."""


class OtelOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Traces of runs for OpenTelemetry: `[otel]`, or just `otel = true`."""

    enabled: bool = True
    endpoint: str = ""
    """Address of a collector that speaks OTLP over HTTP; empty: as the OTEL_* variables say."""
    content: bool = False
    """Send prompts, replies and messages of errors too."""


class BrainOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What projects know: `[brain]`."""

    embedding: str = ""
    """The model that finds facts by meaning: `openai:MODEL`, `ollama:MODEL`, `openai-compatible:MODEL@URL` or
    `python:FILE.py:function`; empty: facts are found by their words and names."""


WebAddress = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$", max_length=2_000)]


class NewsOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where news are looked for: `[news]`."""

    feeds: list[WebAddress] = []
    """RSS or Atom feeds that are read besides; what speaks of the question is taken from them."""
    search: WebAddress | Literal[""] | None = None
    """A search that answers with a feed, with `{query}` where the words go; `""` asks none. Not given:
    Bing News."""
