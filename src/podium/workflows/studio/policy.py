"""Rules and limits of `studio` as pure functions, in the order in which a request meets them.

Two longer sets of rules have their own modules: relevance of departments in `routing`, choice of specialists
in `history`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

CONCURRENCY = 8
SUPPORTING_ABOVE = 0.3
DEFAULT_THRESHOLD = 60.0
"""Threshold if neither the agent nor its department has one."""
HEAD_ONLY_SCORE = 85.0
"""Score of a department whose head wrote the result alone."""
UNGRADED_SCORE = 75.0
"""Score of an output that could not be graded."""
REVISE_WITHIN = 20.0
"""An output at most this many points below the threshold is worth revising."""
CLOSE_WITHIN = 10.0
"""An accepted output less than this many points above the threshold gets a note."""
MAX_CONFLICT_ROUNDS = 2
LISTED_ONLY = ("low",)
"""Severities of conflicts that are only listed and do not start a round of resolution."""
CONFLICT_COST = {"low": 2.0, "medium": 5.0, "high": 10.0, "critical": 20.0}
"""Points that an open conflict takes off the overall quality."""
SYNTHESIS_RETRIES = 3
SPECIALISTS = {"simple": 0, "moderate": 2, "complex": 4}
AT_LEAST = 2
"""Minimum number of specialists with `--specialists always`."""
ADAPT_WITHIN = 15.0
"""Maximum distance of a learnt threshold from the configured one, in points."""
LEAST_EVIDENCE = 5
"""Minimum number of graded results for a learnt threshold."""

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
    """Return the most relevant department, and all others above the relevance limit."""
    primary, *others = ranked
    return primary[0], [key for key, relevance in others if relevance > SUPPORTING_ABOVE]


def mode_of(chosen: Sequence[str], needs: Mapping[str, Sequence[str]]) -> Mode:
    """Return `single`, `sequential` if one of the chosen needs another one, else `parallel`."""
    if len(chosen) == 1:
        return "single"
    waits = any(needed in chosen for key in chosen for needed in needs.get(key, ()))
    return "sequential" if waits else "parallel"


# ── complexity ───────────────────────────────────────────────────────────────────────────────────

COMPLEX_TERMS = frozenset({"complex", "detailed", "comprehensive", "elaborate"})
CONNECTIVES = frozenset({"and", "also", "additionally", "furthermore"})


def complexity_of(request: str, departments: int) -> Complexity:
    """Classify a request. `complex`: over 100 words, a complexity term, or 2 connectives. `moderate`: 50
    words or more, 1 connective, or several departments."""
    length = len(request.split())
    words = re.findall(r"[^\W_]+", request.lower())
    connectives = sum(word in CONNECTIVES for word in words)
    if length > 100 or COMPLEX_TERMS & set(words) or connectives >= 2:
        return "complex"
    if length >= 50 or connectives == 1 or departments > 1:
        return "moderate"
    return "simple"


def specialists_wanted(complexity: Complexity, policy: str) -> int:
    """Return the number of specialists. 0 means that the head works alone."""
    if policy == "never":
        return 0
    wanted = SPECIALISTS[complexity]
    return max(wanted, AT_LEAST) if policy == "always" else wanted


# ── grades ───────────────────────────────────────────────────────────────────────────────────────


def threshold_of(agent: float | None, department: float | None) -> float:
    """Return the agent's own threshold (0: everything passes), else the department's, else the default."""
    if agent is not None:
        return agent
    return DEFAULT_THRESHOLD if department is None else department


def score_of(quality: float, relevance: float, consistency: float) -> float:
    """Return the weighted score in percent, rounded to two decimals before any comparison."""
    return round((quality * 0.4 + relevance * 0.3 + consistency * 0.3) * 100, 2)


def decision_of(score: float, threshold: float) -> Decision:
    if score >= threshold:
        return "accept"
    return "revise" if score >= threshold - REVISE_WITHIN else "discard"


def may_retry(attempts: int, max_retries: int, score: float, threshold: float) -> bool:
    """True if another attempt may follow. Without a threshold nothing is retried."""
    return threshold > 0 and decision_of(score, threshold) != "accept" and attempts <= max_retries


def review_of(score: float | None, threshold: float, retries: int = 0) -> tuple[Review, str]:
    """Return the review's status and note. An ungraded output counts as average; a grade of 0 counts as 0."""
    value = UNGRADED_SCORE if score is None else score
    counted = f"Score {value:g}" if score is not None else f"It could not be graded, counts {value:g} and"
    after = f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""
    if threshold == 0:
        return "approved", AUTO_APPROVED
    if value < threshold:
        return "rejected", f"{counted} is below the threshold {threshold:g}{after}"
    if value < threshold + CLOSE_WITHIN:
        return (
            "revision-needed",
            f"{counted} is accepted{after}, within {CLOSE_WITHIN:g} points of the threshold {threshold:g}",
        )
    if score is None:
        return "approved", f"Accepted without a grade; it counts {value:g}"
    return "approved", f"Approved by the department head{after}"


