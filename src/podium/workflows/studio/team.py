"""Team model and YAML reader of `studio`.

Fields that are absent in the file have the defaults below. An agent's threshold has no default: if it is
absent, the department's applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from podium.errors import UsageError
from podium.settings import nearest
from podium.settings.places import named

MAX_RETRIES = 3
"""Retries after the first attempt."""
DEPARTMENT_THRESHOLD = 80.0
TIMEOUT_S = 300.0
TEMPERATURE = 0.7

RESERVED = {"canon": "what is settled in a project", "floor": "the direct draft of a run"}
"""Reserved keys that must not name a department, with their meaning."""

_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class _Part(BaseModel):
    """Base of the team models. Unknown fields are typing errors and are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AgentSpec(_Part):
    """A head or a specialist."""

    name: str = Field(min_length=1, max_length=100)
    specialization: str = ""
    skills: list[str] = []
    instructions: str = ""
    profile: str = "balanced"
    passing_threshold: float | None = Field(default=None, ge=0, le=100)
    """0: everything passes. None: the department's threshold applies."""
    max_retries: int = Field(default=MAX_RETRIES, ge=0, le=10)
    timeout: float = Field(default=TIMEOUT_S, gt=0, le=86_400)
    """Timeout of one call in seconds."""
    temperature: float = Field(default=TEMPERATURE, ge=0, le=2)
    active: bool = True


class DepartmentSpec(_Part):
    """A head with specialists, and the keywords that route requests to them."""

    name: str = Field(min_length=1, max_length=100)
    priority: int = Field(default=100, ge=0)
    """Order of departments with equal relevance; smaller comes first."""
    keywords: dict[str, float] = {}
    """Words or phrases and their weights as evidence for this department."""
    names: float = Field(default=0.0, ge=0, le=1)
    """Weight of a person's name as evidence."""
    depends_on: list[str] = []
    """Departments whose output it needs."""
    depends_when: dict[str, list[str]] = {}
    """Departments whose output it needs if the request contains one of these words."""
    depends_unless_named: list[str] = []
    """Departments whose output it needs unless the request names a person, so that both use the same
    names."""
    min_quality_threshold: float | None = Field(default=DEPARTMENT_THRESHOLD, ge=0, le=100)
    max_retries: int = Field(default=MAX_RETRIES, ge=0, le=10)
    """Retries of the head after a failed attempt."""
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
        """All departments that it may wait for."""
        return list(dict.fromkeys([*self.depends_on, *self.depends_when, *self.depends_unless_named]))


class TeamSpec(_Part):
    """All departments of a studio."""

    name: str = Field(min_length=1, max_length=60)
    description: str = ""
    meanings: list[list[str]] = []
    """Groups of near synonyms. A request matches a skill through them too."""
    departments: dict[str, DepartmentSpec] = Field(min_length=1)

    def by_priority(self) -> list[str]:
        """Return the departments by priority, then by order in the file."""
        places = list(self.departments)
        return sorted(places, key=lambda key: (self.departments[key].priority, places.index(key)))


def agent_id(department: str, specialist: str = "") -> str:
    """Return an agent's id: `story-dialogue-specialist`, or `story-head` without a specialist."""
    return f"{department}-{specialist}-specialist" if specialist else f"{department}-head"


# ── semantic checks ──────────────────────────────────────────────────────────────────────────────

Problem = tuple[tuple[str, ...], str]
"""Position in the file, and the problem."""


def problems_of(team: TeamSpec) -> Iterator[Problem]:
    """Return everything that makes a well-formed team unusable."""
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
    circle = circle_in({key: spec.may_need for key, spec in team.departments.items()})
    if circle:
        around = " → ".join([*circle, circle[0]])
        yield ("departments", circle[0], "depends_on"), f"departments wait for each other: {around}"


def _head_problems(head: AgentSpec, at: tuple[str, ...]) -> Iterator[Problem]:
    """Return the fields that have no meaning for a head."""
    if not head.active:
        yield (*at, "active"), "a head is always active; take the department out with `null` instead"
    if head.passing_threshold is not None:
        reason = "a head is not graded; set min_quality_threshold of the department for its specialists"
        yield (*at, "passing_threshold"), reason


