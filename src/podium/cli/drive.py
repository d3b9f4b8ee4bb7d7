"""Foreground execution of runs, hand-over to a fleet, and request text."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from podium.api import RunHandle, answer, resume
from podium.api.outcome import watched
from podium.cli.card import print_card, print_header, print_quietly
from podium.cli.commands.runs import summary_of
from podium.cli.failure import INTERRUPTED, OK, CrashedError
from podium.cli.flags import OutputFlags
from podium.cli.live import JsonLines, Lines, LiveLines, Silence, View
from podium.cli.store import Commands
from podium.cli.terminal import ask_person, err, interactive, out, print_json, print_raw, say
from podium.cluster.fleet import Fleet
from podium.cluster.port import LOCAL, open_engine
from podium.engine.log import RunRow, Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.engine.workflow import Estimate
from podium.errors import PodiumError, StoreAwayError, UsageError
from podium.report.words import safe
from podium.settings import Settings
from podium.settings.places import at_home

HARD_EXIT_S = 2.0
"""Seconds that the second Ctrl-C waits for an orderly end before the process exits."""


class Foreground:
    """Shows one run in the way that a command's output flags ask for."""

    def __init__(self, settings: Settings, store: Store, flags: OutputFlags) -> None:
        self.settings = settings
        self.store = store
        self.flags = flags
        self.commands = Commands(settings)

    @property
    def for_people(self) -> bool:
        return not (self.flags.json or self.flags.events or self.flags.quiet)

    async def drive(self, handle: RunHandle, *, after: int = 0) -> int:
        """Follow the run to its end, or until it waits for an answer that cannot be given here. Returns the
        exit code. If this process fails (a closed pipe, a bug), the run is paused first and its id is
        reported."""
        self._handle = handle
        try:
            return await self._drive(after)
        except StoreAwayError as error:
            await self._pause()
            error.hint += (
                f" Finished steps are saved. Continue with `{self.commands('resume', handle.run_id)}`."
            )
            raise
        except (PodiumError, OSError):
            await self._pause()
            raise
        except Exception as error:
            await self._pause()
            raise CrashedError(handle.run_id) from error

    async def _drive(self, after: int) -> int:
        run_id = self._handle.run_id
        if self.for_people:
            print_header(await self._begun(after))
        while True:
            result = await self._follow(after)
            if result.status != "waiting" or not (self.for_people and interactive()):
                break
            after = (await self._state(run_id)).last_seq
            if not await self._ask(result):
                break
            self._handle = await resume(run_id, store=self.store, settings=self.settings)
        await self._present(result)
        return result.exit_code

    async def _begun(self, after: int) -> RunState:
        """Return the state once this drive is in the log, with its budget and model."""
        async with aclosing(self._handle.events(after)) as events:
            await anext(events, None)
        return await self._state(self._handle.run_id)

    async def _follow(self, after: int) -> RunResult:
        """Show the run until it ends, pauses or waits."""
        view = await self._view(self._handle.run_id, after)
        view.start()
        listening = asyncio.create_task(view.listen(self._handle.deltas()))
        try:
            with pausing(self._handle, view.note, self.settings.pause_grace, view.stop):
                async for event in self._handle.events(after):
                    view.show(event)
                return await self._handle.result()
        finally:
            listening.cancel()
            view.stop()

    async def _pause(self) -> None:
        if not self._handle.done:
            await self._handle.pause(at_once=True)

    async def _view(self, run_id: str, after: int) -> View:
        if self.flags.events:
            return JsonLines()
        if self.flags.quiet or (self.flags.json and not err().is_terminal):
            return Silence()
        console = err() if self.flags.json else out()
        events, shown = await watched(self.store, await self.store.get(run_id), until=after)
        state = RunState.of(events)
        live = console.is_terminal and not console.is_dumb_terminal
        asks = self.for_people and interactive()
        view = LiveLines if live else Lines
        return view(console, state, shown, asks=asks)

    async def _state(self, run_id: str) -> RunState:
        """Return the current state, folded from the log."""
        return RunState.of(row.to_event(run_id) for row in await self.store.read(run_id))

    async def _ask(self, result: RunResult) -> bool:
        """Ask the person at this terminal the run's questions. Returns False if one is left unanswered."""
        for path, question in result.questions.items():
            reply = await ask_person(question, path if len(result.questions) > 1 else "")
            if reply is None:
                return False
            await answer(
                result.run_id, reply, question=path, by="terminal", store=self.store, settings=self.settings
            )
        return True

    async def _present(self, result: RunResult) -> None:
        if self.flags.json:
            print_json(result.to_json())
            return
        if self.flags.events:
            return
        events, shown = await watched(self.store, await self.store.get(result.run_id))
        state = RunState.of(events)
        if self.flags.quiet:
            print_quietly(result, state, shown, self.commands)
        else:
            print_card(result, state, shown, self.commands)


