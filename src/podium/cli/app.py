"""Command table and help layout."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from cyclopts import App, Group
from rich.text import Text

from podium import __version__

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions


LEAST_BESIDE = 36
"""Minimum width beside the labels, in columns. With less, descriptions are printed below the labels."""


class TwoColumns:
    """Help formatter for cyclopts, in two columns."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if not panel.entries:
            return
        console.print(Text(str(panel.title), style="bold"))
        rows = [
            (", ".join(entry.display_labels_with_metavar), _description(entry)) for entry in panel.entries
        ]
        widest = max(len(label) for label, _ in rows)
        beside = console.width - widest - 4 >= LEAST_BESIDE
        for label, description in rows:
            _print_row(console, label, description, widest + 4 if beside else 0)
        console.print()

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        if usage:
            console.print(Text("Usage: " + _plain(usage).removeprefix("Usage: ")))
            console.print()

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """Print the description. Prose is wrapped to the terminal width; indented lines (commands) stay as
        they are."""
        lines = _plain(description).splitlines()
        for prose, group in groupby(lines, key=lambda line: line[:1] not in ("", " ")):
            given = list(group)
            for line in wrap(" ".join(given), console.width) if prose else given:
                console.print(Text(line), soft_wrap=True)
        if lines:
            console.print()


def _print_row(console: Console, label: str, description: str, column: int) -> None:
    """Print a label with its description beside it from `column` on, or below it if `column` is 0."""
    indent = column or 6
    lines = wrap(description, console.width - indent)
    first = lines.pop(0) if lines and column else ""
    console.print(Text.assemble((f"  {label}".ljust(column if first else 0), "cyan"), first))
    for line in lines:
        console.print(Text(" " * indent + line))


def _plain(renderable: Any) -> str:
    inner = getattr(renderable, "primary_renderable", renderable)
    return (inner.plain if isinstance(inner, Text) else str(inner or "")).strip()


def _description(entry: HelpEntry) -> str:
    """Return the help text, followed by the choices and the default."""
    parts = [_plain(entry.description)]
    if entry.choices:
        parts.append(f"One of: {', '.join(entry.choices)}.")
    if entry.default not in (None, '""'):  # an empty default carries no information
        parts.append(f"[default: {entry.default}]")
    if entry.required and entry.positional_label is None:
        parts.append("[required]")
    return " ".join(part for part in parts if part)


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
    ("Run", "resume", "control:resume", "[RUN]", "Go on with a run that stopped, from where it was."),
    (
        "Run",
        "replay",
        "fork:replay",
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
    ("Look", "trace", "report:trace", "[RUN]", "The trace of a run for OpenTelemetry: a file, or sent."),
    ("Look", "artifacts", "artifacts:artifacts", "[RUN] [NAME]", "List what a run made, or save it."),
    ("Look", "serve", "serve:serve", "", "Everything over HTTP, live in a browser; drives runs too."),
    ("Run", "worker", "worker:worker", "", "Drive runs of a store that many machines share."),
    ("Run", "schedule", "", "COMMAND", "Runs that workers start again and again."),
    ("Look", "brain", "", "COMMAND", "What a project knows: facts, their review, search."),
    ("Look", "corpus", "", "COMMAND", "Folders of documents that research can read: index, search."),
    ("Steer", "answer", "control:answer", "RUN ANSWER", "Answer a run that waits for a person."),
    ("Steer", "cancel", "control:cancel", "RUN", "Stop a run for good."),
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
        "setup:init",
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
    ("Set up", "prompts", "", "COMMAND", "What the shipped workflows ask models; copy one to change it."),
    ("Set up", "workspaces", "", "COMMAND", "Where builds work: what is kept, and how to remove it."),
    ("Set up", "users", "", "COMMAND", "Who may use a server that others can reach."),
    ("Set up", "copy", "stores:copy", "RUN --to URL", "Copy a run into another store."),
    ("Set up", "migrate", "stores:migrate", "", "Make a store, or bring its tables to this version."),
    ("Set up", "doctor", "doctor:doctor", "", "Check that everything that Podium needs works here."),
    ("Set up", "completion", "setup:completion", "[SHELL]", "Shell completion for bash, zsh or fish."),
)
"""Group, name, `module:function` in `podium.cli.commands`, arguments and help text."""

