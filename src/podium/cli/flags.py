"""Flags shared by several commands, and shell completion."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter, Token

from podium.dimensions import SETTABLE
from podium.errors import PodiumError, UsageError
from podium.settings import parse_duration

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from podium.engine.budget import Budget


_WORKFLOWS = Path(__file__).parents[1] / "workflows"


def python_files(context: CompletionContext) -> list[str]:
    """Return Python files, and the folders that lead to them."""
    folder, slash, begun = context.incomplete.rpartition("/")
    paths = sorted(Path(folder + slash or ".").glob(f"{begun}*")) if "*" not in begun else []
    names = [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in paths]
    return [name for name in names if name.endswith((".py", "/")) and not name.endswith("__/")]


def prompt_names(context: CompletionContext) -> list[str]:
    """Return the names of the shipped prompts, as WORKFLOW/TASK."""
    files = sorted(_WORKFLOWS.glob("*/prompts/[!_]*.md"))
    names = [f"{file.parent.parent.name}/{file.stem}" for file in files]
    return [name for name in names if name.startswith(context.incomplete)]


def prompt_workflows(context: CompletionContext) -> list[str]:
    """Return the names of the shipped prompt sets."""
    names = sorted(folder.parent.name for folder in _WORKFLOWS.glob("*/prompts"))
    return [name for name in names if name.startswith(context.incomplete)]


def recent_runs(context: CompletionContext) -> list[tuple[str, str]]:
    """Return the ids of the newest runs, each with its status and request."""
    from podium.cli.store import opened  # noqa: PLC0415 - only completion pays for it here

    async def read() -> list[tuple[str, str]]:
        async with opened() as (_, store):
            runs = await store.list_runs(limit=20)
        return [(run.run_id, f"{run.status}: {run.request[:60]}") for run in runs]

    try:
        return asyncio.run(read())
    except PodiumError:
        return []  # an incomplete command line must not print errors


MODELS = Group("Models", sort_key=4)
BUDGET = Group("Budget", sort_key=5)
OUTPUT = Group("Output", sort_key=6)


def seconds_of(kind: type[Any], tokens: list[Token]) -> float:
    try:
        return parse_duration(tokens[0].value)
    except ValueError as error:
        raise ValueError(f"{error}; write 90s, 15m or 2h") from error


def whole_number(kind: type[Any], tokens: list[Token]) -> int:
    """Return a whole number. Strict: the parser's own conversion would round 1.5 up to 2 calls."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from error


def option(help: str, **more: Any) -> Parameter:
    """Return a parameter without a `--no-…` form whose default is not shown."""
    return Parameter(help=help, negative="", show_default=False, **more)


def number(help: str, metavar: str = "N", **more: Any) -> Parameter:
    """Return a parameter that takes a whole number."""
    return Parameter(help=help, metavar=metavar, converter=whole_number, **more)


def duration(help: str, **more: Any) -> Parameter:
    """Return a parameter that takes a time such as 90s."""
    return Parameter(help=help, metavar="TIME", converter=seconds_of, **more)


RunId = Annotated[
    str, Parameter(help="Run id, its beginning, or `last`.", completer=recent_runs, metavar="RUN")
]
StoreUrl = Annotated[
    str | None,
    Parameter(name="--store", metavar="URL", help="Store of the runs: sqlite:///PATH or postgresql://…"),
]
EngineName = Annotated[
    str | None,
    Parameter(
        name="--engine",
        metavar="NAME",
        help="Queue for workers: procrastinate, temporal://HOST:PORT/NAMESPACE, or local (no workers).",
    ),
]
AsJson = Annotated[bool, option("Print one JSON object on stdout.", name="--json", group=OUTPUT)]


def _ceiling(setting: str) -> Parameter:
    """Return the flag for a dimension of the budget."""
    row = SETTABLE[setting]
    converter = seconds_of if row.is_time else whole_number if row.whole else None
    return Parameter(group=BUDGET, metavar=row.metavar, converter=converter, help=row.help)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BudgetFlags:
    """Limits of a run."""

    max_usd: Annotated[float | None, _ceiling("max_usd")] = None
    max_tokens: Annotated[int | None, _ceiling("max_tokens")] = None
    max_calls: Annotated[int | None, _ceiling("max_calls")] = None
    time_limit: Annotated[float | None, _ceiling("time_limit")] = None

    def totals(self) -> Budget:
        """Return the limits as new totals for a run that is resumed."""
        from podium.engine.budget import Budget  # noqa: PLC0415 - most commands have no budget

        return Budget.from_settings(self)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """Models and limits of their replies."""

    model: Annotated[
        str | None,
        Parameter(
            group=MODELS, metavar="MODEL", help="Model for all agents, e.g. rehearsal or python:FILE.py:fn."
        ),
    ] = None
    model_for: Annotated[
        tuple[str, ...],
        option("Model or profile for one role; repeatable.", group=MODELS, metavar="ROLE=MODEL"),
    ] = ()
    reply_timeout: Annotated[float | None, duration("Timeout of one reply: 90s, 20m.", group=MODELS)] = None
    reply_tokens: Annotated[int | None, number("Maximum tokens of one reply.", group=MODELS)] = None

    def per_role(self) -> dict[str, str] | None:
        """Return the `ROLE=MODEL` pairs, or None if none was given."""
        pairs: dict[str, str] = {}
        for pair in self.model_for:
            role, equals, model = pair.partition("=")
            if not (equals and role.strip() and model.strip()):
                raise UsageError(
                    f"--model-for {pair!r} is not of the form ROLE=MODEL.",
                    hint="For example: writer=rehearsal.",
                )
            pairs[role.strip()] = model.strip()
        return pairs or None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class OutputFlags:
    """Flags for the output of a run that is driven."""

    json: AsJson = False
    events: Annotated[bool, option("Print every event as one line of JSON on stdout.", group=OUTPUT)] = False
    quiet: Annotated[bool, option("Print only the result.", group=OUTPUT)] = False

    def __post_init__(self) -> None:
        if self.json and self.events:
            raise UsageError(
                "--json and --events cannot be combined.",
                hint="--json prints one object at the end, --events one line per event.",
            )
