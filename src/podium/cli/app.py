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
    ("Look", "serve", "serve:serve", "", "Everything over HTTP, live in a browser; drives runs too."),
    ("Run", "worker", "worker:worker", "", "Drive runs of a store that many machines share."),
    ("Run", "schedule", "", "COMMAND", "Runs that workers start again and again."),
    ("Look", "brain", "", "COMMAND", "What a project knows: facts, their review, search."),
    ("Look", "corpus", "", "COMMAND", "Folders of documents that research can read: index, search."),
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
    ("Set up", "prompts", "", "COMMAND", "What the shipped workflows ask models; copy one to change it."),
    ("Set up", "workspaces", "", "COMMAND", "Where builds work: what is kept, and how to remove it."),
    ("Set up", "users", "", "COMMAND", "Who may use a server that others can reach."),
    ("Set up", "copy", "copy:copy", "RUN --to URL", "Copy a run into another store."),
    ("Set up", "migrate", "migrate:migrate", "", "Make a store, or bring its tables to this version."),
    ("Set up", "doctor", "doctor:doctor", "", "Check that everything that Podium needs works here."),
    ("Set up", "completion", "completion:completion", "[SHELL]", "Shell completion for bash, zsh or fish."),
)
"""Group, name, `module:function` in `podium.cli.commands`, its arguments, and what it does."""

FAMILIES: dict[str, tuple[str, tuple[tuple[str, str, str, str], ...]]] = {
    "brain": (
        "What a project knows.\n\n"
        "Runs with --project propose facts. Review them, and later runs of the project build upon what you "
        "accepted.",
        (
            ("show", "brain.show:show", "[FACT]", "Projects and their facts; one fact with its history."),
            ("search", "brain.search:search", "TEXT", "Facts by name, by word and by meaning."),
            ("review", "brain.review:review", "[RUN]", "Accept, edit or discard what a run proposes."),
            ("forget", "brain.forget:forget", "[FACT…]", "Remove facts for good."),
            ("export", "brain.files:export", "[FILE]", "Write facts as lines of JSON."),
            ("import", "brain.files:import_", "FILE", "Read facts from lines of JSON."),
            ("embed", "brain.embed:embed", "", "Prepare facts for search by meaning."),
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
            ("add", "users:add", "NAME", "Add a user; prints their key, which is kept nowhere."),
            ("list", "users:list_", "", "The users of a file, and what they may do."),
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
"""Commands that have commands of their own: what they are about; name, target, arguments, text of each."""

NAMES = tuple(name for _, name, *_ in COMMANDS)


def build_app(used: str = "", run_command: Callable[..., Any] | None = None, *, inside: str = "") -> App:
    """The whole command line. The command that is `used` (and the one `inside` it, where it has commands of
    its own) tells about itself at length; `run_command` is `run` with the options of one workflow added."""
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
