"""A store with something of everything in it, and ways to damage it."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import podium
from podium.engine.events import Charge
from podium.engine.store_parts import Fact, FactChange, Sample
from podium.settings import Settings
from podium.stores import open_store
from tests.cli.shell import FLOWS

FINISHED, WAITING = "finished.id", "waiting.id"
"""Files beside the store with the ids of its runs."""


def make_store(path: Path) -> None:
    """Make a store with a finished and a waiting run, an artifact, large outputs, facts and a cache."""
    asyncio.run(_fill(path))


async def _fill(path: Path) -> None:
    async with open_store(str(path)) as store:
        finished = await podium.run(f"{FLOWS}:chain", "rain", store=store, settings=Settings())
        large = await podium.run(f"{FLOWS}:say", "x" * 100_000, store=store, settings=Settings())
        waiting = await podium.run(f"{FLOWS}:asking", "go", store=store, settings=Settings())
        assert (finished.status, large.status, waiting.status) == ("completed", "completed", "waiting")
        facts = [
            Fact(
                id=f"fact{n}",
                project="p",
                subject=f"Mara {n}",
                predicate="eyes",
                value="green",
                kind="character",
                source_run=finished.run_id,
                status="proposed",
                created_at="2026-01-01T00:00:00Z",
                updated_at="2026-01-01T00:00:00Z",
            )
            for n in range(200)
        ]
        change = FactChange(project="p", fact="", at="2026-01-01T00:00:00Z", by="x", action="imported")
        await store.add_facts(facts, change)
        store.keep_sample(
            Sample(id="s1", key="k", number=1, model="m", data=b"x" * 50, charge=Charge(calls=1)), 10**9
        )
    for name, run_id in ((FINISHED, finished.run_id), (WAITING, waiting.run_id)):
        path.with_name(name).write_text(run_id, encoding="ascii")


Damage = Callable[[Path], None]


def truncated(share: float, more: int = 0) -> Damage:
    def damage(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: max(1, int(len(data) * share) + more)])

    return damage


def garbled(first: float, last: float, seed: int = 1) -> Damage:
    """Overwrite a part of the file with noise."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        start, end = int(len(data) * first), int(len(data) * last)
        data[start:end] = random.Random(seed).randbytes(end - start)
        path.write_bytes(data)

    return damage


def header(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(random.Random(1).randbytes(100) + data[100:])


def every_third_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    noise = random.Random(3)
    for start in range(4096 * 2, len(data), 4096 * 3):
        data[start : start + 4096] = noise.randbytes(min(4096, len(data) - start))
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("These are notes, and no database.\n" * 100, encoding="utf-8")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def unreadable(path: Path) -> None:
    path.chmod(0o000)


def sql(*statements: str) -> Damage:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as db:
            for statement in statements:
                db.execute(statement)
            db.commit()

    return damage


def noise_in_the_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").write_bytes(random.Random(5).randbytes(40_000))


DAMAGES: dict[str, Damage] = {
    "truncated to one byte": truncated(0, 1),
    "truncated in the header": truncated(0, 60),
    "truncated after the header": truncated(0, 100),
    "truncated in the first page": truncated(0, 3000),
    "truncated after a page": truncated(0, 4096),
    "truncated to a tenth": truncated(0.1),
    "truncated to a half": truncated(0.5),
    "truncated at the end": truncated(1, -100),
    "one page short": truncated(1, -4096),
    "garbled header": header,
    "garbled after the header": garbled(0.01, 0.2),
    "garbled middle": garbled(0.4, 0.6),
    "garbled end": garbled(0.7, 1.0),
    "garbled pages": every_third_page,
    "garbled write-ahead log": noise_in_the_log,
    "zero bytes": empty,
    "a text": text,
    "a folder": folder,
    "unreadable": unreadable,
    "a newer schema": sql("PRAGMA user_version = 999"),
    "broken JSON in every event": sql("UPDATE event SET data = CAST('{\"a\": [1, ' AS BLOB)"),
    "other JSON in every event": sql("UPDATE event SET data = CAST('[1, 2]' AS BLOB)"),
    "text that is no UTF-8 in every event": sql("UPDATE event SET data = x'7b2261223a22fffe227d'"),
    "broken JSON in finished steps": sql(
        "UPDATE event SET data = CAST('{' AS BLOB) WHERE type = 'step.completed'"
    ),
    "broken figures in calls": sql(
        "UPDATE event SET data = CAST(replace(CAST(data AS TEXT), '\"calls\":1', '\"calls\":1.5') AS BLOB) "
        "WHERE type = 'model.attempted'"
    ),
    "no events": sql("DELETE FROM event"),
    "no first event": sql("DELETE FROM event WHERE type = 'run.created'"),
    "no blobs": sql("DELETE FROM blob"),
    "broken blobs": sql("UPDATE blob SET data = x'00ff'"),
    "broken facts": sql(
        "UPDATE fact_change SET before = '{', after = '{'", "UPDATE fact SET kind = 'nothing'"
    ),
    "broken messages": sql("INSERT INTO inbox (run, kind, data) SELECT number, 'answer', x'7b' FROM run"),
    "wrong types": sql("UPDATE run SET usd = 'much', input_tokens = 'x', created_us = 'y', updated_us = ''"),
    "absurd times": sql(
        "UPDATE run SET created_us = 9223372036854775807", "UPDATE event SET time_us = 9223372036854775807"
    ),
    "a missing table": sql("DROP TABLE event"),
    "a missing column": sql("ALTER TABLE run RENAME COLUMN owner TO whose"),
}


def damaged(source: Path, target: Path, damage: Damage) -> Path:
    """Copy the whole store of `source` into `target`, damage it, and return its path."""
    for name in ("podium.sqlite", FINISHED, WAITING):
        shutil.copyfile(source / name, target / name)
    path = target / "podium.sqlite"
    damage(path)
    return path
