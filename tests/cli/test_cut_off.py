"""What the terminal says of a run whose texts were cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.cli.shell import FLOWS, Shell
from tests.models.wire.answers import Say
from tests.models.wire.server import Wire, serving

NOTE = "Not complete: 1 text was cut off and is not complete: draft.\n"


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A provider that cuts every reply off after 20 tokens."""
    async with serving(Say("It was a dark and", output_tokens=20, finish="length")) as opened:
        yield opened


async def run(podium: Shell, wire: Wire, *words: str) -> tuple[str, str]:
    """Return what a run prints to stdout and to stderr."""
    flow, model = f"{FLOWS}:chain", f"openai-compatible:m@{wire.url}/v1"
    output = await asyncio.to_thread(
        podium, "run", flow, "a storm", "--rounds", "0", "--model", model, *words
    )
    return output.out, output.err


async def test_quiet_says_on_stderr_that_the_result_is_not_complete(podium: Shell, wire: Wire) -> None:
    out, err = await run(podium, wire, "--quiet")
    assert '"request": "a storm"' in out
    assert "complete" not in out
    assert err == NOTE


async def test_people_read_what_was_cut_off_and_what_to_do(podium: Shell, wire: Wire) -> None:
    out, _ = await run(podium, wire)
    card = out[out.index("completed") :]
    assert (
        "at draft was cut off after 20 tokens, before its limit of 4,096 tokens. It is not complete." in card
    )
    assert "raise that, or use another model." in card
    assert card.index("cut off") < card.index('"request"'), "before the result"
    shown = (await asyncio.to_thread(podium, "show", "last")).out
    assert "cut off after 20 tokens" in shown
