"""Consoles, prompts, redacted output."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
import termios
import traceback
from collections.abc import Callable
from functools import cache
from typing import Any, BinaryIO

from rich.console import Console
from rich.text import Text

from podium.engine.codec import encode
from podium.engine.events import RunWaiting
from podium.engine.redaction import Redact, redact_text, redactor
from podium.errors import PodiumError
from podium.report.words import document_outline as outline
from podium.report.words import one_line, safe
from podium.settings import Settings

PLAIN_WIDTH = 160
"""How wide tables may be when nobody looks at them on a terminal and no width is given."""


_reserved: BinaryIO | None = None
"""Stdout as it was before it was kept for results."""


def reserve_stdout() -> None:
    """Keep stdout for results: what a workflow or a program that it starts prints goes to stderr."""
    global _reserved
    _reserved = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def abandon_stdout() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, without a complaint at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, _reserved):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())


@cache
def out() -> Console:
    """Results, on stdout."""
    return _console(stderr=False)


@cache
def err() -> Console:
    """Errors and, beside JSON, progress, on stderr."""
    return _console(stderr=True)


class PlainConsole(Console):
    """A console that leaves a broken pipe to us: a run must be paused before the process ends."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    """Rich with its guesses off: text of models is never markup, an emoji code or something to highlight."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    return PlainConsole(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def say(*parts: str | Text | tuple[str, str], to_stderr: bool = False) -> None:
    """Print one line of styled parts; it is folded by the terminal, never by us."""
    console = err() if to_stderr else out()
    console.print(Text.assemble(*parts), soft_wrap=True)


def print_json(value: Any) -> None:
    """Exactly one JSON value and a line end on stdout."""
    print_raw(value if isinstance(value, bytes) else encode(value))


def print_raw(data: bytes) -> None:
    """Bytes on stdout, flushed: a reader at the other end of a pipe sees each line at once."""
    stream = results()
    stream.write(data + b"\n")
    stream.flush()


def results() -> BinaryIO:
    """Where results go: stdout, also when everything else that is printed was sent elsewhere."""
    sys.stdout.flush()
    return _reserved or sys.stdout.buffer


def hide_controls() -> Callable[[], None]:
    """Keep the terminal from printing `^C` into the footer; returns how to undo it."""
    if not sys.stdin.isatty():
        return lambda: None
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    quiet = termios.tcgetattr(number)
    quiet[3] &= ~termios.ECHOCTL
    termios.tcsetattr(number, termios.TCSADRAIN, quiet)
    return lambda: termios.tcsetattr(number, termios.TCSADRAIN, before)


def interactive() -> bool:
    """Whether a person can be asked here and now."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def ask_person(question: RunWaiting, path: str = "") -> str | None:
    """The answer, or `None` when the person leaves without one (Ctrl-C, Ctrl-D)."""
    console = out()
    console.print()
    print_question(console, question, path)
    for number, choice in enumerate(question.choices, 1):
        console.print(Text(f"  {number}. {one_line(choice)}"))
    console.print(Text("  (Ctrl-D leaves it open)", style="dim"))
    while True:
        given = await _read_line("> ")
        if given is None:
            out().print()
            return None
        chosen = choice_of(given.strip(), question.choices)
        if chosen is not None:
            return chosen
        wanted = f" one of: {', '.join(question.choices)}" if question.choices else ""
        out().print(Text(f"Please answer{wanted}."))


async def _read_line(prompt: str) -> str | None:
    """A line from the terminal. Not `input()`: a Ctrl-C between its prompt and its read would be lost."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str | None] = loop.create_future()
    number = sys.stdin.fileno()

    def settle(text: str | None) -> None:
        if not line.done():
            line.set_result(text)

    def readable() -> None:
        settle(os.read(number, 65536).decode("utf-8", "replace") or None)

    loop.add_reader(number, readable)
    loop.add_signal_handler(signal.SIGINT, settle, None)
    loop.add_signal_handler(signal.SIGTERM, settle, None)
    try:
        out().print(Text(prompt), end="")
        return await line
    finally:
        loop.remove_reader(number)
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


def choice_of(given: str, choices: list[str]) -> str | None:
    """What was meant: free text, a choice, its number, or the beginning of exactly one."""
    if not choices or given in choices:
        return given or None
    if given.isdecimal() and 1 <= int(given) <= len(choices):
        return choices[int(given) - 1]
    begun = [choice for choice in choices if given and choice.lower().startswith(given.lower())]
    return begun[0] if len(begun) == 1 else None


def print_question(console: Console, question: RunWaiting, path: str = "") -> None:
    """The question with what belongs to it; `path` tells it from others that are open."""
    asked = (safe(question.question).strip(), "bold")
    where = (f"  {path}" if path else "", "dim")
    console.print(Text.assemble(("? ", "bold yellow"), asked, where), soft_wrap=not console.is_terminal)
    if question.details is not None:
        details = Text(safe(outline(question.details)).strip(), style="dim")
        console.print(details, soft_wrap=not console.is_terminal)


@cache
def _redactor() -> Redact:
    """Return the redactor of this process. Wrong settings are reported elsewhere; variables count anyway."""
    try:
        settings = Settings.load()
    except PodiumError:
        settings = Settings()
    return redactor(settings.secrets())


def clean(text: str) -> str:
    """Return the text without secrets."""
    return redact_text(text, _redactor())


def clean_traceback(error: BaseException) -> str:
    return clean("".join(traceback.format_exception(error)))


class CleanRecord(logging.LogRecord):
    """A log record without secrets, whichever handler prints it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        try:
            message = self.getMessage()
        except (TypeError, ValueError, KeyError):
            return  # wrong arguments: the handler reports them
        if (shown := clean(message)) != message:
            self.msg, self.args = shown, None
        if self.exc_info and self.exc_info[1] is not None:
            self.exc_text = clean("".join(traceback.format_exception(*self.exc_info))).rstrip("\n")


def redact_logs() -> None:
    """Redact all records of Python's logging from now on."""
    logging.setLogRecordFactory(CleanRecord)
