"""The team: departments, their heads and specialists, as a YAML file holds them.

What is absent in the file has the default that stands here. An agent's own threshold has none: absent, the
department's counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field, field_validator

MAX_RETRIES = 3
"""New attempts after the first one."""
DEPARTMENT_THRESHOLD = 80.0
TIMEOUT_S = 300.0
TEMPERATURE = 0.7

RESERVED = {"canon": "what is settled in a project", "floor": "the direct draft of a run"}
"""Keys that mean something else where departments are named, and what."""

_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class _Part(BaseModel):
    """A word that nobody knows is a slip of the pen, so it is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AgentSpec(_Part):
    """A head or a specialist."""

    name: str = Field(min_length=1, max_length=100)
    specialization: str = ""
    skills: list[str] = []
    instructions: str = ""
    profile: str = "balanced"
    passing_threshold: float | None = Field(default=None, ge=0, le=100)
    """0: everything passes; absent: the department's threshold counts."""
    max_retries: int = Field(default=MAX_RETRIES, ge=0, le=10)
    timeout: float = Field(default=TIMEOUT_S, gt=0, le=86_400)
    """Seconds that one call may take."""
    temperature: float = Field(default=TEMPERATURE, ge=0, le=2)
    active: bool = True


class DepartmentSpec(_Part):
    """A head with specialists, and what speaks for asking them."""

    name: str = Field(min_length=1, max_length=100)
    priority: int = Field(default=100, ge=0)
    """Smaller comes first where relevance is equal."""
    keywords: dict[str, float] = {}
    """A word or phrase, and how strongly it speaks for this department."""
    names: float = Field(default=0.0, ge=0, le=1)
    """How strongly a person's name does."""
    depends_on: list[str] = []
    """Departments whose output it needs."""
    depends_when: dict[str, list[str]] = {}
    """Departments whose output it needs where the request contains one of these words."""
    depends_unless_named: list[str] = []
    """Departments whose output it needs unless the request names a person: what one of them calls the people
    is known to the other."""
    min_quality_threshold: float | None = Field(default=DEPARTMENT_THRESHOLD, ge=0, le=100)
    max_retries: int = Field(default=MAX_RETRIES, ge=0, le=10)
    """Of the head: new attempts after a failed one."""
    allow_parallel_execution: bool = True
    head: AgentSpec
    specialists: dict[str, AgentSpec] = {}

    @field_validator("keywords")
    @classmethod
    def _weights(cls, keywords: dict[str, float]) -> dict[str, float]:
        for word, weight in keywords.items():
            if not 0 < weight <= 1:
                raise ValueError(f"the weight of {word!r} must be above 0 and at most 1, not {weight:g}")
        return keywords

    @property
    def may_need(self) -> list[str]:
        """Every department that it waits for in some request."""
        return list(dict.fromkeys([*self.depends_on, *self.depends_when, *self.depends_unless_named]))


class TeamSpec(_Part):
    """Everybody."""

    name: str = Field(min_length=1, max_length=60)
    description: str = ""
    meanings: list[list[str]] = []
    """Groups of words that mean nearly the same: a request matches a skill also through them."""
    departments: dict[str, DepartmentSpec] = Field(min_length=1)

    def by_priority(self) -> list[str]:
        """Departments in the order in which they are named where nothing else decides."""
        places = list(self.departments)
        return sorted(places, key=lambda key: (self.departments[key].priority, places.index(key)))


def agent_id(department: str, specialist: str = "") -> str:
    """`story-dialogue-specialist`; without a specialist, the head: `story-head`."""
    return f"{department}-{specialist}-specialist" if specialist else f"{department}-head"


# ── what no type can tell ────────────────────────────────────────────────────────────────────────

Problem = tuple[tuple[str, ...], str]
"""Where in the file, and what is wrong there."""


def problems_of(team: TeamSpec) -> Iterator[Problem]:
    """Everything that makes a team unusable although each part of it is well formed."""
    known = set(team.departments)
    for key, department in team.departments.items():
        at = ("departments", key)
        if key in RESERVED:
            yield at, f"the key {key!r} stands for {RESERVED[key]}; choose another"
        if not _KEY.fullmatch(key):
            yield at, f"the key {key!r} must be lower-case letters, digits, _ or -"
        for specialist in department.specialists:
            if not _KEY.fullmatch(specialist):
                where = (*at, "specialists", specialist)
                yield where, f"the key {specialist!r} must be lower-case letters, digits, _ or -"
        named = [(("depends_on", str(place)), key) for place, key in enumerate(department.depends_on)]
        named += [(("depends_when", key), key) for key in department.depends_when]
        named += [
            (("depends_unless_named", str(place)), key)
            for place, key in enumerate(department.depends_unless_named)
        ]
        for where, needed in named:
            if needed not in known:
                there = f"there are {', '.join(sorted(known))}"
                yield (*at, *where), f"there is no department {needed!r}; {there}"
        yield from _head_problems(department.head, (*at, "head"))
    circle = circle_in({key: one.may_need for key, one in team.departments.items()})
    if circle:
        around = " → ".join([*circle, circle[0]])
        yield ("departments", circle[0], "depends_on"), f"departments wait for each other: {around}"


def _head_problems(head: AgentSpec, at: tuple[str, ...]) -> Iterator[Problem]:
    """Fields of an agent that have no meaning for a head."""
    if not head.active:
        yield (*at, "active"), "a head is always active; take the department out with `null` instead"
    if head.passing_threshold is not None:
        reason = "a head is not graded; set min_quality_threshold of the department for its specialists"
        yield (*at, "passing_threshold"), reason


def circle_in(needs: Mapping[str, list[str]]) -> list[str]:
    """Departments that wait for each other, if any do: those that are left when all that can start has."""
    left = {key: [one for one in below if one in needs] for key, below in needs.items()}
    while free := [key for key, below in left.items() if not any(one in left for one in below)]:
        for key in free:
            del left[key]
    trail = list(left)[:1]
    while trail:
        following = next(one for one in left[trail[-1]] if one in left)
        if following in trail:
            return trail[trail.index(following) :]
        trail.append(following)
    return []
