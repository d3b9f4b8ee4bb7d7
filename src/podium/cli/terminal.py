"""Where output goes: one console for results, one for errors, JSON as bytes."""

from __future__ import annotations

import os
import shutil
import sys
import termios
from collections.abc import Callable
from functools import cache
from typing import Any, BinaryIO

from rich.console import Console
from rich.text import Text

from podium.engine.codec import encode

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
