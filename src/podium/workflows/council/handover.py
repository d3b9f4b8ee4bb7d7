"""Start and end of a council: the direct draft as the first idea; the editor's pass and the comparison."""

from __future__ import annotations

import re

from podium.workflows.council.context import BYTES_PER_TOKEN, sentence
from podium.workflows.council.deliverable import document_of, own_points, own_steps, without_ids
from podium.workflows.council.discussion import DRAFT, Delivery, Discussion, Idea
from podium.workflows.council.policy import LONGEST_TITLE, ranked
from podium.workflows.council.table import Table
from podium.workflows.delivery.baseline import baseline
from podium.workflows.delivery.contracts import Delivered, Draft
from podium.workflows.delivery.flow import Desk, deliver, direct_draft
from podium.workflows.delivery.policy import within

FORM = (
    "A recommendation that the reader can act on. Its first heading names what is recommended, in a few "
    "words; the first paragraph below it says in full what to do, for whom, with which means, what it costs "
    "and what it brings. Then: why this and not the likely alternatives; the steps in order, with who and "
    "when; costs and effects with the calculation behind each figure; what may go wrong or is open, and "
    "what to do then. Where the request asks for several things, such as a list of names, all of them."
)
JUDGED_BY = (
    "Of a recommendation it counts most whether the reader would do well to follow it: the choice itself, "
    "the reasons for it and against the alternatives, and figures that are derived and not just stated."
)
DESCRIPTION = 12_000
"""Maximum characters of the draft that describe its idea. Nearly always this is all of it."""
LEAST_DESCRIPTION = 200
LONG_HEADING = 60
"""Characters above which a heading that begins like the request says nothing else."""
DRAFT_SHARE = 0.3
"""Share of the leader's context window that the draft may use."""
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
ALTERNATIVES = 5
"""Maximum number of other ideas that the editor sees."""


def desk_of(table: Table, *, floor: bool, editor: bool) -> Desk:
    """Return the task description for drafter, editor and judge."""
    topic = table.discussion.topic
    return Desk(table.run, topic, form=FORM, judged_by=JUDGED_BY, floor=floor, editor=editor)


# ── before the discussion ──


async def draft_first(table: Table, desk: Desk) -> None:
    """Make the direct draft and add its recommendation as the first idea."""
    table.draft = draft = await direct_draft(desk)
    if draft is not None:
        table.add([draft_idea(draft, table.discussion.topic)])


def draft_idea(draft: Draft, topic: str) -> Idea:
    """Convert the draft to an idea: its first heading is the title, its text the description."""
    title, body = _split(draft.document)
    if not title or _restates(title, topic):
        title = "Direct draft"
    description = _flattened(body) or sentence("; ".join(draft.points))
    return Idea(
        id="I1",
        title=title[:LONGEST_TITLE],
        description=description,
        category="direct draft",
        round=0,
        origin=DRAFT,
    )


def _split(document: str) -> tuple[str, str]:
    """Return a document's first heading without markup, and the text without that heading."""
    lines = document.strip().splitlines()
    first = next((nth for nth, line in enumerate(lines) if re.match(r"#{1,6}\s", line)), None)
    if first is None:
        return "", document
    title = re.sub(r"[*_`]", "", lines[first].lstrip("#")).strip(" #:")
    return " ".join(title.split()), "\n".join(lines[:first] + lines[first + 1 :])


def _flattened(body: str) -> str:
    """Flatten the text to one line: headings, lists and tables become words, so that members judge what the
    user would get. A text over the limit is cut at the end of a sentence."""
    parts: list[str] = []
    for line in body.splitlines():
        text = re.sub(r"\*\*?|`", "", line).strip()
        if not text or re.fullmatch(r"[-|:\s*_]+", text):
            continue
        if heading := re.match(r"#{1,6}\s+(.*?)[\s#:]*$", text):
            parts.append(f"{heading[1]}:")
        elif text.startswith("|"):
            cells = (cell.strip() for cell in text.strip("|").split("|"))
            parts.append("; ".join(cell for cell in cells if cell) + ".")
        else:
            parts.append(text if text.endswith(":") else sentence(_ITEM.sub("", text)))
    flat = " ".join(" ".join(parts).split())
    return flat if len(flat) <= DESCRIPTION else _cut(flat)


def _cut(text: str) -> str:
    shown = text[:DESCRIPTION]
    end = max(shown.rfind(mark) for mark in (". ", "! ", "? ", "。"))
    return shown[: end + 1] if end >= LEAST_DESCRIPTION else f"{shown.rstrip()} …"


def _restates(title: str, topic: str) -> bool:
    """True if a title is only the request again, or the beginning of a long one."""
    bare = _bare(title)
    return bare == _bare(topic) or (len(bare) > LONG_HEADING and _bare(topic).startswith(bare))


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


