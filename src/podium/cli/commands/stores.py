"""`podium copy`, `podium migrate` and `podium cache`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from podium.cli.card import print_table
from podium.cli.commands.runs import summary_of
from podium.cli.flags import AsJson, EngineName, RunId, StoreUrl, duration, option
from podium.cli.store import Commands, find_run, opened
from podium.cli.terminal import confirmed, out, print_json, say
from podium.cluster.port import QUEUED, open_engine
from podium.engine.log import Store
from podium.engine.store_parts import CacheShare, total_of
from podium.errors import RunLockedError, StoreError, UsageError
from podium.report.words import ago, amount, count, model_name, money, one_line, size
from podium.settings import Settings, nearest
from podium.stores import is_postgres, open_store, shown
from podium.stores.maintenance import Copied, Migrated, copy_run, migrate_store

To = Annotated[str, Parameter(metavar="URL", help="Target store; created if missing.")]


async def copy(run: RunId, /, *, to: To, store: StoreUrl = None, json: AsJson = False) -> int:
    """Copy a run into another store, also between SQLite and PostgreSQL.

    The copy has the whole log and can be shown, resumed, replayed and forked. Resume only one of the two:
    resuming both pays for the remaining steps twice.
    """
    target = Settings.load(store=to).store
    async with opened(store) as (settings, source):
        row = await find_run(source, run)
        if target == settings.store:
            raise UsageError("The run is already in that store.", hint="Name another store with --to.")
        copied = await _copy(row.run_id, source, target)
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
            f"{error} A run cannot be copied while a process executes it.", hint="Stop it there, or wait."
        ) from error
    except StoreError as error:
        raise UsageError(str(error), hint=error.hint or "Choose another with --to.") from error


async def migrate(*, store: StoreUrl = None, engine: EngineName = None, json: AsJson = False) -> int:
    """Create a store, or migrate its tables to this version.

    Every command does this when it opens a store. Run it separately during an upgrade of many machines, or
    if only one database user may change tables. Also creates the workers' queue in PostgreSQL.
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
        say(_migration_text(where, migrated))
    return 0


async def _make_queue(settings: Settings) -> None:
    """Create the queue, if workers are installed and use a queue in this store."""
    if is_postgres(settings.store) and settings.engine in QUEUED and find_spec("procrastinate") is not None:
        await (await open_engine(settings.engine, settings.store)).close()


def _migration_text(where: str, migrated: Migrated) -> str:
    before, after = migrated
    if not before:
        return f"Created the store {where} with schema {after}."
    if before == after:
        return f"The store {where} is up to date (schema {after})."
    return f"Migrated the store {where} from schema {before} to {after}."


async def cache(
    action: Annotated[
        Literal["stats", "clear"], Parameter(help="Show statistics, or clear the cache.")
    ] = "stats",
    /,
    *,
    older_than: Annotated[float | None, duration("Clear only answers not used for this time: 30d.")] = None,
    model: Annotated[str, option("Clear only answers of this model.", metavar="MODEL")] = "",
    yes: Annotated[bool, option("Do not ask for confirmation.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Show contents and savings of the cache of model calls, or clear it.

    Runs use the cache with --cache, or with `cache = true` in podium.toml. `cache_size` limits its size; the
    least recently used answers are removed first. The freed space in the store is reused by later runs.
    """
    if action == "stats" and (older_than is not None or model or yes):
        raise UsageError(
            "--older-than, --model and --yes are options of `podium cache clear`.",
            hint="See `podium cache --help`.",
        )
    async with opened(store) as (settings, opened_store):
        shares = await opened_store.cache_shares()
        if action == "stats":
            _print_stats(shares, settings, as_json=json)
            return 0
        full_name = _full_name(model, shares) if model else ""
        if not yes and not await _confirmed(full_name, older_than, as_json=json):
            say("Nothing was cleared.")
            return 0
        before_us = None if older_than is None else time.time_ns() // 1000 - int(older_than * 1e6)
        cleared = await opened_store.clear_cache(before_us=before_us, model=full_name)
    if json:
        print_json({"cleared": {"entries": cleared.entries, "bytes": cleared.bytes}})
    else:
        say(f"Cleared {_answers(cleared.entries)}, {size(cleared.bytes)}.")
    return 0


# ── stats ──


def _print_stats(shares: list[CacheShare], settings: Settings, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_data(shares, settings))
        return
    if not shares:
        say("The cache is empty.")
        say(("Fill it with ", "dim"), Commands(settings)("run", "WORKFLOW", "REQUEST", "--cache"))
        return
    whole = total_of(shares)
    say(
        f"{_answers(whole.entries)}, {size(whole.bytes)} of {size(settings.cache_size)}; "
        f"{count(whole.hits, 'call')} saved, {money(whole.saved.usd)}"
    )
    rows = [_row(share) for share in shares]
    titles = ("model", "answers", "size", "saved calls", "saved", "oldest", "newest")
    print_table(out(), titles, rows, figures=titles[1:], spare=("oldest", "newest", "size"))


def _row(share: CacheShare) -> tuple[str, ...]:
    return (
        one_line(model_name(share.model)),
        amount(share.entries),
        size(share.bytes),
        amount(share.hits),
        money(share.saved.usd),
        _when(share.oldest_us),
        _when(share.newest_us),
    )


def _as_data(shares: list[CacheShare], settings: Settings) -> dict[str, Any]:
    models = [{"model": share.model, **_figures(share)} for share in shares]
    return {**_figures(total_of(shares)), "limit_bytes": settings.cache_size, "models": models}


def _figures(share: CacheShare) -> dict[str, Any]:
    return {**share.figures(), "oldest": _iso(share.oldest_us), "newest": _iso(share.newest_us)}


def _answers(number: int) -> str:
    return count(number, "answer")


def _when(micros: int) -> str:
    return ago(datetime.fromtimestamp(micros / 1_000_000, UTC)) if micros else ""


def _iso(micros: int) -> str | None:
    if not micros:
        return None
    return (
        datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )


# ── clear ──


def _full_name(model: str, shares: list[CacheShare]) -> str:
    """Return the full name of a model, given by its full name or as the list shows it."""
    for share in shares:
        if model in (share.model, model_name(share.model)):
            return share.model
    names = [model_name(share.model) for share in shares]
    close, listed = nearest(model, names), ", ".join(names) or "no answers"
    raise UsageError(
        f"The cache holds no answer of {model}.",
        hint=f"Did you mean {close}?" if close else f"It holds: {listed}.",
    )


async def _confirmed(model: str, older_than: float | None, *, as_json: bool) -> bool:
    which = f" of {model_name(model)}" if model else ""
    old = " that were not used for that long" if older_than is not None else ""
    question = f"Remove the cached answers{which}{old}?"
    return await confirmed(question, action="Clearing the cache", as_json=as_json)
