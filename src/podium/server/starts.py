"""Starts that are asked for twice: a client that got no answer sends its wish again, under the same name, and
gets the run that it has already started.

The name (`Idempotency-Key`) stands in the run's summary, where an owner can have it only once, and a hash of
the wish in its log; so this holds after a restart, and with several servers on one store.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import Header

from podium.engine.history import history_of
from podium.engine.log import RunRow, Store
from podium.server.contracts.runs import StartRun
from podium.server.problems import RefusedError

MARK = "asked_as"
"""Where the log's config keeps the hash."""
REPEATED = "Idempotent-Replayed"
"""The header of an answer that starts nothing."""

StartKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        pattern=r"^[!-~]*$",
        description="A name for this wish, of your choice and for you alone, such as a UUID. Sent again with "
        "the same body, it brings the run that was started the first time; with another one, 422.",
    ),
]


def digest_of(asked: StartRun) -> str:
    """Bodies that mean the same have the same."""
    return hashlib.sha256(asked.model_dump_json(exclude_unset=True).encode()).hexdigest()


async def started_before(store: Store, owner: str, key: str, asked: StartRun) -> RunRow | None:
    """The run that this wish has started already, if it has."""
    row = await store.find_start(owner, key) if key else None
    if row is None:
        return None
    _, config, _ = history_of(await store.read(row.run_id, types=("run.created",)))
    if config.get(MARK) != digest_of(asked):
        raise RefusedError(
            422,
            f"This Idempotency-Key has started run {row.run_id}, which was asked for otherwise.",
            hint="Send a new key with each new wish.",
        )
    return row
