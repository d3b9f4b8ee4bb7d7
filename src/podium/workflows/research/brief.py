"""Reader of briefs from flags, a file or a program. All problems are reported at once."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import yaml

from podium.errors import UsageError, as_flag
from podium.settings import nearest, parse_duration
from podium.settings.places import at_home, named
from podium.workflows.research.contracts import Brief, ContentType, Depth, SourceKind, Style

MAX_BYTES = 100_000
MOST_DEPTH = 50
_OPENING = (
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
)
_CLOSING = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)
ONLINE = ("web", "academic", "news", "social")
"""Kinds of sources that need the network."""
FIELDS = tuple(Brief.model_fields)
PLACES = ("corpus", "online")
"""Further fields: the location of the sources."""
SWITCHES = ("floor", "editor", "sources_only")
"""Further fields: switches for the direct draft, the editor and general knowledge."""

Problems = list[str]
Reader = Callable[[Any], Any]
"""Converts a value; raises `ValueError` with the problem."""


class BriefError(UsageError):
    """Raised for an unusable brief. `problems` lists everything that is wrong. `options` are the names of the
    fields that were given as options, not in a file."""

    def __init__(self, problems: Problems, options: Iterable[str] = ()) -> None:
        super().__init__(
            _sentence(problems), hint="Nothing was started. `podium run research --help` lists the limits."
        )
        self.problems = problems
        self._options = set(options)

    def on_command_line(self) -> str:
        return _sentence([self._typed(problem) for problem in self.problems])

    def _typed(self, problem: str) -> str:
        """Replace the field name at the start of a problem by its flag, if it was given as one."""
        name = problem.partition(" ")[0].rstrip(":")
        return as_flag(name) + problem[len(name) :] if name in self._options else problem


def _sentence(problems: Problems) -> str:
    many = f"{len(problems)} problems" if len(problems) > 1 else "a problem"
    return f"The brief has {many}: {'; '.join(problems)}."


def read_brief(request: Any, options: Mapping[str, Any]) -> tuple[Brief, dict[str, Any]]:
    """Return the brief, and the locations and switches that were set. Flags override the file, the file
    overrides the defaults."""
    problems: Problems = []
    fields = {**_from_request(request), **_from_file(options, problems)}
    fields |= {name: value for name, value in options.items() if name != "brief" and value not in (None, "")}
    if isinstance(request, str) and request.strip():
        fields["topic"] = request
    for name in fields:
        if name not in (*FIELDS, *PLACES, *SWITCHES):
            meant = nearest(str(name), list(FIELDS))
            problems.append(f"there is no {name}" + (f" (did you mean {meant}?)" if meant else ""))
    places = {**_places(fields, problems), **_switches(fields, problems)}
    checked = {name: _checked(name, fields[name], problems) for name in FIELDS if name in fields}
    checked = {name: value for name, value in checked.items() if value is not None}
    checked["sources"] = _enabled(places)
    if "topic" not in fields:
        problems.append("it has no topic")
    _find_contradictions(checked, problems)
    if problems:
        raise BriefError(problems, (name for name, value in options.items() if value not in (None, "")))
    return Brief.model_validate(checked), places


def recorded_brief(topic: str, options: Mapping[str, Any]) -> Brief:
    """Return the brief from a run's own options. It was validated before the run started, so a folder that is
    missing now does not matter when the run is only viewed."""
    fields = {name: options[name] for name in FIELDS if name in options}
    return Brief.model_validate({**fields, "topic": topic, "sources": _enabled(options)})


def _from_request(request: Any) -> dict[str, Any]:
    """Return the fields of a brief that a program gave instead of a topic."""
    if isinstance(request, Brief):
        return request.model_dump(exclude_unset=True)
    if isinstance(request, Mapping):
        return {str(name): value for name, value in cast("Mapping[Any, Any]", request).items()}
    if request is not None and not isinstance(request, str):
        raise BriefError([f"the topic must be text, not {type(request).__name__}"])
    return {}


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _from_file(options: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    name = options.get("brief")
    if not name:
        return {}
    try:
        path = named(str(name))
        text = path.read_bytes()[: MAX_BYTES + 1]
        if len(text) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES // 1000} kB")
        data = _parsed(path.suffix.lower(), text.decode("utf-8-sig"))
    except UsageError as error:
        problems.append(str(error).removesuffix("."))
        return {}
    except OSError as error:
        problems.append(f"{name} cannot be read ({error.strerror})")
        return {}
    except (ValueError, RecursionError, yaml.YAMLError, msgspec.DecodeError) as error:
        problems.append(f"{name} cannot be read ({' '.join(str(error).split())[:200]})")
        return {}
    if not isinstance(data, dict):
        problems.append(f"{name} must contain names and values")
        return {}
    fields = {str(key).replace("-", "_"): value for key, value in cast("dict[Any, Any]", data).items()}
    corpus = fields.get("corpus")
    if isinstance(corpus, str) and corpus:  # a path in a file is relative to the file
        fields["corpus"] = str(path.absolute().parent / at_home(corpus))
    return fields


def _folder(corpus: str | Path, problems: Problems) -> str:
    try:
        folder = named(corpus).absolute()
    except UsageError as error:
        problems.append(f"corpus: {str(error).removesuffix('.')}")
        return str(corpus)
    if not folder.is_dir():
        problems.append(f"corpus: there is no folder {corpus}")
    return str(folder)


def _parsed(suffix: str, text: str) -> Any:
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix == ".json":
        return msgspec.json.decode(text)
    if suffix in (".yaml", ".yml"):
        _check_yaml(text)
        return yaml.safe_load(text)
    raise ValueError("its name must end in .toml, .yaml or .json")


def _check_yaml(text: str) -> None:
    """Reject aliases and deep nesting before parsing: aliases can expand without limit, and the scanner's
    time grows with the square of the depth."""
    depth = 0
    for token in cast("Iterable[object]", yaml.scan(text, Loader=yaml.SafeLoader)):  # pyright: ignore[reportUnknownMemberType]
        if isinstance(token, yaml.AliasToken):
            raise ValueError("aliases are not allowed")
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > MOST_DEPTH:
            raise ValueError(f"it is nested more than {MOST_DEPTH} deep")


# ── fields ───────────────────────────────────────────────────────────────────────────────────────


def _checked(name: str, value: Any, problems: Problems) -> Any:
    reader = _READERS.get(name)
    if reader is None:
        return None
    try:
        return reader(value)
    except ValueError as error:
        problems.append(f"{name} {error}")
        return None


def _text(most: int, unit: str = "characters") -> Reader:
    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"must be text, not {value!r}")
        text = value.strip()
        if not 1 <= len(text) <= most:
            raise ValueError(f"must have 1 to {most} {unit}, not {len(text)}")
        return text

    return read


def _number(least: float, most: float, unit: str, *, whole: bool = False) -> Reader:
    def read(value: Any) -> float:
        try:
            number = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number) or (whole and number != int(number)):
            raise ValueError(f"must be a {'whole ' if whole else ''}number, not {value!r}")
        if not least <= number <= most:
            raise ValueError(f"must be {least:,g} to {most:,g}{unit}, not {number:,g}")
        return int(number) if whole else number

    return read


def _seconds(value: Any) -> float:
    try:
        seconds = parse_duration(value) if isinstance(value, (str, int, float)) else math.nan
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):
        raise ValueError(f"must be a time such as 90s or 15m, not {value!r}")
    return float(_number(60, 7200, " seconds")(seconds))


def _one_of(kinds: Any) -> Reader:
    names: tuple[str, ...] = get_args(kinds)

    def read(value: Any) -> str:
        choice = str(value).strip().lower().replace("-", "_").replace(" ", "_")
        if choice not in names:
            raise ValueError(f"must be {', '.join(names[:-1])} or {names[-1]}, not {value!r}")
        return choice

    return read


def _kinds(value: Any) -> list[str]:
    listed = cast("list[Any]", value) if isinstance(value, (list, tuple)) else str(value).split(",")
    read = _one_of(SourceKind)
    return list(dict.fromkeys(read(kind) for kind in listed if str(kind).strip()))


_READERS: dict[str, Reader] = {
    "topic": _text(500),
    "content_type": _one_of(ContentType),
    "length": _number(500, 10_000, " words", whole=True),
    "tone": _text(60),
    "depth": _one_of(Depth),
    "min_sources": _number(1, 100, "", whole=True),
    "preferred_sources": _kinds,
    "min_quality": _number(0, 1, ""),
    "max_usd": _number(0.5, 50, " US dollars"),
    "time_limit": _seconds,
    "citation_style": _one_of(Style),
}
"""Reader of each field. `sources` is derived from their locations."""

# ── combinations ─────────────────────────────────────────────────────────────────────────────────


def _places(fields: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    corpus, online = fields.get("corpus") or "", fields.get("online")
    if not isinstance(corpus, str | Path):
        problems.append(f"corpus must be a folder, not {corpus!r}")
        corpus = ""
    if corpus:
        corpus = _folder(corpus, problems)
    if online is not None and not isinstance(online, bool):
        problems.append(f"online must be true or false, not {online!r}")
        online = None
    return {"corpus": corpus, "online": bool(online) if online is not None else not corpus}


def _switches(fields: Mapping[str, Any], problems: Problems) -> dict[str, bool]:
    switches: dict[str, bool] = {}
    for name in SWITCHES:
        value = fields.get(name)
        if isinstance(value, bool):
            switches[name] = value
        elif value is not None:
            problems.append(f"{name} must be true or false, not {value!r}")
    return switches


def _enabled(places: Mapping[str, Any]) -> list[str]:
    return [*(["corpus"] if places["corpus"] else []), *(ONLINE if places["online"] else [])]


def _find_contradictions(checked: Mapping[str, Any], problems: Problems) -> None:
    """Report values that are valid alone but not together."""
    for kind in checked.get("preferred_sources", ()):
        if kind not in checked["sources"]:
            how = "give --corpus" if kind == "corpus" else "give --online"
            problems.append(f"{kind} sources are preferred, but not enabled ({how})")
    if not checked["sources"]:
        problems.append("no source is enabled: give --corpus, or leave out --no-online")
