"""The first and the last thing that is said about a run: what it is, and what became of it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from podium.cli.cells import shorten
from podium.cli.layout import fit
from podium.cli.next_steps import next_steps
from podium.cli.opening import Commands
from podium.cli.status import badge
from podium.cli.terminal import err, out, print_raw
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.report.words import amount, clock, count, money, one_line, pretty, safe, size

REHEARSAL = "Rehearsal: the answers were made up offline; they are not a model's work."
SHOWN_LINES = 24
"""How much of an output the card shows."""


def print_header(state: RunState) -> None:
    """Which run this is, what was asked, who answers, what it may cost."""
    console = out()
    name = one_line(state.workflow.rpartition("/")[2])
    request = state.request if isinstance(state.request, str) else encode(state.request).decode()
    head = f"{name}  {state.run_id}  "
    room = max(console.width - len(head), 20) if console.is_terminal else 500
    say_line(
        console, (name, "bold"), "  ", (state.run_id, "cyan"), "  ", shorten(one_line(request, 1000), room)
    )
    models = one_line(", ".join(state.config.get("models") or ()) or str(state.config.get("model") or ""))
    made_up = "(answers are made up)" if state.config.get("rehearsal") else ""
    say_line(console, ("  ".join(part for part in (models, made_up, ceilings(state)) if part), "dim"))
    say_line(console)


def print_card(result: RunResult, state: RunState, commands: Commands) -> None:
    """How it ended, what it made, what it cost, what to do next."""
    console = out()
    say_line(console)
    reason = f" ({one_line(result.stop_reason)})" if result.stop_reason else ""
    figures = [clock(result.duration_s), *spending(result.usage)]
    figures += [f"quality {result.quality:g}"] if result.quality is not None else []
    say_line(console, badge(result.status, console), reason, "  ", ("  ".join(figures), "dim"))
    if result.rehearsal and any(step.kind == "ask" for step in state.steps.values()):
        say_prose(console, (REHEARSAL, "yellow"))
    print_problems(console, result.error, result.hint, result.warnings)
    print_result(console, result.output, commands("show", result.run_id, "--output"))
    for made in result.artifacts:
        say_line(console, ("artifact  ", "dim"), one_line(made.name), (f"  {size(made.bytes)}", "dim"))
    for path, question in result.questions.items():
        say_line(console, ("? ", "bold yellow"), (one_line(question.question), "bold"), (f"  {path}", "dim"))
    say_line(console)
    for command, why in next_steps(state, result.status, commands):
        say_line(console, (f"{why}  ", "dim"), command)


def print_quietly(result: RunResult, state: RunState, commands: Commands) -> None:
    """The output alone; what is wrong with it goes to stderr."""
    if result.output is not None:
        print_output(result.output)
    if result.status == "completed":
        return
    reason = f" ({one_line(result.stop_reason)})" if result.stop_reason else ""
    say_line(
        err(), badge(result.status, err()), reason, f"  {one_line(result.error)}" if result.error else ""
    )
    for question in result.questions.values():
        say_line(err(), ("? ", "bold yellow"), one_line(question.question))
    for command, why in next_steps(state, result.status, commands)[:1]:
        say_line(err(), (f"{why}  ", "dim"), command)


def print_problems(console: Console, error: str, hint: str, warnings: list[str]) -> None:
    """What went wrong, and what a reader of the result should know."""
    if error:
        say_prose(console, ("Error: ", "bold red"), safe(error))
    if hint:
        say_prose(console, ("Hint: ", "bold"), safe(hint))
    for warning in warnings:
        say_prose(console, ("! ", "yellow"), safe(warning))


def print_result(console: Console, output: Any, whole: str) -> None:
    """The output itself when it is short, its beginning otherwise."""
    if output is None:
        return
    lines = safe(pretty(output)).strip("\n").splitlines()
    shown = lines[:SHOWN_LINES]
    say_line(console)
    for line in shown:
        say_prose(console, line[:2000])
    if len(lines) > len(shown):
        say_line(console, (f"… {count(len(lines) - len(shown), 'more line')}: {whole}", "dim"))


def print_output(output: Any) -> None:
    """The output and nothing else; bytes as they are unless a terminal would read them."""
    text = pretty(output)
    print_raw((safe(text) if out().is_terminal else text).encode("utf-8", "replace"))


def spending(usage: Charge) -> list[str]:
    """Cost, calls and tokens, as far as there are any."""
    parts = [money(usage.usd)] if usage.usd or not usage.unpriced_calls else []
    parts.append(count(usage.calls, "call"))
    parts += [count(usage.tokens, "token")] if usage.tokens else []
    parts += [f"{count(usage.unpriced_calls, 'call')} of unknown price"] if usage.unpriced_calls else []
    return parts


def ceilings(state: RunState) -> str:
    """Every ceiling that was set."""
    budget = state.budget
    told = [
        "" if budget.usd is None else money(budget.usd),
        "" if budget.calls is None else count(budget.calls, "call"),
        "" if budget.tokens is None else f"{amount(budget.tokens)} tokens",
        "" if budget.seconds is None else clock(budget.seconds),
    ]
    given = [part for part in told if part]
    return f"at most {', '.join(given)}" if given else ""


def say_line(console: Console, *parts: str | Text | tuple[str, str]) -> None:
    """One line, as long as it is: commands and ids can be copied whole."""
    console.print(_fitted(console, parts), soft_wrap=True)


def say_prose(console: Console, *parts: str | Text | tuple[str, str]) -> None:
    """A line of text; on a terminal it is folded between words."""
    console.print(_fitted(console, parts), soft_wrap=not console.is_terminal)


def _fitted(console: Console, parts: tuple[str | Text | tuple[str, str], ...]) -> Text:
    text = Text.assemble(*parts)
    shown = fit(text.plain, console)
    return text if shown == text.plain else Text(shown, spans=text.spans)
