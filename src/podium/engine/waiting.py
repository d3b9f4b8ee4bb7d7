"""Waiting for a person: the question and the answer are in the log, the wait needs no process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from podium.engine.codec import fingerprint
from podium.engine.core import Answer, Core
from podium.engine.events import RunAnswered, RunWaiting
from podium.engine.recall import mark_stale
from podium.errors import ReplayDivergedError


async def ask_person(core: Core, question: str, choices: Sequence[str], details: Any, key: str | None) -> Any:
    """The recorded answer, or the one that a person gives now."""
    branch = core.enter()
    path = branch.take("question", key)
    mark = fingerprint([question, list(choices)])
    known = core.memo.answered.get(path)
    if known is not None and known.fingerprint == mark and not branch.dirty:
        return known.answer
    if core.replaying:
        raise ReplayDivergedError(path, "the log does not hold an answer to this question")
    if known is not None:
        mark_stale(core, branch, path, "the question changed")
    asking = RunWaiting(question=question, choices=list(choices), details=details, fingerprint=mark)
    asked = core.memo.asked.get(path)
    if asked is None or asked.fingerprint != mark:
        core.emit(path, asking)
        await core.journal.committed()
    core.asked[path] = asking
    answer = await _answer(core, path)
    del core.asked[path]
    core.emit(path, RunAnswered(answer=answer.value, by=answer.by, fingerprint=mark))
    await core.journal.committed()
    core.handled.append(answer.message)
    return answer.value


async def _answer(core: Core, path: str) -> Answer:
    early = core.early_answers.pop(path, None)
    if early is not None:
        return early
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    core.questions[path] = future
    core.rest(asleep=False)
    try:
        return await future
    finally:
        del core.questions[path]
        core.wake(asleep=False)
