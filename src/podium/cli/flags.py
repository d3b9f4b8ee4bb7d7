"""Flags shared by several commands, and shell completion."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter, Token

from podium.errors import PodiumError, UsageError
from podium.settings import parse_duration

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from podium.engine.budget import Budget


_WORKFLOWS = Path(__file__).parents[1] / "workflows"


def python_files(context: CompletionContext) -> list[str]:
    """Return Python files, and the folders that lead to them."""
    folder, slash, begun = context.incomplete.rpartition("/")
    found = sorted(Path(folder + slash or ".").glob(f"{begun}*")) if "*" not in begun else []
    names = [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in found]
    return [name for name in names if name.endswith((".py", "/")) and not name.endswith("__/")]


def prompt_names(context: CompletionContext) -> list[str]:
    """Return the names of the shipped prompts, as WORKFLOW/TASK."""
    found = sorted(_WORKFLOWS.glob("*/prompts/[!_]*.md"))
    names = [f"{file.parent.parent.name}/{file.stem}" for file in found]
    return [name for name in names if name.startswith(context.incomplete)]


def prompt_workflows(context: CompletionContext) -> list[str]:
    """Return the names of the shipped prompt sets."""
    found = sorted(folder.parent.name for folder in _WORKFLOWS.glob("*/prompts"))
    return [name for name in found if name.startswith(context.incomplete)]


def recent_runs(context: CompletionContext) -> list[tuple[str, str]]:
    """Return the ids of the newest runs, each with its status and request."""
    from podium.cli.opening import opened  # noqa: PLC0415 - only completion pays for it here

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


RunId = Annotated[
    str, Parameter(help="A run's id, the beginning of one, or `last`.", completer=recent_runs, metavar="RUN")
]
StoreUrl = Annotated[
    str | None,
    Parameter(name="--store", metavar="URL", help="Where runs are kept: sqlite:///PATH or postgresql://…"),
]
EngineName = Annotated[
    str | None,
    Parameter(
        name="--engine",
        metavar="NAME",
        help="What carries runs to workers: procrastinate, temporal://HOST:PORT/NAMESPACE; local: nothing.",
    ),
]
AsJson = Annotated[
    bool,
    Parameter(
        name="--json", negative="", show_default=False, group=OUTPUT, help="One JSON object on stdout."
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BudgetFlags:
    """Ceilings of a run."""

    max_usd: Annotated[
        float | None, Parameter(group=BUDGET, metavar="USD", help="Most money to spend, in US dollars.")
    ] = None
    max_tokens: Annotated[
        int | None,
        Parameter(group=BUDGET, metavar="N", converter=whole_number, help="Most tokens to use, in and out."),
    ] = None
    max_calls: Annotated[
        int | None,
        Parameter(group=BUDGET, metavar="N", converter=whole_number, help="Most model calls to make."),
    ] = None
    time_limit: Annotated[
        float | None,
        Parameter(
            group=BUDGET, metavar="TIME", converter=seconds_of, help="Longest time to work: 90s, 15m, 2h."
        ),
    ] = None

    def totals(self) -> Budget:
        """Return the limits as new totals for a run that is resumed."""
        from podium.engine.budget import Budget  # noqa: PLC0415 - most commands have no budget

        return Budget(usd=self.max_usd, tokens=self.max_tokens, calls=self.max_calls, seconds=self.time_limit)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """Which model answers."""

    model: Annotated[
        str | None,
        Parameter(
            group=MODELS,
            metavar="MODEL",
            help="The model for every agent, e.g. rehearsal, python:FILE.py:fn.",
        ),
    ] = None
    model_for: Annotated[
        tuple[str, ...],
        Parameter(
            group=MODELS, negative="", show_default=False, metavar="ROLE=MODEL",
            help="Another model or profile for one role; may be repeated.",
        ),
    ] = ()  # fmt: skip
    reply_timeout: Annotated[
        float | None,
        Parameter(
            group=MODELS, metavar="TIME", converter=seconds_of, help="Longest time of one reply: 90s, 20m."
        ),
    ] = None
    reply_tokens: Annotated[
        int | None,
        Parameter(group=MODELS, metavar="N", converter=whole_number, help="Most tokens of one reply."),
    ] = None

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
    events: Annotated[
        bool,
        Parameter(
            negative="", show_default=False, group=OUTPUT, help="Every event as one line of JSON on stdout."
        ),
    ] = False
    quiet: Annotated[
        bool, Parameter(negative="", show_default=False, group=OUTPUT, help="Print nothing but the result.")
    ] = False

    def __post_init__(self) -> None:
        if self.json and self.events:
            raise UsageError(
                "--json and --events exclude each other.",
                hint="--json prints one object at the end, --events one line per event.",
            )
