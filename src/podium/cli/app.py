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
            block = list(group)
            for line in wrap(" ".join(block), console.width) if prose else block:
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
Run teams of language-model agents.
Every run is logged, has a budget, can be watched live and resumed.

Create an example, run it, inspect the result:
  podium init
  podium run hello.py "Plan a small garden"
  podium show last
"""

GROUPS = ("Run", "Look", "Steer", "Set up")

COMMANDS: tuple[tuple[str, str, str, str, str], ...] = (
    ("Run", "run", "run:run", "WORKFLOW REQUEST", "Start a workflow and follow it."),
    ("Run", "chat", "chat:chat", "[AGENT]", "Talk with an agent; the conversation is kept."),
    ("Run", "resume", "control:resume", "[RUN]", "Continue a stopped run from where it was."),
    ("Run", "replay", "control:replay", "[RUN]", "Rerun a finished run from its log, without model calls."),
    ("Run", "fork", "control:fork", "RUN --at PATH", "Copy a run, change one step and continue from it."),
    ("Look", "runs", "runs:runs", "", "List runs, newest first."),
    ("Look", "show", "show:show", "[RUN] [STEP]", "Show one run: status, cost, questions, steps, result."),
    ("Look", "events", "show:events", "[RUN]", "Print the log of a run; --follow keeps watching."),
    ("Look", "report", "report:report", "[RUN]", "Write a report of a run as HTML, Markdown or JSON."),
    ("Look", "trace", "report:trace", "[RUN]", "Export the OpenTelemetry trace of a run."),
    ("Look", "artifacts", "report:artifacts", "[RUN] [NAME]", "List, print or save artifacts."),
    ("Look", "serve", "serve:serve", "", "Serve the web UI and the HTTP API, and execute runs."),
    ("Run", "worker", "worker:worker", "", "Execute queued runs of a shared PostgreSQL store."),
    ("Run", "schedule", "", "COMMAND", "Start runs periodically."),
    ("Look", "brain", "", "COMMAND", "Facts of a project: list, search, review."),
    ("Look", "corpus", "", "COMMAND", "Document folders for research: index, search."),
    ("Steer", "answer", "control:answer", "RUN ANSWER", "Answer a question of a waiting run."),
    ("Steer", "cancel", "control:cancel", "RUN", "Stop a run permanently."),
    ("Set up", "cache", "stores:cache", "[stats|clear]", "Show or clear the cache of model calls."),
    ("Set up", "init", "setup:init", "[FOLDER]", "Create podium.toml and an example workflow."),
    (
        "Set up",
        "models",
        "models:models",
        "[PROVIDER | test MODEL]",
        "List usable models and prices; test one.",
    ),
    (
        "Set up",
        "team",
        "team:team",
        "[show|check|init|stats] [TEAM]",
        "Show, check, copy or evaluate a team for the studio.",
    ),
    ("Set up", "prompts", "", "COMMAND", "List, show or copy the prompts of the shipped workflows."),
    ("Set up", "workspaces", "", "COMMAND", "List and remove the workspaces of builds."),
    ("Set up", "users", "", "COMMAND", "Manage the users of a server."),
    ("Set up", "copy", "stores:copy", "RUN --to URL", "Copy a run into another store."),
    ("Set up", "migrate", "stores:migrate", "", "Create a store, or migrate it to this version."),
    ("Set up", "doctor", "doctor:doctor", "", "Check the installation."),
    ("Set up", "completion", "setup:completion", "[SHELL]", "Print or install shell completion."),
)
"""Group, name, `module:function` in `podium.cli.commands`, arguments and help text."""

FAMILIES: dict[str, tuple[str, tuple[tuple[str, str, str, str], ...]]] = {
    "brain": (
        "Facts of a project.\n\n"
        "Runs with --project propose facts. Review them; later runs of the project use the facts that you "
        "accepted.",
        (
            ("show", "brain:show", "[FACT]", "List projects and facts, or one fact with its history."),
            ("search", "brain:search", "TEXT", "Find facts by name, words and meaning."),
            ("review", "brain_review:review", "[RUN]", "Accept, edit or discard proposed facts."),
            ("forget", "brain:forget", "[FACT…]", "Delete facts permanently."),
            ("export", "brain:export", "[FILE]", "Write facts as JSON Lines."),
            ("import", "brain:import_", "FILE", "Read facts from JSON Lines."),
            ("embed", "brain:embed", "", "Compute missing embeddings for semantic search."),
        ),
    ),
    "prompts": (
        "The prompts of the shipped workflows.\n\n"
        "A file `.podium/prompts/WORKFLOW/TASK.md` replaces the shipped prompt from the next run on.",
        (
            ("list", "prompts:list_", "[WORKFLOW]", "List prompts with source, hash and size."),
            ("show", "prompts:show", "WORKFLOW/TASK", "Print the active prompt, or your changes to it."),
            ("copy", "prompts:copy", "WORKFLOW/TASK", "Copy a shipped prompt to your prompt folder."),
        ),
    ),
    "workspaces": (
        "Workspaces of builds: one separate repository per run, outside your checkout.",
        (
            ("list", "workspaces:list_", "", "List workspaces with run, status and size."),
            ("remove", "workspaces:remove", "[RUN…]", "Remove workspaces of finished or given runs."),
        ),
    ),
    "schedule": (
        "Runs that workers start periodically.\n\nNeeds a PostgreSQL store and at least one `podium worker`.",
        (
            ("add", "worker:add", "CRON WORKFLOW REQUEST", "Add a schedule."),
            ("list", "worker:list_", "", "List schedules."),
            ("remove", "worker:remove", "NAME", "Remove a schedule."),
        ),
    ),
    "users": (
        "Users of a server.\n\n`podium serve --users FILE` accepts the keys of the users in that file.",
        (
            ("add", "serve:add", "NAME", "Add a user and print the key, which is not stored."),
            ("list", "serve:list_", "", "List the users of a file with their limits."),
        ),
    ),
    "corpus": (
        "Document folders that research can read offline.\n\n"
        "Indexes the words of Markdown, text, HTML and PDF files. The documents stay where they are.",
        (
            ("add", "corpus:add", "FOLDER", "Index a folder, or update its index."),
            ("list", "corpus:list_", "", "List indexed folders."),
            ("search", "corpus:search", "QUERY", "Find the most relevant passages."),
            ("remove", "corpus:remove", "CORPUS", "Delete an index; the documents stay."),
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
    for position, (command, target, arguments, description) in enumerate(commands):
        usage = " ".join(part for part in ("podium", name, command, arguments, "[OPTIONS]") if part)
        options: dict[str, Any] = {"name": command, "sort_key": position, "usage": usage}
        if command != inside:
            options["help"] = description
        family.command(f"podium.cli.commands.{target}", **options)
    return family
