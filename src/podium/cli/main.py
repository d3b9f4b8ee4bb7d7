"""The entry point: parse, run one command, turn whatever happens into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

from cyclopts import CycloptsError

from podium.cli.app import build_app
from podium.cli.failure import INTERRUPTED, tell_error, tell_unexpected, tell_usage
from podium.errors import PodiumError

BROKEN_PIPE = 141
"""What a program ends with when the reader of its output has gone (`| head`)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    _forgive_encodings()
    options = tokens[: tokens.index("--")] if "--" in tokens else tokens
    as_json = "--json" in options
    try:
        return _dispatch(tokens)
    except CycloptsError as error:
        return tell_usage(error, as_json=as_json)
    except PodiumError as error:
        return tell_error(error, as_json=as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the outermost frame: nothing may end in a traceback
        return tell_unexpected(error, as_json=as_json)


def _dispatch(tokens: list[str]) -> int:
    run_command = None
    if tokens[:1] == ["run"]:
        # `run` takes the options of the workflow that it is given, so it is parsed in two passes.
        from podium.cli.commands.run import command_for  # noqa: PLC0415 - only `run` pays for it

        tokens = ["@-" if token == "-" else token for token in tokens]
        run_command = command_for(tokens[1:])
    result: Any = build_app(run_command)(
        tokens, exit_on_error=False, print_error=False, result_action="return_value"
    )
    return result if isinstance(result, int) else 0


def _forgive_encodings() -> None:
    """A terminal that cannot show a character shows a question mark, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