@contextmanager
def pausing(
    handle: RunHandle,
    note: Callable[[str], None],
    grace_s: float,
    stop: Callable[[], None] = lambda: None,
) -> Generator[None]:
    """Pause durably on the first Ctrl-C or SIGTERM, immediately on the second. A process that still hangs
    exits."""
    loop = asyncio.get_running_loop()
    presses = 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            notice = f"Pausing: calls in flight get {grace_s:g} s to finish. Ctrl-C again stops at once."
            note(notice)
        handle.request_pause("interrupted")
        if presses == 2:
            loop.call_later(HARD_EXIT_S, _leave, stop)
        elif presses > 2:
            _leave(stop)

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, pressed)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _leave(stop: Callable[[], None]) -> None:
    """Exit this process now. The log contains everything that was finished; `resume` continues from there."""
    with suppress(OSError):
        stop()
    os._exit(INTERRUPTED)


@asynccontextmanager
async def fleet_of(settings: Settings, store: Store) -> AsyncGenerator[Fleet]:
    """Open the fleet of a store. Raises `UsageError` for the engine `local`."""
    if settings.engine == LOCAL:
        raise UsageError("The engine `local` has no workers.", hint="Omit --engine, or name another.")
    engine = await open_engine(settings.engine, settings.store)
    try:
        yield Fleet(store, settings, engine)
    finally:
        await engine.close()


def report_queued(row: RunRow, settings: Settings, output: OutputFlags) -> int:
    """Report a run that was handed over to the fleet. Returns the exit code."""
    if output.json:
        print_json(summary_of(row))
    elif output.quiet:
        print_raw(row.run_id.encode())
    else:
        say(f"Run {row.run_id} is queued for a worker.")
        say((f"Watch it with: {Commands(settings)('events', row.run_id, '--follow')}", "dim"))
    return 0


STDIN = "@-"
"""Internal form of `-`: the parser would take a bare hyphen for an option."""


def read_request(argument: str, what: str = "request", hint: str = "Describe what the run should do.") -> str:
    """Return the text of a request or an answer (`what`) from the argument, stdin (`-`) or a file (`@FILE`).
    Raises `UsageError` if it is empty or unreadable."""
    if argument == STDIN:
        text, source = sys.stdin.buffer.read().decode("utf-8-sig", "replace"), "Standard input"
    elif argument.startswith("@") and len(argument) > 1:
        text, source = _read_file(at_home(argument[1:])), argument[1:]
    else:
        text, source = argument, f"The {what}"
    if not text.strip():
        raise UsageError(f"{source} is empty.", hint=hint)
    return text


def _read_file(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            hint="`@FILE` reads a file. For a text that begins with @, put a space before it.",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from error


def print_estimate(estimate: Estimate, *, as_json: bool) -> int:
    """Print an estimate and return the exit code."""
    if as_json:
        print_json(estimate.data)
    else:
        for line in estimate.lines:
            say(safe(line))
    return OK