def accepted(status: str) -> bool:
    return status in ("approved", "revision-needed")


def feedback_line(attempt: int, score: float, threshold: float, feedback: str) -> str:
    """Format the feedback on an attempt for the next one."""
    comment = " ".join(feedback.split())
    return f"Attempt {attempt}: scored {score:g}, the threshold is {threshold:g}." + (
        f" {comment}" if comment else ""
    )


# ── departments ──────────────────────────────────────────────────────────────────────────────────


def formula_score(statuses: Sequence[str], scores: Sequence[float]) -> float:
    """Return 60 % of the acceptance rate plus 40 % of the mean score. Errors count in both."""
    if not scores:
        return 0.0
    rate = sum(accepted(status) for status in statuses) / len(statuses) * 100
    return round(rate * 0.6 + sum(scores) / len(scores) * 0.4, 2)


def department_score(statuses: Sequence[str], scores: Sequence[float]) -> float:
    """Return the formula score, or 85 if nothing was accepted and the head wrote the result."""
    if not any(accepted(status) for status in statuses):
        return HEAD_ONLY_SCORE
    return formula_score(statuses, scores)


def stand_in_score(used: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the formula score if one specialist's work replaces the synthesis. The others' work counts 0."""
    counted = [score if is_used else 0.0 for is_used, score in zip(used, scores, strict=True)]
    return formula_score(["approved" if is_used else "rejected" for is_used in used], counted)


def grade_of_department(scores: Sequence[float], used: Sequence[bool]) -> float:
    """Return the mean grade of the specialists, with 0 for unused work; 85 if the head wrote alone."""
    if not any(used):
        return HEAD_ONLY_SCORE
    return round(sum(score for score, is_used in zip(scores, used, strict=True) if is_used) / len(scores), 2)


def overall_quality(
    departments: Sequence[tuple[float, float]], open_conflicts: Sequence[str] = ()
) -> float | None:
    """Return the mean of the grades weighted by relevance, minus the cost of open conflicts by severity. A
    department that delivered nothing counts with a grade of 0. None without departments."""
    if not departments:
        return None
    weight = sum(relevance for relevance, _ in departments)
    if weight <= 0:
        mean = sum(score for _, score in departments) / len(departments)
    else:
        mean = sum(relevance * score for relevance, score in departments) / weight
    return round(max(mean - sum(CONFLICT_COST.get(severity, 0.0) for severity in open_conflicts), 0.0), 2)


def fate_of_conflict(*, checked: bool, replaced: bool) -> str:
    """Describe the state of an open conflict in the delivered text. Empty if unknown."""
    if replaced:
        return "It concerns the team's text; the direct draft is the result."
    return "The editor, who knew of it, finished the text." if checked else ""


# ── contradictions ───────────────────────────────────────────────────────────────────────────────

_LABELLED = re.compile(
    r"^[ \t>*+-]*([^\W\d_][^:*\n]{1,30}?)[ \t]*\**:\**[ \t]*(\S[^\n]{0,60})$", re.MULTILINE
)
_COMMON_LABELS = frozenset({"note", "notes", "summary", "title", "example", "warning", "goal", "part", "why"})
_MOST_WORDS = 8
"""Maximum words of a labelled value. A longer one is a sentence, and specialists may phrase it
differently."""


_HEADING = re.compile(r"^(?:#{1,6}[ \t]+(.+?)|\*\*([^*\n]+?):?\*\*:?)[ \t]*$")
_NAMED = frozenset({"name", "character", "person", "place", "object", "who"})
"""Labels whose value names the subject of the lines below them."""


def contradictions_among(outputs: Mapping[str, str], fields: Sequence[str] = ()) -> list[str]:
    """Find labels with different values in two specialists' work: `Eyes: green` and `Eyes: brown`.

    Lines about different names do not contradict each other. A name is a short heading, or the value of
    `Name:`. Headings made of the words in `fields` are not names.
    """
    common = {word for text in fields for word in re.findall(r"[^\W_]+", text.lower())}
    stated: dict[tuple[str, str], dict[str, str]] = {}
    for who, text in outputs.items():
        for about, value in _stated(text, common).items():
            stated.setdefault(about, {})[who] = value
    return [
        f"{label}{f' of {subject}' if subject else ''}: "
        + "; ".join(f"{who} says “{value}”" for who, value in values.items())
        for (subject, label), values in stated.items()
        if len({value.lower() for value in values.values()}) > 1
    ]


def _stated(text: str, common: Collection[str]) -> dict[tuple[str, str], str]:
    """Return the labelled values of a text by subject and label."""
    subject, stated = "", dict[tuple[str, str], str]()
    for line in text.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            subject = _subject(heading[1] or heading[2], common)
            continue
        for label, value in _LABELLED.findall(line):
            name = " ".join(label.lower().split())
            if label.isupper():  # a speaker in a script: `BO: What if I come out as a napkin?`
                continue
            if name in _NAMED:
                subject = _subject(value, common)
            elif name not in _COMMON_LABELS and len(value.split()) <= _MOST_WORDS:
                stated.setdefault((subject, name), value.strip(" *."))
    return stated


def _subject(text: str, common: Collection[str]) -> str:
    """Return the name that a heading is, or an empty string."""
    words = re.findall(r"[^\W_]+", text)
    named = [word for word in words if word[:1].isupper() and word.lower() not in common]
    return " ".join(named).lower() if words and len(words) <= 4 and len(named) == len(words) else ""


_DECISIONS = re.compile(
    r"^[#* \t]*decisions (?:about|on) (?:the )?contradictions[*: \t]*$", re.IGNORECASE | re.MULTILINE
)
_LISTED = re.compile(r"^[ \t]*(?:[*+-]|\d+[.)])[ \t]+")


def split_decisions(text: str) -> tuple[str, list[str]]:
    """Split a head's text from the list under its heading `Decisions about contradictions`. Everything else
    stays in the text, including what follows the list."""
    headings = list(_DECISIONS.finditer(text))
    if not headings:
        return text.strip(), []
    lines = text[headings[-1].end() :].splitlines()
    decided, used, margin = list[str](), 0, 0
    for number, line in enumerate(lines, 1):
        indent, entry = len(line) - len(line.lstrip()), _LISTED.match(line)
        if entry and (not decided or indent <= margin + 1):
            decided.append(line[entry.end() :].strip())
            margin, used = indent, number
        elif used == number - 1 > 0 and line.strip() and indent >= margin + 2:  # continuation
            decided[-1] += f" {_LISTED.sub('', line).strip()}"
            used = number
        elif line.strip():
            break
    rest = "\n".join(lines[used:]).strip()
    before = text[: headings[-1].start()].strip()
    return "\n\n".join(part for part in (before, rest) if part), decided


_DECIDED = re.compile(r"[*_]*\bdecided[*_]*:[*_]*\s*", re.IGNORECASE)


def parts_of_decision(line: str) -> tuple[str, str, str]:
    """Split `WHAT: NAME says …; NAME says …. Decided: …` into subject, statements and decision. A line of
    another form is returned as the decision."""
    match = _DECIDED.search(line)
    if match is None:
        return "", "", line
    what, _, statements = line[: match.start()].partition(":")
    return what.strip(" *_"), statements.strip(" *_"), line[match.end() :].strip()


# ── learning ─────────────────────────────────────────────────────────────────────────────────────


def suggested_threshold(scores: Sequence[float], configured: float) -> float | None:
    """Return the lower quartile of an agent's scores, so that three of four would pass, limited to 15 points
    around the configured threshold. None with too little evidence, or if the configured threshold is 0."""
    if len(scores) < LEAST_EVIDENCE or configured == 0:
        return None
    quartile = sorted(scores)[(len(scores) - 1) // 4]
    low, high = max(1.0, configured - ADAPT_WITHIN), min(100.0, configured + ADAPT_WITHIN)
    return float(round(min(max(quartile, low), high)))


def success_rate(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Return the weighted share of accepted work, or 0.5 without any history."""
    weight = sum(share for share, _ in outcomes)
    if weight <= 0:
        return 0.5
    return round(sum(share for share, good in outcomes if good) / weight, 4)
