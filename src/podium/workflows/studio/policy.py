"""Every rule and number of the studio as pure functions, in the order in which a request meets them.

Two rules are as pure but longer, and have files of their own: how relevant the words of a request make each
department is in `routing`, which specialists fit is in `choosing`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

CONCURRENCY = 8
SUPPORTING_ABOVE = 0.3
DEFAULT_THRESHOLD = 60.0
"""Where neither the agent nor its department has one."""
HEAD_ONLY_SCORE = 85.0
"""Of a department whose head wrote the result alone."""
UNGRADED_SCORE = 75.0
"""Of an output that nobody could grade."""
REVISE_WITHIN = 20.0
"""This far below the threshold an output is worth revising."""
CLOSE_WITHIN = 10.0
"""Less than this above it, an accepted output still gets a note."""
MAX_CONFLICT_ROUNDS = 2
LISTED_ONLY = ("low",)
"""Severities of conflicts that are listed, and cost no round of resolution by themselves."""
CONFLICT_COST = {"low": 2.0, "medium": 5.0, "high": 10.0, "critical": 20.0}
"""Points of the overall quality that an open conflict costs."""
SYNTHESIS_RETRIES = 3
SPECIALISTS = {"simple": 0, "moderate": 2, "complex": 4}
AT_LEAST = 2
"""Specialists that work with `--specialists always`."""
ADAPT_WITHIN = 15.0
"""How far a learnt threshold may lie from the configured one."""
LEAST_EVIDENCE = 5
"""Graded results below which nothing is learnt."""

Complexity = Literal["simple", "moderate", "complex"]
Decision = Literal["accept", "revise", "discard"]
Review = Literal["approved", "revision-needed", "rejected"]
Mode = Literal["single", "sequential", "parallel"]

DRAFT_IS_RESULT = "the direct draft is the result"
TEAM_QUALITY = f"{DRAFT_IS_RESULT.capitalize()}; quality of the team's text"
REPLACED = (
    "The direct draft was judged better and is the result. The team's text is in team-version.md; texts, "
    "scores and conflicts below are the team's."
)
AUTO_APPROVED = "Auto-approved (no threshold set)"

# ── routing ──────────────────────────────────────────────────────────────────────────────────────


def primary_and_supporting(ranked: Sequence[tuple[str, float]]) -> tuple[str, list[str]]:
    """The most relevant department, and all others above the line."""
    primary, *others = ranked
    return primary[0], [key for key, relevance in others if relevance > SUPPORTING_ABOVE]


def mode_of(chosen: Sequence[str], needs: Mapping[str, Sequence[str]]) -> Mode:
    """`single`; `sequential` if one of the chosen needs another one; else `parallel`."""
    if len(chosen) == 1:
        return "single"
    waits = any(needed in chosen for key in chosen for needed in needs.get(key, ()))
    return "sequential" if waits else "parallel"


# ── how much work it is ──────────────────────────────────────────────────────────────────────────

COMPLEX_TERMS = frozenset({"complex", "detailed", "comprehensive", "elaborate"})
CONNECTIVES = frozenset({"and", "also", "additionally", "furthermore"})


def complexity_of(request: str, departments: int) -> Complexity:
    """Long, said to be complex, or of several parts: complex. Something of that, or more than one
    department: moderate."""
    length = len(request.split())
    words = re.findall(r"[^\W_]+", request.lower())
    connectives = sum(word in CONNECTIVES for word in words)
    if length > 100 or COMPLEX_TERMS & set(words) or connectives >= 2:
        return "complex"
    if length >= 50 or connectives == 1 or departments > 1:
        return "moderate"
    return "simple"


def specialists_wanted(complexity: Complexity, policy: str) -> int:
    """How many specialists work; 0: the head alone."""
    if policy == "never":
        return 0
    wanted = SPECIALISTS[complexity]
    return max(wanted, AT_LEAST) if policy == "always" else wanted


# ── grades ───────────────────────────────────────────────────────────────────────────────────────


def threshold_of(agent: float | None, department: float | None) -> float:
    """The agent's own (0: everything passes), else the department's, else the general one."""
    if agent is not None:
        return agent
    return DEFAULT_THRESHOLD if department is None else department


def score_of(quality: float, relevance: float, consistency: float) -> float:
    """In percent, rounded before anything is compared with it."""
    return round((quality * 0.4 + relevance * 0.3 + consistency * 0.3) * 100, 2)


def decision_of(score: float, threshold: float) -> Decision:
    if score >= threshold:
        return "accept"
    return "revise" if score >= threshold - REVISE_WITHIN else "discard"


def may_retry(attempts: int, max_retries: int, score: float, threshold: float) -> bool:
    """Whether another attempt is made after this many. Without a threshold nothing is ever retried."""
    return threshold > 0 and decision_of(score, threshold) != "accept" and attempts <= max_retries


def review_of(score: float | None, threshold: float, retries: int = 0) -> tuple[Review, str]:
    """Status and note; an output without a grade counts as an average one, a real 0 as 0."""
    value = UNGRADED_SCORE if score is None else score
    said = f"Score {value:g}" if score is not None else f"No grade could be had; it counts {value:g}, which"
    after = f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""
    if threshold == 0:
        return "approved", AUTO_APPROVED
    if value < threshold:
        return "rejected", f"{said} is below the threshold {threshold:g}{after}"
    if value < threshold + CLOSE_WITHIN:
        return (
            "revision-needed",
            f"{said} is accepted{after}, within {CLOSE_WITHIN:g} points of the threshold {threshold:g}",
        )
    if score is None:
        return "approved", f"Accepted without a grade; it counts {value:g}"
    return "approved", f"Approved by the department head{after}"


def accepted(status: str) -> bool:
    return status in ("approved", "revision-needed")


def feedback_line(attempt: int, score: float, threshold: float, feedback: str) -> str:
    """What a later attempt reads about an earlier one."""
    said = " ".join(feedback.split())
    return f"Attempt {attempt}: scored {score:g}, the threshold is {threshold:g}." + (
        f" {said}" if said else ""
    )


# ── departments ──────────────────────────────────────────────────────────────────────────────────


def formula_score(statuses: Sequence[str], scores: Sequence[float]) -> float:
    """60 % of the share that was accepted, 40 % of the mean score; errors count in both."""
    if not scores:
        return 0.0
    rate = sum(accepted(status) for status in statuses) / len(statuses) * 100
    return round(rate * 0.6 + sum(scores) / len(scores) * 0.4, 2)


def department_score(statuses: Sequence[str], scores: Sequence[float]) -> float:
    """The formula's figure; if nothing was accepted the head wrote it, and that counts 85."""
    if not any(accepted(status) for status in statuses):
        return HEAD_ONLY_SCORE
    return formula_score(statuses, scores)


