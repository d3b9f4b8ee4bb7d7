"""Answers that are data, as the texts that the team and the report's readers see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podium.workflows.council.contracts import EvidenceCard
from podium.workflows.council.discussion import CRITERIA, Details, Evidence, Idea, Settled
from podium.workflows.council.points import Point
from podium.workflows.council.policy import score_text

FROM_MEMORY = "(Without search or documents: this comes from the model alone and was not checked.)"


def evidence_cards(cards: Sequence[EvidenceCard], found: Sequence[str]) -> list[Evidence]:
    """Cards as data. A link counts as checked only if it stands in what a tool returned; so does a source
    without a link, such as the name of a file."""
    return [
        Evidence(
            claim=card.claim, source=card.source, link=card.link,
            checked=any(_stands_in(card.link or card.source, text) for text in found),
        )
        for card in cards
    ]  # fmt: skip


def _stands_in(name: str, text: str) -> bool:
    """As a whole word or address: `notes.txt` is not `notes.txt.bak`."""
    if not name.strip():
        return False
    return re.search(rf"(?<![\w/.]){re.escape(name.strip())}(?![\w/])", text) is not None


def told_research(text: str, details: Details) -> str:
    lines = [FROM_MEMORY] if details.sources == "model" else [f"(Looked up with: {details.sources}.)"]
    lines += [text] if text else []
    lines += _list("Evidence", [_card(card) for card in details.evidence])
    lines += _list("Settled", [_settled(one) for one in details.settled])
    return "\n\n".join(lines)


def _card(card: Evidence) -> str:
    where = " ".join(part for part in (card.source, card.link) if part)
    return f"{card.claim} ({where or 'no source'}{'' if card.checked else '; not checked'})"


def told_ideas(ideas: Sequence[Idea]) -> str:
    """New ideas with their ids, so that everybody can refer to them."""
    return "\n".join(_idea(idea) for idea in ideas)


def _idea(idea: Idea) -> str:
    notes = ", ".join(
        note for note in (idea.category, f"refines {', '.join(idea.refines)}" if idea.refines else "") if note
    )
    described = f": {' '.join(idea.description.split())}" if idea.description else ""
    return f"- **{idea.id}. {idea.title}**{f' ({notes})' if notes else ''}{described}"


def told_revisions(text: str, ideas: Sequence[Idea]) -> str:
    """An answer to criticism, and the new versions of the ideas that it changes."""
    return "\n\n".join([*([text] if text else []), *_list("Revised", [_revision(idea) for idea in ideas])])


def _revision(idea: Idea) -> str:
    new = idea.history[-1]
    notes = [f"Given up: {new.given_up}" if new.given_up else "", f"Why: {new.why}" if new.why else ""]
    told = [f"**{idea.id}. {idea.title}** (version {idea.version}): {' '.join(idea.description.split())}"]
    return "\n  ".join([*told, *(note for note in notes if note)])


def told_critique(text: str, details: Details, points: Sequence[Point]) -> str:
    """A critique with its risks, questions and settled points; `points` holds the ids of the questions."""
    risks = [
        f"{one.id}, "
        + (f"{one.idea}, " if one.idea else "")
        + f"{one.severity}: {one.risk}"
        + (f" (what helps: {one.mitigation})" if one.mitigation else "")
        for one in details.risks
    ]
    asked = [f"{point.id}: {point.text}" for point in points if point.text in details.open_questions]
    lists = [("Risks", risks), ("Open questions", asked), ("Settled", [*map(_settled, details.settled)])]
    parts = [text] if text else []
    return "\n\n".join([*parts, *(part for title, items in lists for part in _list(title, items))])


def _settled(one: Settled) -> str:
    return f"{one.point}{f': {one.how}' if one.how else ''}"


def told_implementation(text: str, details: Details) -> str:
    steps = [
        (f"{one.idea}: " if one.idea else "") + one.step + (f" ({one.effort})" if one.effort else "")
        for one in details.next_steps
    ]
    return "\n\n".join([*([text] if text else []), *_list("Next steps", steps)])


def told_evaluations(ideas: Sequence[Idea]) -> str:
    """The moderator's scores as a text."""
    return "\n".join(_evaluation(idea) for idea in ideas)


def _evaluation(idea: Idea) -> str:
    if idea.criteria is None or idea.score is None:
        return f"- **{idea.id}. {idea.title}**: not scored"
    scores = ", ".join(f"{name} {idea.criteria[name]:g}" for name in CRITERIA)
    told = [f"- **{idea.id}. {idea.title}**: {score_text(idea.score)}/10 ({scores})"]
    told += [f"  - For it: {'; '.join(idea.pros)}"] if idea.pros else []
    told += [f"  - Against it: {'; '.join(idea.cons)}"] if idea.cons else []
    told += [f"  - {idea.feedback}"] if idea.feedback else []
    return "\n".join(told)


def _list(title: str, items: Sequence[str]) -> list[str]:
    return [f"{title}:\n" + "\n".join(f"- {item}" for item in items)] if items else []
