"""Waiting for a person: the question and the answer are in the log, the wait needs no process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from podium.engine.codec import fingerprint
from podium.engine.core import Answer, Asking, Core
from podium.engine.events import RunAnswered, RunWaiting
from podium.engine.recall import mark_stale, was_stale


async def ask_person(core: Core, question: str, choices: Sequence[str], details: Any, key: str | None) -> Any:
    """The recorded answer, or the one that a person gives now."""
    branch = core.enter()
    path = branch.take("question", key)
    mark = fingerprint([question, list(choices)])
    seq, known = core.memo.answered.get(path, (0, None))
    if known is not None and known.fingerprint == mark and seq >= branch.stale_before:
        was_stale(core, branch, path, seq)
        return known.answer
    if core.replaying:
        raise core.diverged(path, "the log does not hold an answer to this question")
    if known is not None:
        changed = known.fingerprint != mark
        mark_stale(core, branch, path, "the question changed" if changed else "an earlier step ran again")
    asking = core.as_logged(
        RunWaiting(question=question, choices=list(choices), details=details, fingerprint=mark)
    )
    seq, asked = core.memo.asked.get(path, (0, None))
    if asked is None or asked.fingerprint != mark:
        seq = core.journal.append(path, asking)
        await core.committed()
    core.asked[path] = asking
    answer = await _answer(core, path, seq)
    del core.asked[path]
    answered = core.as_logged(RunAnswered(answer=answer.value, by=answer.by, fingerprint=mark))
    core.emit(path, answered)
    await core.committed()
    core.handled.append(answer.message)
    return answered.answer


async def _answer(core: Core, path: str, seq: int) -> Answer:
    asking = Asking(seq, asyncio.get_running_loop().create_future())
    core.questions[path] = asking
    for early in core.early_answers.pop(path, ()):
        core.answer(path, early)
    core.rest()
    try:
        return await asking.future
    finally:
        del core.questions[path]
        core.wake()
