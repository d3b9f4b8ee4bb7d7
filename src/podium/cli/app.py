"""The table of commands. A command's module is imported when the command is used, not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyclopts import App, Group

from podium import __version__
from podium.cli.help import TwoColumns

INTRODUCTION = """\
Run teams of language-model agents you can trust.
Durable, budgeted, watchable, resumable.

Make an example here, run it, look at what it did:
  podium init
  podium run hello.py "Plan a small garden"
  podium show last
"""

GROUPS = ("Run", "Look", "Steer", "Set up")

COMMANDS: tuple[tuple[str, str, str, str, str], ...] = (
    ("Run", "run", "run:run", "WORKFLOW REQUEST", "Start a workflow and follow it."),
    ("Run", "resume", "resume:resume", "[RUN]", "Go on with a run that stopped, from where it was."),
    (
        "Run",
        "replay",
        "replay:replay",
        "[RUN]",
        "Play a finished run again from its log, without any model call.",
    ),
    (
        "Run",
        "fork",
        "fork:fork",
        "RUN --at PATH",
        "Copy a run up to one step, change that step, and run on from there.",
    ),
    ("Look", "runs", "runs:runs", "", "List runs, newest first."),
    ("Look", "show", "show:show", "[RUN] [STEP]", "One run: status, cost, questions, steps, result."),
    ("Look", "events", "events:events", "[RUN]", "The log of a run; --follow keeps watching."),
    ("Look", "report", "report:report", "[RUN]", "A report of a run as HTML, Markdown or JSON."),
    ("Look", "trace", "trace:trace", "[RUN]", "The trace of a run for OpenTelemetry: a file, or sent."),
    ("Look", "artifacts", "artifacts:artifacts", "[RUN] [NAME]", "List what a run made, or save it."),
    ("Steer", "answer", "answer:answer", "RUN ANSWER", "Answer a run that waits for a person."),
    ("Steer", "cancel", "cancel:cancel", "RUN", "Stop a run for good."),
    (
        "Set up",
        "cache",
        "cache:cache",
        "[stats|clear]",
        "What the cache of model calls holds and has saved; empty it.",
    ),
    (
        "Set up",
        "init",
        "init:init",
        "[FOLDER]",
        "Write podium.toml and an example workflow into this folder.",
    ),
    (
        "Set up",
        "models",
        "models:models",
        "[PROVIDER | test MODEL]",
        "Which models can be used now, their prices; test one.",
    ),
    (
        "Set up",
        "team",
        "team:team",
        "[show|check|init|stats] [TEAM]",
        "Who works in a studio: look, check a file, copy one, see how they did.",
    ),
    ("Set up", "doctor", "doctor:doctor", "", "Check that everything that Podium needs works here."),
    ("Set up", "completion", "completion:completion", "[SHELL]", "Shell completion for bash, zsh or fish."),
)
"""Group, name, `module:function` in `podium.cli.commands`, its arguments, and what it does."""

NAMES = tuple(name for _, name, *_ in COMMANDS)


def build_app(used: str = "", run_command: Callable[..., Any] | None = None) -> App:
    """The whole command line. The command that is `used` tells about itself at length; `run_command` is
    `run` with the options of one workflow added."""
    app = App(
        name="podium",
        help=INTRODUCTION,
        usage="podium COMMAND [OPTIONS]",
        version=f"podium {__version__}",
        help_format="plaintext",
        version_format="plaintext",
        help_formatter=TwoColumns(),
        suppress_keyboard_interrupt=False,  # `main` has a better end for it than sys.exit
        group_commands=Group("Other", sort_key=9),
        group_arguments=Group("Arguments", sort_key=0),
        group_parameters=Group("Options", sort_key=3),
    )
    groups = {name: Group(name, sort_key=position) for position, name in enumerate(GROUPS)}
    for position, (group, name, target, arguments, text) in enumerate(COMMANDS):
        usage = " ".join(part for part in ("podium", name, arguments, "[OPTIONS]") if part)
        options: dict[str, Any] = {"name": name, "group": groups[group], "sort_key": position, "usage": usage}
        if name != used:
            options["help"] = text
        own = run_command if name == "run" else None
        app.command(own or f"podium.cli.commands.{target}", **options)
    return app
