"""What is seen while a run goes on: appended lines and, on a terminal, a footer of two lines.

Lines are appended, never redrawn, so the scrollback stays whole; only the footer is transient. Above it a
workflow may draw how its run stands.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Callable
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from podium.cli.footer import footer_of
from podium.cli.layout import drawn, fit, row_of
from podium.cli.terminal import hide_controls, print_raw
from podium.engine.core import Delta
from podium.engine.events import Event
from podium.engine.state import RunState
from podium.report.presentation import GENERIC, Presentation
from podium.report.tellers import line_of

REFRESH_S = 0.25
MOST_DRAWN, LEAST_DRAWN = 12, 3
"""Lines of a workflow's drawing above the footer."""
HEARD = 200
"""Characters that are kept of a reply while it is written."""


class View(Protocol):
    """Somebody who watches a run."""

    def start(self) -> None:
        """Begin to draw; a loop is running."""
        ...

    def show(self, event: Event) -> None:
        """One more event happened."""
        ...

    async def listen(self, deltas: AsyncIterable[Delta]) -> None:
        """Pieces of replies while they are written; they are in no log."""
        ...

    def note(self, text: str) -> None:
        """This process was told to pause: not in the log yet, perhaps never."""
        ...

    def stop(self) -> None:
        """Leave the screen as it should stay."""
        ...


class Silence:
    """Shows nothing (`--quiet`, and `--json` where nobody looks)."""

    def start(self) -> None:
        """Nothing to draw."""

    def show(self, event: Event) -> None:
        """Nothing to show."""

    async def listen(self, deltas: AsyncIterable[Delta]) -> None:
        """Nobody listens."""

    def note(self, text: str) -> None:
        """Nothing to show."""

    def stop(self) -> None:
        """Nothing to clear."""


class JsonLines(Silence):
    """One event per line as JSON on stdout (`run --events`)."""

    def show(self, event: Event) -> None:
        print_raw(event.to_json())


class Lines(Silence):
    """Plain lines: logs, pipes, dumb terminals."""

    def __init__(
        self,
        console: Console,
        state: RunState,
        shown: Presentation = GENERIC,
        *,
        everything: bool = False,
        asks: bool = False,
    ) -> None:
        self.console = console
        self.state = state
        self.shown = shown
        """How the run's workflow wants it to be told; it has seen the same events as `state`."""
        self._everything = everything
        self._asks = asks
        """The questions are put to a person right after this, so they are not told here as well."""

    def show(self, event: Event) -> None:
        self.state.apply(event)
        self.shown.apply(event)
        if self._asks and event.type == "run.waiting":
            return
        if not self._everything and self.shown.quiets(event):
            return  # before its line is made: most events of a large run are quiet ones
        line = line_of(event, self.state, self.shown)
        if self._everything or line.weight != "trace":
            self.console.print(row_of(line, event.path, event.time, self.console), soft_wrap=True)

    def note(self, text: str) -> None:
        self.console.print(Text(fit(text, self.console)), soft_wrap=True)


class LiveLines(Lines):
    """Lines with a footer that tells where the run is, what it has spent and how long it has taken."""

    def __init__(
        self, console: Console, state: RunState, shown: Presentation = GENERIC, *, asks: bool = False
    ) -> None:
        super().__init__(console, state, shown, asks=asks)
        self._heard: dict[str, str] = {}
        self._pausing = False
        self._began = time.monotonic()
        self._before = state.driven_s
        self._live = Live(
            get_renderable=self._footer,
            console=console,
            transient=True,
            auto_refresh=False,  # what a workflow prints is put above the footer (Rich redirects it)
        )
        self._ticking: asyncio.Task[None] | None = None
        self._show_controls: Callable[[], None] | None = None

    async def listen(self, deltas: AsyncIterable[Delta]) -> None:
        """Keep the last words of every reply that is being written; a new attempt starts over."""
        async for path, _, offset, text in deltas:
            before = self._heard.get(path, "") if offset else ""
            self._heard[path] = (before + text)[-HEARD:]

    def show(self, event: Event) -> None:
        super().show(event)
        if event.type in ("step.completed", "step.failed"):
            self._heard.pop(event.path, None)

    def note(self, text: str) -> None:
        super().note(text)
        self._pausing = True

    def start(self) -> None:
        self._show_controls = hide_controls()
        self._live.start(refresh=True)
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    def stop(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        self._live.stop()
        if self._show_controls is not None:
            self._show_controls()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_S)
            self._live.refresh()

    def _footer(self) -> Text:
        elapsed = self._before + time.monotonic() - self._began
        width = max(self.console.width - 1, 10)
        lines = footer_of(self.state, elapsed, width, self._heard, pausing=self._pausing)
        footer = Text(fit("\n".join(lines), self.console), style="dim", no_wrap=True, overflow="ellipsis")
        return Text("\n", no_wrap=True, overflow="ellipsis").join([*self._drawing(), footer])

    def _drawing(self) -> list[Text]:
        """Never more than half the screen, so that the lines above can still be read."""
        most = min(MOST_DRAWN, (self.console.height - 4) // 2)
        return drawn(self.shown.drawing(most, alive=True), self.console) if most >= LEAST_DRAWN else []
