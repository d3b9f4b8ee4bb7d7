"""Rules and limits of `council` as pure functions and tables.

Teams and presets, speaking order, number of ideas, scores, and the choice of the winner.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from podium.errors import UsageError
from podium.settings import nearest
from podium.workflows.council.discussion import CRITERIA, Idea, Recommendation, Verdict, Version

Preset = Literal["standard", "extended", "full"]

LEADER, IDEATION, MODERATOR = "team_leader", "ideation", "moderator"
RESEARCHER, CRITIC, IMPLEMENTER, UI_CREATOR = "researcher", "critic", "implementer", "ui_creator"

ROLES = (LEADER, IDEATION, MODERATOR, RESEARCHER, CRITIC, IMPLEMENTER, UI_CREATOR)
NAMES = {
    LEADER: "Team Leader",
    IDEATION: "Ideation Specialist",
    MODERATOR: "Moderator",
    RESEARCHER: "Researcher",
    CRITIC: "Critic",
    IMPLEMENTER: "Implementer",
    UI_CREATOR: "UI Creator",
}
SHORT = {"leader": LEADER, "ui": UI_CREATOR}
"""Short names of roles."""

MAX_ROUNDS, MAX_PASSES = 5, 3
MAX_IDEAS_PER_ASK = 20
LONGEST_TITLE = 200
MAX_TOOL_CALLS = 6
"""Maximum tool calls of the researcher per round."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one discussion."""

    team: tuple[str, ...]
    rounds: int
    min_ideas: int
    deep_dive: bool
    min_score: float
    passes: int = 1
    """Number of `ideate` calls per round."""

    def __contains__(self, role: str) -> bool:
        return role in self.team


_STANDARD = (LEADER, IDEATION, MODERATOR, UI_CREATOR)
_EXTENDED = (LEADER, IDEATION, MODERATOR, RESEARCHER, CRITIC, UI_CREATOR)

PRESETS: Mapping[str, Terms] = {
    "standard": Terms(team=_STANDARD, rounds=1, min_ideas=3, deep_dive=False, min_score=6.0),
    "extended": Terms(team=_EXTENDED, rounds=2, min_ideas=4, deep_dive=True, min_score=7.0),
    "full": Terms(team=ROLES, rounds=3, min_ideas=5, deep_dive=True, min_score=7.5),
}

# ── team ─────────────────────────────────────────────────────────────────────────────────────────


def terms_of(
    preset: str,
    *,
    roles: str = "",
    rounds: int | None = None,
    passes: int = 1,
    min_ideas: int | None = None,
    min_score: float | None = None,
    deep_dive: bool | None = None,
) -> Terms:
    """Return a preset's terms with the options of this run."""
    overrides = {
        "team": team_of(roles) if roles.strip() else None,
        "rounds": rounds,
        "passes": passes,
        "min_ideas": min_ideas,
        "min_score": min_score,
        "deep_dive": deep_dive,
    }
    return msgspec.structs.replace(
        PRESETS[preset], **{key: value for key, value in overrides.items() if value is not None}
    )


def team_of(roles: str) -> tuple[str, ...]:
    """Parse a list of role names, in canonical order. Raise `UsageError` for an invalid team."""
    named = [_role(name) for name in re.split(r"[,\s]+", roles.strip()) if name]
    repeated = sorted({role for role in named if named.count(role) > 1})
    if repeated:
        raise UsageError(f"A role can be in a team once; repeated: {', '.join(repeated)}.")
    for needed, why in ((LEADER, "opens and closes the discussion"), (IDEATION, "brings the ideas")):
        if needed not in named:
            raise UsageError(
                f"A council needs the role {needed}, which {why}.",
                hint=f"Add it: --roles {','.join([needed, *named])}",
            )
    return tuple(role for role in ROLES if role in named)


def _role(name: str) -> str:
    role = name.strip().lower().replace("-", "_")
    role = SHORT.get(role, role)
    if role not in ROLES:
        meant = nearest(role, list(ROLES))
        hint = f"Did you mean {meant}? " if meant else ""
        raise UsageError(f"There is no role {name} in a council.", hint=f"{hint}Roles: {', '.join(ROLES)}.")
    return role


def focused(team: Sequence[str]) -> list[str]:
    """Return the names of the members who speak in the rounds and therefore need a focus from the kickoff."""
    return [NAMES[role] for role in (RESEARCHER, IDEATION, CRITIC, IMPLEMENTER) if role in team]


def calls(terms: Terms) -> int:
    """Return the number of model calls of a discussion without failures."""
    a_round = terms.passes + 1 + sum(role in terms for role in (RESEARCHER, CRITIC, IMPLEMENTER))
    if terms.deep_dive and may_rebut(terms, spoke=terms.team):
        a_round += 1 + (CRITIC in terms)
    return 1 + terms.rounds * a_round + (MODERATOR in terms) + 1 + (UI_CREATOR in terms)


