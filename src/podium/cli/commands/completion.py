"""`podium completion`: completion scripts for shells."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from podium.cli.app import build_app
from podium.cli.terminal import print_raw, say
from podium.errors import UsageError

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Annotated[Shell | None, Parameter(help="Which shell; by default the one you are in.")] = None,
    /,
    *,
    install: Annotated[
        bool, Parameter(negative="", show_default=False, help="Write it where the shell finds it.")
    ] = False,
) -> int:
    """Shell completion for bash, zsh or fish.

    Prints the script; --install puts it into place. Commands, flags and run ids are completed.
    """
    chosen = shell or _detected()
    app = build_app()
    if install:
        path = app.install_completion(shell=chosen)
        say(f"Written to {path}; open a new {chosen} to use it.")
    else:
        print_raw(app.generate_completion(shell=chosen).encode())
    return 0


def _detected() -> Shell:
    try:
        found = detect_shell()
    except ShellDetectionError as error:
        raise UsageError("The shell cannot be told from here.", hint="Name it: bash, zsh or fish.") from error
    if found == "powershell":
        raise UsageError("PowerShell is not supported.", hint="Name one: bash, zsh or fish.")
    return found
