"""Models backed by a Python function or by the log of an earlier run.

`python:` is for tests and for models of a user's own; an exception of the function is a failed call.

`replay:` is for trying a changed workflow without paying again for replies that did not change.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from podium.engine.codec import decode, encode
from podium.engine.events import Charge, StepCompleted
from podium.engine.failure import describe, is_close, unawaited
from podium.engine.log import UNREADABLE, Row, Store, damaged_event
from podium.engine.workflow import load_module
from podium.errors import ModelFailedError, ModelUnavailableError
from podium.models.messages import ToolCall, Turn, tool_calls_of
from podium.models.model import FREE, Call, OnDelta, Price, Reply, estimate, worst_case
from podium.settings.places import named

ModelFunction = Callable[[Call], Awaitable[Any]]

_FORM = "Write it as python:FILE.py:function."
_AGAIN = "A function that was handed in from Python has to be handed in again: model=…"
_SHAPE = "Write it as `async def answer(call): …` and return a string or a dictionary."


class FunctionModel:
    """A model backed by a Python function."""

    rehearsal: bool = False
    price: Price = FREE

    def __init__(self, fn: ModelFunction, name: str = "") -> None:
        self.name = name or name_of(fn)
        _check(fn, self.name)
        self._fn = fn

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        task = asyncio.current_task()
        try:
            answer = await self._fn(call)
            if calls := tool_calls_of(answer):
                raw = encode(calls)  # decoded again, so that the values are those of a resumed run
                calls = msgspec.json.decode(raw, type=tuple[ToolCall, ...])
                return Reply("", estimate(call, raw.decode()), self.name, tool_calls=calls)
            text = str.__str__(answer) if isinstance(answer, str) else self._encoded(answer, call)
        except (KeyboardInterrupt, ModelFailedError):
            raise
        except asyncio.CancelledError as error:
            if task is None or task.cancelling():
                raise
            raise self._failed(call, error) from error  # raised inside the function, not by a cancelled task
        except BaseException as error:
            if is_close(error, task):
                raise
            raise self._failed(call, error) from error
        return Reply(text, estimate(call, text), self.name)

    def worst_case(self, call: Call) -> Charge:
        return worst_case(call, self.price)

    def cache_mark(self, call: Call) -> list[str] | None:
        """Return the cache mark. A function sees more of a call than its text, and its replies change when
        its file does. A function that cannot be opened by its name (a lambda, a closure, an object) is never
        cached, because it has no stable identity."""
        file, _, name = self.name.removeprefix("python:").rpartition(":")
        if not file or not name:
            return None
        try:
            source = hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
        except OSError:
            return None  # the file is gone: the function is unknown
        return [source, call.workflow, call.agent, call.role, call.task, str(call.attempt)]

    def _failed(self, call: Call, error: BaseException) -> ModelFailedError:
        return ModelFailedError(call.path, type(error).__name__, describe(error), model=self.name)

    def _encoded(self, answer: Any, call: Call) -> str:
        if isinstance(answer, (dict, msgspec.Struct)):
            return encode(cast("object", answer)).decode()
        dump = getattr(answer, "model_dump_json", None)
        if callable(dump):  # a pydantic model, whose schema uses aliases as field names
            text: Any = dump(by_alias=True)
            if isinstance(text, str):
                return str.__str__(text)
        if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
            return encode(answer).decode()
        reason = f"the model function returned {type(answer).__name__}, not a string or a dictionary"
        if hint := unawaited(answer):
            reason = f"{reason}: {hint}"
        raise ModelFailedError(call.path, "TypeError", reason, model=self.name)


def load_function(name: str) -> FunctionModel:
    """Open `python:FILE.py:function`; the file is relative to the current folder."""
    file, _, function = name.removeprefix("python:").rpartition(":")
    if not file and function.endswith(".py"):
        file, function = function, ""
    if not file.endswith(".py"):
        raise ModelUnavailableError(
            f"The model {name} names no function in a file.", hint=f"{_FORM} {_AGAIN}"
        )
    path = named(file).resolve()
    if not path.is_file():
        raise ModelUnavailableError(f"There is no file {path} for the model {name}.", hint=_FORM)
    module = _import(path, name)
    if not function or not hasattr(module, function):
        which = (
            f"{path} holds no function {function}."
            if function
            else f"The model {name} names no function of its file."
        )
        raise ModelUnavailableError(which, hint=_functions_of(module, file))
    return FunctionModel(getattr(module, function), f"python:{path}:{function}")


def _functions_of(module: ModuleType, file: str) -> str:
    """Return a hint with the names of the file's async functions."""
    own = [
        key
        for key, value in vars(module).items()
        if inspect.iscoroutinefunction(value) and value.__module__ == module.__name__
    ]
    if not own:
        return f"It holds no async function. {_SHAPE}"
    return f"Name one of its async functions: {', '.join(f'python:{file}:{key}' for key in own)}."


