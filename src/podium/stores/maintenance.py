"""Copying of runs, and migration of stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from podium.engine.codec import decode
from podium.engine.log import UNREADABLE, Row, RunRow, Store, damaged_event
from podium.errors import StoreError, UnknownRunError, UsageError
from podium.settings.places import store_file
from podium.stores import is_postgres, open_store, shown
from podium.stores.sqlite.connection import schema_version


class Copied(NamedTuple):
    """Counts of a copied run."""

    run: RunRow
    events: int
    blobs: int
    messages: int


async def copy_run(run_id: str, source: Store, target: Store) -> Copied:
    """Copy a run without a driver: its log, the blobs that the log names, its summary and its inbox. Reads
    the copy back and compares. Raises `RunLockedError`, or `UsageError` if the target already has the run."""
    await _check_new(run_id, target)
    lease = await source.acquire(run_id)  # no process may drive it meanwhile
    try:
        run, rows = await source.get(run_id), await source.read(run_id)
        blobs = {digest: await source.get_blob(digest) for digest in _named(rows)}
        messages = await source.inbox(run_id)
        try:
            await target.create(msgspec.structs.replace(run, start_key=""), rows, blobs.values())
        except StoreError:
            await _check_new(run_id, target)  # another process may have copied it first
            raise
        for message in messages:
            await target.post(run_id, message.kind, message.data)
        await _compare(run_id, rows, blobs, target)
    finally:
        await source.release(lease)
    return Copied(run, len(rows), len(blobs), len(messages))


async def _check_new(run_id: str, target: Store) -> None:
    try:
        run = await target.get(run_id)
    except UnknownRunError:
        return
    raise UsageError(
        f"The store {shown(target.url)} has a run {run.run_id} already.",
        hint="A run is copied once; nothing was changed.",
    )


def _named(rows: Sequence[Row]) -> list[str]:
    """Return the digests of the blobs that a log names, each once."""
    digests: dict[str, None] = {}
    for row in rows:
        try:
            data: dict[str, Any] = dict(decode(row.data))
        except UNREADABLE as error:
            raise damaged_event(row, error) from error
        if data.get("blob"):
            digests[str(data["blob"])] = None
    return list(digests)


async def _compare(run_id: str, rows: list[Row], blobs: dict[str, bytes], target: Store) -> None:
    same = await target.read(run_id) == rows
    for digest, data in blobs.items():
        same = same and await target.get_blob(digest) == data
    if not same:
        raise StoreError(
            f"Run {run_id} in {shown(target.url)} differs from the original.",
            hint="Do not use that copy; the original is unchanged.",
        )


class Migrated(NamedTuple):
    """The schema version before (0: no store) and after."""

    before: int
    after: int


async def migrate_store(url: str) -> Migrated:
    """Create the store or migrate its tables to this version, as opening does, and return the versions."""
    before = await _version(url)
    async with open_store(url):
        pass
    return Migrated(before, await _version(url))


async def _version(url: str) -> int:
    file = store_file(url)
    if file is not None:
        return schema_version(file)
    if not is_postgres(url):
        return 0  # no other store keeps a version
    try:
        from podium.stores.postgres.connection import read_version  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError:
        return 0  # opening it reports what is missing
    return await read_version(url)
