"""The recommendation for the user: the answer to the request, without ids, scores or transcript."""

from __future__ import annotations

import re

from podium.report.markdown import cell
from podium.workflows.council.context import sentence
from podium.workflows.council.discussion import Discussion, Idea, NextStep, Point, open_points, points_of

LONGEST = 20_000
"""Maximum characters of one text in a page, so that the page stays usable."""
RISKS, STEPS = 8, 12
"""Maximum risks and next steps in a recommendation that is assembled from the discussion."""


def answer_of(discussion: Discussion) -> str | None:
    """Return the recommendation as Markdown, or None if there is no winner. Prefer the text after the editor
    and the judges; otherwise use the council's own document."""
    delivered = discussion.delivered
    document = document_of(discussion) if delivered is None else delivered.document.strip()
    if not document:
        return None
    caveat = "" if delivered is not None and delivered.replaced else _caveat(discussion)
    return "\n\n".join(part for part in (contained(document), caveat) if part)


def document_of(discussion: Discussion) -> str | None:
    """Return the council's own document, or None if there is no winner. Prefer the leader's; otherwise
    assemble one from the idea, the moderator's pros, the steps and the open points."""
    final, verdict = discussion.final_idea, discussion.verdict
    if final is None or verdict is None:
        return None
    note = verdict.recommendation
    written = without_ids(note.document, discussion).strip() if note is not None else ""
    if written:
        title = [] if written.startswith("#") else [f"## {cell(final.title, 200)}"]
        parts = [*title, contained(written[:LONGEST])]
    else:
        parts = _assembled(discussion, final)
    return "\n\n".join(part for part in parts if part)


def _assembled(discussion: Discussion, final: Idea) -> list[str]:
    steps = own_steps(discussion)[:STEPS]
    points = own_points(discussion)[:RISKS]
    return [
        f"## {cell(final.title, 200)}",
        contained(without_ids(final.description[:LONGEST], discussion)),
        _part("Why", _why(discussion, final)),
        _part(
            "Next steps", "\n".join(f"{nth}. {_step(discussion, step)}" for nth, step in enumerate(steps, 1))
        ),
        _part("Still open", "\n".join(_open(discussion, point) for point in points)),
    ]


def _why(discussion: Discussion, final: Idea) -> str:
    if discussion.reason:
        return contained(without_ids(discussion.reason[:LONGEST], discussion))
    return "\n".join(f"- {cell(without_ids(pro, discussion), 400)}" for pro in final.pros)


def _step(discussion: Discussion, step: NextStep) -> str:
    effort = f" ({cell(step.effort, 100)})" if step.effort else ""
    return f"{cell(without_ids(step.step, discussion), 400)}{effort}"


def _open(discussion: Discussion, point: Point) -> str:
    helps = sentence(cell(without_ids(point.mitigation, discussion), 300)) if point.mitigation else ""
    text = sentence(cell(without_ids(point.text, discussion), 400))
    return f"- {text} What helps: {helps}" if helps else f"- {text}"


def _part(title: str, text: str) -> str:
    return f"### {title}\n\n{text}" if text else ""


def _caveat(discussion: Discussion) -> str:
    """Return a warning for the reader if the winner was not chosen or scored below the threshold, else an
    empty string."""
    verdict = discussion.verdict
    if verdict is None:
        return ""
    if not verdict.chosen:
        return "> This idea was neither scored nor selected: it is the first one of the discussion."
    if verdict.below_threshold:
        return (
            "> This is the best idea of the discussion, but it stayed below the quality that was asked for."
        )
    return ""


# ── points and steps of the winner ──


def lineage(discussion: Discussion, name: str | None) -> list[str]:
    """Return the ids of an idea and of all ideas that it refines, the newest first."""
    ids: list[str] = []
    todo = [name]
    while todo:
        idea = discussion.idea(todo.pop(0))
        if idea is not None and idea.id not in ids:
            ids.append(idea.id)
            todo += idea.refines
    return ids


def concerned(discussion: Discussion) -> set[str | None]:
    """Return the ids of the winner and the ideas that it refines, and None for points that concern all
    ideas."""
    return {None, *lineage(discussion, discussion.verdict.idea if discussion.verdict is not None else None)}


def own_points(discussion: Discussion) -> list[Point]:
    """Return the winner's open points: risks by severity, then questions."""
    meant = concerned(discussion)
    return [point for point in open_points(discussion.spoken) if point.idea in meant]


def all_steps(discussion: Discussion) -> list[NextStep]:
    """Return the leader's steps for the winner, if there are any, and the implementer's steps for the other
    ideas; otherwise all of the implementer's steps."""
    verdict = discussion.verdict
    note = verdict.recommendation if verdict is not None else None
    steps = [step for contribution in discussion.spoken for step in contribution.details.next_steps]
    if note is not None and note.next_steps:
        steps = [*note.next_steps, *(step for step in steps if step.idea not in concerned(discussion))]
    return list({(step.idea, step.step): step for step in steps}.values())


def own_steps(discussion: Discussion) -> list[NextStep]:
    """Return the winner's steps."""
    return [step for step in all_steps(discussion) if step.idea in concerned(discussion)]


# ── texts ──


def without_ids(text: str, discussion: Discussion) -> str:
    """Replace ids for readers who do not know them: `(I3)` is removed, `I3` becomes the idea's title, and
    `R2` the text of the risk. Other words that look like ids stay."""
    names: dict[str, str] = {idea.id: f"“{idea.title}”" for idea in discussion.ideas}
    names |= {point.id: f"“{point.text}”" for point in points_of(discussion.spoken)}
    if not names:
        return text
    for idea in discussion.ideas:  # “I3 Wider lanes” already contains the title
        text = re.sub(rf"\b{idea.id}[.:,]?\s+(?={re.escape(idea.title)})", "", text)
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    text = re.sub(rf"\s*[(\[](?:{known})(?:\s*[,;/&]\s*(?:{known}))*[)\]]", "", text)
    return re.sub(rf"\b(?:{known})\b(?![\w-])", lambda match: names[match[0]], text)


def contained(text: str) -> str:
    """Close an open code fence in a model's Markdown, so that it does not swallow the text after it."""
    text = text.strip()
    return f"{text}\n```" if text.count("```") % 2 else text
