"""Kills drivers of a workflow with SIGKILL, resumes its runs, and reports each as a JSON line.

    python -m tests.engine.programs.kill_lab FOLDER CASE INSTANTS STRIDE SEED

The first line is a run that is not disturbed. INSTANTS runs are killed at random instants; runs that end
before their instant do not count. One run is killed at every STRIDE-th event of the log (0: none).
Every process is forked from this one, which has loaded everything: a life costs milliseconds.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

import podium
from podium.cli.main import main as command_line
from podium.engine.log import Written
from podium.settings import Settings
from podium.stores.sqlite.store import SqliteStore
from tests.engine.programs import crash_flow, kill_models
from tests.engine.programs.kill_flows import CASES, MODELS, Case
from tests.engine.programs.kill_log import Life, Report, Seen, look

Ready = Callable[[], None]
Work = Callable[[Ready], Coroutine[Any, Any, None]]

ROOMY = 1000
"""A ceiling that is never met: under any ceiling each call is logged before it is made."""


# ── processes ──


def drive(work: Work, kill_after: float | None = None) -> bool:
    """Run `work` in a process of its own; return whether it was killed. `kill_after` counts the seconds from
    the moment at which the process says that it is ready."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live(work, writing)
    os.close(writing)
    try:
        if kill_after is not None and os.read(reading, 1):
            ended, _, _ = select.select([reading], [], [], kill_after)
            if not ended:
                os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    finally:
        os.close(reading)
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        raise SystemExit(f"A driver failed: {status}.")
    return os.WIFSIGNALED(status)


def _live(work: Work, writing: int) -> None:
    code = 1
    try:
        asyncio.run(work(lambda: void(os.write(writing, b"."))))
        code = 0
    except BaseException:  # noqa: BLE001 - a forked process must not return into the lab
        traceback.print_exc()
    finally:
        os._exit(code)


def void(_: object) -> None:
    """Drop a value."""


class KillingStore(SqliteStore):
    """A store that kills its process at the nth event: while it is queued, or as soon as it is durable."""

    countdown = 0
    durable = False

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._queue_row = self.append
        self.append = self._append_and_kill

    def _append_and_kill(self, lease: Any, row: Written) -> None:
        self._queue_row(lease, row)
        self.countdown -= 1
        if (
            self.countdown == 0 and self.durable
        ):  # as everywhere, what is queued in one go is committed in one
            asyncio.get_running_loop().call_soon(self._commit_and_kill, lease)
        elif self.countdown == 0:
            self._kill()

    def _commit_and_kill(self, lease: Any) -> None:
        waiter = self.commit(lease)
        if waiter is None:
            self._kill()
        else:
            waiter.add_done_callback(lambda _: self._kill())

    @staticmethod
    def _kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)


# ── one run ──


