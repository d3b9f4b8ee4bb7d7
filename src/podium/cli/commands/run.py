"""`podium run`: start a workflow and follow it.

Its flags are the common ones plus the workflow's own options, so it is parsed in two passes: the first finds
the workflow, the second knows its options too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from cyclopts import App, Group, Parameter

from podium.api import enqueue, start
from podium.api.context import reply_config
from podium.api.control import MARKS
from podium.cli.drive import Foreground, fleet_of, print_estimate, read_request, report_queued
from podium.cli.flags import (
    BudgetFlags,
    EngineName,
    ModelFlags,
    OutputFlags,
    StoreUrl,
    number,
    option,
    python_files,
    whole_number,
)
from podium.cli.store import opened
from podium.dimensions import SETTABLE
from podium.engine.workflow import Option, Workflow
from podium.errors import WorkflowLoadError
from podium.workflows import find_workflow

HELP_FLAGS = ("--help", "-h")
COMMON = frozenset({"model", "store", *SETTABLE, "concurrency", "cache", "reply_timeout", "reply_tokens"})
"""Flags of every run. A workflow with an option of the same name gets the flag's value as well."""
ESTIMATE = Option("estimate", bool, False, help="Estimate cost and time without running.")
"""Flag of workflows that support estimates."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Flags of `podium run` besides models, budget and output."""

    approve: Annotated[str, option("Gates that need your approval, e.g. plan,result.", metavar="GATES")] = ""
    concurrency: Annotated[int | None, number("Maximum concurrent model calls.")] = None
    cache: Annotated[
        bool | None, Parameter(show_default=False, help="Serve identical model calls from a cache.")
    ] = None
    store: StoreUrl = None
    detach: Annotated[bool, option("Queue the run for workers and exit.")] = False
    engine: EngineName = None


MODEL_DEFAULT, BUDGET_DEFAULT, OUTPUT_DEFAULT, RUN_DEFAULT = (
    ModelFlags(),
    BudgetFlags(),
    OutputFlags(),
    RunFlags(),
)

WorkflowName = Annotated[
    str,
    Parameter(
        help="Workflow name, FILE.py:name, or FILE.py if it contains only one.", completer=python_files
    ),
]
Request = Annotated[str, Parameter(help="Task of the run; `-` reads stdin, `@FILE` a file.")]


async def run(
    workflow: WorkflowName,
    request: Request,
    /,
    *,
    models: ModelFlags = MODEL_DEFAULT,
    budget: BudgetFlags = BUDGET_DEFAULT,
    flags: RunFlags = RUN_DEFAULT,
    output: OutputFlags = OUTPUT_DEFAULT,
) -> int:
    """Start a workflow and follow it.

    Shipped workflows: build, council, research, studio, tree. List the options of a workflow with
    `podium run tree --help` or `podium run FILE.py:name --help`.

    Ctrl-C pauses the run; continue it with `podium resume`.

    Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 partial, 4 stopped by budget, time limit or full
    disk, 5 waiting for an answer, 130 paused or cancelled.
    """
    return await _run(find_workflow(workflow), request, models, budget, flags, output, {})


def command_for(tokens: list[str]) -> Callable[..., Any]:
    """Return the `run` command for these tokens, with the options of the workflow that they name, if any."""
    name = _named_workflow(tokens)
    if not name:
        return run
    try:
        workflow = find_workflow(name)
    except SystemExit as error:
        raise WorkflowLoadError(f"{name} ends the program while it is imported.") from error
    own = [option for option in workflow.options if option.name not in COMMON]
    own += [ESTIMATE] if workflow.can_estimate else []

    async def command(
        _workflow: WorkflowName,
        request: Request = "",
        /,
        *,
        models: ModelFlags = MODEL_DEFAULT,
        budget: BudgetFlags = BUDGET_DEFAULT,
        flags: RunFlags = RUN_DEFAULT,
        output: OutputFlags = OUTPUT_DEFAULT,
        **options: Any,
    ) -> int:
        return await _run(workflow, request, models, budget, flags, output, options)

    common = list(inspect.signature(run, eval_str=True).parameters.values())
    if not workflow.needs_request:
        common[1] = common[1].replace(default="")
    extra = [_flag_of(option, workflow.name) for option in own]
    setattr(command, "__signature__", inspect.Signature(common + extra, return_annotation=int))  # noqa: B010
    command.__doc__ = f"{(workflow.__doc__ or f'Run {workflow.name}.').strip()}"
    return command


