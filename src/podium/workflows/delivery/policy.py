"""Rules of the floor: when to draft, what the editor may do, and how two judgements are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from podium.engine.budget import Budget
from podium.engine.events import NOTHING, Charge
from podium.workflows.delivery.contracts import Change, Comparison, Edit, Judgement, Preferred

Accept = Callable[[str, str], str]
"""Returns the reason why an edited document is rejected, or an empty string to accept it."""
FLOOR_CALLS = 4
"""Number of calls of a floor: the draft, the editor, two judgements."""
CHARACTERS_PER_TOKEN = 3
"""Conservative estimate; English prose has about four."""
WINDOW = 128_000
"""Default context window in tokens, for unknown models."""
WINDOW_SHARE = 0.6
"""Share of the context window for document, draft and material."""
FEWEST_DRAFTS, MOST_DRAFTS = 2, 8
"""Minimum and maximum number of drafts of a baseline."""
LEAST = 1_000
"""Minimum characters shown of each piece of material, even if no room is left."""
REWRITE_SHARE = 0.75
"""A document that takes more than this share of the longest reply is edited by passages instead of
rewritten."""


def affords_floor(budget: Budget, draft: Charge) -> bool:
    """Return whether the floor leaves enough budget for the orchestration. `draft` is the maximum cost of a
    draft."""
    return (budget.calls is None or budget.calls >= 2 * FLOOR_CALLS) and affords(
        budget, sum([draft] * FLOOR_CALLS, NOTHING)
    )


def affords(budget: Budget, needed: Charge) -> bool:
    """Return whether every budget ceiling allows a charge."""
    return budget.affords(needed)


def may_rewrite(document: str, reply_tokens: int) -> bool:
    return len(document) <= reply_tokens * CHARACTERS_PER_TOKEN * REWRITE_SHARE


def room_for(window: int | None) -> int:
    """Return the characters of text that fit into one prompt."""
    return int((window or WINDOW) * WINDOW_SHARE) * CHARACTERS_PER_TOKEN


def unseen(material: Iterable[tuple[str, str]], document: str) -> list[tuple[str, str]]:
    """Return the material that is not contained verbatim in the document."""
    return [(title, text) for title, text in material if text.strip() and text.strip() not in document]


def cut(text: str, length: int) -> tuple[str, str]:
    """Cut a text to a length. Return it with a note that says how much is shown, or an empty note if it is
    whole."""
    if len(text) <= length:
        return text, ""
    end = text.rfind("\n", length // 2, length)
    begun = text[: end if end > 0 else length]
    return begun, f"[{len(begun):,} of {len(text):,} characters shown]"


def within(
    material: Iterable[tuple[str, str]], room: int, seal: Callable[[str, str], str] | None = None
) -> list[dict[str, Any]]:
    """Return titles and texts, whole as long as there is room, in order. A cut is marked."""
    shown: list[dict[str, Any]] = []
    for title, text in material:
        part, note = cut(text, max(room, LEAST))
        room -= len(part)
        shown.append({"title": title, "text": part if seal is None else seal(part, title), "note": note})
    return shown


def edit_problem(edit: Edit, document: str, *, may_rewrite: bool, may_send_back: bool) -> str:
    """Return the correction for an editor's answer, or an empty string."""
    if edit.send_back and not may_send_back:
        return "send_back must be empty: the document cannot go back any more. Finish it yourself."
    unmet = [part.part for part in edit.parts if not part.met]
    if unmet and not (edit.changes or edit.document or edit.still_missing or edit.send_back):
        return (
            f"parts say that this is not met: {unmet[0]!r}. Change the document, or name it in still_missing."
        )
    if edit.document is not None and not may_rewrite:
        return "document must be left out: this document is not written anew. Use changes."
    if edit.document is not None:
        return "" if edit.document.strip() else "document is empty. Leave it out, or write the whole text."
    for number, change in enumerate(edit.changes, 1):
        times = document.count(change.find)
        if times != 1:
            where = "does not occur in the document" if not times else f"occurs {times} times"
            return (
                f"changes[{number}].find {where}: {change.find[:120]!r}. "
                "Quote a passage exactly as it stands, long enough to occur once."
            )
    return "two changes touch the same passage; join them" if _overlap(edit.changes, document) else ""