def name_of(fn: Any) -> str:
    """Return a name under which the function can be opened again, if it is at the top level of a file."""
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    file = getattr(getattr(fn, "__code__", None), "co_filename", "")
    if name.isidentifier() and Path(file).is_file():
        return f"python:{Path(file).resolve()}:{name}"
    return f"python:{name}"


def _check(fn: Any, name: str) -> None:
    call = getattr(fn, "__call__", None)  # noqa: B004 - objects with an async `__call__` are welcome too
    if not inspect.iscoroutinefunction(fn) and not inspect.iscoroutinefunction(call):
        raise ModelUnavailableError(f"The model {name} is not an async function.", hint=_SHAPE)
    try:
        inspect.signature(fn).bind(None)
    except (TypeError, ValueError) as error:
        raise ModelUnavailableError(
            f"The model {name} cannot be called with one argument, the call: {error}.", hint=_SHAPE
        ) from error


def _import(path: Path, name: str) -> ModuleType:
    try:
        return load_module(path)
    except Exception as error:
        raise ModelUnavailableError(
            f"The file of the model {name} cannot be imported: {type(error).__name__}: {error}.",
            hint=f"Try `python {path}`.",
        ) from error


@dataclass(frozen=True, slots=True)
class _Recorded:
    result: bytes
    blob: str


def _recorded(row: Row) -> _Recorded:
    try:
        data = msgspec.json.decode(row.data, type=StepCompleted)
    except UNREADABLE as error:
        raise damaged_event(row, error) from error
    return _Recorded(bytes(data.result), data.blob)


def _turn_in(raw: bytes) -> Turn | None:
    """Return the turn in the recorded result of a conversation; `None` if it is the answer of a plain ask,
    from before the agent had tools."""
    try:
        turn = msgspec.json.decode(raw, type=Turn)
    except msgspec.DecodeError:
        return None
    return turn if turn.calls or not isinstance(turn.answer, msgspec.UnsetType) else None


class ReplayModel:
    """A model that repeats the replies of an earlier run. Its log is read once, at `prepare` or with the
    first call."""

    price: Price = FREE

    def __init__(self, run_id: str, store: Store) -> None:
        self.name = f"replay:{run_id}"
        self.rehearsal = False
        """Set by `prepare` if the earlier run was a rehearsal, whose replies are invented."""
        self._run_id = run_id
        self._store = store
        self._answers: dict[str, _Recorded] | None = None
        self._reading = asyncio.Lock()

    async def prepare(self) -> None:
        """Read the log. Raises `UnknownRunError` if there is no such run."""
        async with self._reading:
            if self._answers is not None:
                return
            run = await self._store.get(self._run_id)
            rows = await self._store.read(run.run_id, types=("step.completed",))
            self._answers = {row.path: _recorded(row) for row in rows}
            self.name, self.rehearsal = f"replay:{run.run_id}", run.rehearsal

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        await self.prepare()
        recorded = (self._answers or {}).get(call.path)
        if recorded is None:
            raise ModelFailedError(
                call.path,
                "NotRecorded",
                f"the run {self._run_id} holds no answer for {call.path}",
                model=self.name,
            )
        raw = await self._store.get_blob(recorded.blob) if recorded.blob else recorded.result
        if call.messages and (turn := _turn_in(raw)) is not None:
            if isinstance(turn.answer, msgspec.UnsetType):
                text = encode(turn.calls).decode()
                return Reply(turn.text, estimate(call, text), self.name, tool_calls=turn.calls)
            raw = bytes(turn.answer)
        text = raw.decode()
        if call.schema is None:
            value = decode(raw)
            text = value if isinstance(value, str) else text
        return Reply(text, estimate(call, text), self.name)

    def worst_case(self, call: Call) -> Charge:
        return worst_case(call, self.price)
