"""Consoles, prompts and redaction of output."""

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
from podium.errors import PodiumError, UsageError
from podium.report.words import document_outline as outline
from podium.report.words import one_line, safe
from podium.settings import Settings

PLAIN_WIDTH = 160
"""Table width when the output is not a terminal and no width is given."""


_reserved: BinaryIO | None = None
"""The original stdout, if it is reserved for results."""


def reserve_stdout() -> None:
    """Reserve stdout for results: output of a workflow, or of a program that it starts, goes to stderr."""
    global _reserved
    _reserved = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def abandon_stdout() -> None:
    """Discard what is still buffered for stdout, without an error at exit, because the reader has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, _reserved):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())


@cache
def out() -> Console:
    """Console for results, on stdout."""
    return _console(stderr=False)


@cache
def err() -> Console:
    """Console for errors and, with `--json`, for progress, on stderr."""
    return _console(stderr=True)


class PlainConsole(Console):
    """A console that raises `BrokenPipeError` instead of exiting: the run must be paused first."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    """Return a Rich console without its heuristics: text of models is never markup, an emoji code or
    highlighted."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    return PlainConsole(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def say(*parts: str | Text | tuple[str, str], to_stderr: bool = False) -> None:
    """Print one line of styled parts. The terminal wraps it, not this code."""
    console = err() if to_stderr else out()
    console.print(Text.assemble(*parts), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print exactly one JSON value and a newline on stdout."""
    print_raw(value if isinstance(value, bytes) else encode(value))


def print_raw(data: bytes) -> None:
    """Print bytes on stdout and flush, so that the reader of a pipe sees each line at once."""
    stream = results()
    stream.write(data + b"\n")
    stream.flush()


def results() -> BinaryIO:
    """Return the stream for results: the original stdout, even if other output is redirected."""
    sys.stdout.flush()
    return _reserved or sys.stdout.buffer


def hide_controls() -> Callable[[], None]:
    """Keep the terminal from printing `^C` into the footer. Returns a function that undoes it."""
    if not sys.stdin.isatty():
        return lambda: None
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    quiet = termios.tcgetattr(number)
    quiet[3] &= ~termios.ECHOCTL
    termios.tcsetattr(number, termios.TCSADRAIN, quiet)
    return lambda: termios.tcsetattr(number, termios.TCSADRAIN, before)


def interactive() -> bool:
    """Return whether a person at this terminal can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def ask_person(question: RunWaiting, path: str = "") -> str | None:
    """Return the answer, or None if the person gives none (Ctrl-C, Ctrl-D)."""
    console = out()
    console.print()
    print_question(console, question, path)
    for number, choice in enumerate(question.choices, 1):
        console.print(Text(f"  {number}. {one_line(choice)}"))
    for name in question.answers:
        console.print(Text(f'  or JSON: {{"{one_line(name)}": …}}', style="dim"))
    console.print(Text("  (Ctrl-D to answer later)", style="dim"))
    while True:
        line = await read_line("> ")
        if line is None:
            out().print()
            return None
        if question.answers and line.lstrip().startswith("{"):
            return line.strip()
        chosen = choice_of(line.strip(), question.choices)
        if chosen is not None:
            return chosen
        wanted = f" one of: {', '.join(question.choices)}" if question.choices else ""
        out().print(Text(f"Please answer{wanted}."))


async def confirmed(question: str, *, action: str, as_json: bool) -> bool:
    """Ask for a confirmation. Raises `UsageError` if no person can be asked."""
    if as_json or not interactive():
        raise UsageError(f"{action} needs a confirmation.", hint="Add --yes.")
    return await ask_person(RunWaiting(question=question, choices=["yes", "no"])) == "yes"


async def read_line(prompt: str) -> str | None:
    """Read a line from the terminal. Not with `input()`: a Ctrl-C between its prompt and its read would be
    lost."""
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


def choice_of(text: str, choices: list[str]) -> str | None:
    """Return the choice that matches the input: free text, a choice, its number, or a unique prefix. None if
    nothing matches."""
    if not choices or text in choices:
        return text or None
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    begun = [choice for choice in choices if text and choice.lower().startswith(text.lower())]
    return begun[0] if len(begun) == 1 else None


def print_question(console: Console, question: RunWaiting, path: str = "") -> None:
    """Print the question with its details; `path` identifies it among several open questions."""
    title = (safe(question.question).strip(), "bold")
    where = (f"  {path}" if path else "", "dim")
    console.print(Text.assemble(("? ", "bold yellow"), title, where), soft_wrap=not console.is_terminal)
    if question.details is not None:
        details = Text(safe(outline(question.details)).strip(), style="dim")
        console.print(details, soft_wrap=not console.is_terminal)


@cache
def _redactor() -> Redact:
    """Return the redactor of this process. Invalid settings are reported elsewhere; secrets in environment
    variables are redacted anyway."""
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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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
