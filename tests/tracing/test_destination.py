"""Whether a run is traced, and where to: settings and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import SettingsError
from podium.settings import OtelOptions, Settings
from podium.tracing.destination import Destination, destination_of, shown_address

HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


def loaded(folder: Path, text: str, env: dict[str, str] | None = None) -> Settings:
    (folder / "podium.toml").write_text(text)
    return Settings.load(folder, env or {})


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("", {}, None),
        ("", HERE, Destination("", False)),
        ("otel = false", HERE, None),
        ("otel = true", {}, Destination("", False)),
        ("[otel]\nenabled = false", HERE, None),
        ('[otel]\nendpoint = "http://c:4318/"', {}, Destination("http://c:4318/v1/traces", False)),
        ('[otel]\nendpoint = "https://c/otlp/v1/traces"', {}, Destination("https://c/otlp/v1/traces", False)),
        ("[otel]\ncontent = true", {}, Destination("", True)),
        (
            "otel = true",
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only"},
            Destination("", True),
        ),
    ],
)
def test_where_traces_go(
    text: str, env: dict[str, str], expected: Destination | None, tmp_path: Path
) -> None:
    assert destination_of(loaded(tmp_path, text), env) == expected


def test_a_variable_switches_it_on_and_off(tmp_path: Path) -> None:
    assert loaded(tmp_path, "", {"PODIUM_OTEL": "on"}).otel is True
    assert loaded(tmp_path, "[otel]\ncontent = true", {"PODIUM_OTEL": "0"}).otel is False


def test_a_wrong_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="true, false, or a table with `endpoint` and `content`"):
        loaded(tmp_path, "[otel]\nurl = 1")


def test_an_endpoint_must_be_an_address() -> None:
    with pytest.raises(SettingsError, match="must be an http address"):
        destination_of(Settings(otel=OtelOptions(endpoint="collector:4318")))


def test_a_password_in_an_address_is_not_shown() -> None:
    assert shown_address("https://me:hidden@c:4318/v1/traces?key=hidden") == "https://c:4318/v1/traces"