def stand_in_score(used: Sequence[bool], scores: Sequence[float]) -> float:
    """The formula's figure where one specialist's work stands in for the synthesis: the others' is lost."""
    kept = [score if one else 0.0 for one, score in zip(used, scores, strict=True)]
    return formula_score(["approved" if one else "rejected" for one in used], kept)


def grade_of_department(scores: Sequence[float], used: Sequence[bool]) -> float:
    """The mean grade of its specialists, 0 for work that is lost; 85 where the head wrote alone."""
    if not any(used):
        return HEAD_ONLY_SCORE
    return round(sum(score for score, one in zip(scores, used, strict=True) if one) / len(scores), 2)


def overall_quality(
    departments: Sequence[tuple[float, float]], open_conflicts: Sequence[str] = ()
) -> float | None:
    """The mean of (relevance, grade), weighted by relevance, less what open conflicts of these severities
    cost. A department that delivered nothing counts with a grade of 0."""
    if not departments:
        return None
    weight = sum(relevance for relevance, _ in departments)
    if weight <= 0:
        mean = sum(score for _, score in departments) / len(departments)
    else:
        mean = sum(relevance * score for relevance, score in departments) / weight
    return round(max(mean - sum(CONFLICT_COST.get(one, 0.0) for one in open_conflicts), 0.0), 2)


def fate_of_conflict(*, checked: bool, replaced: bool) -> str:
    """Return what became of an open conflict in the text that is handed over; empty: nothing is known."""
    if replaced:
        return "It concerns the team's text; the direct draft is the result."
    return "The editor, who knew of it, finished the text." if checked else ""


# ── what the specialists disagree on ─────────────────────────────────────────────────────────────

_LABELLED = re.compile(
    r"^[ \t>*+-]*([^\W\d_][^:*\n]{1,30}?)[ \t]*\**:\**[ \t]*(\S[^\n]{0,60})$", re.MULTILINE
)
_COMMON_LABELS = frozenset({"note", "notes", "summary", "title", "example", "warning", "goal", "part", "why"})
_MOST_WORDS = 8
"""A longer value is a sentence: two specialists may well say different ones."""


_HEADING = re.compile(r"^(?:#{1,6}[ \t]+(.+?)|\*\*([^*\n]+?):?\*\*:?)[ \t]*$")
_NAMED = frozenset({"name", "character", "person", "place", "object", "who"})
"""Labels whose value says what the lines below them are about."""