def shown_draft(table: Table, role: str) -> str:
    """Return the draft for a member's prompt, cut to its share of the context window."""
    if table.draft is None:
        return ""
    room = int(table.windows[role] * DRAFT_SHARE * BYTES_PER_TOKEN)
    (part,) = within([("", table.draft.document)], room)
    return f"{part['text']}\n{part['note']}".strip()


# ── after the discussion ──


async def hand_over(table: Table, desk: Desk) -> None:
    """Let the editor finish the document, compare it with the draft, and store the result to deliver."""
    held, draft = table.discussion, table.draft
    document = _own_document(held, draft)
    if not document or (draft is None and not desk.editor):
        return
    result = Delivered(document)
    async with table.run.until_exhausted("The result was neither edited nor compared", warn=table.warn):
        result = await deliver(desk, document, draft, material=material_of(held))
    comparison = result.comparison
    await table.deliver(
        Delivery(
            document=result.document,
            checked=result.checked,
            missing=list(result.missing),
            preferred="" if comparison is None else comparison.preferred,
            why=[] if comparison is None else comparison.why,
        )
    )


async def compare_baseline(table: Table, desk: Desk) -> None:
    """Compare the result with the best of several direct drafts."""
    held = table.discussion
    document = document_of(held) if held.delivered is None else held.delivered.document
    async with table.run.until_exhausted("No baseline was made", warn=table.warn):
        outcome = await baseline(desk, document or "")
        held.baseline = None if outcome is None else outcome.shown()


def _own_document(discussion: Discussion, draft: Draft | None) -> str:
    """Return the council's document. If the draft's unrevised idea wins and the leader wrote no document,
    return the draft itself, which says more than its idea."""
    final, verdict = discussion.final_idea, discussion.verdict
    if final is None or verdict is None:
        return ""
    unwritten = verdict.recommendation is None or not verdict.recommendation.document.strip()
    if draft is not None and unwritten and final.origin == DRAFT and final.version == 1:
        return draft.document.strip() + "\n"
    return (document_of(discussion) or "").strip() + "\n"


# ── material for the editor ──


def material_of(discussion: Discussion) -> list[tuple[str, str]]:
    """Return the findings of the discussion without ids and scores: winner, steps, open points, evidence, the
    last summary, alternatives."""
    final = discussion.final_idea
    if final is None:
        return []
    parts = [
        ("The recommended idea, in its current version", _described(final)),
        ("Next steps that were worked out for it", "\n".join(_steps(discussion))),
        ("Risks and questions that are still open", "\n".join(_points(discussion))),
        ("Evidence", "\n".join(_evidence(discussion))),
        ("What the discussion has established", _summary(discussion)),
        ("The alternatives", "\n\n".join(_alternatives(discussion, final))),
    ]
    return [(title, without_ids(text, discussion)) for title, text in parts if text.strip()]


def _described(idea: Idea) -> str:
    given_up = [version.given_up for version in idea.history if version.given_up]
    lines = [f"{idea.title}: {idea.description}"]
    lines += [f"For it: {'; '.join(idea.pros)}"] if idea.pros else []
    lines += [f"Against it: {'; '.join(idea.cons)}"] if idea.cons else []
    lines += [f"What would improve it most: {idea.feedback}"] if idea.feedback else []
    lines += [f"Given up in the discussion: {'; '.join(given_up)}"] if given_up else []
    return "\n\n".join(lines)


def _steps(discussion: Discussion) -> list[str]:
    return [f"- {step.step}{f' ({step.effort})' if step.effort else ''}" for step in own_steps(discussion)]


def _points(discussion: Discussion) -> list[str]:
    return [
        f"- {sentence(point.text)}{f' What helps: {sentence(point.mitigation)}' if point.mitigation else ''}"
        for point in own_points(discussion)
    ]


def _evidence(discussion: Discussion) -> list[str]:
    cards = dict.fromkeys(
        card for contribution in discussion.spoken for card in contribution.details.evidence
    )
    return [
        f"- {card.claim} ({' '.join(filter(None, (card.source, card.link))) or 'no source'}"
        f"{'' if card.checked else '; not checked'})"
        for card in cards
    ]


def _summary(discussion: Discussion) -> str:
    summaries = [
        contribution.message.content
        for contribution in discussion.spoken
        if contribution.message.kind == "synthesis"
    ]
    return summaries[-1] if summaries else ""


def _alternatives(discussion: Discussion, final: Idea) -> list[str]:
    others = [idea for idea in ranked(discussion.ideas) if idea.id != final.id][:ALTERNATIVES]
    return [
        f"{idea.title}: {idea.description}"
        + (f"\nFor it: {'; '.join(idea.pros)}" if idea.pros else "")
        + (f"\nAgainst it: {'; '.join(idea.cons)}" if idea.cons else "")
        for idea in others
    ]