def circle_in(needs: Mapping[str, list[str]]) -> list[str]:
    """Return a dependency cycle, or an empty list."""
    open_needs = {key: [need for need in below if need in needs] for key, below in needs.items()}
    while free := [key for key, below in open_needs.items() if not any(need in open_needs for need in below)]:
        for key in free:
            del open_needs[key]
    trail = list(open_needs)[:1]
    while trail:
        following = next(need for need in open_needs[trail[-1]] if need in open_needs)
        if following in trail:
            return trail[trail.index(following) :]
        trail.append(following)
    return []


FOLDER = Path(__file__).parent / "teams"
SHIPPED = {"film": FOLDER / "film.yaml", "software": FOLDER / "software.yaml"}
DEFAULT = "film"
MAX_BYTES = 1_000_000
MAX_NODES = 50_000
"""Limit of YAML nodes, because aliases can expand a small file enormously."""

_QUICK = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""Ten times as fast, but it crashes the process on deeply nested input: only for shipped files."""

Place = tuple[str, ...]


@dataclass(frozen=True)
class Flaw:
    """One error in a team file."""

    source: str
    line: int
    place: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.source}, line {self.line}"
        return f"{where}: {self.place}: {self.reason}" if self.place else f"{where}: {self.reason}"


class TeamError(UsageError):
    """Raised for an unusable team. `flaws` lists all errors."""

    def __init__(self, flaws: list[Flaw]) -> None:
        rest = f"{len(flaws) - 1} more; " if len(flaws) > 1 else ""
        super().__init__(
            f"The team cannot be used. {flaws[0]}.",
            hint=f"{rest}`podium team check FILE` lists everything that is wrong.",
        )
        self.flaws = flaws


@dataclass
class _Document:
    """Plain data, with the source file and line of each position."""

    data: dict[str, Any]
    lines: dict[Place, tuple[str, int]] = field(default_factory=dict[Place, tuple[str, int]])

    def flaw(self, place: Place, reason: str) -> Flaw:
        known = place
        while known and known not in self.lines:
            known = known[:-1]
        source, line = self.lines.get(known, ("team", 1))
        return Flaw(source, line, ".".join(place), reason)


def load_team(name: str = "") -> TeamSpec:
    """Load a shipped team by name (default: the film studio) or a team file."""
    path = find_team(name)
    return _validated(_whole(path, seen=()))


def find_team(name: str = "") -> Path:
    """Return the path of a team. Raise `UsageError` if the name is neither shipped nor a file."""
    wanted = DEFAULT if name in ("", "default") else name
    if wanted in SHIPPED:
        return SHIPPED[wanted]
    path = named(wanted)
    if path.is_file():
        return path.absolute()
    meant = nearest(wanted, list(SHIPPED))
    hint = f"Did you mean {meant}? " if meant else ""
    raise UsageError(
        f"There is no team {name}.",
        hint=f"{hint}Shipped: {', '.join(SHIPPED)}. Your own: a YAML file; `podium team init` writes one.",
    )


def _whole(path: Path, seen: tuple[Path, ...]) -> _Document:
    """Read a file and merge it over the file that it extends."""
    document = _read(path)
    base_name = document.data.pop("extends", None)
    document.data.setdefault("name", path.stem)
    if base_name is None:
        return document
    flaw = document.flaw(("extends",), "")
    if not isinstance(base_name, str):
        raise TeamError([Flaw(flaw.source, flaw.line, "extends", "must be the name of a team or a file")])
    beside = path.parent / base_name
    try:
        base_path = beside.absolute() if beside.is_file() else find_team(base_name)
    except UsageError as error:
        raise TeamError([Flaw(flaw.source, flaw.line, "extends", error.message.rstrip("."))]) from error
    if base_path in (*seen, path):
        raise TeamError([Flaw(flaw.source, flaw.line, "extends", "files extend each other in a circle")])
    base = _whole(base_path, (*seen, path))
    return _Document(_merged(base.data, document.data), base.lines | document.lines)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge mappings recursively and replace everything else. A null department or specialist is removed."""
    merged = dict(base)
    for key, value in over.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merged(cast("dict[str, Any]", before), cast("dict[str, Any]", value))
        elif isinstance(before, dict) and value is None:
            del merged[key]
        else:
            merged[key] = value
    return merged


def _validated(document: _Document) -> TeamSpec:
    _fill_in_names(document.data)
    try:
        team = TeamSpec.model_validate(document.data)
    except ValidationError as error:
        flaws = [
            document.flaw(
                tuple(str(part) for part in entry["loc"]), _reason(entry["msg"], entry.get("input"))
            )
            for entry in error.errors()
        ]
        raise TeamError(_in_order(flaws)) from error
    flaws = [document.flaw(place, reason) for place, reason in problems_of(team)]
    if flaws:
        raise TeamError(_in_order(flaws))
    return team


