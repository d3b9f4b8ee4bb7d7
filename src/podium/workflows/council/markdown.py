"""The parts of a council's report as Markdown."""

from __future__ import annotations

from typing import Any

from podium.report.markdown import cell
from podium.workflows.council.discussion import CRITERIA, Discussion

LONG = 4_000
"""Characters of a contribution that a Markdown report repeats; the JSON report holds all."""


def contained(text: str) -> str:
    """A model's Markdown that cannot swallow what comes after it."""
    text = text.strip()
    return f"{text}\n```" if text.count("```") % 2 else text


def reservations(held: Discussion) -> str:
    """What speaks against taking the result as it is."""
    verdict = held.verdict
    if verdict is None:
        return ""
    told: list[str] = []
    if not verdict.scored:
        told.append("No scores: the ideas were not evaluated.")
    if verdict.below_threshold:
        told.append(f"Below the threshold of {held.min_score:g}: no idea was good enough.")
    choice = held.idea(verdict.leader_choice)
    if choice is not None and choice.id != verdict.idea:
        score = "" if choice.score is None else f" ({choice.score:g})"
        told.append(f"The leader preferred {choice.id}, {cell(choice.title, 120)}{score}; the score decides.")
    if verdict.tied:
        told.append(f"The same score: {', '.join(verdict.tied)}.")
    return "> " + " ".join(told) if told else ""


def refinement(held: Discussion) -> str:
    """Which idea the winner is a better version of: its text may speak of it."""
    final = held.final_idea
    before = held.idea(final.refines) if final is not None else None
    return "" if before is None else f"It improves {before.id}, *{cell(before.title, 200)}*."


def recommended(data: dict[str, Any]) -> str:
    idea = data["idea"]
    if idea["criteria"] is None:
        return "Not scored."
    rows = [f"| {name} | {idea['criteria'][name]:g} |" for name in CRITERIA]
    table = "\n".join(["| criterion | score |", "|---|--:|", *rows, f"| **mean** | **{idea['score']:g}** |"])
    return "\n\n".join([table, *_judged(idea)])


def _judged(idea: dict[str, Any]) -> list[str]:
    parts = [
        f"- {sign} {cell(one, 300)}" for sign, key in (("+", "pros"), ("−", "cons")) for one in idea[key]
    ]
    feedback = [cell(idea["feedback"], 600)] if idea["feedback"] else []
    return ["\n".join(parts), *feedback] if parts else feedback


def runners_up(rows: list[dict[str, Any]]) -> str:
    return "\n\n".join(
        f"**{row['rank']}. {cell(row['title'], 200)}** ({row['id']}, {_score(row)})\n\n"
        f"{cell(row['description'], 600)}"
        for row in rows
    )


def ideas(rows: list[dict[str, Any]]) -> str:
    head = "| # | id | idea | category | round | " + " | ".join(CRITERIA) + " | score |"
    lines = [head, "|--:|---|---|---|--:|" + "--:|" * (len(CRITERIA) + 1)]
    for row in rows:
        scores = [f"{row['criteria'][name]:g}" if row["criteria"] else "" for name in CRITERIA]
        title = cell(row["title"], 160) + (f" (refines {row['refines']})" if row["refines"] else "")
        cells = [
            str(row["rank"]),
            row["id"],
            title,
            cell(row["category"], 40),
            str(row["round"]),
            *scores,
            _score(row),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparison(data: dict[str, Any]) -> str:
    lines = ["| | " + " | ".join(f"{one['id']} {cell(one['title'], 40)}" for one in data["ideas"]) + " |"]
    lines.append("|---|" + "--:|" * len(data["ideas"]))
    for line in data["lines"]:
        cells = [f"**{one['value']:g}**" if one["best"] else f"{one['value']:g}" for one in line["cells"]]
        lines.append(f"| {line['name']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def doubts(data: dict[str, Any]) -> str:
    parts = ["\n".join(f"- {cell(question, 400)}" for question in data["open_questions"])]
    for title, key in (("Risks of the recommended idea", "risks"), ("Risks of other ideas", "other_risks")):
        parts += [f"{title}:\n\n" + "\n".join(map(_risk, data[key]))] if data[key] else []
    return "\n\n".join([part for part in parts if part] or [contained(data["text"][:LONG])])


def _risk(risk: dict[str, Any]) -> str:
    helps = f" What helps: {cell(risk['mitigation'], 300)}." if risk["mitigation"] else ""
    return f"- **{risk['severity']}**{_about(risk)}: {cell(risk['risk'], 400)}{helps}"


def next_steps(data: dict[str, Any]) -> str:
    parts = ["\n".join(_step(nth, one) for nth, one in enumerate(data["steps"], 1))]
    others = [_step(nth, one) for nth, one in enumerate(data["other_steps"], 1)]
    parts += ["For other ideas:\n\n" + "\n".join(others)] if others else []
    return "\n\n".join([part for part in parts if part] or [contained(data["text"][:LONG])])


def _step(nth: int, one: dict[str, Any]) -> str:
    effort = f", {cell(one['effort'], 100)}" if one["effort"] else ""
    return f"{nth}. {cell(one['step'], 400)}{_about(one)}{effort}"


def evidence(data: dict[str, Any]) -> str:
    lead = (
        f"Looked up with {data['tools']}."
        if data["tools"]
        else "From the model alone; nothing was looked up."
    )
    cards = [
        f"- {cell(card['claim'], 400)} ({cell(_source(card), 300)}"
        f"{'' if card['checked'] else '; not checked'})"
        for card in data["cards"]
    ]
    return "\n\n".join([lead, "\n".join(cards)]) if cards else lead


def _source(card: dict[str, Any]) -> str:
    return " ".join((card["source"], card["link"])).strip() or "no source"


def concept_map(kinds: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"- {cell(kind['category'], 60)}: "
        + "; ".join(
            f"{one['id']} {cell(one['title'], 120)}"
            + (f" (refines {one['refines']})" if one["refines"] else "")
            for one in kind["ideas"]
        )
        for kind in kinds
    )


def journey(stages: list[dict[str, Any]]) -> str:
    parts: list[str] = []
    for stage in stages:
        parts.append(f"### {stage['title']}")
        for said in stage["messages"]:
            content = said["content"] if len(said["content"]) <= LONG else said["content"][:LONG] + " […]"
            parts.append(f"**{said['speaker']}** to {said['to']}:\n\n" + _quoted(content))
    return "\n\n".join(parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in contained(text).splitlines())


def _about(one: dict[str, Any]) -> str:
    return f" ({one['idea']}, {cell(one['title'], 80)})" if one["idea"] else ""


def _score(row: dict[str, Any]) -> str:
    return "not scored" if row["score"] is None else f"{row['score']:g}"