async def _run(
    workflow: Workflow,
    request: str,
    models: ModelFlags,
    budget: BudgetFlags,
    flags: RunFlags,
    output: OutputFlags,
    options: dict[str, Any],
) -> int:
    text = read_request(request) if request or workflow.needs_request else ""
    values: dict[str, Any] = {**vars(budget), **vars(flags), "model": models.model}
    limits = reply_config(models.reply_timeout, models.reply_tokens)
    approve = [gate.strip() for gate in str(values.pop("approve")).split(",") if gate.strip()]
    shared = {option.name for option in workflow.options} & COMMON
    known = {**values, **limits}
    options |= {name: known[name] for name in shared if known.get(name) is not None}
    if options.pop(ESTIMATE.name, False):
        return print_estimate(workflow.estimate(text, options), as_json=output.json)
    detach = values.pop("detach")
    async with opened(**values, create=True) as (settings, store):
        if detach:
            async with fleet_of(settings, store) as fleet:
                row = await enqueue(
                    workflow,
                    text,
                    model_for=models.per_role(),
                    store=store,
                    approve=approve,
                    options=options,
                    settings=settings,
                    marks={**MARKS, **limits},
                )
                await fleet.accept(row)
            return report_queued(row, settings, output)
        handle = await start(
            workflow,
            text,
            model_for=models.per_role(),
            store=store,
            approve=approve,
            options=options,
            reply_timeout=models.reply_timeout,
            reply_tokens=models.reply_tokens,
            settings=settings,
        )
        return await Foreground(settings, store, output).drive(handle)


def _named_workflow(tokens: list[str]) -> str:
    """Return the workflow that the tokens name (the first pass), ignoring unknown options."""

    def probe(
        workflow: str = "",
        /,
        *others: Annotated[str, Parameter(allow_leading_hyphen=True)],
        models: ModelFlags = MODEL_DEFAULT,
        budget: BudgetFlags = BUDGET_DEFAULT,
        flags: RunFlags = RUN_DEFAULT,
        output: OutputFlags = OUTPUT_DEFAULT,
    ) -> str:
        return workflow

    app = App(name="podium")
    app.command(probe, name="run")
    words = ["run", *(token for token in tokens if token not in HELP_FLAGS)]
    _, bound, *_ = app.parse_known_args(words)
    return str(bound.arguments.get("workflow", ""))


def _flag_of(option: Option, workflow: str) -> inspect.Parameter:
    """Return a workflow's option as a parameter of the command."""
    group = Group(f"Options of {workflow}", sort_key=1)
    kind = get_args(option.type)[0] if get_origin(option.type) is Annotated else option.type
    kind = str if kind is Any else kind
    converter = whole_number if _is_whole(kind) else None
    show_default = None if option.default not in (None, False, "", (), [], {}) else False
    parameter = Parameter(group=group, negative_iterable="", converter=converter, show_default=show_default)
    annotation = Annotated[kind, parameter]
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.required else option.default,
        annotation=Annotated[annotation, Parameter(help=option.help)] if option.help else annotation,
    )


def _is_whole(kind: Any) -> bool:
    """Return whether an option's type is an integer or an optional integer."""
    if get_origin(kind) is Annotated:
        return _is_whole(get_args(kind)[0])
    choices = [choice for choice in get_args(kind) if choice is not NoneType]
    return kind is int or (len(choices) == 1 and NoneType in get_args(kind) and _is_whole(choices[0]))
