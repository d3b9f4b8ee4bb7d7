"""Asking the person at this terminal what a run wants to know."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from rich.console import Console
from rich.text import Text

from podium.cli.terminal import out
from podium.engine.events import RunWaiting
from podium.report.outline import outline
from podium.report.words import one_line, safe


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
