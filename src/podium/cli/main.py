"""Entry point: parses the command line, runs one command and returns its exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from cyclopts import CycloptsError

from podium.cli.app import build_app
from podium.cli.failure import (
    FAILED,
    INTERRUPTED,
    STOPPED,
    print_error,
    report_bug,
    report_error,
    report_usage,
)
from podium.cli.terminal import abandon_stdout, redact_logs, reserve_stdout
from podium.errors import PodiumError

BROKEN_PIPE = 141
"""Exit code after the reader of stdout has closed the pipe (`| head`)."""
DRIVING = (["run"], ["resume"], ["fork"])
"""Commands that drive a run. When interrupted, they report that the run can be resumed."""
RESULTS_ONLY = frozenset({"--json", "--events", "--quiet"})
"""With these flags only results may appear on stdout, whatever a workflow prints."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if arguments is None:  # run as a program, not called from code
        redact_logs()
    code = _main(arguments)
    if arguments is None and "temporalio" in sys.modules:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """Exit without interpreter shutdown: threads of Temporal's client outlive it, and a busy one would then
    end the process with a signal."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has closed the pipe
            stream.flush()
    os._exit(code)


def _main(arguments: Sequence[str] | None) -> int:
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    _forgive_streams()
    options = tokens[: tokens.index("--")] if "--" in tokens else tokens
    as_json = "--json" in options
    try:
        if not RESULTS_ONLY.isdisjoint(options):
            reserve_stdout()
        return _dispatch(tokens)
    except CycloptsError as error:
        return report_usage(error, as_json=as_json)
    except PodiumError as error:
        return report_error(error, as_json=as_json)
    except KeyboardInterrupt:
        if as_json or tokens[:1] in DRIVING:
            hint = "Continue an interrupted run with `podium resume last`."
            print_error("Interrupted.", hint, as_json=as_json)
        return INTERRUPTED
    except BrokenPipeError:
        abandon_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return report_bug(error, as_json=as_json)
        abandon_stdout()
        print_error("The output cannot be written: the disk is full.", "The log is safe; see `podium runs`.")
        return STOPPED
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # raised by Rich on a help page
            return BROKEN_PIPE
        print_error(
            "The workflow ended the program.", f"It called sys.exit({error.code!r}).", as_json=as_json
        )
        return FAILED
    except Exception as error:  # noqa: BLE001 - the outermost frame: nothing may end in a traceback
        return report_bug(error, as_json=as_json)


def _dispatch(tokens: list[str]) -> int:
    run_command = None
    if tokens[:1] == ["run"] or tokens[:2] == ["brain", "import"]:
        tokens = ["@-" if token == "-" else token for token in tokens]  # a bare hyphen would be an option
    if tokens[:1] == ["run"]:
        # `run` takes the options of the workflow that it is given, so it is parsed in two passes.
        from podium.cli.commands.run import command_for  # noqa: PLC0415 - only `run` pays for it

        run_command = command_for(tokens[1:])
    used, inside = [*tokens[:2], "", ""][:2]
    result: Any = build_app(used, run_command, inside=inside)(
        tokens, exit_on_error=False, print_error=False, result_action="return_value"
    )
    return result if isinstance(result, int) else 0


def _forgive_streams() -> None:
    """Make broken standard streams harmless. A character that the terminal cannot show becomes a question
    mark; a closed output stream discards everything, a closed stdin is empty."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - it lives as long as the process
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - it lives as long as the process
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
