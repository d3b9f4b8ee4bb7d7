"""Trace destination from the settings and the OTEL_* variables: whether runs are traced live, where to, and
with what content."""

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
    """The address that spans are sent to, and whether they contain content."""

    endpoint: str
    """Full URL; empty: as the OTEL_* variables say, else a collector on this machine."""
    content: bool
    """Include prompts, replies and error messages."""


def destination_of(settings: Settings, env: Mapping[str, str] | None = None) -> Destination | None:
    """Return the destination; `None` if runs are not traced. Raises if tracing is requested in the settings
    but not possible; the variables may be meant for other programs."""
    chosen = settings.otel
    enabled = chosen if isinstance(chosen, bool) else None if chosen is None else chosen.enabled
    if enabled is False or (enabled is None and not collector_named(env)):
        return None
    if not installed():
        if enabled:
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
    """Return whether the extra is installed, without loading its packages."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def wants_content(env: Mapping[str, str] | None = None) -> bool:
    """Return whether the variable for recording messages, which other instrumentations use too, is set."""
    return variable(_CONTENT, env=env).lower() not in ("", "0", "false", "no_content")


def full_address(endpoint: str) -> str:
    """Return an address with the default path of a collector, if it has none."""
    if not endpoint or urlsplit(endpoint).path.strip("/"):
        return endpoint
    return endpoint.rstrip("/") + _PATH


def shown_address(endpoint: str, env: Mapping[str, str] | None = None) -> str:
    """Return an address for messages, without a password."""
    address = endpoint or full_address(variable(*_ENDPOINTS, env=env)) or f"http://localhost:4318{_PATH}"
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def collector_named(env: Mapping[str, str] | None = None) -> bool:
    """Return whether the standard variables name an HTTP collector and nothing disables traces."""
    if variable("OTEL_SDK_DISABLED", env=env).lower() == "true":
        return False
    if variable("OTEL_TRACES_EXPORTER", env=env).lower() not in ("", "otlp"):
        return False
    return bool(variable(*_ENDPOINTS, env=env)) and variable(*_PROTOCOLS, env=env).lower() != "grpc"


def is_http(address: str) -> bool:
    """Return whether an address is an HTTP URL."""
    parts = urlsplit(address)
    return parts.scheme in ("http", "https") and bool(parts.hostname)