def may_rebut(terms: Terms, spoke: Sequence[str]) -> bool:
    """True if a deep dive has something to answer: a critic or an implementer spoke in this round."""
    return terms.deep_dive and (CRITIC in spoke or IMPLEMENTER in spoke)


# ── ideas ────────────────────────────────────────────────────────────────────────────────────────


def missing_ideas(have: int, terms: Terms) -> int:
    """Return how many more ideas to ask for after an ideation. All ideas so far count."""
    return max(0, terms.min_ideas - have)


def few_ideas(have: int, terms: Terms) -> str:
    """Return the warning that there are fewer ideas than requested, or an empty string."""
    missing = missing_ideas(have, terms)
    if not missing:
        return ""
    return f"Only {have} of at least {terms.min_ideas} ideas came up; {missing} are missing (--min-ideas)."


def add_ideas(
    known: Sequence[Idea], drafts: Sequence[Mapping[str, Any]], number: int
) -> tuple[list[Idea], int]:
    """Return the ideas of one answer with their ids, and the number of ideas dropped because of the limit."""
    ideas = list(known)
    for draft in drafts[:MAX_IDEAS_PER_ASK]:
        title = " ".join(str(draft["title"]).split())[:LONGEST_TITLE]
        refines = resolve_all(draft.get("refines"), ideas) or _same_title(title, ideas)
        ideas.append(
            Idea(
                id=f"I{len(ideas) + 1}",
                title=title,
                description=str(draft.get("description") or "").strip(),
                category=" ".join(str(draft.get("category") or "").split())[:60],
                round=number,
                refines=refines,
            )
        )
    return ideas[len(known) :], max(0, len(drafts) - MAX_IDEAS_PER_ASK)


def _same_title(title: str, ideas: Sequence[Idea]) -> list[str]:
    """Return the id of the last idea with the same title: the new idea refines it."""
    return [idea.id for idea in ideas if _bare(idea.title) == _bare(title)][-1:]


def revise_ideas(
    ideas: Sequence[Idea], notes: Sequence[Mapping[str, Any]], number: int
) -> tuple[list[Idea], list[str]]:
    """Return the revised ideas, and the names in `notes` that match no idea. The last revision of an idea
    wins; a revision that changes nothing is skipped."""
    changed: dict[str, Idea] = {}
    unknown: list[str] = []
    for note in notes:
        name = resolve(note.get("idea"), ideas)
        if name is None:
            unknown.append(str(note.get("idea"))[:60])
            continue
        idea = next(idea for idea in ideas if idea.id == name)
        title = " ".join(str(note.get("title") or "").split())[:LONGEST_TITLE] or idea.title
        description = str(note.get("description") or "").strip() or idea.description
        if (title, description) != (idea.title, idea.description):
            changed[name] = revised(
                idea,
                title=title,
                description=description,
                given_up=str(note.get("given_up") or "").strip(),
                why=str(note.get("why") or "").strip(),
                number=number,
            )
    return list(changed.values()), unknown


def revised(
    idea: Idea, *, title: str, description: str, given_up: str, why: str, number: int, version: int = 0
) -> Idea:
    """Return an idea in a new version, by default the next one. Scores are dropped, because they were for the
    old one."""
    version = version or idea.version + 1
    before = idea.history or [
        Version(version=1, title=idea.title, description=idea.description, round=idea.round)
    ]
    new = Version(
        version=version, title=title, description=description, round=number, given_up=given_up, why=why
    )
    return Idea(
        id=idea.id,
        title=title,
        description=description,
        category=idea.category,
        round=idea.round,
        refines=idea.refines,
        version=version,
        origin=idea.origin,
        history=[*(old for old in before if old.version < version), new],
    )


def as_ids(value: Any) -> list[str]:
    """Normalize a list, one id or None to a list of ids."""
    return [value] if isinstance(value, str) and value else list(value or [])


def resolve_all(value: Any, ideas: Sequence[Idea]) -> list[str]:
    """Return the ids of all named ideas. `value` is a list of names, one name, or a text with several ids."""
    names: list[Any] = list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else [value]
    ids: list[str] = []
    for name in names:
        single = resolve(name, ideas)
        several = [resolve(part, ideas) for part in re.findall(r"\bI\d+\b", str(name or ""))]
        ids += [part for part in several if part] if len(several) > 1 else [single] if single else []
    return list(dict.fromkeys(ids))


def resolve(name: Any, ideas: Sequence[Idea]) -> str | None:
    """Return the id of the named idea, or None. The name may be an id, a number, a title, or `I3: its
    title`."""
    text = _bare(str(name or ""))
    if not text:
        return None
    for idea in ideas:
        if text == idea.id.lower():
            return idea.id
    titles = [idea.id for idea in ideas if _bare(idea.title) == text]
    if titles:
        return titles[-1]
    number = re.fullmatch(r"(?:idea\s*)?#?i?(\d+)", text) or re.match(r"\[?i(\d+)(?!\w)", text)
    wanted = f"I{int(number[1])}" if number else ""
    return next((idea.id for idea in ideas if idea.id == wanted), None)