def accepted(edit: Edit, document: str, accept: Accept | None) -> tuple[str, list[str]]:
    """Return the document with the changes that `accept` allows, and the reasons for the rejected ones.

    Changes are tried together first. They are tried one by one only if the whole is rejected.
    """
    new = edited(edit, document)
    why = accept(document, new) if accept is not None and new != document else ""
    if not why or accept is None:
        return new, []
    if edit.document is not None or len(edit.changes) == 1:
        return document, [why]
    allowed, refused = list[Change](), list[str]()
    for change in edit.changes:
        tried = edited(edit.model_copy(update={"changes": [*allowed, change]}), document)
        why = accept(document, tried)
        if why:
            refused.append(why)
        else:
            allowed.append(change)
    return edited(edit.model_copy(update={"changes": allowed}), document), refused


def edited(edit: Edit, document: str) -> str:
    """Return the document after the editor's changes."""
    if edit.document is not None:
        return edit.document.strip() + "\n"
    for start, end, new in reversed(_spans(edit.changes, document)):
        before, after = document[:start], document[end:]
        if not new.strip() and before.endswith("\n\n"):  # a removed paragraph takes its blank line with it
            new, after = "", after.lstrip("\n")
        document = before + new + after
    return document


def _overlap(changes: Sequence[Change], document: str) -> bool:
    return any(before[1] > after[0] for before, after in pairwise(_spans(changes, document)))


def _spans(changes: Sequence[Change], document: str) -> list[tuple[int, int, str]]:
    starts = ((document.index(change.find), change) for change in changes)
    return sorted((start, start + len(change.find), change.replace) for start, change in starts)


def decided(
    team_first: Judgement | None,
    draft_first: Judgement | None,
    names: tuple[str, str] = ("the team's text", "the direct draft"),
) -> Comparison | None:
    """Combine two judgements made in opposite orders. One alone decides nothing, because a judge may prefer a
    position. `names` are the texts' names for readers."""
    votes: list[tuple[Preferred, str]] = []
    orders: tuple[tuple[Judgement | None, Preferred, Preferred], ...] = (
        (team_first, "team", "draft"),
        (draft_first, "draft", "team"),
    )
    for judgement, a, b in orders:
        if judgement is not None:
            votes.append((_choice(judgement, a, b), _named(judgement.why, a, names)))
    if not votes:
        return None
    choices: set[Preferred] = {vote for vote, _ in votes if vote != "equal"}
    preferred: Preferred = choices.pop() if len(choices) == 1 and len(votes) == len(orders) else "equal"
    return Comparison(preferred, [why for vote, why in votes if vote == preferred or preferred == "equal"])


def _choice(judgement: Judgement, a: Preferred, b: Preferred) -> Preferred:
    if judgement.better == "equal":
        return "equal"
    return a if judgement.better == "A" else b


def _named(why: str, first: Preferred, names: tuple[str, str]) -> str:
    a, b = names if first == "team" else names[::-1]
    return f"{why} (A: {a}, B: {b})"


def best_of(tokens: int, draft: int) -> int:
    """Return the number of drafts that take about as many tokens as the orchestration. `draft` is the size of
    one."""
    return max(FEWEST_DRAFTS, min(MOST_DRAFTS, tokens // max(draft, 1)))


def draft_tokens(prompt: str, document: str) -> int:
    """Estimate the tokens of a draft: prompt, reply, and one reading by the judge."""
    return (len(prompt) + 2 * len(document)) // CHARACTERS_PER_TOKEN
