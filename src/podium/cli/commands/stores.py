"""`podium copy` and `podium migrate`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter

from podium.cli.commands.runs import summary_of
from podium.cli.flags import AsJson, EngineName, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import print_json, say
from podium.cluster.port import QUEUED, open_engine
from podium.engine.log import Store
from podium.errors import RunLockedError, StoreError, UsageError
from podium.report.words import count
from podium.settings import Settings
from podium.stores import is_postgres, open_store
from podium.stores.address import shown
from podium.stores.maintenance import Copied, Migrated, copy_run, migrate_store

To = Annotated[str, Parameter(metavar="URL", help="The store that gets the copy; it is made if need be.")]


async def copy(run: RunId, /, *, to: To, store: StoreUrl = None, json: AsJson = False) -> int:
    """Copy a run into another store, between SQLite and PostgreSQL too.

    Its whole log goes along, so it can be looked at, resumed, replayed and forked there. The original stays:
    go on with one of the two, because a run that is resumed in both places is paid in both.
    """
    target = Settings.load(store=to).store
    async with opened(store) as (settings, source):
        found = await find_run(source, run)
        if target == settings.store:
            raise UsageError("That is the store in which the run is.", hint="Name another with --to.")
        copied = await _copy(found.run_id, source, target)
    where = shown(target)
    if json:
        counts = {"events": copied.events, "blobs": copied.blobs, "messages": copied.messages}
        print_json({"run": summary_of(copied.run), "store": where, **counts})
    else:
        events, values = count(copied.events, "event"), count(copied.blobs, "large value")
        say(f"Copied run {copied.run.run_id} to {where}: {events}, {values}.")
    return 0


async def _copy(run_id: str, source: Store, url: str) -> Copied:
    try:
        async with open_store(url) as target:
            return await copy_run(run_id, source, target)
    except RunLockedError as error:
        raise UsageError(
            f"{error} It cannot be copied while somebody drives it.", hint="Stop it there, or wait."
        ) from error
    except StoreError as error:
        raise UsageError(str(error), hint=error.hint or "Choose another with --to.") from error


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
    """Create the queue, if workers are installed and use a queue in this store."""
    if is_postgres(settings.store) and settings.engine in QUEUED and find_spec("procrastinate") is not None:
        await (await open_engine(settings.engine, settings.store)).close()


def _told(where: str, migrated: Migrated) -> str:
    before, after = migrated
    if not before:
        return f"Made the store {where} with schema {after}."
    if before == after:
        return f"The store {where} has schema {after}, the newest that this version knows."
    return f"Brought the store {where} from schema {before} to {after}."
