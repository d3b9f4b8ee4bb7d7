"""`podium fork` and `podium replay`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from podium.api import fork as fork_run
from podium.api import replay as replay_run
from podium.api.outcome import result_of
from podium.cli.card import say_line
from podium.cli.drive import Foreground
from podium.cli.failure import FAILED
from podium.cli.flags import AsJson, BudgetFlags, OutputFlags, RunId, StoreUrl
from podium.cli.opening import Commands, find_run, opened
from podium.cli.terminal import out, print_json
from podium.engine.codec import decode, encode
from podium.engine.history import steps_of
from podium.engine.log import Row
from podium.errors import ReplayDivergedError, UsageError
from podium.report.words import count, one_line, sentence

OUTPUT, BUDGET = OutputFlags(), BudgetFlags()
At = Annotated[
    str | None, Parameter(metavar="PATH", help="The step to change; without it, all steps are listed.")
]
Reply = Annotated[
    Path | None, Parameter(metavar="FILE", help="Its text (or JSON) takes the place of the step's result.")
]
Prompt = Annotated[
    Path | None, Parameter(metavar="FILE", help="Its text is asked instead of the step's own prompt.")
]
Model = Annotated[str | None, Parameter(metavar="MODEL", help="Let another model answer from here on.")]


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
    """Copy a run up to one step, change that step, and run on from there.

    What came before the step is inherited: it is shown, and neither run nor paid again.
    """
    if sum(given is not None for given in (reply, prompt, model)) > 1:
        raise UsageError(
            "--reply, --prompt and --model exclude each other.", hint="Fork twice to change two things."
        )
    if at is None and (reply or prompt or model):
        raise UsageError(
            "podium fork needs --at to know which step to change.",
            hint=f"`podium fork {run}` lists the steps.",
        )
    async with opened(store, **vars(budget)) as (settings, opened_store):
        found = await find_run(opened_store, run)
        rows = await opened_store.read(found.run_id)
        if at is None:
            return _list_steps(found.run_id, rows, output, Commands(settings))
        handle = await fork_run(
            found.run_id,
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
    """Return the file's text if the step's result is text, otherwise its parsed JSON. Unset
    without a file."""
    if file is None:
        return msgspec.UNSET
    text = _read(file)
    last = next((row for row in reversed(rows) if row.path == at and row.type == "step.completed"), None)
    if last is None or isinstance(decode(last.data).get("result"), str):
        return text.removesuffix("\n")
    try:
        return decode(text.encode())
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{file} is not JSON, but the step {at} gives data.",
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
    """Play a finished run again from its log, without any model call.

    Says whether today's code comes to the same result, or at which step it differs.
    """
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        recorded, state = await result_of(opened_store, found)
        try:
            replayed = await replay_run(found.run_id, store=opened_store, settings=settings)
        except ReplayDivergedError as error:
            return _tell(found.run_id, json, False, error.path, error.reason, error.hint)
    same = encode(replayed.output) == encode(recorded.output) and replayed.status == recorded.status
    reason = "" if same else f"the log says {recorded.status}, today's code {replayed.status}"
    if not same and replayed.status == recorded.status:
        reason = "the output differs"
    steps = count(len(state.steps), "step")
    return _tell(found.run_id, json, same, "", reason or steps)


def _tell(run_id: str, json: bool, same: bool, path: str, reason: str, hint: str = "") -> int:
    if json:
        told = {"run_id": run_id, "same": same, "diverged_at": path or None}
        print_json({**told, "reason": None if same else reason})
    elif same:
        say_line(out(), ("✓ same result", "green"), f"  run {run_id}, {reason}, no model call")
    else:
        where = f" at {path}" if path else ""
        say_line(out(), ("✗ different", "red"), f"  run {run_id}{where}: {reason}")
        if hint:
            say_line(out(), ("Hint: ", "bold"), hint)
    return 0 if same else FAILED
