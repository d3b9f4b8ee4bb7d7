"""`podium answer`, `podium cancel`, `podium resume`, `podium fork` and `podium replay`."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
from cyclopts import Parameter

from podium.api import answer as answer_run
from podium.api import cancel as cancel_run
from podium.api import fork as fork_run
from podium.api import raise_budget
from podium.api import replay as replay_run
from podium.api import resume as resume_run
from podium.api.control import Change, is_served
from podium.api.outcome import result_of, watched
from podium.cli.card import say_line
from podium.cli.commands.runs import summary_of
from podium.cli.drive import Foreground, fleet_of, read_request, report_queued
from podium.cli.failure import FAILED
from podium.cli.flags import AsJson, BudgetFlags, ModelFlags, OutputFlags, RunId, StoreUrl, option
from podium.cli.store import Commands, find_run, opened
from podium.cli.terminal import out, print_json, say
from podium.engine.budget import Budget
from podium.engine.codec import decode, encode
from podium.engine.history import steps_of
from podium.engine.log import Row, RunRow
from podium.engine.state import RunState
from podium.errors import NotResumableError, ReplayDivergedError, RunLockedError, UsageError
from podium.report.presentation import Presentation
from podium.report.turns import is_tool_call
from podium.report.words import count, one_line, sentence
from podium.stores import is_postgres

MODELS, BUDGET, OUTPUT = ModelFlags(), BudgetFlags(), OutputFlags()


async def answer(
    run: RunId,
    answer: Annotated[
        str, Parameter(help="approve, reject, any text or JSON; `@FILE` reads it from a file.")
    ],
    /,
    *,
    question: Annotated[
        str | None, Parameter(metavar="PATH", help="Path of the question, if several are open.")
    ] = None,
    detach: Annotated[bool, option("Record the answer without continuing the run here.")] = False,
    store: StoreUrl = None,
    output: OutputFlags = OUTPUT,
) -> int:
    """Answer a question of a waiting run.

    If no process executes the run, it continues here, as with `podium resume`. A run of workers continues
    there.
    """
    text = read_request(answer, "answer", "Say approve, reject or any text.")
    async with opened(store) as (settings, opened_store):
        row = await find_run(opened_store, run)
        path = await answer_run(
            row.run_id, text, question=question, by="cli", store=opened_store, settings=settings
        )
        after = (await opened_store.read(row.run_id))[-1].seq
        if not detach and is_postgres(settings.store) and await is_served(opened_store, row.run_id):
            detach = True
            with suppress(RunLockedError, UsageError):  # a worker is notified through the inbox
                async with fleet_of(settings, opened_store) as fleet:
                    await fleet.go_on(row)
        if not detach:
            try:
                handle = await resume_run(row.run_id, store=opened_store, settings=settings)
            except RunLockedError:
                detach = True  # another process drives it and takes the answer from the inbox
            else:
                return await Foreground(settings, opened_store, output).drive(handle, after=after)
    if output.json:
        print_json({"run_id": row.run_id, "question": path, "answer": text})
    elif not output.quiet:
        say(f"Answered {path} of run {row.run_id}.")
    return 0


async def cancel(
    run: RunId,
    /,
    *,
    reason: Annotated[str, option("Reason, for the log.")] = "",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Stop a run permanently. It cannot be resumed, only forked."""
    async with opened(store) as (settings, opened_store):
        run_id = (await find_run(opened_store, run)).run_id
        row = await cancel_run(run_id, reason=reason, store=opened_store, settings=settings)
    if json:
        print_json(summary_of(row))
    else:
        say(f"Run {row.run_id} is {row.status}.")
    return 0


async def resume(
    run: RunId = "last",
    /,
    *,
    models: ModelFlags = MODELS,
    budget: BudgetFlags = BUDGET,
    take_over: Annotated[bool, option("Take the run over from the process that executes it now.")] = False,
    detach: Annotated[bool, option("Queue the run for workers and exit.")] = False,
    store: StoreUrl = None,
    output: OutputFlags = OUTPUT,
) -> int:
    """Continue a stopped run from where it was.

    Finished steps do not run again. Budgets are new totals that include what was already spent.
    """
    async with opened(store, **vars(budget)) as (settings, opened_store):
        row = await find_run(opened_store, run)
        if row.status in ("completed", "cancelled"):
            raise NotResumableError(
                f"Run {row.run_id} is {row.status}; there is nothing to resume.",
                hint=f"Rerun it from any step with `podium fork {row.run_id} --at STEP`.",
            )
        events, shown = await watched(opened_store, row)
        _check_goes_on(row, RunState.of(events), shown, Commands(settings))
        if row.holder and not take_over and budget.totals() != Budget() and models == MODELS:
            more = await raise_budget(row.run_id, budget.totals(), store=opened_store, settings=settings)
            return _report_raised(row, more, output)
        if detach:
            change = Change(
                budget.totals(),
                models.model,
                models.per_role() or {},
                models.reply_timeout,
                models.reply_tokens,
            )
            async with fleet_of(settings, opened_store) as fleet:
                await fleet.go_on(row, change, take_over=take_over)
            return report_queued(await opened_store.get(row.run_id), settings, output)
        handle = await resume_run(
            row.run_id,
            store=opened_store,
            budget=budget.totals(),
            model=models.model,
            model_for=models.per_role(),
            reply_timeout=models.reply_timeout,
            reply_tokens=models.reply_tokens,
            take_over=take_over,
            settings=settings,
        )
        return await Foreground(settings, opened_store, output).drive(handle, after=events[-1].seq)


def _report_raised(row: RunRow, more: Budget, output: OutputFlags) -> int:
    if output.json:
        print_json({"run_id": row.run_id, "status": row.status, "raised": more.to_dict()})
    else:
        say(f"The budget of run {row.run_id} is raised; {row.holder} continues it.")
    return 0


