"""Checks of `podium doctor`. Each one tries the real thing and says how to fix a problem."""

from __future__ import annotations

import platform
import shlex
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec

from podium import __version__
from podium.agents.models import without_effect
from podium.engine.codec import encode
from podium.engine.events import RunCreated
from podium.engine.log import Row, RunRow, Store
from podium.errors import PodiumError, RunLockedError
from podium.models.catalogue import (
    PROFILES,
    PROVIDERS,
    Choice,
    behind,
    choose,
    install,
    keys_set,
    models_of,
    why,
)
from podium.models.registry import DEFAULT, is_hosted, offers, open_model
from podium.report.words import size
from podium.settings import Settings
from podium.settings.places import others_may, store_file
from podium.stores import open_store, shown
from podium.tools.sandbox.selection import open_sandbox
from podium.tracing.destination import INSTALL, collector_named, destination_of, installed, shown_address

SLOW_FSYNC_MS = 20.0
LITTLE_DISK = 200_000_000
OLD_SQLITE = (3, 35, 0)


class Check(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    told: str
    fix: str = ""


async def check_all(store: str | None) -> list[Check]:
    """Run all checks, in order of dependency."""
    checks = [_python(), _sqlite()]
    try:
        settings = Settings.load(store=store)
    except PodiumError as error:
        return [*checks, Check("settings", "fail", str(error), error.hint)]
    checks += [_settings(settings), await _store(settings)]
    if checks[-1].state != "fail":  # the lock check needs a store
        checks += [*_privacy(settings)]
        checks += [*_disk(settings), *await _lock(settings)]
    checks += [_keys(), _extras(settings), _models(settings), *_limits(settings), *_tracing(settings)]
    return [*checks, await _sandbox(settings)]


def _python() -> Check:
    return Check("python", "ok", f"Python {platform.python_version()}, Podium {__version__}")


def _sqlite() -> Check:
    detail = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < OLD_SQLITE:
        return Check("sqlite", "fail", detail, "Podium needs SQLite 3.35 or newer.")
    with closing(sqlite3.connect(":memory:")) as trial:
        if trial.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone() is None:
            fix = "`podium brain` needs a Python whose SQLite was built with FTS5; runs do not."
            return Check("sqlite", "warn", f"{detail} without full-text search", fix)
    return Check("sqlite", "ok", detail)


def _settings(settings: Settings) -> Check:
    read = ", ".join(settings.files) or "no podium.toml; defaults are used"
    variables = sorted(source for source in settings.sources.values() if source.startswith("PODIUM_"))
    detail = f"{read}" + (f"; {', '.join(variables)}" if variables else "")
    return Check("settings", "ok", detail)


async def _store(settings: Settings) -> Check:
    where = shown(settings.store)
    try:
        async with open_store(settings.store, lock_timeout=settings.lock_timeout) as store:
            began = time.perf_counter()
            await store.list_runs(limit=1)
            answered_ms = (time.perf_counter() - began) * 1000
    except (PodiumError, OSError) as error:
        hint = error.hint if isinstance(error, PodiumError) else ""
        return Check("store", "fail", f"{where}: {error}", hint or "Choose another with --store.")
    file = store_file(settings.store)
    if file is None:
        return Check("store", "ok", f"{where}, a question takes {answered_ms:.1f} ms")
    try:
        mode, fsync_ms = _measure(file)
    except OSError as error:  # a read-only file system
        return Check("store", "fail", f"{where}: {error}", "Nothing can be written there.")
    detail = f"{where}, journal {mode}, a durable write takes {fsync_ms:.1f} ms"
    if mode.lower() != "wal":
        return Check(
            "store", "warn", detail, "Write-ahead logging is off here: is this a network file system?"
        )
    if fsync_ms > SLOW_FSYNC_MS:
        return Check("store", "warn", detail, "Slow disk: runs with many short steps will wait for it.")
    return Check("store", "ok", detail)


def _privacy(settings: Settings) -> list[Check]:
    """Check whether other users of this machine can read the runs. The permissions of the folder protect its
    files."""
    path = store_file(settings.store)
    if path is None:
        return []
    files = [path, *(path.with_name(f"{path.name}{more}") for more in ("-wal", "-shm", ".locks"))]
    open_files = [file for file in files if file.exists() and others_may(file)]
    if not open_files or not others_may(path.parent):
        return [Check("privacy", "ok", "only you may read the store")]
    names = " ".join(shlex.quote(str(file)) for file in open_files)
    return [Check("privacy", "warn", f"others may read {path}", f"Make it private: chmod go= {names}")]


def _measure(path: Path) -> tuple[str, float]:
    """Return the store's journal mode, and the median time in ms of ten fsynced commits on the same file
    system."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
        mode = str(store.execute("PRAGMA journal_mode").fetchone()[0])
    store.close()
    with TemporaryDirectory(dir=path.parent, prefix=".podium-doctor-") as folder:
        trial = sqlite3.connect(Path(folder) / "trial.sqlite", isolation_level=None)
        trial.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (x)")
        took: list[float] = []
        for _ in range(10):
            began = time.perf_counter()
            trial.execute("INSERT INTO t VALUES (1)")
            took.append(time.perf_counter() - began)
        trial.close()
    return mode, median(took) * 1000


def _disk(settings: Settings) -> list[Check]:
    file = store_file(settings.store)
    if file is None:
        return []
    folder = file.parent
    if not folder.exists():
        return []
    free = shutil.disk_usage(folder).free
    detail = f"{size(free)} free in {folder}"
    if free < LITTLE_DISK:
        return [Check("disk", "warn", detail, "A run pauses when the disk is full; make room.")]
    return [Check("disk", "ok", detail)]


async def _lock(settings: Settings) -> list[Check]:
    """Check that a second driver of a run is refused, in a temporary store beside the real one. Only SQLite
    needs file locks for that."""
    file = store_file(settings.store)
    if file is None:
        return []
    try:
        with TemporaryDirectory(dir=file.parent, prefix=".podium-doctor-") as trial:
            async with open_store(str(Path(trial) / "lock.sqlite")) as store:
                return [await _try_lock(store)]
    except (PodiumError, OSError) as error:
        return [Check("lock", "fail", f"{error}", "Put the store on a local disk.")]


async def _try_lock(store: Store) -> Check:
    created = RunCreated(workflow="doctor", request="")
    row = RunRow(run_id="doctor00doctor", workflow="doctor", request="", status="queued")
    await store.create(row, [Row(1, 1, "", created.type, encode(created))])
    lease = await store.acquire(row.run_id)
    try:
        second = await store.acquire(row.run_id)
    except RunLockedError:
        return Check("lock", "ok", "a second driver of a run is refused")
    finally:
        await store.release(lease)
    await store.release(second)
    return Check("lock", "fail", "two drivers could hold one run", "Put the store on a local disk.")


def _keys() -> Check:
    keys = keys_set()
    if not keys:
        return Check("keys", "ok", "no provider key is set; rehearsal and python: models need none")
    return Check("keys", "ok", f"set: {', '.join(keys)}")


def _extras(settings: Settings) -> Check:
    """Check which providers' clients are installed. A key without its client is a warning."""
    extras = offers(settings)
    there = dict.fromkeys(offer.provider.extra for offer in extras if offer.installed)
    detail = f"installed: {', '.join(there)}" if there else "none is installed; hosted models need one each"
    idle = [offer for offer in extras if offer.key and not offer.installed]
    if idle:
        keys = ", ".join(dict.fromkeys(offer.key for offer in idle))
        fix = install(",".join(dict.fromkeys(offer.provider.extra for offer in idle)))
        return Check("extras", "warn", f"{detail}; without its client: {keys}", fix)
    return Check("extras", "ok", detail)


def _limits(settings: Settings) -> list[Check]:
    """Return a warning for reply limits that match no provider."""
    idle = without_effect(settings)
    if not idle:
        return []
    detail = f"no effect, there is no such provider: {', '.join(idle)}"
    return [Check("limits", "warn", detail, f"Providers: {', '.join(PROVIDERS)}.")]


def _tracing(settings: Settings) -> list[Check]:
    """Check the tracing configuration, if there is one. Nothing is sent."""
    try:
        destination = destination_of(settings)
    except PodiumError as error:
        return [Check("tracing", "fail", str(error), error.hint)]
    if destination is not None:
        content = "with" if destination.content else "without"
        detail = f"to {shown_address(destination.endpoint)}, {content} prompts and replies"
        return [Check("tracing", "ok", detail)]
    if settings.otel is None and collector_named() and not installed():
        return [Check("tracing", "warn", "a collector is named, but OpenTelemetry is not installed", INSTALL)]
    return []


async def _sandbox(settings: Settings) -> Check:
    """Check which sandbox tier is in force, by starting it. Only workflows that run programs need one."""
    try:
        sandbox = await open_sandbox(settings)
    except PodiumError as error:
        return Check("sandbox", "warn", str(error), error.hint)
    if sandbox.tier == "bubblewrap":
        return Check("sandbox", "ok", sandbox.reason)
    return Check("sandbox", "warn", sandbox.reason, "Programs have no sockets in it; bubblewrap is better.")


def _models(settings: Settings) -> Check:
    """Check that the models that a run would use can be opened. `replay:` models need their run and are
    skipped. Nothing is sent, so a wrong key is not detected."""
    choice = choose()
    profiles = behind(settings, choice)
    named = [("model", settings.model)] if settings.model else []
    for profile in dict.fromkeys((*PROFILES, *profiles)):
        named += [(profile, name) for name in models_of(profile, profiles) or [DEFAULT]]
    detail = _models_in_use(settings, choice, named)
    for place, name in named:
        try:
            if not name.startswith("replay:"):
                open_model(name, settings=settings)
        except PodiumError as error:
            where = "`model`" if place == "model" else f"the profile {place}"
            return Check("models", "warn", f"{detail}; {where}: {error}", error.hint)
    hosted = any(is_hosted(name) for _, name in named)
    unproven = "Opened, but no call was made: try `podium models test balanced`." if hosted else ""
    return Check("models", "ok", detail, unproven)


def _models_in_use(settings: Settings, choice: Choice, named: list[tuple[str, str]]) -> str:
    used = [("every agent", settings.model)] if settings.model else named
    names = ", ".join(f"{place} {name}" for place, name in used)
    reason = "" if settings.model else why(settings, choice)
    return f"{names} ({reason})" if reason else names
