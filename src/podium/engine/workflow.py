"""Workflow decorator, options, and loading of user files."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, overload

import msgspec

from podium.engine.budget import Budget
from podium.engine.codec import convert
from podium.errors import OptionError, UsageError, WorkflowLoadError
from podium.settings.parsing import plain
from podium.settings.places import named


class _FreshLoader(SourceFileLoader):
    """A loader that never uses a bytecode cache, because an edit within the same second would go
    unnoticed."""

    def path_stats(self, path: Any) -> Any:
        raise OSError("no bytecode for user files")


def load_module(file: Path) -> ModuleType:
    """Import a Python file and return its module. Exceptions of the import are passed on."""
    path = file.resolve()
    stat = path.stat()
    mark = hashlib.blake2b(f"{path}|{stat.st_mtime_ns}|{stat.st_size}".encode(), digest_size=8).hexdigest()
    name = f"podium_user_{path.stem}_{mark}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path, loader=_FreshLoader(name, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic look their module up while it is imported
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module


_LIMIT = re.compile(r"Expected `\w+` (>=|<=) (\S+)")

WorkflowFunction = Callable[..., Awaitable[Any]]


class Prepared(msgspec.Struct, frozen=True):
    """The request and options that a run is started with, after validation."""

    request: Any
    options: dict[str, Any]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate of what a run would take, made before anything is started."""

    data: dict[str, Any]
    """Machine-readable estimate."""
    lines: list[str]
    """Lines for display."""


Prepare = Callable[[Any, dict[str, Any]], dict[str, Any] | Prepared]
"""Checks a request and its options before anything starts: returns the effective options (and the request, if
that may come from them), or raises `UsageError` that names every problem."""

Estimating = Callable[[Any, dict[str, Any]], Estimate]
"""Estimates what a run would take for a prepared request and its options."""


class Option(msgspec.Struct, frozen=True):
    """One keyword option of a workflow."""

    name: str
    type: Any
    default: Any
    required: bool = False
    help: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A complete result with a quality score."""

    output: Any
    quality: float | None = None


class Partial(msgspec.Struct, frozen=True, kw_only=True):
    """An incomplete result: the run ends as `partial`."""

    output: Any
    reason: str = "incomplete"
    """Becomes the run's `stop_reason`, unless a budget stopped it."""
    quality: float | None = None
    missing: list[str] = []


class Workflow:
    """An orchestration: `async def f(run, request, *, option=default)`."""

    def __init__(
        self,
        fn: WorkflowFunction,
        name: str,
        *,
        closing: float = 0.0,
        gates: Sequence[str] = (),
        concurrency: int | None = None,
        budget: Budget | None = None,
        prepare: Prepare | None = None,
        estimate: Estimating | None = None,
        ref: str = "",
    ) -> None:
        if not inspect.iscoroutinefunction(fn):
            raise WorkflowLoadError(f"The workflow {name} is not an `async def` function.")
        if not 0 <= closing < 1:
            raise WorkflowLoadError(f"The closing reserve of {name} must be at least 0 and below 1.")
        self.fn = fn
        self.name = name
        self.closing = closing
        """Share of every ceiling that is reserved for `run.closing()`."""
        self.gates = tuple(gates)
        """Gates at which a person can be asked (`--approve`), see `Run.approved`."""
        self.concurrency = concurrency
        """Default maximum of concurrent calls, if neither a flag nor the settings set one."""
        self.budget = budget or Budget()
        """Default ceilings, if neither a flag nor the settings set them."""
        self._prepare = prepare
        self._estimate = estimate
        self.needs_request = _needs_request(fn)
        """False if it can be started without a request, because its options may say what to do."""
        self.ref = ref or name
        """Reference with which a later process loads it."""
        self.options = _options_of(fn)
        self.__doc__ = fn.__doc__

    async def __call__(self, run: Any, request: Any, **options: Any) -> Any:
        return await self.fn(run, request, **options)

    def check_gates(self, gates: Sequence[str]) -> list[str]:
        for gate in gates:
            if gate not in self.gates and not gate.startswith("tool:"):
                own = f"Its gates: {', '.join(self.gates)}." if self.gates else "It has no gates."
                known = f"{own} tool:NAME asks before each call of a tool."
                raise UsageError(f"The workflow {self.name} has no gate {gate}.", hint=known)
        return list(gates)

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options converted to their declared types. Raises `OptionError` for an unknown, missing
        or invalid one."""
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                close = get_close_matches(name, known, 1)
                hint = f"Did you mean {close[0]}?" if close else f"It knows: {', '.join(known) or 'none'}."
                raise OptionError(f"The workflow {self.name} has no option {{option}}.", name, hint=hint)
        for option in self.options:
            if option.required and option.name not in options:
                raise OptionError(f"The workflow {self.name} needs the option {{option}}.", option.name)
        return {name: _converted(known[name], value) for name, value in options.items()}

    def prepare(self, request: Any, options: Mapping[str, Any]) -> Prepared:
        """Return what a run is started with; raise for an invalid request or options before it starts."""
        checked = self.check_options(options)
        prepared = checked if self._prepare is None else self._prepare(request, checked)
        return prepared if isinstance(prepared, Prepared) else Prepared(request, prepared)

    @property
    def can_estimate(self) -> bool:
        """True if it can estimate what a run would take."""
        return self._estimate is not None

    def estimate(self, request: Any, options: Mapping[str, Any]) -> Estimate:
        """Return an estimate of what a run would take; starts nothing."""
        if self._estimate is None:
            raise UsageError(f"The workflow {self.name} cannot tell what a run would take.")
        prepared = self.prepare(request, options)
        return self._estimate(prepared.request, prepared.options)

    def typed(self, logged: Mapping[str, Any]) -> dict[str, Any]:
        """Return logged options converted to their declared types, as the function takes them."""
        known = {option.name: option for option in self.options}
        return {
            name: _converted(known[name], value) if name in known else value for name, value in logged.items()
        }


def _converted(option: Option, value: Any) -> Any:
    try:
        return convert(value, option.type)
    except msgspec.ValidationError as error:
        message = f"The option {{option}} cannot be {value!r}: {_wanted(error)}."
        raise OptionError(message, option.name) from error


def _wanted(error: msgspec.ValidationError) -> str:
    """Return a violated limit in words instead of msgspec's notation."""
    match = _LIMIT.fullmatch(str(error))
    if match is None:
        problem = plain(error).removesuffix(".")
        return problem[:1].lower() + problem[1:]
    return f"it must be {'at least' if match[1] == '>=' else 'at most'} {match[2]}"


