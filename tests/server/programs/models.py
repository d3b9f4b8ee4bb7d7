"""Models for the server's tests."""

from __future__ import annotations

from typing import Any

import podium


async def echo(call: podium.Call) -> str:
    return f"echo of {call.prompt}"


async def dear(call: podium.Call) -> dict[str, Any]:
    """Not asked anything by these tests."""
    return {"text": call.prompt}
