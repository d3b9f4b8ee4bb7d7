"""Sections of a council's report as Markdown."""

from __future__ import annotations

from typing import Any

from podium.report.markdown import cell
from podium.report.words import amount
from podium.workflows.council.context import sentence
from podium.workflows.council.deliverable import contained
from podium.workflows.council.discussion import CRITERIA
from podium.workflows.council.policy import score_text

LONG = 4_000
"""Maximum characters of a contribution in a Markdown report. The JSON report holds the full text."""


def recommended(data: dict[str, Any]) -> str:
    """Render the decision: scores, the leader's preference, the idea's history, pros and cons."""
    idea = data["idea"]
    parts = [_decision(data)]
    if idea["criteria"] is not None:
        rows = [f"| {name} | {idea['criteria'][name]:g} |" for name in CRITERIA]
        mean = f"| **mean** | **{score_text(idea['score'])}** |"
        parts.append("\n".join(["| criterion | score |", "|---|--:|", *rows, mean]))
    if data["reason"]:
        parts.append(f"**The leader's reason:** {contained(data['reason'])}")
    if data["preferred"]:
        parts.append(
            f"**The leader would have chosen {data['preferred']['id']}, "
            f"{cell(data['preferred']['title'], 200)}:** {contained(data['preferred']['reason'])}"
        )
    parts += [_refined(data), *_judged(idea), *_versions(idea)]
    return "\n\n".join(part for part in parts if part)


def _decision(data: dict[str, Any]) -> str:
    if not data["chosen"]:
        return "Not scored and not chosen: the first idea is named."
    if not data["scored"]:
        return "Not scored: this is the leader's choice."
    idea = data["idea"]
    title = f"{idea['id']}, {cell(idea['title'], 200)},"
    sentences = [f"{title} has the highest score, {score_text(idea['score'])} of 10."]
    if data["below_threshold"]:
        sentences.append(f"Below the threshold of {data['min_score']:g}: no idea was good enough.")
    if data["tied"]:
        sentences.append(f"The same score: {', '.join(data['tied'])}.")
    return " ".join(sentences)


def _refined(data: dict[str, Any]) -> str:
    older = [f"{idea['id']}, *{cell(idea['title'], 200)}*" for idea in data["refined"]]
    return f"It improves {'; '.join(older)}." if older else ""


def _versions(idea: dict[str, Any]) -> list[str]:
    """Render the versions of an idea."""
    lines = [
        f"- Version {version['version']} ({_when(version['round'])}): {cell(version['description'], 600)}"
        + (f" Given up: {sentence(cell(version['given_up'], 300))}" if version["given_up"] else "")
        + (f" Why: {sentence(cell(version['why'], 300))}" if version["why"] else "")
        for version in idea["history"]
    ]
    return ["How it changed:\n\n" + "\n".join(lines)] if lines else []


def _judged(idea: dict[str, Any]) -> list[str]:
    parts = [
        f"- {sign} {cell(text, 300)}" for sign, key in (("+", "pros"), ("−", "cons")) for text in idea[key]
    ]
    feedback = [cell(idea["feedback"], 600)] if idea["feedback"] else []
    return ["\n".join(parts), *feedback] if parts else feedback


def checks(data: dict[str, Any]) -> str:
    """Render the blind comparisons and the parts of the request that the editor found unanswered."""
    parts: list[str] = []
    for name in ("comparison", "baseline"):
        if compared := data[name]:
            why = [f"- {cell(reason, 600)}" for reason in compared["why"]]
            tokens = f" ({amount(compared['tokens'])} tokens)" if name == "baseline" else ""
            parts.append("\n".join([sentence(compared["verdict"] + tokens), *(["", *why] if why else [])]))
    if data["missing"]:
        listed = [f"- {cell(part, 600)}" for part in data["missing"]]
        parts.append("Parts of the request that are not answered:\n\n" + "\n".join(listed))
    return "\n\n".join(parts)


def runners_up(rows: list[dict[str, Any]]) -> str:
    return "\n\n".join(
        f"**{row['rank']}. {cell(row['title'], 200)}** ({row['id']}, {score_text(row['score'])})\n\n"
        f"{cell(row['description'], 600)}"
        for row in rows
    )


