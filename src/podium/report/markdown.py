"""Generic report as Markdown, for a pull request, a wiki or a mail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from podium.report.data import Cost, ReportData, StepFacts, price_word
from podium.report.messages import ShownConversation, notes_of
from podium.report.presentation import Section
from podium.report.turns import ToolUse
from podium.report.words import (
    MARKUP,
    SCORES_MADE_UP,
    amount,
    count,
    duration,
    money,
    one_line,
    pretty,
    safe,
    scored,
    shorten,
    size,
    unknown_calls,
    without_title,
)

MOST_ROWS = 200
"""Maximum number of table rows in Markdown; the JSON report contains all."""

MOST_MESSAGES = 200
"""Messages of a conversation that a report shows, the last ones; the JSON report contains all."""
LONGEST_MESSAGE = 4_000

REHEARSAL = "Rehearsal: the answers were made up offline; this is not a model's work."
RECORD = "How it came about"
"""Title of the part after the deliverable. It is a level-1 heading, unlike the headings
of the deliverable."""
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r"#{1,6} ")


def to_markdown(facts: ReportData, sections: Sequence[Section] = ()) -> str:
    """Return the report: first the deliverable, then how it came about."""
    parts = [f"# {cell(facts.request, 200)}"]
    if facts.rehearsal:
        parts.append(f"> **{REHEARSAL}**")
    if facts.status != "completed":
        reason = f" ({facts.stop_reason})" if facts.stop_reason not in ("", facts.status) else ""
        parts.append(f"**{facts.status}{reason}** {safe(facts.error)}".strip())
    parts += [f"> **Before you read.** {cell(notice, 2_000)}" for notice in facts.notices]
    if facts.incomplete and cell(facts.incomplete, 800) not in (facts.deliverable or ""):
        parts.append(f"> **Not complete.** {cell(facts.incomplete, 800)}")
    if facts.deliverable:
        parts.append(below_title(without_title(safe(facts.deliverable), facts.request)).strip())
    elif facts.deliverable is None and facts.output is not None:
        parts.append(f"```json\n{safe(pretty(facts.output))}\n```")
    parts += [f"---\n\n# {RECORD}"]
    parts += _bullets("Warnings", facts.warnings)
    parts += _bullets("Missing", facts.missing)
    parts += [_section(section, facts.rehearsal) for section in sections]
    parts += _bullets("Asked of a person", [f"{a.question} → {a.answer}" for a in facts.answers])
    parts += _bullets("Artifacts", _artifacts(facts))
    parts += [_conversation(talk) for talk in facts.conversations]
    if facts.steps:
        parts.append("## Steps\n\n" + _table(facts.steps))
    if facts.costs:
        parts.append("## What it cost\n\n" + _costs(facts.costs))
    if facts.tools:
        parts.append("## Tools\n\n" + _tools(facts.tools))
    parts.append("---\n\n" + footer(facts))
    return "\n\n".join(parts) + "\n"


def _section(section: Section, rehearsal: bool) -> str:
    note = f"*{SCORES_MADE_UP}*\n\n" if rehearsal and section.scored else ""
    return f"## {section.title}\n\n{note}{safe(section.markdown())}"


def below_title(text: str) -> str:
    """Return a document whose headings are all below the report's title: if it has a level-1 heading, all its
    headings move down one level, at most to level 6."""
    lines, fence, titled = text.splitlines(), "", False
    marks: list[int] = []
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and _HEADING.match(line):
            marks.append(number)
            titled = titled or line.startswith("# ")
    for number in marks if titled else ():
        lines[number] = f"#{lines[number]}" if not lines[number].startswith("######") else lines[number]
    return "\n".join(lines)


def footer(facts: ReportData) -> str:
    """Return a summary of the run on one line."""
    parts = [
        f"{facts.workflow}, run {facts.run_id}",
        f"model {', '.join(facts.models)}" if facts.models else "",
        count(facts.usage.calls, "call"),
        money(facts.usage.usd),
        f"{count(facts.usage.unpriced_calls, 'call')} of unknown price" if facts.usage.unpriced_calls else "",
        unknown_calls(facts.usage) if facts.usage.unknown_calls else "",
        saved(facts),
        duration(facts.duration_s),
        scored(f"quality {round(facts.quality, 2):g}", facts.rehearsal) if facts.quality is not None else "",
        count(len(facts.warnings), "warning"),
        f"forked from {facts.forked_from}" if facts.forked_from else "",
    ]
    return " · ".join(part for part in parts if part)


def saved(facts: ReportData) -> str:
    """Return the number of calls served from the cache and what they saved; empty if none."""
    if not facts.saved.calls:
        return ""
    worth = f" (saved {money(facts.saved.usd)})" if facts.saved.usd else ""
    return f"{count(facts.saved.calls, 'call')} from the cache{worth}"


def _bullets(title: str, items: list[str]) -> list[str]:
    return [f"## {title}\n\n" + "\n".join(f"- {cell(item, 500)}" for item in items)] if items else []


def _artifacts(facts: ReportData) -> list[str]:
    """Return each artifact with its name and size; names that occur more than once get their path. Beyond
    `MOST_ROWS` they are only counted."""
    names = Counter(made["name"] for made in facts.artifacts)
    names_shown = [
        f"{made['name']}{_place(made['path']) if names[made['name']] > 1 else ''} ({size(made['bytes'])})"
        for made in facts.artifacts[:MOST_ROWS]
    ]
    rest = len(facts.artifacts) - len(names_shown)
    return [*names_shown, f"and {rest} more"] if rest else names_shown


def _place(path: str) -> str:
    branch = path.rpartition("/")[0]
    return f" of {branch}" if branch else ""


def _table(steps: list[StepFacts]) -> str:
    rows = ["| step | who | status | time | cost | retries |", "|---|---|---|--:|--:|--:|"]
    for step in steps[:MOST_ROWS]:
        took = "" if step.duration_s is None else duration(step.duration_s)
        cost = money(step.usage.usd) if step.usage.usd else "cached" if step.saved.calls else ""
        cells = (step.path, step.agent or step.call, step.status, took, cost, str(step.retries or ""))
        rows.append("| " + " | ".join(cell(text, 120) for text in cells) + " |")
    if len(steps) > MOST_ROWS:
        rows.append(f"\n… {count(len(steps) - MOST_ROWS, 'more step')}.")
    return "\n".join(rows)


def _costs(costs: list[Cost]) -> str:
    rows = ["| who | model | calls | tokens in | tokens out | cost |", "|---|---|--:|--:|--:|--:|"]
    for cost in costs:
        used = cost.usage
        figures = (str(used.calls), amount(used.input_tokens), amount(used.output_tokens), price_word(used))
        rows.append("| " + " | ".join(cell(text, 120) for text in (cost.agent, cost.model, *figures)) + " |")
    return "\n".join(rows)


def _tools(tools: list[ToolUse]) -> str:
    rows = ["| tool | calls | failed | time | cost |", "|---|--:|--:|--:|--:|"]
    for use in tools:
        cost = money(use.usage.usd) if use.usage.usd else ""
        cells = (use.tool, str(use.calls), str(use.failed or ""), duration(use.seconds), cost)
        rows.append("| " + " | ".join(cell(text, 120) for text in cells) + " |")
    return "\n".join(rows)


def _conversation(talk: ShownConversation) -> str:
    """Return the messages of a conversation, as quotes without markup: models and tools wrote them."""
    parts = [f"## Conversation: {cell(talk.title, 200)}"]
    for message in talk.messages[-MOST_MESSAGES:]:
        parts.append(f"**{cell(message.who, 200)}**")
        parts += [_quoted(message.text)] if message.text else []
        parts += [f"- attached {cell(part.name, 200)} ({size(part.size)})" for part in message.files]
        for call in message.calls:
            notes = " · ".join(notes_of(call))
            parts.append(f"- {cell(call.words, 400)} {cell(notes, 400)}".rstrip())
            parts += [_quoted(call.result, "  ")] if call.result else []
    if len(talk.messages) > MOST_MESSAGES:
        parts.insert(1, f"… {count(len(talk.messages) - MOST_MESSAGES, 'earlier message')}.")
    return "\n\n".join(parts)


def _quoted(text: str, indent: str = "") -> str:
    shown = shorten(safe(text), LONGEST_MESSAGE)
    return "\n".join(f"{indent}> {cell(line, LONGEST_MESSAGE)}  " for line in shown.splitlines())


def cell(text: str, width: int) -> str:
    """Return the text as one line with all Markdown escaped."""
    return re.sub(f"({MARKUP})", r"\\\1", one_line(text, width))