FAMILIES: dict[str, tuple[str, tuple[tuple[str, str, str, str], ...]]] = {
    "brain": (
        "What a project knows.\n\n"
        "Runs with --project propose facts. Review them, and later runs of the project build upon what you "
        "accepted.",
        (
            ("show", "brain:show", "[FACT]", "Projects and their facts; one fact with its history."),
            ("search", "brain:search", "TEXT", "Facts by name, by word and by meaning."),
            ("review", "brain_review:review", "[RUN]", "Accept, edit or discard what a run proposes."),
            ("forget", "brain:forget", "[FACT…]", "Remove facts for good."),
            ("export", "brain:export", "[FILE]", "Write facts as lines of JSON."),
            ("import", "brain:import_", "FILE", "Read facts from lines of JSON."),
            ("embed", "brain:embed", "", "Prepare facts for search by meaning."),
        ),
    ),
    "prompts": (
        "The prompts of the shipped workflows.\n\n"
        "A copy of one in `.podium/prompts/WORKFLOW/TASK.md` is used instead of it from the next run on.",
        (
            ("list", "prompts:list_", "[WORKFLOW]", "Where each comes from, its hash and its size."),
            ("show", "prompts:show", "WORKFLOW/TASK", "The prompt in force, or how yours differs."),
            ("copy", "prompts:copy", "WORKFLOW/TASK", "Copy one to where yours are read from."),
        ),
    ),
    "workspaces": (
        "Where builds work: a repository of its own for each run, far from your checkout.",
        (
            ("list", "workspaces:list_", "", "What is kept, of which run, and how large it is."),
            ("remove", "workspaces:remove", "[RUN…]", "Remove those of runs that are over, or of these."),
        ),
    ),
    "schedule": (
        "Runs that the workers of a fleet start again and again.\n\n"
        "Needs a store on PostgreSQL and at least one `podium worker`.",
        (
            ("add", "schedule:add", "CRON WORKFLOW REQUEST", "Start a run at moments that come again."),
            ("list", "schedule:list_", "", "The schedules, and what they start."),
            ("remove", "schedule:remove", "NAME", "Start no more runs of a schedule."),
        ),
    ),
    "users": (
        "Who may use a server that others can reach.\n\n"
        "`podium serve --users FILE` lets in whoever has a key of that file.",
        (
            ("add", "serve:add", "NAME", "Add a user; prints their key, which is kept nowhere."),
            ("list", "serve:list_", "", "The users of a file, and what they may do."),
        ),
    ),
    "corpus": (
        "Folders of documents that research can read, without any network.\n\n"
        "Markdown, text, HTML and PDF are indexed by their words. The documents stay where they are.",
        (
            ("add", "corpus:add", "FOLDER", "Index a folder, or bring its index up to date."),
            ("list", "corpus:list_", "", "The folders that have an index."),
            ("search", "corpus:search", "QUERY", "The passages that say most about something."),
            ("remove", "corpus:remove", "CORPUS", "Forget an index; the documents stay."),
        ),
    ),
}
"""Commands with subcommands: help text, then name, target, arguments and help text of each subcommand."""

NAMES = tuple(name for _, name, *_ in COMMANDS)


def build_app(used: str = "", run_command: Callable[..., Any] | None = None, *, inside: str = "") -> App:
    """Return the whole command line. The command in `used` (and its subcommand in `inside`) shows its full
    help text, all others the short one. `run_command` is `run` with the options of one workflow added."""
    app = App(
        name="podium",
        help=INTRODUCTION,
        usage="podium COMMAND [OPTIONS]",
        version=f"podium {__version__}",
        help_format="plaintext",
        version_format="plaintext",
        help_formatter=TwoColumns(),
        suppress_keyboard_interrupt=False,  # `main` handles it better than sys.exit
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
        if name in FAMILIES:
            short = "" if name == used else text
            app.command(_family(name, inside, group=groups[group], sort_key=position, short=short))
        else:
            app.command(own or f"podium.cli.commands.{target}", **options)
    return app


def _family(name: str, inside: str, *, group: Group, sort_key: int, short: str) -> App:
    text, commands = FAMILIES[name]
    family = App(
        name=name,
        group=group,
        sort_key=sort_key,
        help=short or text,
        usage=f"podium {name} COMMAND [OPTIONS]",
        version_flags=(),
        group_commands=Group("Commands", sort_key=0),
        group_arguments=Group("Arguments", sort_key=0),
        group_parameters=Group("Options", sort_key=3),
    )
    for position, (command, target, arguments, told) in enumerate(commands):
        usage = " ".join(part for part in ("podium", name, command, arguments, "[OPTIONS]") if part)
        options: dict[str, Any] = {"name": command, "sort_key": position, "usage": usage}
        if command != inside:
            options["help"] = told
        family.command(f"podium.cli.commands.{target}", **options)
    return family