def ideas(rows: list[dict[str, Any]]) -> str:
    head = "| # | id | idea | category | round | " + " | ".join(CRITERIA) + " | score |"
    lines = [head, "|--:|---|---|---|--:|" + "--:|" * (len(CRITERIA) + 1)]
    for row in rows:
        scores = [f"{row['criteria'][name]:g}" if row["criteria"] else "" for name in CRITERIA]
        title = cell(row["title"], 160) + _refines(row)
        start = [str(row["rank"]), row["id"], title, cell(row["category"], 40), str(row["round"] or "–")]
        cells = [*start, *scores, score_text(row["score"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparison(data: dict[str, Any]) -> str:
    lines = ["| | " + " | ".join(f"{idea['id']} {cell(idea['title'], 40)}" for idea in data["ideas"]) + " |"]
    lines.append("|---|" + "--:|" * len(data["ideas"]))
    for line in data["lines"]:
        cells = [f"**{score['text']}**" if score["best"] else score["text"] for score in line["cells"]]
        lines.append(f"| {line['name']} | " + " | ".join(cells) + " |")
    left_out = f"\n\nThe best {len(data['ideas'])} of {data['of']} scored ideas." if data["left_out"] else ""
    return "\n".join(lines) + left_out


def doubts(data: dict[str, Any]) -> str:
    parts = ["\n".join(f"- {cell(question, 400)}" for question in data["open_questions"])]
    for title, key in (("Risks of the recommended idea", "risks"), ("Risks of other ideas", "other_risks")):
        parts += [f"{title}:\n\n" + "\n".join(map(_risk, data[key]))] if data[key] else []
    parts += ["Settled:\n\n" + "\n".join(map(_settled, data["settled"]))] if data["settled"] else []
    return "\n\n".join([part for part in parts if part] or [contained(data["text"][:LONG])])


def _risk(risk: dict[str, Any]) -> str:
    helps = f" What helps: {sentence(cell(risk['mitigation'], 300))}" if risk["mitigation"] else ""
    return f"- **{risk['severity']}**{_about(risk)}: {sentence(cell(risk['risk'], 400))}{helps}"


def _settled(point: dict[str, Any]) -> str:
    how = f" ({cell(point['how'], 300)})" if point["how"] else ""
    return f"- {cell(point['text'], 400)}{how}"


def next_steps(data: dict[str, Any]) -> str:
    parts = ["\n".join(_step(nth, step) for nth, step in enumerate(data["steps"], 1))]
    others = [_step(nth, step) for nth, step in enumerate(data["other_steps"], 1)]
    parts += ["For other ideas:\n\n" + "\n".join(others)] if others else []
    return "\n\n".join([part for part in parts if part] or [contained(data["text"][:LONG])])


def _step(nth: int, step: dict[str, Any]) -> str:
    effort = f", {cell(step['effort'], 100)}" if step["effort"] else ""
    return f"{nth}. {cell(step['step'], 400)}{_about(step)}{effort}"


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
        + "; ".join(f"{idea['id']} {cell(idea['title'], 120)}" + _refines(idea) for idea in kind["ideas"])
        for kind in kinds
    )


def journey(stages: list[dict[str, Any]]) -> str:
    parts: list[str] = []
    for stage in stages:
        parts.append(f"### {stage['title']}")
        for message in stage["messages"]:
            content = (
                message["content"] if len(message["content"]) <= LONG else message["content"][:LONG] + " […]"
            )
            parts.append(f"**{message['speaker']}** to {message['to']}:\n\n" + _quoted(content))
    return "\n\n".join(parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in contained(text).splitlines())


def _when(number: int) -> str:
    return f"round {number}" if number else "the direct draft"


def _about(note: dict[str, Any]) -> str:
    return f" ({note['idea']}, {cell(note['title'], 80)})" if note["idea"] else ""


def _refines(row: dict[str, Any]) -> str:
    return f" (refines {', '.join(row['refines'])})" if row["refines"] else ""
