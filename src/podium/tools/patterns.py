"""A model's regular expression runs in a process that can be killed.

Python's `re` cannot be interrupted and holds everything else up meanwhile; one bad pattern runs for ever.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec

from podium.engine.process import run_process
from podium.tools import matching
from podium.tools.matching import Found, Text
from podium.tools.tool import ToolError

MATCHING_SECONDS = 5.0


class _Asked(msgspec.Struct):
    pattern: str
    texts: list[Text]
    limit: int


class _Answer(msgspec.Struct):
    found: list[Found] = []
    error: str = ""


async def match_pattern(pattern: str, texts: list[Text], limit: int) -> list[Found]:
    """Lines that fit the pattern, or a `ToolError` when it is wrong or takes too long."""
    asked = msgspec.json.encode(_Asked(pattern, texts, limit))
    try:
        async with asyncio.timeout(MATCHING_SECONDS):
            done = await run_process([sys.executable, "-I", "-S", matching.__file__], env={}, stdin=asked)
    except TimeoutError as error:
        raise ToolError(f"The pattern took longer than {MATCHING_SECONDS:g} s: use a simpler one.") from error
    if done.returncode != 0 or done.truncated:
        raise ToolError("The pattern could not be searched for: use a simpler one.")
    answer = msgspec.json.decode(done.stdout.encode(), type=_Answer)
    if answer.error:
        raise ToolError(f"The pattern is not a regular expression: {answer.error}.")
    return answer.found
