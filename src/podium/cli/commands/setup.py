"""`podium init` and `podium completion`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from podium.cli.app import build_app
from podium.cli.card import say_line
from podium.cli.flags import AsJson, option
from podium.cli.terminal import out, print_json, print_raw, say
from podium.dimensions import SETTABLE
from podium.errors import UsageError
from podium.settings.places import named

SETTINGS = """\
# Settings of this project. Flags and PODIUM_* variables (PODIUM_MODEL, PODIUM_MAX_USD, ...) override them.

# Model of every agent. "rehearsal" is offline and free; its answers are made up.
# Your own function: "python:FILE.py:function". Without this line, each agent gets the model of its profile.
model = "rehearsal"

# Store of the runs, relative to this file. Default: your data folder, shared by all projects.
# store = "podium.sqlite"

# Time that a write waits for other processes that write to the same SQLite store.
# lock_timeout = "60s"

# Limits of every run; flags override them for one run.
{ceilings}

# Maximum concurrent model calls of one run.
# concurrency = 8

# Time for calls in flight to finish when a run is paused or the server stops.
# pause_grace = "10s"

# Folder of your own prompts, which replace shipped ones; relative to this file. See `podium prompts`.
# prompts = ".podium/prompts"

# Serve identical model calls from a cache, across runs.
# cache = false
# cache_size = "500MB"

# Models of the profiles that agents use, unless `model` is set above. Profiles that are not listed here use
# the first provider whose key is set; see `podium models`.
# [profiles]
# fast = "rehearsal"
# balanced = "rehearsal"
# powerful = ["anthropic:MODEL", "openai:MODEL"]  # the second is the fallback of the first

# Price of a model that is not in the public tables, in US dollars per million tokens.
# [prices."openai-compatible:MODEL@http://127.0.0.1:8000/v1"]
# input = 0.20
# output = 0.60

# Rate limits of a provider.
# [providers.anthropic]
# requests_per_minute = 50
# tokens_per_minute = 40_000
# prompt_cache = false  # send no prompt-cache hints

# MCP servers whose tools agents may use; ${VARIABLE} is read from the environment.
# [mcp.files]
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
""".replace("{ceilings}", "\n".join(f"# {setting} = {limit.example}" for setting, limit in SETTABLE.items()))

WORKFLOW = '''\
"""A small team: three helpers work in parallel, then an editor merges their notes into one text.

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
        voices: Number of helpers, 1 to 5.
        review: Ask a person to approve the result.
    """

    async def think(side: str) -> str:
        return await run.ask(helper, "think", prompt="{{ request }}: {{ side }}?", request=request, side=side)

    outcomes = await run.gather({side: think(side) for side in SIDES[:voices]})
    notes = [outcome.unwrap() for outcome in outcomes.values()]
    text = await run.ask(editor, "merge", prompt=MERGE, notes=notes)
    if review:
        answer = await run.wait_for("Is this good enough?", choices=["approve", "reject"], details=text)
        if answer == "reject":
            return podium.Partial(output=text, reason="rejected")
    return text
'''

FILES = {"podium.toml": SETTINGS, "hello.py": WORKFLOW}


def init(
    folder: Annotated[Path, Parameter(help="Folder for the files.", show_default=False)] = Path(),
    /,
    *,
    force: Annotated[bool, option("Overwrite existing files.")] = False,
    json: AsJson = False,
) -> int:
    """Create podium.toml and an example workflow in a folder."""
    folder = named(folder)
    existing = [name for name in FILES if (folder / name).exists()]
    if existing and not force:
        verb = "exists" if len(existing) == 1 else "exist"
        raise UsageError(f"{' and '.join(existing)} already {verb} here.", hint="Overwrite with --force.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror}.", hint="Name another folder."
        ) from error
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
    shell: Annotated[Shell | None, Parameter(help="Shell; default: the current one.")] = None,
    /,
    *,
    install: Annotated[bool, option("Install the script for your shell.")] = False,
) -> int:
    """Print or install shell completion for bash, zsh or fish.

    Completes commands, flags and run ids.
    """
    chosen = shell or _detected()
    app = build_app()
    if install:
        path = app.install_completion(shell=chosen)
        say(f"Written to {path}. Open a new {chosen} to use it.")
    else:
        print_raw(app.generate_completion(shell=chosen).encode())
    return 0


def _detected() -> Shell:
    try:
        shell = detect_shell()
    except ShellDetectionError as error:
        raise UsageError("The current shell is unknown.", hint="Name it: bash, zsh or fish.") from error
    if shell == "powershell":
        raise UsageError("PowerShell is not supported.", hint="Name one: bash, zsh or fish.")
    return shell
