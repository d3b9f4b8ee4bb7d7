"""A model that says what a rehearsal says, with a hostile text behind every sentence of it."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any, cast

from tests.payloads import payloads

import podium
from podium.models.rehearsal import Rehearsal

BEACON = "http://beacon.invalid"
TEXTS = payloads(BEACON)
SHORT = 190


async def answer(call: podium.Call) -> Any:
    reply = (await Rehearsal().complete(call)).text
    if call.schema is None:
        return "\n\n".join([reply, *TEXTS])
    bad = cycle(TEXTS[len(call.path) % len(TEXTS) :] + TEXTS)
    return _spoilt(json.loads(reply), bad)


def _spoilt(value: Any, bad: Any) -> Any:
    """Everything that is prose; words by themselves may be names that something depends on."""
    if isinstance(value, dict):
        return {key: _spoilt(item, bad) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_spoilt(item, bad) for item in cast("list[Any]", value)]
    return _longer(value, next(bad)) if isinstance(value, str) and " " in value else value


def _longer(original: str, text: str) -> str:
    """Titles may not be long; then the text stands alone, or is left out."""
    return next(
        (candidate for candidate in (f"{original} {text}", text, original) if len(candidate) < SHORT),
        original,
    )


@podium.workflow
async def spoils(run: podium.Run, request: str) -> dict[str, object]:
    """Hostile texts as names, kinds and contents of files, and as keys and values of the result."""
    for text in TEXTS:
        await run.artifact(text, text, text)
    return {"shown": TEXTS, "by name": {text: text for text in TEXTS}}
