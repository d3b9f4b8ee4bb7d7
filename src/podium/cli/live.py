"""Live view of a run with its footer.

Lines are appended, never redrawn, so the scrollback stays complete; only the footer is transient. Above it a
workflow may draw the state of its run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.text import Text

from podium.cli.layout import NARROW, drawn, fit, meter, one_row, row_of, shorten, shorten_path, tail
from podium.cli.terminal import hide_controls, print_raw
from podium.dimensions import RESERVED
from podium.engine.core import Delta
from podium.engine.events import Event
from podium.engine.state import RunState
from podium.report.event_lines import line_of
from podium.report.presentation import GENERIC, Presentation
from podium.report.turns import step_call
from podium.report.words import amount, clock, count, limit_words, money, one_line, unknown_calls

ROOM_FOR_WORDS = 16
"""Minimum width in cells for showing words of a reply."""
NOTHING_HEARD: Mapping[str, str] = MappingProxyType({})


def footer_of(
    state: RunState,
    elapsed: float,
    width: int,
    heard: Mapping[str, str] = NOTHING_HEARD,
    *,
    pausing: bool = False,
) -> tuple[str, str]:
    """Return the two lines of the footer. The first has status and current step, with the last words of the
    reply being written (`heard`, by path); the second has the spending against every limit."""
    doing = "? waiting" if state.questions and not state.in_flight else "● running"
    head = f"{'■ pausing' if pausing else doing} {clock(elapsed)}"
    if state.budget.seconds is not None:
        head += f" of {clock(state.budget.seconds)}"
    places = _places(state, width - len(head) - 2, heard)
    return shorten(f"{head}  {places}", width), shorten(_spend(state, width), width)


def _places(state: RunState, width: int, heard: Mapping[str, str]) -> str:
    """Return the newest running step, the number of others, and the words being written."""
    if state.questions and not state.in_flight:
        return one_row(next(iter(state.questions.values())).question, width)
    flying = state.in_flight
    if not flying:
        return ""
    step = max(flying, key=lambda step: step.started_seq)
    newest = step.path
    shown = step_call(step, max(width - 6, 8)) or shorten_path(one_line(newest), max(width - 6, 8))
    shown += f" +{len(flying) - 1}" if len(flying) > 1 else ""
    room = width - cell_len(shown) - 3
    words = one_line(heard.get(newest, ""))
    return f"{shown}  …{tail(words, room)}" if words and room >= ROOM_FOR_WORDS else shown


def _spend(state: RunState, width: int) -> str:
    """Return the spending against every limit. Parts that do not fit are dropped, the
    least important first."""
    usage, budget = state.usage, state.budget
    spent = money(usage.usd)
    if budget.usd is not None:
        bar = meter(usage.usd, budget.usd, 6 if width < NARROW else 10)
        spent = f"{money(usage.usd)} of {money(budget.usd)} {bar}"
    calls = count(usage.calls, "call")
    if budget.calls is not None:
        calls = f"{usage.calls + state.forfeited.calls} of {budget.calls} calls"
    parts = [spent, calls, f"{len(state.in_flight)} in flight"]
    for dimension in RESERVED:
        limit = getattr(budget, dimension.name)
        if limit is not None and dimension.name not in ("usd", "calls"):
            used = getattr(usage, dimension.charge)
            parts.insert(2, f"{amount(used)} of {limit_words(dimension.name, limit)}")
    if budget.tokens is None and usage.tokens:
        parts.append(count(usage.tokens, "token"))
    if usage.unpriced_calls:
        parts.append(count(usage.unpriced_calls, "unpriced call"))
    if usage.unknown_calls:
        parts.append(unknown_calls(usage))
    if state.saved.calls:
        parts.append(f"{amount(state.saved.calls)} from the cache")
    while len(parts) > 1 and len("  ".join(parts)) + 2 > width:
        parts.pop()
    return "  " + "  ".join(parts)


REFRESH_S = 0.25
MOST_DRAWN, LEAST_DRAWN = 12, 3
"""Maximum and minimum number of lines of a workflow's drawing above the footer."""
HEARD = 200
"""Characters kept of a reply while it is written."""


class View(Protocol):
    """Output of a run's progress."""

    def start(self) -> None:
        """Start drawing. An event loop is running."""
        ...

    def show(self, event: Event) -> None:
        """Show one event."""
        ...

    async def listen(self, deltas: AsyncIterable[Delta]) -> None:
        """Receive reply deltas while replies are written. They are not in the log."""
        ...

    def note(self, text: str) -> None:
        """Show a notice that is not in the log, such as a requested pause."""
        ...

    def stop(self) -> None:
        """Leave the screen in its final state."""
        ...


class Silence:
    """Shows nothing (`--quiet`, and `--json` without a terminal)."""

    def start(self) -> None:
        """Do nothing."""

    def show(self, event: Event) -> None:
        """Do nothing."""

    async def listen(self, deltas: AsyncIterable[Delta]) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


class JsonLines(Silence):
    """Prints each event as one line of JSON on stdout (`run --events`)."""

    def show(self, event: Event) -> None:
        print_raw(event.to_json())


class Lines(Silence):
    """Plain lines for logs, pipes and dumb terminals."""

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
        """The workflow's presentation. It has applied the same events as `state`."""
        self._everything = everything
        self._asks = asks
        """True if a person is asked the questions right after this; then they are not printed
        here as well."""

    def show(self, event: Event) -> None:
        self.state.apply(event)
        self.shown.apply(event)
        if self._asks and event.type == "run.waiting":
            return
        if not self._everything and self.shown.is_hidden(event):
            return  # before its line is made: most events of a large run are hidden
        line = line_of(event, self.state, self.shown)
        if self._everything or line.weight != "trace":
            self.console.print(row_of(line, event.path, event.time, self.console), soft_wrap=True)

    def note(self, text: str) -> None:
        self.console.print(Text(fit(text, self.console)), soft_wrap=True)


class LiveLines(Lines):
    """Lines with a footer that shows the current step, the spending and the elapsed time."""

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
            auto_refresh=False,  # what a workflow prints appears above the footer (Rich redirects it)
        )
        self._ticking: asyncio.Task[None] | None = None
        self._show_controls: Callable[[], None] | None = None

    async def listen(self, deltas: AsyncIterable[Delta]) -> None:
        """Keep the last words of every reply being written; a new attempt starts over."""
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
        """Return the workflow's drawing. It takes at most half the screen, so that the lines above stay
        readable."""
        most = min(MOST_DRAWN, (self.console.height - 4) // 2)
        return drawn(self.shown.drawing(most, alive=True), self.console) if most >= LEAST_DRAWN else []