def _fill_in_names(data: dict[str, Any]) -> None:
    """Name agents without a name after their key (`art-direction` is the Art Direction Specialist). Copy a
    head's `max_retries` to its department, where it applies."""
    for key, department in _mappings(data.get("departments")):
        department.setdefault("name", f"{_titled(key)} Department")
        for _, head in _mappings({"head": department.get("head")}):
            head.setdefault("name", f"{_titled(key)} Head")
            if "max_retries" in head:
                department["max_retries"] = head["max_retries"]
        for name, specialist in _mappings(department.get("specialists")):
            specialist.setdefault("name", f"{_titled(name)} Specialist")
            specialist.setdefault("specialization", " ".join(_words(name)))


def _mappings(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the entries of a mapping that are mappings themselves. Validation reports the others later."""
    entries = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return [(key, cast("dict[str, Any]", entry)) for key, entry in entries.items() if isinstance(entry, dict)]


def _words(key: str) -> list[str]:
    return key.replace("_", " ").replace("-", " ").split()


def _titled(key: str) -> str:
    return " ".join(word.capitalize() for word in _words(key))


def _in_order(flaws: list[Flaw]) -> list[Flaw]:
    return sorted(flaws, key=lambda flaw: (flaw.source, flaw.line))


def _reason(message: str, value: Any) -> str:
    """Return Pydantic's message in lower case, with the invalid value if it is short."""
    text = message.removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    if text == "extra inputs are not permitted":
        return "there is no such field"
    shown = repr(value) if isinstance(value, (str, int, float, bool)) else ""
    return f"{text} (got {shown})" if shown and len(shown) < 60 and "not" not in text.split() else text


# ── YAML with line numbers ───────────────────────────────────────────────────────────────────────


def _read(path: Path) -> _Document:
    source = path.name
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The team {path} cannot be read: {error}.") from error
    if len(raw) > MAX_BYTES:
        raise UsageError(f"The team {path} is larger than {MAX_BYTES // 1000} kB.")
    loader = _QUICK if path.parent == FOLDER else yaml.SafeLoader
    try:
        node = cast("yaml.Node | None", yaml.compose(text, Loader=loader))  # pyright: ignore[reportUnknownMemberType]
    except (yaml.YAMLError, RecursionError) as error:
        raise TeamError([_syntax(source, error)]) from error
    if not isinstance(node, yaml.MappingNode):
        raise TeamError([Flaw(source, 1, "", "a team is a mapping with `name` and `departments`")])
    document = _Document({})
    reader = _Reader(source, document.lines)
    document.data = cast("dict[str, Any]", reader.value(node, ()))
    if reader.flaws:
        raise TeamError(reader.flaws)
    return document


def _syntax(source: str, error: Exception) -> Flaw:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return Flaw(source, (mark.line + 1) if mark is not None else 1, "", f"this is not YAML: {problem}")


class _Reader:
    """Converts YAML nodes to plain data and records their lines."""

    def __init__(self, source: str, lines: dict[Place, tuple[str, int]]) -> None:
        self.flaws: list[Flaw] = []
        self._source = source
        self._lines = lines
        self._nodes_left = MAX_NODES
        self._scalars = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, place: Place) -> Any:
        self._nodes_left -= 1
        line = node.start_mark.line + 1
        if self._nodes_left < 0 or len(place) > 20:
            flaw = Flaw(self._source, line, "", "the file is too large or too deeply nested")
            raise TeamError([flaw])
        self._lines.setdefault(place, (self._source, line))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*place, str(nth))) for nth, item in enumerate(node.value)]
        try:
            return cast("object", self._scalars.construct_object(node))  # pyright: ignore[reportUnknownMemberType]
        except (yaml.YAMLError, ValueError) as error:
            self.flaws.append(Flaw(self._source, line, ".".join(place), f"cannot be read: {error}"))
            return None

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            line = key_node.start_mark.line + 1
            if key in values:
                self.flaws.append(Flaw(self._source, line, ".".join((*place, key)), "duplicate key"))
            self._lines[(*place, key)] = (self._source, line)
            values[key] = self.value(value_node, (*place, key))
        return values
