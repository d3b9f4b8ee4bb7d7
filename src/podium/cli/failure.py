"""Error messages: one sentence, a hint and an exit code; as JSON if JSON was requested."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from cyclopts import CycloptsError
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from podium.cli.app import FAMILIES, NAMES
from podium.cli.terminal import clean, clean_traceback, print_json, say
from podium.errors import (
    PodiumError,
    RunInterrupted,
    RunLockedError,
    StoreAwayError,
    StoreFullError,
    StoreGoneError,
    UsageError,
)
from podium.report.words import one_line, safe, sentence
from podium.settings import debug_wanted, nearest

OK, FAILED, USAGE, PARTIAL, STOPPED, WAITING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
"""The exit codes."""


_WANTED: dict[Any, str] = {float: "a number", int: "a whole number", bool: "true or false"}


class CrashedError(Exception):
    """An unexpected exception while a run was driven; its cause is attached."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id


def exit_code_of(error: PodiumError) -> int:
    """Return the exit code for an error that reaches the command line."""
    if isinstance(error, (UsageError, RunLockedError)):
        return USAGE
    if isinstance(error, (StoreFullError, StoreAwayError, StoreGoneError)):
        return STOPPED
    return INTERRUPTED if isinstance(error, RunInterrupted) else FAILED


def print_error(message: str, hint: str = "", *, as_json: bool = False) -> None:
    """Print a message and a hint without secrets, as JSON on stdout or as text on stderr."""
    message, hint = clean(message), clean(hint)
    if as_json:
        print_json({"error": message, "hint": hint})
        return
    say(("Error: ", "bold red"), safe(message), to_stderr=True)
    if hint:
        say(("Hint: ", "bold"), safe(hint), to_stderr=True)


def report_error(error: PodiumError, *, as_json: bool) -> int:
    """Report an error that Podium raised on purpose. Returns the exit code."""
    message = error.on_command_line() if isinstance(error, UsageError) else str(error)
    print_error(sentence(message), error.hint, as_json=as_json)
    return exit_code_of(error)


def report_bug(error: BaseException, *, as_json: bool) -> int:
    """Report a bug in Podium and that the run is saved. Returns the exit code."""
    run_id = error.run_id if isinstance(error, CrashedError) else ""
    cause = error.__cause__ if isinstance(error, CrashedError) and error.__cause__ else error
    what = f"{type(cause).__name__}: {one_line(str(cause))}"
    saved = f"Run {run_id} is saved. Continue it with `podium resume {run_id}`. " if run_id else ""
    message = sentence(f"Unexpected error, this is a bug in Podium: {what}")
    print_error(message, f"{saved}Set PODIUM_DEBUG=1 to see the traceback.", as_json=as_json)
    if debug_wanted():
        sys.stderr.write(clean_traceback(cause))
    return FAILED


def report_usage(error: CycloptsError, *, as_json: bool) -> int:
    """Report an invalid command line. Returns the exit code."""
    error.verbose = False
    message, hint = _explained(error)
    print_error(sentence(message), hint, as_json=as_json)
    return USAGE


def _explained(error: CycloptsError) -> tuple[str, str]:
    command = " ".join(("podium", *(error.command_chain or ())))
    see = f"See `{_page(error, command)} --help`."
    if isinstance(error, UnknownCommandError):
        token = (error.unused_tokens or [""])[0]
        if token.startswith("-"):
            return f"podium has no option {token}", "Options come after the command. See `podium --help`."
        family = FAMILIES.get((error.command_chain or ("",))[0])
        names = NAMES if family is None else tuple(name for name, *_ in family[1])
        meant = nearest(token, names)
        hint = f"Did you mean `{command} {meant}`?" if meant else f"Commands: {', '.join(names)}."
        return f"There is no command {token!r}" if family is None else f"{command} has no {token!r}", hint
    if isinstance(error, UnusedCliTokensError):
        extra = (error.unused_tokens or [""])[0]
        return f"{command} does not take {extra!r} here", f"Put text with spaces in quotes. {see}"
    if isinstance(error, UnknownOptionError):
        return _unknown_option(error, command)
    if isinstance(error, CoercionError) and error.msg is None and error.target_type in _WANTED:
        name = error.token.keyword if error.token else ""
        token = error.token.value if error.token else ""
        return f"{name or 'It'} must be {_WANTED[error.target_type]}, not {token!r}", see
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.keyword or error.argument.name
        if name.startswith("-") and not error.argument.required:
            return f"{name} needs a value", see
        if (command, name) == ("podium run", "WORKFLOW"):
            from podium.workflows import SHIPPED  # noqa: PLC0415 - only this mistake has to know them

            see = f"Shipped workflows: {', '.join(SHIPPED)}; or your own FILE.py. {see}"
        return f"{command} needs {name}", see
    return _split_hint(str(error), see)


def _page(error: CycloptsError, command: str) -> str:
    """Return the command whose help page applies. For `run`, it names the workflow, so that its options are
    included."""
    words = error.root_input_tokens or []
    if words[:1] == ["run"] and len(words) > 1 and not words[1].startswith("-"):
        return f"{command} {shlex.quote(words[1])}"
    return command


def _unknown_option(error: UnknownOptionError, command: str) -> tuple[str, str]:
    option = error.token.keyword or error.token.value
    known = [name for argument in error.argument_collection if argument.parse for name in argument.names]
    meant = nearest(option, [name for name in known if name.startswith("--")])
    if meant:
        return f"{command} has no option {option}", f"Did you mean {meant}?"
    if " " in option:
        shown = one_line(option, 40)
        return f"{command} read {shown!r} as an option", "Put `--` before text that begins with a hyphen."
    options = ", ".join(dict.fromkeys(name for name in known if name.startswith("--")))
    hint = f"Its options: {options}." if options else f"See `{command} --help`."
    return f"{command} has no option {option}", hint


def _split_hint(message: str, otherwise: str) -> tuple[str, str]:
    """Split off the suggestion that cyclopts appends to its message, to show it as the hint."""
    for mark in (" Did you mean", " Choose from"):
        head, separator, tail = message.partition(mark)
        if separator:
            return head, (mark + tail).strip()
    return message, otherwise