def named_in(text: str, ideas: Sequence[Idea]) -> str | None:
    """Return the idea that a text names by id or title, or None unless there is exactly one."""
    flat = _bare(text)
    named = {
        idea.id
        for idea in ideas
        if any(
            re.search(rf"(?<!\w){re.escape(name)}(?!\w)", flat)
            for name in (_bare(idea.title), idea.id.lower())
        )
    }
    return named.pop() if len(named) == 1 else None


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”‘’*_`.").casefold()


# ── scores ───────────────────────────────────────────────────────────────────────────────────────


def score_text(score: float | None) -> str:
    """Format a score with two decimals."""
    return "not scored" if score is None else f"{score:.2f}"


def mean(criteria: Mapping[str, float]) -> float:
    """Return the mean of the five criteria, rounded to two decimals."""
    return math.floor(sum(criteria[name] for name in CRITERIA) / len(CRITERIA) * 100 + 0.5) / 100


def valid_score(value: Any) -> float | None:
    """Parse a number from 0 to 10, also from text. Return None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number <= 10 else None


def evaluation_problem(named: Sequence[str], ideas: Sequence[Idea]) -> str:
    """Return the correction for an evaluation that names wrong, missing or repeated ideas, or an empty
    string."""
    resolved = [resolve(name, ideas) for name in named]
    unknown = [name for name, idea in zip(named, resolved, strict=True) if idea is None]
    ids = [idea.id for idea in ideas]
    missing = [name for name in ids if name not in resolved]
    repeated = sorted({idea for idea in resolved if idea is not None and resolved.count(idea) > 1})
    problems = [
        f"there is no idea {_listed(unknown)}; ideas: {_listed(ids)}" if unknown else "",
        f"every idea must be evaluated; missing: {_listed(missing)}" if missing else "",
        f"an idea must be evaluated once; repeated: {_listed(repeated)}" if repeated else "",
    ]
    return "; ".join(part for part in problems if part)


def score_ideas(ideas: Sequence[Idea], evaluations: Sequence[Mapping[str, Any]]) -> list[Idea]:
    """Return the ideas that have a valid evaluation, with their scores. The first evaluation of an idea
    wins."""
    scored: dict[str, Idea] = {}
    for evaluation in evaluations:
        name = resolve(evaluation.get("idea"), ideas)
        criteria = {key: valid_score(evaluation.get(key)) for key in CRITERIA}
        valid = {key: value for key, value in criteria.items() if value is not None}
        if name is None or name in scored or len(valid) < len(CRITERIA):
            continue
        idea = next(idea for idea in ideas if idea.id == name)
        scored[name] = msgspec.structs.replace(
            idea,
            criteria=valid,
            score=mean(valid),
            pros=texts(evaluation.get("pros")),
            cons=texts(evaluation.get("cons")),
            feedback=str(evaluation.get("feedback") or "").strip(),
            validated=True,
        )
    return list(scored.values())


def texts(value: Any) -> list[str]:
    """Normalize a value to a list of non-empty texts."""
    items: list[Any] = list(value) if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownArgumentType]
    return [text for item in items if isinstance(item, str) and (text := item.strip())]


# ── winner ───────────────────────────────────────────────────────────────────────────────────────


def ranked(ideas: Sequence[Idea]) -> list[Idea]:
    """Sort ideas by score, the best first. Ties keep their order; ideas without a score come last."""
    order = {idea.id: nth for nth, idea in enumerate(ideas)}
    return sorted(ideas, key=lambda idea: (idea.score is None, -(idea.score or 0), order[idea.id]))


def decide(
    ideas: Sequence[Idea],
    choice: str | None,
    min_score: float,
    reasoning: str = "",
    recommendation: Recommendation | None = None,
) -> Verdict:
    """Name the winner: the highest score. The leader's choice decides only between equal scores or if nothing
    was scored; otherwise the earlier idea wins. A recommendation of another idea is dropped."""
    scored = [idea for idea in ideas if idea.score is not None]
    best = max((idea.score for idea in scored if idea.score is not None), default=None)
    level = [idea.id for idea in ideas if idea.score == best]
    idea = choice if choice in level else level[0]
    return Verdict(
        chosen=best is not None or choice in level,
        recommendation=recommendation if recommendation is not None and recommendation.idea == idea else None,
        idea=idea,
        scored=best is not None,
        below_threshold=best is not None and best < min_score,
        leader_choice=choice,
        reasoning=reasoning,
        tied=[other for other in level if other != idea] if best is not None else [],
    )


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values[:12]) + (", …" if len(values) > 12 else "")