def contradictions_among(outputs: Mapping[str, str], fields: Sequence[str] = ()) -> list[str]:
    """The same label with another value in two specialists' work: `Eyes: green` and `Eyes: brown`.

    Lines about two different names do not contradict each other. A name is a short heading, or the value of
    `Name:`; headings made of the words in `fields` are none.
    """
    common = {word for text in fields for word in re.findall(r"[^\W_]+", text.lower())}
    said: dict[tuple[str, str], dict[str, str]] = {}
    for who, text in outputs.items():
        for about, value in _stated(text, common).items():
            said.setdefault(about, {})[who] = value
    return [
        f"{label}{f' of {subject}' if subject else ''}: "
        + "; ".join(f"{who} says “{value}”" for who, value in values.items())
        for (subject, label), values in said.items()
        if len({value.lower() for value in values.values()}) > 1
    ]


def _stated(text: str, common: Collection[str]) -> dict[tuple[str, str], str]:
    """The labelled values of a text by what they are about and their label."""
    subject, stated = "", dict[tuple[str, str], str]()
    for line in text.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            subject = _subject(heading[1] or heading[2], common)
            continue
        for label, value in _LABELLED.findall(line):
            name = " ".join(label.lower().split())
            if name in _NAMED:
                subject = _subject(value, common)
            elif name not in _COMMON_LABELS and len(value.split()) <= _MOST_WORDS:
                stated.setdefault((subject, name), value.strip(" *."))
    return stated


def _subject(text: str, common: Collection[str]) -> str:
    """The name that a heading is; empty if it is none."""
    words = re.findall(r"[^\W_]+", text)
    named = [word for word in words if word[:1].isupper() and word.lower() not in common]
    return " ".join(named).lower() if words and len(words) <= 4 and len(named) == len(words) else ""


_DECISIONS = re.compile(
    r"^[#* \t]*decisions (?:about|on) (?:the )?contradictions[*: \t]*$", re.IGNORECASE | re.MULTILINE
)
_LISTED = re.compile(r"^[ \t]*(?:[*+-]|\d+[.)])[ \t]+")


def split_decisions(text: str) -> tuple[str, list[str]]:
    """A head's text, and the list under its heading `Decisions about contradictions`. Everything else stays
    in the text, also what follows that list."""
    found = list(_DECISIONS.finditer(text))
    if not found:
        return text.strip(), []
    lines = text[found[-1].end() :].splitlines()
    decided, used, margin = list[str](), 0, 0
    for number, line in enumerate(lines, 1):
        indent, entry = len(line) - len(line.lstrip()), _LISTED.match(line)
        if entry and (not decided or indent <= margin + 1):
            decided.append(line[entry.end() :].strip())
            margin, used = indent, number
        elif used == number - 1 > 0 and line.strip() and indent >= margin + 2:  # the same entry goes on
            decided[-1] += f" {_LISTED.sub('', line).strip()}"
            used = number
        elif line.strip():
            break
    rest = "\n".join(lines[used:]).strip()
    before = text[: found[-1].start()].strip()
    return "\n\n".join(part for part in (before, rest) if part), decided


_DECIDED = re.compile(r"[*_]*\bdecided[*_]*:[*_]*\s*", re.IGNORECASE)


def parts_of_decision(line: str) -> tuple[str, str, str]:
    """Split `WHAT: NAME says …; NAME says …. Decided: …` into what it is about, who says what, and the
    decision. A line of another form is all decision."""
    found = _DECIDED.search(line)
    if found is None:
        return "", "", line
    what, _, said = line[: found.start()].partition(":")
    return what.strip(" *_"), said.strip(" *_"), line[found.end() :].strip()


# ── learning ─────────────────────────────────────────────────────────────────────────────────────


def suggested_threshold(scores: Sequence[float], configured: float) -> float | None:
    """The lower quartile of an agent's scores, so that three of four would have passed, kept within 15 points
    of the configured threshold. Nothing from little evidence, and nothing where everything passes."""
    if len(scores) < LEAST_EVIDENCE or configured == 0:
        return None
    quartile = sorted(scores)[(len(scores) - 1) // 4]
    low, high = max(1.0, configured - ADAPT_WITHIN), min(100.0, configured + ADAPT_WITHIN)
    return float(round(min(max(quartile, low), high)))


def success_rate(outcomes: Sequence[tuple[float, bool]]) -> float:
    """The weighted share of accepted work; a newcomer, of whom nothing is known, is taken for average."""
    weight = sum(one for one, _ in outcomes)
    if weight <= 0:
        return 0.5
    return round(sum(one for one, good in outcomes if good) / weight, 4)