def _options_of(fn: WorkflowFunction) -> list[Option]:
    try:
        hints = typing.get_type_hints(fn, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    return [
        Option(
            parameter.name,
            hints.get(parameter.name, Any),
            None if parameter.default is parameter.empty else parameter.default,
            parameter.default is parameter.empty,
            _help_of(hints.get(parameter.name, Any)),
        )
        for parameter in inspect.signature(fn).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]


def _needs_request(fn: WorkflowFunction) -> bool:
    parameters = inspect.signature(fn).parameters.values()
    positional = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    return len(positional) < 2 or positional[1].default is inspect.Parameter.empty


def _help_of(hint: Any) -> str:
    """Return the description of an option: `Annotated[int, Meta(description="…")]`."""
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    return next((note.description for note in notes if getattr(note, "description", None)), "")


@overload
def workflow(fn: WorkflowFunction, /) -> Workflow: ...
@overload
def workflow(
    *, name: str = "", closing: float = 0.0, gates: Sequence[str] = ()
) -> Callable[[WorkflowFunction], Workflow]: ...


def workflow(
    fn: WorkflowFunction | None = None, /, *, name: str = "", closing: float = 0.0, gates: Sequence[str] = ()
) -> Workflow | Callable[[WorkflowFunction], Workflow]:
    """Make a workflow of an async function: `@workflow`, or `@workflow(closing=0.1, gates=["plan"])`."""

    def decorate(function: WorkflowFunction) -> Workflow:
        own = name or function.__name__
        file = inspect.getsourcefile(function)
        ref = f"{Path(file).resolve()}:{function.__name__}" if file else own
        return Workflow(function, own, closing=closing, gates=gates, ref=ref)

    return decorate if fn is None else decorate(fn)


def load_workflow(ref: str, known: Sequence[str] = ()) -> Workflow:
    """Load a workflow from a file: `FILE.py:name`, or `FILE.py` if it holds just one. `known` are valid
    workflow names, for the hint."""
    file, colon, name = ref.rpartition(":")
    if not colon and ref.endswith(".py"):
        file, name = ref, ""
    if not file.endswith(".py"):
        close = get_close_matches(ref, known, 1)
        hint = f"Did you mean {close[0]}? " if close else ""
        names = f"Known by name: {', '.join(known)}. " if known else ""
        raise WorkflowLoadError(
            f"There is no workflow {ref}.", hint=f"{hint}{names}Your own: `podium run FILE.py:name`."
        )
    path = named(file)
    return _from_module(_import_file(path), path, name)


def _from_module(module: ModuleType, file: Path, name: str) -> Workflow:
    workflows = {key: value for key, value in vars(module).items() if isinstance(value, Workflow)}
    own = {key: value for key, value in workflows.items() if value.fn.__module__ == module.__name__}
    if name in workflows:
        return workflows[name]
    if not name and len(own) == 1:
        return next(iter(own.values()))
    names = ", ".join(f"{file}:{key}" for key in own) or "none; mark a function with @podium.workflow"
    missing = f"holds no workflow {name}" if name else f"holds {len(own)} workflows"
    raise WorkflowLoadError(f"{file} {missing}.", hint=f"Workflows in it: {names}.")


def _import_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise WorkflowLoadError(
            f"There is no file {file}.", hint="Give the path of a Python file: FILE.py:name."
        )
    try:
        return load_module(file)
    except WorkflowLoadError:
        raise
    except Exception as error:
        raise WorkflowLoadError(
            f"{file} cannot be imported: {type(error).__name__}: {error}.", hint=f"Try `python {file}`."
        ) from error
