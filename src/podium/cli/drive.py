"""Driving a run in the foreground: watch it, pause it on Ctrl-C, ask its questions, tell how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import aclosing, contextmanager, suppress

from podium.api import RunHandle, answer, resume
from podium.api.outcome import watched
from podium.cli.card import print_card, print_header, print_quietly
from podium.cli.failure import INTERRUPTED, CrashedError
from podium.cli.flags import OutputFlags
from podium.cli.live import JsonLines, Lines, LiveLines, Silence, View
from podium.cli.opening import Commands
from podium.cli.questions import ask_person
from podium.cli.terminal import err, interactive, out, print_json
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.errors import PodiumError, StoreAwayError
from podium.settings import Settings

HARD_EXIT_S = 2.0
"""How long the second Ctrl-C waits for an orderly end before the process is simply left."""


class Foreground:
    """One command's way of showing a run."""

    def __init__(self, settings: Settings, store: Store, flags: OutputFlags) -> None:
        self.settings = settings
        self.store = store
        self.flags = flags
        self.commands = Commands(settings)

    @property
    def for_people(self) -> bool:
        return not (self.flags.json or self.flags.events or self.flags.quiet)

    async def drive(self, handle: RunHandle, *, after: int = 0) -> int:
        """Follow the run to its end, or until it waits for somebody who is not here. Should this side
        break (a closed pipe, a fault of ours), the run is paused first and its id is told."""
        self._handle = handle
        try:
            return await self._drive(after)
        except StoreAwayError as error:
            await self._pause()
            error.hint += f" What was done is safe: `{self.commands('resume', handle.run_id)}` goes on."
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
        """The state once this stretch is in the log: with the budget and the model that it was given."""
        async with aclosing(self._handle.events(after)) as events:
            await anext(events, None)
        return await self._state(self._handle.run_id)

    async def _follow(self, after: int) -> RunResult:
        """Show one stretch of driving."""
        view = await self._view(self._handle.run_id, after)
        view.start()
        listening = asyncio.create_task(view.listen(self._handle.deltas()))
        try:
            with _pausing(self._handle, view, self.settings.pause_grace):
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
        """What the log tells so far."""
        return RunState.of(row.to_event(run_id) for row in await self.store.read(run_id))

    async def _ask(self, result: RunResult) -> bool:
        """Put the run's questions to the person at this terminal; `False`: left unanswered."""
        for path, question in result.questions.items():
            given = await ask_person(question, path if len(result.questions) > 1 else "")
            if given is None:
                return False
            await answer(
                result.run_id, given, question=path, by="terminal", store=self.store, settings=self.settings
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
def _pausing(handle: RunHandle, view: View, grace_s: float) -> Generator[None]:
    """First Ctrl-C or SIGTERM: pause durably. Second: at once. A process that still hangs is left."""
    loop = asyncio.get_running_loop()
    presses = 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            told = f"Pausing: calls under way get {grace_s:g} s to finish. Ctrl-C again stops at once."
            view.note(told)
        handle.request_pause("interrupted")
        if presses == 2:
            loop.call_later(HARD_EXIT_S, _leave, view)
        elif presses > 2:
            _leave(view)

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, pressed)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _leave(view: View) -> None:
    """End this process now. The log holds everything that was finished; `resume` goes on from there."""
    with suppress(OSError):
        view.stop()
    os._exit(INTERRUPTED)
