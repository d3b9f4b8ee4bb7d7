"""`podium init` and `podium completion`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from podium.cli.app import build_app
from podium.cli.card import say_line
from podium.cli.flags import AsJson
from podium.cli.terminal import out, print_json, print_raw, say
from podium.errors import UsageError
from podium.settings.places import named

SETTINGS = """\
# Settings of this project. Stronger ones: flags, then PODIUM_* variables (PODIUM_MODEL, PODIUM_MAX_USD, ...).

# The model for every agent. "rehearsal" is offline and free: it shows the choreography with made-up answers.
# Your own: "python:FILE.py:function". Without this line, each agent gets the model of its profile.
model = "rehearsal"

# Where runs are kept; relative to this file. Without it: your data folder, shared by all projects.
# store = "podium.sqlite"

# Ceilings of every run; flags raise or lower them for one.
# max_usd = 1.00
# max_calls = 100
# max_tokens = 200_000
# time_limit = "30m"

# How many model calls of one run may be under way at once.
# concurrency = 8

# How long calls in flight get to be recorded when a run is paused, or the server stops.
# pause_grace = "10s"

# Prompts of your own in place of shipped ones, see `podium prompts`; relative to this file.
# prompts = ".podium/prompts"

# Serve identical calls from a cache across runs.
# cache = false
# cache_size = "500MB"

# Which models stand behind the profiles that agents ask for. Without `model` above, what is not named here
# comes from the first provider whose key is set; `podium models` shows it.
# [profiles]
# fast = "rehearsal"
# balanced = "rehearsal"
# powerful = ["anthropic:MODEL", "openai:MODEL"]  # the second takes over when the first gives up

# What a model costs, where the public tables do not know it, in US dollars per million tokens.
# [prices."openai-compatible:MODEL@http://127.0.0.1:8000/v1"]
# input = 0.20
# output = 0.60

# How fast a provider may be asked.
# [providers.anthropic]
# requests_per_minute = 50
# tokens_per_minute = 40_000
# prompt_cache = false  # do not ask it to remember long instructions

# MCP servers whose tools agents may use; ${VARIABLE} is filled in when the server is used.
# [mcp.files]
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
"""

WORKFLOW = '''\
"""A small team: three helpers work side by side, then an editor makes one text of what they wrote.

    podium run hello.py "Plan a small garden"
    podium run hello.py "Plan a small garden" --voices 2 --review
"""

import podium

helper = podium.Agent("helper", role="helper", instructions="You answer in a few clear sentences.")
editor = podium.Agent("editor", role="editor", instructions="You merge notes into one short text.")

MERGE = "Merge these notes into one text:\\n{% for note in notes %}- {{ note }}\\n{% endfor %}"
SIDES = ("what is needed", "what can go wrong", "where to begin", "what it costs", "who can help")


@podium.workflow
async def hello(
    run: podium.Run, request: str, *, voices: int = 3, review: bool = False
) -> str | podium.Partial:
    """Several helpers look at a request from different sides; an editor merges their notes.

    Args:
        voices: How many helpers work, 1 to 5.
        review: Ask a person before the result counts.
    """

    async def think(side: str) -> str:
        return await run.ask(helper, "think", prompt="{{ request }}: {{ side }}?", request=request, side=side)

    found = await run.gather({side: think(side) for side in SIDES[:voices]})
    notes = [note.unwrap() for note in found.values()]
    text = await run.ask(editor, "merge", prompt=MERGE, notes=notes)
    if review:
        answer = await run.wait_for("Is this good enough?", choices=["approve", "reject"], details=text)
        if answer == "reject":
            return podium.Partial(output=text, reason="rejected")
    return text
'''

FILES = {"podium.toml": SETTINGS, "hello.py": WORKFLOW}


def init(
    folder: Annotated[Path, Parameter(help="Where to put them.", show_default=False)] = Path(),
    /,
    *,
    force: Annotated[
        bool, Parameter(negative="", show_default=False, help="Overwrite files that exist.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Write podium.toml and an example workflow into this folder."""
    folder = named(folder)
    existing = [name for name in FILES if (folder / name).exists()]
    if existing and not force:
        verb = "exists" if len(existing) == 1 else "exist"
        raise UsageError(f"{' and '.join(existing)} already {verb} here.", hint="--force overwrites.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}.") from error
    written = [str(folder / name) for name in FILES]
    if json:
        print_json({"written": written})
        return 0
    for name in written:
        say_line(out(), ("✓ ", "green"), name)
    say_line(out(), ("Try it  ", "dim"), f'podium run {folder / "hello.py"} "Plan a small garden"')
    return 0


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
