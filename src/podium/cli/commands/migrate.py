"""`podium migrate`: make a store, or bring its tables to this version."""

from __future__ import annotations

from importlib.util import find_spec

from podium.cli.flags import AsJson, EngineName, StoreUrl
from podium.cli.terminal import print_json, say
from podium.cluster.opening import QUEUED, open_engine
from podium.errors import StoreError, UsageError
from podium.settings import Settings
from podium.stores import is_postgres
from podium.stores.address import shown
from podium.stores.migrating import Migrated, migrate_store


async def migrate(*, store: StoreUrl = None, engine: EngineName = None, json: AsJson = False) -> int:
    """Make a store, or bring its tables to this version.

    Every command does so when it opens a store. On its own it is for the moment of an upgrade, before many
    machines open the store at once, and for a user who may change tables when the others may not: the queue
    of workers in PostgreSQL is made, too.
    """
    settings = Settings.load(store=store, engine=engine)
    try:
        migrated = await migrate_store(settings.store)
        await _make_queue(settings)
    except StoreError as error:
        raise UsageError(str(error), hint=error.hint or "Choose another with --store.") from error
    where = shown(settings.store)
    if json:
        print_json({"store": where, "before": migrated.before, "after": migrated.after})
    else:
        say(_told(where, migrated))
    return 0


async def _make_queue(settings: Settings) -> None:
    """Where workers are installed and would find their queue in this store."""
    if is_postgres(settings.store) and settings.engine in QUEUED and find_spec("procrastinate") is not None:
        await (await open_engine(settings.engine, settings.store)).close()


def _told(where: str, migrated: Migrated) -> str:
    before, after = migrated
    if not before:
        return f"Made the store {where} with schema {after}."
    if before == after:
        return f"The store {where} has schema {after}, the newest that this version knows."
    return f"Brought the store {where} from schema {before} to {after}."
