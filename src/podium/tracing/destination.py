"""Whether runs are traced while they go, where to, and how much is told: from the settings and the
OTEL_* variables."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit

from podium.errors import SettingsError, UsageError
from podium.settings import OtelOptions, Settings, variable

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PATH = "/v1/traces"
INSTALL = "Install it with `pip install 'podium[otel]'`."


class Destination(NamedTuple):
    """Where spans go."""

    endpoint: str
    """The whole address; empty: as the OTEL_* variables say, else a collector on this machine."""
    content: bool
    """Prompts, replies and messages of errors too."""


def destination_of(settings: Settings, env: Mapping[str, str] | None = None) -> Destination | None:
    """`None`: runs are not traced. Somebody who asked for it in the settings is told what is missing;
    variables may be meant for other programs."""
    chosen = settings.otel
    asked = chosen if isinstance(chosen, bool) else None if chosen is None else chosen.enabled
    if asked is False or (asked is None and not collector_named(env)):
        return None
    if not installed():
        if asked:
            raise UsageError("Tracing is on, but OpenTelemetry is not installed.", hint=INSTALL)
        return None
    options = chosen if isinstance(chosen, OtelOptions) else OtelOptions()
    if options.endpoint and not is_http(options.endpoint):
        raise SettingsError(
            f"The endpoint of [otel] must be an http address, not {options.endpoint!r}.",
            hint='For example: endpoint = "http://localhost:4318".',
        )
    return Destination(full_address(options.endpoint), options.content or wants_content(env))


def installed() -> bool:
    """Whether the extra is there; the packages themselves are not loaded."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def wants_content(env: Mapping[str, str] | None = None) -> bool:
    """The variable by which other instrumentations are told to record messages."""
    return variable(_CONTENT, env=env).lower() not in ("", "0", "false", "no_content")


def full_address(endpoint: str) -> str:
    """An address without a path means the usual one of a collector."""
    if not endpoint or urlsplit(endpoint).path.strip("/"):
        return endpoint
    return endpoint.rstrip("/") + _PATH


def shown_address(endpoint: str, env: Mapping[str, str] | None = None) -> str:
    """For messages: without a password, which an address may hold."""
    given = endpoint or full_address(variable(*_ENDPOINTS, env=env)) or f"http://localhost:4318{_PATH}"
    parts = urlsplit(given)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def collector_named(env: Mapping[str, str] | None = None) -> bool:
    """Whether the standard variables name a collector that speaks HTTP, and nothing switches traces off."""
    if variable("OTEL_SDK_DISABLED", env=env).lower() == "true":
        return False
    if variable("OTEL_TRACES_EXPORTER", env=env).lower() not in ("", "otlp"):
        return False
    return bool(variable(*_ENDPOINTS, env=env)) and variable(*_PROTOCOLS, env=env).lower() != "grpc"


def is_http(address: str) -> bool:
    """Whether a collector could be there."""
    parts = urlsplit(address)
    return parts.scheme in ("http", "https") and bool(parts.hostname)
