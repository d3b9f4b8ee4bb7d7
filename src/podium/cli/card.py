"""Run header, result card, tables and suggested commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from podium.cli.layout import badge, fit, one_row, pad, shorten
from podium.cli.store import Commands
from podium.cli.terminal import err, out, print_question, print_raw, results
from podium.dimensions import DIMENSIONS
from podium.engine.events import Charge, RunWaiting
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.report.presentation import GENERIC, Presentation
from podium.report.words import (
    amount,
    brief,
    clock,
    count,
    cut_note,
    cut_steps,
    limit_words,
    model_name,
    money,
    one_line,
    pretty,
    safe,
    scored,
    size,
    unknown_calls,
)


def next_steps(
    state: RunState, status: str, commands: Commands, shown: Presentation = GENERIC
) -> list[tuple[str, str]]:
    """Return pairs of a command and its purpose, the most useful first."""
    run_id = state.run_id
    own = [(commands(*words), why) for words, why in shown.suggestions()]
    show = (commands("show", run_id), "details")
    report = (commands("report", run_id, "-o", "report.html"), "report")
    if status == "waiting":
        return [(command, "answer") for command in answers(state, commands)] + [show]
    if status in ("paused", "queued", "failed"):
        return [(commands("resume", run_id), "resume"), show]
    if status == "partial":
        onward = [(commands("resume", run_id, *_larger_budget(state)), "resume")]
        return [*(onward if state.can_go_on else own), show, report]
    if status == "running":
        return [(commands("events", run_id, "--follow"), "watch")]
    return [*own, show, report] if status == "completed" else [show]


def answers(state: RunState, commands: Commands) -> list[str]:
    """Return one command per possible answer, for the first three open questions and up to
    four choices each."""
    suggested: list[str] = []
    for path, question in list(state.questions.items())[:3]:
        which = () if len(state.questions) == 1 else ("--question", shlex.quote(path))
        replies = [shlex.quote(choice) for choice in question.choices]
        replies += [shlex.quote(f'{{"{name}": …}}') for name in question.answers]
        replies = replies or ["TEXT"]
        suggested += [commands("answer", state.run_id, choice, *which) for choice in replies[:4]]
    return suggested


def _larger_budget(state: RunState) -> tuple[str, ...]:
    """Return the flag of the exhausted limit with the doubled limit, but at least what is needed. It is a
    starting point, not a recommendation."""
    met = state.exhausted
    dimension = None if met is None or met.scope else DIMENSIONS.get(met.kind)
    if met is None or dimension is None or not dimension.setting:
        return ()
    total = max(met.limit * 2, met.spent + met.needed)
    if dimension.whole:
        return dimension.flag, str(ceil(total))
    rounded = f"{ceil(total * 100) / 100:.2f}".rstrip("0").rstrip(".")
    return dimension.flag, rounded + ("s" if dimension.is_time else "")


REHEARSAL = "Rehearsal: the answers are made up offline; no model wrote them."
SHOWN_LINES = 200
"""Lines shown of an output that is data; a text is shown in full."""
SHOWN_WARNINGS = 10
SHOWN_ARTIFACTS = 24
"""Maximum number of artifacts listed individually."""
FEW_ARTIFACTS = 4
"""Up to this number, other artifacts are listed beside the leading ones."""
LEAST_ROOM = 20
"""Minimum width beside the header, in columns. With less, the request gets a separate line."""


def print_header(state: RunState) -> None:
    """Print workflow, run id, request, models and budget."""
    console = out()
    name = one_line(state.workflow.rpartition("/")[2])
    head = ((name, "bold"), "  ", (state.run_id, "cyan"))
    beside = console.width - len(name) - len(state.run_id) - 4 if console.is_terminal else 500
    if beside >= LEAST_ROOM:
        say_line(console, *head, "  ", shorten(brief(state.request, 1000), beside))
    else:
        say_line(console, *head)
        say_line(console, shorten(brief(state.request, 1000), console.width))
    named: list[str] = state.config.get("models") or [state.config.get("model") or ""]
    models = one_line(", ".join(dict.fromkeys(map(model_name, named))))
    made_up = "(answers are made up)" if state.config.get("rehearsal") else ""
    chosen = "" if state.config.get("model") else one_line(state.config.get("choice", ""))
    parts = (models, made_up, f"({chosen})" if chosen else "", ceilings(state))
    say_prose(console, ("  ".join(part for part in parts if part), "dim"))
    say_line(console)


def print_card(result: RunResult, state: RunState, shown: Presentation, commands: Commands) -> None:
    """Print status, problems, output, questions, artifacts, costs and next commands."""
    console = out()
    say_line(console)
    print_status(console, result)
    made_up = any(step.kind == "ask" and step.status == "completed" for step in state.steps.values())
    if result.rehearsal and made_up:
        say_prose(console, (REHEARSAL, "yellow"))
    print_problems(console, result, cut_note(cut_steps(state)))
    print_result(console, result.output, shown, commands("show", result.run_id, "--output"))
    print_questions(console, result.questions)
    print_pairs(console, made_of(result, shown, commands), next_steps(state, result.status, commands, shown))


def print_status(console: Console, result: RunResult) -> None:
    """Print the status, its reason, duration, costs and quality."""
    figures = [clock(result.duration_s), *spending(result.usage), *saving(result.saved)]
    if result.quality is not None:
        figures.append(scored(f"quality {round(result.quality, 2):g}", result.rehearsal))
    say_prose(console, badge(result.status, console), _reason(result), "  ", ("  ".join(figures), "dim"))


def _reason(result: RunResult) -> str:
    reason = one_line(result.stop_reason or "")
    return f" ({reason})" if reason and reason != result.status else ""


def print_quietly(result: RunResult, state: RunState, shown: Presentation, commands: Commands) -> None:
    """Print only the output to stdout. Problems, questions and the next command go to stderr."""
    if result.output is not None:
        print_output(result.output, shown, raw=True)
    if incomplete := cut_note(cut_steps(state)):
        say_line(err(), ("Not complete: ", "bold yellow"), incomplete)
    if result.status == "completed":
        return
    error = f"  {one_line(result.error)}" if result.error else ""
    say_line(err(), badge(result.status, err()), _reason(result), error)
    for question in result.questions.values():
        say_line(err(), ("? ", "bold yellow"), one_line(question.question))
    for command, why in next_steps(state, result.status, commands, shown)[:1]:
        say_line(err(), (f"{why}  ", "dim"), command)


def print_problems(console: Console, result: RunResult, incomplete: str) -> None:
    """Print error, hint and warnings. An exhausted budget is not an error. If not all warnings fit,
    `incomplete` comes first: it names the texts that were cut off."""
    label = ("Stopped: ", "bold yellow") if result.status == "partial" else ("Error: ", "bold red")
    if result.error:
        say_prose(console, label, safe(result.error))
    if result.hint:
        say_prose(console, ("Hint: ", "bold"), safe(result.hint))
    warnings = [warning for warning in result.warnings if warning != result.hint]
    if len(warnings) > SHOWN_WARNINGS and incomplete:
        say_prose(console, ("! ", "yellow"), safe(incomplete))
    for warning in warnings[:SHOWN_WARNINGS]:
        say_prose(console, ("! ", "yellow"), safe(warning))
    if len(warnings) > SHOWN_WARNINGS:
        rest = count(len(warnings) - SHOWN_WARNINGS, "more warning")
        say_line(console, (f"! … {rest}; see all in `podium report`", "yellow"))


def print_questions(console: Console, questions: dict[str, RunWaiting]) -> None:
    """Print every open question in full, so that it can be answered without further commands."""
    for path, question in questions.items():
        say_line(console)
        print_question(console, question, path if len(questions) > 1 else "")


def made_of(result: RunResult, shown: Presentation, commands: Commands) -> list[tuple[str, str]]:
    """Return the artifacts as label and text, the most important first. Further ones are only counted."""
    leading = shown.leading(result.output)
    made = sorted(result.artifacts, key=lambda item: item.id not in leading)
    listed = made
    if len(made) > FEW_ARTIFACTS and made[0].id in leading:
        listed = [item for item in made if item.id in leading]
    elif len(made) > FEW_ARTIFACTS:  # artifacts of the same name could not be told apart
        names = Counter(item.name for item in made)
        listed = [item for item in made if names[item.name] == 1]
    listed = listed[:SHOWN_ARTIFACTS]
    rows = [("artifact", f"{one_line(item.name)}  {size(item.bytes)}") for item in listed]
    if len(listed) < len(made):
        rest = count(len(made) - len(listed), "more artifact" if listed else "artifact")
        rows.append(("", f"{rest}: {commands('artifacts', result.run_id)}"))
    return rows


def print_pairs(console: Console, made: list[tuple[str, str]], steps: list[tuple[str, str]]) -> None:
    """Print artifacts and next commands in two columns."""
    pairs = made + [(why, command) for command, why in steps]
    if not pairs:
        return
    say_line(console)
    width = max(len(label) for label, _ in pairs) + 2
    for label, text in pairs:
        say_line(console, (label.ljust(width), "dim"), text)


def print_result(console: Console, output: Any, shown_by: Presentation, whole: str) -> None:
    """Print the deliverable, all of it, or the data of a run that has none; then the figures of the run.
    `whole` is the command that prints all of the data."""
    text = None if output is None else shown_by.deliverable(output)
    if text:
        say_line(console)
        _print_text(console, text, rendered=console.is_terminal)
    elif text is None and output is not None:
        _print_data(console, pretty(output), whole)
    if summary := shown_by.summary():
        say_line(console)
        say_prose(console, (one_line(summary), "dim"))


def _print_text(console: Console, text: str, *, rendered: bool) -> None:
    """Print a whole text: as Markdown for people at a terminal (`rendered`), else line by line as it is."""
    from podium.cli.markdown import is_markdown, print_markdown  # noqa: PLC0415 - most commands print none

    if rendered and is_markdown(text):
        print_markdown(console, text)
        return
    for line in safe(text).strip("\n").splitlines():
        say_prose(console, line)


def _print_data(console: Console, text: str, whole: str) -> None:
    lines = safe(text).strip("\n").splitlines()
    say_line(console)
    for line in lines[:SHOWN_LINES]:
        say_prose(console, line)
    if len(lines) > SHOWN_LINES:
        rest = count(len(lines) - SHOWN_LINES, "more line")
        say_line(console, (f"… {rest}: {whole}", "dim"))


def print_output(output: Any, shown: Presentation, *, raw: bool = False) -> None:
    """Print the output and nothing else: rendered on a terminal, else, or if `raw`, byte by byte."""
    watched = results().isatty()
    text = shown.deliverable(output)
    if text and watched and not raw:
        _print_text(out(), text, rendered=True)
        return
    text = pretty(output) if text is None else text
    print_raw((safe(text) if watched else text).encode("utf-8", "replace"))


def spending(usage: Charge) -> list[str]:
    """Return cost, calls and tokens as far as there are any."""
    parts = [money(usage.usd)] if usage.usd or not usage.unpriced_calls else []
    parts.append(count(usage.calls, "call"))
    parts += [count(usage.tokens, "token")] if usage.tokens else []
    parts += [f"{count(usage.unpriced_calls, 'call')} of unknown price"] if usage.unpriced_calls else []
    parts += [unknown_calls(usage)] if usage.unknown_calls else []
    return parts


def saving(saved: Charge) -> list[str]:
    """Return the number of calls served from the cache and what they saved; empty if none."""
    worth = f" (saved {money(saved.usd)})" if saved.usd else ""
    return [f"{amount(saved.calls)} from the cache{worth}"] if saved.calls else []


def ceilings(state: RunState) -> str:
    """Return the budget limits as text; empty if none is set."""
    limits = [
        clock(value) if DIMENSIONS[kind].is_time else limit_words(kind, value)
        for kind, value in state.budget.to_dict().items()
        if DIMENSIONS[kind].setting
    ]
    return f"at most {', '.join(limits)}" if limits else ""


def say_line(console: Console, *parts: str | Text | tuple[str, str]) -> None:
    """Print one line without wrapping, so that commands and ids can be copied."""
    console.print(_fitted(console, parts), soft_wrap=True)


def say_prose(console: Console, *parts: str | Text | tuple[str, str]) -> None:
    """Print text; on a terminal it is wrapped at word boundaries."""
    console.print(_fitted(console, parts), soft_wrap=not console.is_terminal)


def _fitted(console: Console, parts: tuple[str | Text | tuple[str, str], ...]) -> Text:
    text = Text.assemble(*parts)
    shown = fit(text.plain, console)
    return text if shown == text.plain else Text(shown, spans=text.spans)


GAP = 2
LEAST = 6
"""Minimum width of a text column, in cells."""


def print_table(
    console: Console,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    figures: Sequence[str] = (),
    spare: Sequence[str] = (),
    indent: int = 0,
) -> None:
    """Print one line per row. On a terminal that is too narrow, the columns in `spare` are dropped first (in
    that order), then the widest text columns are shortened. Elsewhere nothing is cut off."""
    if console.is_terminal and spare and _width(titles, rows) > console.width - indent:
        remaining = [place for place, title in enumerate(titles) if title != spare[0]]
        fewer = [[row[place] for place in remaining] for row in (titles, *rows)]
        print_table(console, fewer[0], fewer[1:], figures=figures, spare=spare[1:], indent=indent)
        return
    cells = [[one_line(cell) for cell in row] for row in rows]
    right = [title in figures for title in titles]
    widths = _widths(titles, cells)
    if console.is_terminal:
        _narrow(widths, right, console.width - indent)
    for number, row in enumerate((titles, *cells)):
        shown = [one_row(cell, width) for cell, width in zip(row, widths, strict=True)]
        placed = [
            " " * (width - cell_len(cell)) + cell if figure else pad(cell, width)
            for cell, width, figure in zip(shown, widths, right, strict=True)
        ]
        line = " " * indent + (" " * GAP).join(placed).rstrip()
        say_line(console, Text(line, style="dim" if number == 0 else ""))


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_len(row[place]) for row in (titles, *rows)) for place in range(len(titles))]


def _width(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(_widths(titles, rows)) + GAP * (len(titles) - 1)


def _narrow(widths: list[int], right: list[bool], room: int) -> None:
    """Shrink the widest text column repeatedly until all columns fit."""
    while sum(widths) + GAP * (len(widths) - 1) > room:
        words = [place for place, figure in enumerate(right) if not figure and widths[place] > LEAST]
        if not words:
            return
        widths[max(words, key=widths.__getitem__)] -= 1
