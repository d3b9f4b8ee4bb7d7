"""Names of models: those that work, and what is said about the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import ModelUnavailableError
from podium.models.registry import open_model
from podium.stores import open_store


def test_rehearsal() -> None:
    assert open_model("rehearsal").rehearsal


def test_a_function() -> None:
    assert open_model(f"python:{__file__}:answer").name.endswith("test_registry.py:answer")


async def answer(call: object) -> str:
    return ""


async def test_replay_needs_a_store_and_a_run(tmp_path: Path) -> None:
    async with open_store(str(tmp_path / "store.sqlite")) as store:
        assert open_model("replay:abc123", store=store).name == "replay:abc123"
        with pytest.raises(ModelUnavailableError, match="names no run"):
            open_model("replay:", store=store)
    with pytest.raises(ModelUnavailableError, match="needs a store"):
        open_model("replay:abc123")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("rehersal", "rehearsal?"),
        ("Rehearsal", "rehearsal?"),
        ("pyhton:file.py:answer", "python:file.py:answer?"),
        ("reply:abc", "replay:abc?"),
        ("rehearsal:fast", "rehearsal?"),
        ("opnai:gpt-5", "openai:gpt-5?"),
        ("file.py:answer", "python:file.py:answer?"),
    ],
)
def test_a_misspelt_name_is_corrected(name: str, meant: str) -> None:
    with pytest.raises(ModelUnavailableError, match=f"There is no model {name}") as caught:
        open_model(name)
    assert f"Did you mean {meant}" in caught.value.hint


@pytest.mark.parametrize("name", ["", "zzz", "gpt-5"])
def test_an_unknown_name_is_reported_which_names_work(name: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        open_model(name)
    assert caught.value.hint.startswith("These work: rehearsal")


@pytest.mark.parametrize("name", ["openai", "openai:", "anthropic:"])
def test_a_provider_without_a_model_shows_the_form(name: str) -> None:
    with pytest.raises(ModelUnavailableError, match="names no model") as caught:
        open_model(name, env={})
    assert caught.value.hint == f"Write it as {name.removesuffix(':')}:MODEL."