def _check_goes_on(row: RunRow, state: RunState, shown: Presentation, commands: Commands) -> None:
    """Raise `NotResumableError` for a run that its workflow ended as `partial`: it would only
    end so again."""
    if row.status != "partial" or state.can_go_on:
        return
    reason = f" ({one_line(state.stop_reason)})" if state.stop_reason else ""
    own = [commands(*words) for words, _ in shown.suggestions() if words[0] == "fork"]
    hint = f"Retry what failed in a new run: `{own[0]}`." if own else ""
    raise NotResumableError(
        f"Run {row.run_id} ended as partial{reason}; resuming it would change nothing.",
        hint=hint or f"List the steps to rerun it from with `{commands('fork', row.run_id)}`.",
    )


At = Annotated[
    str | None, Parameter(metavar="PATH", help="Step to change. Without it, all steps are listed.")
]
Reply = Annotated[
    Path | None, Parameter(metavar="FILE", help="File with a text (or JSON) that replaces the step's result.")
]
Prompt = Annotated[
    Path | None, Parameter(metavar="FILE", help="File with a text that replaces the step's prompt.")
]
Model = Annotated[str | None, Parameter(metavar="MODEL", help="Model to use from this step on.")]


async def fork(
    run: RunId,
    /,
    *,
    at: At = None,
    reply: Reply = None,
    prompt: Prompt = None,
    model: Model = None,
    budget: BudgetFlags = BUDGET,
    store: StoreUrl = None,
    output: OutputFlags = OUTPUT,
) -> int:
    """Copy a run up to a step, change that step and continue from there.

    Earlier steps are inherited: they are shown, but neither run nor paid again.
    """
    if sum(change is not None for change in (reply, prompt, model)) > 1:
        raise UsageError(
            "--reply, --prompt and --model cannot be combined.", hint="Fork twice to change two things."
        )
    if at is None and (reply or prompt or model):
        raise UsageError(
            "podium fork needs --at with the step to change.",
            hint=f"List the steps with `podium fork {run}`.",
        )
    async with opened(store, **vars(budget)) as (settings, opened_store):
        row = await find_run(opened_store, run)
        rows = await opened_store.read(row.run_id)
        if at is None:
            return _list_steps(row.run_id, rows, output, Commands(settings))
        handle = await fork_run(
            row.run_id,
            at,
            reply=_reply(reply, rows, at),
            prompt=None if prompt is None else _read(prompt),
            model=model,
            budget=budget.totals(),
            store=opened_store,
            settings=settings,
        )
        return await Foreground(settings, opened_store, output).drive(handle)


def _reply(file: Path | None, rows: list[Row], at: str) -> Any:
    """Return the file's text if the step's result is text, otherwise its parsed JSON. Unset without a file.
    The result of a turn or of a tool call may be given as text."""
    if file is None:
        return msgspec.UNSET
    text = _read(file)
    last = next((row for row in reversed(rows) if row.path == at and row.type == "step.completed"), None)
    result: Any = None if last is None else decode(last.data).get("result")
    if last is None or isinstance(result, str):
        return text.removesuffix("\n")
    fields = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    is_text = is_tool_call(at) or isinstance(fields.get("answer"), str)
    try:
        value: Any = decode(text.encode())
        if is_text and not isinstance(value, dict):
            return text.removesuffix("\n")
        return cast("Any", value)
    except msgspec.DecodeError as error:
        if is_text:
            return text.removesuffix("\n")
        raise UsageError(
            f"{file} is not JSON, but the step {at} returns data.",
            hint=f"`podium show RUN {at}` shows its result. {sentence(str(error))}",
        ) from error


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read: {reason}.", hint="Name a text file.") from error


def _list_steps(run_id: str, rows: list[Row], output: OutputFlags, commands: Commands) -> int:
    steps = steps_of(rows)
    if output.json:
        print_json({"run_id": run_id, "steps": steps})
        return 0
    for path in steps:
        say_line(out(), one_line(path))
    example = steps[-1] if steps else "PATH"
    say_line(out(), (f"Choose one: {commands('fork', run_id, '--at', shlex.quote(example))}", "dim"))
    return 0


async def replay(run: RunId = "last", /, *, store: StoreUrl = None, json: AsJson = False) -> int:
    """Rerun a finished run from its log, without model calls.

    Reports whether the current code produces the same result, or the first step that differs.
    """
    async with opened(store) as (settings, opened_store):
        row = await find_run(opened_store, run)
        recorded, state = await result_of(opened_store, row)
        try:
            replayed = await replay_run(row.run_id, store=opened_store, settings=settings)
        except ReplayDivergedError as error:
            return _report(row.run_id, json, False, error.path, error.reason, error.hint)
    same = encode(replayed.output) == encode(recorded.output) and replayed.status == recorded.status
    reason = "" if same else f"the log says {recorded.status}, the current code {replayed.status}"
    if not same and replayed.status == recorded.status:
        reason = "the output differs"
    steps = count(len(state.steps), "step")
    return _report(row.run_id, json, same, "", reason or steps)


def _report(run_id: str, json: bool, same: bool, path: str, reason: str, hint: str = "") -> int:
    if json:
        outcome = {"run_id": run_id, "same": same, "diverged_at": path or None}
        print_json({**outcome, "reason": None if same else reason})
    elif same:
        say_line(out(), ("✓ same result", "green"), f"  run {run_id}, {reason}, no model call")
    else:
        where = f" at {path}" if path else ""
        say_line(out(), ("✗ different", "red"), f"  run {run_id}{where}: {reason}")
        if hint:
            say_line(out(), ("Hint: ", "bold"), hint)
    return 0 if same else FAILED
