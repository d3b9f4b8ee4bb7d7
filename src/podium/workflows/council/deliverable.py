"""The recommendation for the user: the answer to the request, without ids, scores or transcript."""

from __future__ import annotations

import re

from podium.report.markdown import cell
from podium.workflows.council.context import sentence
from podium.workflows.council.discussion import Discussion, Idea, NextStep
from podium.workflows.council.points import Point, open_points, points_of

LONGEST = 20_000
"""Maximum characters of one text in a page, so that the page stays usable."""
RISKS, STEPS = 8, 12
"""Maximum risks and next steps in a recommendation that is assembled from the discussion."""


def answer_of(held: Discussion) -> str | None:
    """Return the recommendation as Markdown, or None if there is no winner. Prefer the text after the editor
    and the judges; otherwise use the council's own document."""
    delivered = held.delivered
    document = document_of(held) if delivered is None else delivered.document.strip()
    if not document:
        return None
    caveat = "" if delivered is not None and delivered.replaced else _caveat(held)
    return "\n\n".join(part for part in (contained(document), caveat) if part)


def document_of(held: Discussion) -> str | None:
    """Return the council's own document, or None if there is no winner. Prefer the leader's; otherwise
    assemble one from the idea, the moderator's pros, the steps and the open points."""
    final, verdict = held.final_idea, held.verdict
    if final is None or verdict is None:
        return None
    note = verdict.recommendation
    written = without_ids(note.document, held).strip() if note is not None else ""
    if written:
        title = [] if written.startswith("#") else [f"## {cell(final.title, 200)}"]
        parts = [*title, contained(written[:LONGEST])]
    else:
        parts = _put_together(held, final)
    return "\n\n".join(part for part in parts if part)


def _put_together(held: Discussion, final: Idea) -> list[str]:
    steps = own_steps(held)[:STEPS]
    points = own_points(held)[:RISKS]
    return [
        f"## {cell(final.title, 200)}",
        contained(without_ids(final.description[:LONGEST], held)),
        _part("Why", _why(held, final)),
        _part("Next steps", "\n".join(f"{nth}. {_step(held, one)}" for nth, one in enumerate(steps, 1))),
        _part("Still open", "\n".join(_open(held, point) for point in points)),
    ]


def _why(held: Discussion, final: Idea) -> str:
    if held.reason:
        return contained(without_ids(held.reason[:LONGEST], held))
    return "\n".join(f"- {cell(without_ids(one, held), 400)}" for one in final.pros)


def _step(held: Discussion, step: NextStep) -> str:
    effort = f" ({cell(step.effort, 100)})" if step.effort else ""
    return f"{cell(without_ids(step.step, held), 400)}{effort}"


def _open(held: Discussion, point: Point) -> str:
    helps = sentence(cell(without_ids(point.mitigation, held), 300)) if point.mitigation else ""
    text = sentence(cell(without_ids(point.text, held), 400))
    return f"- {text} What helps: {helps}" if helps else f"- {text}"


def _part(title: str, text: str) -> str:
    return f"### {title}\n\n{text}" if text else ""


def _caveat(held: Discussion) -> str:
    """Return a warning for the reader if the winner was not chosen or scored below the threshold, else an
    empty string."""
    verdict = held.verdict
    if verdict is None:
        return ""
    if not verdict.chosen:
        return "> Nobody chose this idea: it is the first one that came up, neither scored nor selected."
    if verdict.below_threshold:
        return (
            "> This is the best idea of the discussion, but it stayed below the quality that was asked for."
        )
    return ""


# ── points and steps of the winner ──


def lineage(held: Discussion, name: str | None) -> list[str]:
    """Return the ids of an idea and of all ideas that it refines, the newest first."""
    found: list[str] = []
    todo = [name]
    while todo:
        idea = held.idea(todo.pop(0))
        if idea is not None and idea.id not in found:
            found.append(idea.id)
            todo += idea.refines
    return found


def concerned(held: Discussion) -> set[str | None]:
    """Return the ids of the winner and the ideas that it refines, and None for points that concern all
    ideas."""
    return {None, *lineage(held, held.verdict.idea if held.verdict is not None else None)}


def own_points(held: Discussion) -> list[Point]:
    """Return the winner's open points: risks by severity, then questions."""
    meant = concerned(held)
    return [point for point in open_points(held.spoken) if point.idea in meant]


def all_steps(held: Discussion) -> list[NextStep]:
    """Return the leader's steps for the winner, if there are any, and the implementer's steps for the other
    ideas; otherwise all of the implementer's steps."""
    verdict = held.verdict
    note = verdict.recommendation if verdict is not None else None
    given = [step for one in held.spoken for step in one.details.next_steps]
    if note is not None and note.next_steps:
        given = [*note.next_steps, *(step for step in given if step.idea not in concerned(held))]
    return list({(step.idea, step.step): step for step in given}.values())


def own_steps(held: Discussion) -> list[NextStep]:
    """Return the winner's steps."""
    return [step for step in all_steps(held) if step.idea in concerned(held)]


# ── texts ──


def without_ids(text: str, held: Discussion) -> str:
    """Replace ids for readers who do not know them: `(I3)` is removed, `I3` becomes the idea's title, and
    `R2` the text of the risk. Other words that look like ids stay."""
    names: dict[str, str] = {idea.id: f"“{idea.title}”" for idea in held.ideas}
    names |= {point.id: f"“{point.text}”" for point in points_of(held.spoken)}
    if not names:
        return text
    for idea in held.ideas:  # “I3 Wider lanes” already contains the title
        text = re.sub(rf"\b{idea.id}[.:,]?\s+(?={re.escape(idea.title)})", "", text)
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    text = re.sub(rf"\s*[(\[](?:{known})(?:\s*[,;/&]\s*(?:{known}))*[)\]]", "", text)
    return re.sub(rf"\b(?:{known})\b(?![\w-])", lambda found: names[found[0]], text)


def contained(text: str) -> str:
    """Close an open code fence in a model's Markdown, so that it does not swallow the text after it."""
    text = text.strip()
    return f"{text}\n```" if text.count("```") % 2 else text