class Trial:
    """One run of a case in a store of its own, over all its lives."""

    def __init__(self, folder: Path, case: Case, number: int) -> None:
        self._case = case
        self._store = str(folder / f"{number}.sqlite")
        self._calls = folder / f"{number}.calls"
        self._calls.touch()
        os.environ[kill_models.CALLS] = str(self._calls)
        crash_flow.CALLS = self._calls
        roomy = ROOMY if number % 2 and not case.counts_steps else None
        self.calls = case.calls or roomy
        self.lives: list[Life] = []
        self._read = 0
        self._settings = Settings.load(cwd="/", env={})
        if case.profile:
            names = [f"python:{MODELS}:{name}" for name in case.profile]
            self._settings = msgspec.structs.replace(self._settings, profiles={"balanced": names})
        options = dict(case.options)
        if case.folder:
            options[case.folder] = str(folder / "files")
        self._options = options

    @property
    def over(self) -> bool:
        return bool(self.lives and self.lives[-1].seen.ended)

    def start(self, kill_after: float | None = None, *, at: int = 0, durable: bool = False) -> bool:
        """The first life; killed after so many seconds, or at an event."""

        async def work(ready: Ready) -> None:
            await self._start(ready, at, durable)

        return self._end(drive(work, kill_after))

    def warm_up(self) -> None:
        """Do everything once in this process, so that what it loads is there for those that are forked."""
        asyncio.run(self._start(lambda: None, 0, False))
        self._end(False)
        kept = os.dup(1)
        self._print_card(self.lives[-1].seen.run_id, Path(os.devnull))
        os.dup2(kept, 1)
        os.close(kept)

    async def _start(self, ready: Ready, at: int, durable: bool) -> None:
        store = await KillingStore.open(self._store)
        assert isinstance(store, KillingStore)
        store.countdown, store.durable = at, durable
        case = self._case
        handle = await podium.start(
            case.workflow,
            "go",
            store=store,
            settings=self._settings,
            options=self._options,
            model=case.model() if case.model else None,
            concurrency=case.concurrency,
            budget=podium.Budget(calls=self.calls),
        )
        ready()
        await handle.result()
        await store.close()

    def resume(self, kill_after: float | None = None, *, calls: int | None = None) -> bool:
        """One more life."""
        run_id = self.lives[-1].seen.run_id
        workflow = self._case.workflow

        async def work(ready: Ready) -> None:
            ready()
            handle = await podium.resume(
                run_id,
                store=self._store,
                settings=self._settings,
                workflow=None if isinstance(workflow, str) else workflow,
                model=self._case.model() if self._case.model else None,
                budget=podium.Budget(calls=calls),
            )
            await handle.result()

        return self._end(drive(work, kill_after))

    def report(self, how: str) -> Report:
        """Report the run. A run that has ended as partial is resumed with a ceiling that is never met."""
        raised = None
        if self.lives[-1].seen.last == "run.partial":
            self.resume(calls=ROOMY)
            raised = self.lives.pop()
        return Report(how, self.calls, self.lives, raised)

    def _end(self, killed: bool) -> bool:
        text = self._calls.read_text()
        new, self._read = text[self._read :], len(text)
        begun = [line.removeprefix("begin ") for line in new.splitlines() if line.startswith("begin ")]
        seen = asyncio.run(look(self._store, counts_steps=self._case.counts_steps))
        shown = self._show(seen) if seen.run_id else {}
        self.lives.append(Life(killed, begun, seen, shown))
        return killed

    def _show(self, seen: Seen) -> dict[str, Any]:
        """Return what `podium show --json` prints."""
        file = self._calls.with_suffix(".json")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = self._print_card(seen.run_id, file)
            finally:
                os._exit(code)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit("`podium show` failed.")
        return msgspec.json.decode(file.read_bytes())

    def _print_card(self, run_id: str, file: Path) -> int:
        """Let `podium show --json` print into a file."""
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, 1)
        os.close(opened)
        code = command_line(["show", run_id, "--json", "--store", self._store])
        sys.stdout.flush()
        return code


# ── many runs ──


class Lab:
    """Runs of one case, one after the other."""

    def __init__(self, folder: Path, case: Case, seed: int) -> None:
        self._folder = folder
        self._case = case
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._whole = 0.0
        """Seconds that a life takes, about."""

    def undisturbed(self) -> Report:
        self._trial().warm_up()
        trial = self._trial()
        began = time.monotonic()
        trial.start()
        self._whole = time.monotonic() - began
        return trial.report("undisturbed")

    def at_an_instant(self) -> Report:
        """Kill a run at a random instant, and in one case of three its resumed process, too."""
        while True:
            trial, after = self._trial(), self._random.uniform(0, self._whole)
            if trial.start(after):
                break
            self._whole *= 0.93  # a busy machine was slower when it was measured
        self._whole *= 1.015
        how = f"killed after {after * 1000:.1f} ms"
        while not trial.over:
            after = self._random.uniform(0, self._whole)
            if self._random.random() < 1 / 3 and len(trial.lives) < 4:
                trial.resume(after)
                how += f", then after {after * 1000:.1f} ms"
            else:
                trial.resume()
        return trial.report(how)

    def at_an_event(self, number: int, *, durable: bool) -> Report:
        """Kill a run at one event of its log."""
        trial = self._trial()
        trial.start(at=number, durable=durable)
        if not trial.over:
            trial.resume()
        return trial.report(f"killed at event {number}, {'durable' if durable else 'queued'}")

    def _trial(self) -> Trial:
        return Trial(self._folder, self._case, next(self._numbers))


def main(folder: Path, name: str, instants: int, stride: int, seed: int) -> None:
    files = folder / "files"
    files.mkdir()
    (files / "prices.txt").write_text("tea 3\ncoffee 4\n")
    (files / "shops.txt").write_text("the market\n")
    lab = Lab(folder, CASES[name], seed)
    first = lab.undisturbed()
    tell(first)
    for _ in range(instants):
        tell(lab.at_an_instant())
    for number in range(1, first.last.seen.events + 1, stride) if stride else ():
        for durable in (False, True) if stride == 1 else (bool(number // stride % 2),):
            tell(lab.at_an_event(number, durable=durable))


def tell(report: Report) -> None:
    print(msgspec.json.encode(report).decode(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
