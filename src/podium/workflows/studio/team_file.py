"""Reading a team from YAML. Whatever is wrong is told with the line it stands in, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from podium.errors import UsageError
from podium.settings import nearest
from podium.settings.places import named
from podium.workflows.studio.team import TeamSpec, problems_of

FOLDER = Path(__file__).parent / "teams"
SHIPPED = {"film": FOLDER / "film.yaml", "software": FOLDER / "software.yaml"}
DEFAULT = "film"
MAX_BYTES = 1_000_000
MAX_NODES = 50_000
"""Aliases can make a small file huge."""

_QUICK = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""Ten times as fast, but it ends the whole process on a file that is nested too deeply: for our own only."""

Place = tuple[str, ...]


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong with a team file."""

    source: str
    line: int
    place: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.source}, line {self.line}"
        return f"{where}: {self.place}: {self.reason}" if self.place else f"{where}: {self.reason}"


class TeamError(UsageError):
    """A team cannot be used; `flaws` says everything that is wrong."""

    def __init__(self, flaws: list[Flaw]) -> None:
        rest = f"{len(flaws) - 1} more; " if len(flaws) > 1 else ""
        super().__init__(
            f"The team cannot be used. {flaws[0]}.",
            hint=f"{rest}`podium team check FILE` lists everything that is wrong.",
        )
        self.flaws = flaws


@dataclass
class _Document:
    """Plain data, and for each place in it the file and line that it came from."""

    data: dict[str, Any]
    lines: dict[Place, tuple[str, int]] = field(default_factory=dict[Place, tuple[str, int]])

    def flaw(self, place: Place, reason: str) -> Flaw:
        known = place
        while known and known not in self.lines:
            known = known[:-1]
        source, line = self.lines.get(known, ("team", 1))
        return Flaw(source, line, ".".join(place), reason)


def load_team(name: str = "") -> TeamSpec:
    """A shipped team by its name (none: the film studio), or one of a file."""
    path = find_team(name)
    return _validated(_whole(path, seen=()))


def find_team(name: str = "") -> Path:
    """The file of a team. A name that is neither shipped nor a file is refused."""
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
    """A file, put over the one that it extends."""
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
    """Mappings are merged, everything else is replaced. An empty department or specialist is taken out."""
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
            document.flaw(tuple(str(part) for part in one["loc"]), _reason(one["msg"], one.get("input")))
            for one in error.errors()
        ]
        raise TeamError(_in_order(flaws)) from error
    flaws = [document.flaw(place, reason) for place, reason in problems_of(team)]
    if flaws:
        raise TeamError(_in_order(flaws))
    return team


def _fill_in_names(data: dict[str, Any]) -> None:
    """Name agents without a name after their key (`art-direction` is the Art Direction Specialist), and let
    `max_retries` of a head count for its department: a head's retries are the department's."""
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
    """The entries of a mapping that are mappings themselves; whatever else stands there is told later."""
    entries = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return [(key, cast("dict[str, Any]", one)) for key, one in entries.items() if isinstance(one, dict)]


def _words(key: str) -> list[str]:
    return key.replace("_", " ").replace("-", " ").split()


def _titled(key: str) -> str:
    return " ".join(word.capitalize() for word in _words(key))


def _in_order(flaws: list[Flaw]) -> list[Flaw]:
    return sorted(flaws, key=lambda flaw: (flaw.source, flaw.line))


def _reason(said: str, given: Any) -> str:
    """Pydantic's words with a small beginning, and what stood there if it is short."""
    text = said.removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    if text == "extra inputs are not permitted":
        return "there is no such field"
    shown = repr(given) if isinstance(given, (str, int, float, bool)) else ""
    return f"{text} (got {shown})" if shown and len(shown) < 60 and "not" not in text.split() else text


# ── YAML with lines ──────────────────────────────────────────────────────────────────────────────


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
    said = getattr(error, "problem", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return Flaw(source, (mark.line + 1) if mark is not None else 1, "", f"this is not YAML: {said}")


class _Reader:
    """Turns YAML nodes into plain data and remembers their lines."""

    def __init__(self, source: str, lines: dict[Place, tuple[str, int]]) -> None:
        self.flaws: list[Flaw] = []
        self._source = source
        self._lines = lines
        self._left = MAX_NODES
        self._scalars = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, place: Place) -> Any:
        self._left -= 1
        line = node.start_mark.line + 1
        if self._left < 0 or len(place) > 20:
            flaw = Flaw(self._source, line, "", "the file holds too much; a team is small")
            raise TeamError([flaw])
        self._lines.setdefault(place, (self._source, line))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(one, (*place, str(nth))) for nth, one in enumerate(node.value)]
        try:
            return cast("object", self._scalars.construct_object(node))  # pyright: ignore[reportUnknownMemberType]
        except (yaml.YAMLError, ValueError) as error:
            self.flaws.append(Flaw(self._source, line, ".".join(place), f"cannot be read: {error}"))
            return None

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            line = key_node.start_mark.line + 1
            if key in found:
                self.flaws.append(Flaw(self._source, line, ".".join((*place, key)), "it is given twice"))
            self._lines[(*place, key)] = (self._source, line)
            found[key] = self.value(value_node, (*place, key))
        return found
