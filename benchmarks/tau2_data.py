"""Tasks, tools and databases of τ² (airline, retail) from `inspect-evals`, without `inspect_ai`."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import sys
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import BaseModel

import podium
from benchmarks.wheels import INSPECT_EVALS, install, unpacked
from podium.agents.tools import Tool

DOMAINS = {"airline": ("AirlineAgentTools", "FlightDB"), "retail": ("RetailAgentTools", "RetailDB")}
NEEDS = ("toml==0.10.2", "pyyaml==6.0.3")
OUTSIDE = ("calculate", "transfer_to_human_agents")
"""Tools that do not touch the database."""


class ToolError(Exception):
    """What τ²'s tools raise; for the model a result like any other."""


class Task(NamedTuple):
    """A task with the calls that solve it."""

    id: str
    domain: str
    actions: list[tuple[str, dict[str, Any]]]


class Domain:
    """The tools of a domain over a database that is given as JSON."""

    def __init__(self, name: str) -> None:
        tools, database = DOMAINS[name]
        self.name = name
        self._tools: Any = getattr(import_module(f"inspect_evals.tau2.{name}.{tools}"), tools)
        self._database: Any = getattr(import_module(f"inspect_evals.tau2.{name}.data_model"), database)
        folder = unpacked(INSPECT_EVALS) / "inspect_evals" / "tau2" / "data" / "domains" / name
        self.initial = gzip.decompress((folder / "db.json.gz").read_bytes())
        self.tasks = [_task(name, row) for row in json.loads((folder / "tasks.json").read_bytes())]

    def opened(self, data: bytes) -> Any:
        """Return τ²'s tools over a database."""
        return self._tools(instance="", db=self._database.model_validate_json(data), initialized=True)

    def replayed(self, task: Task) -> str:
        """Make the golden calls directly, as the benchmark does; return the hash of the database."""
        tools = self.opened(self.initial)
        for name, arguments in task.actions:
            if name in OUTSIDE:
                continue
            with suppress(ToolError):
                getattr(tools, name)(**arguments)
        return tools.db.get_hash()

    def tools(self, database: Memory | FileDatabase) -> list[Tool]:
        """Return the methods as Podium's tools, with the types of their signatures."""
        common = import_module("inspect_evals.tau2.common.tools")
        members: dict[str, Any] = self._tools.__dict__
        hidden = ("_", "model_", "initialize")
        methods = [(name, member) for name, member in members.items() if not name.startswith(hidden)]
        made = [_tool(name, method, database) for name, method in methods if inspect.isfunction(method)]
        return made + [podium.tool(name=name)(getattr(common, name)()) for name in OUTSIDE]


def _task(domain: str, row: Mapping[str, Any]) -> Task:
    criteria: dict[str, Any] = row.get("evaluation_criteria") or {}
    actions: list[dict[str, Any]] = criteria.get("actions") or []
    return Task(f"{domain} {row['id']}", domain, [(one["name"], one["arguments"]) for one in actions])


def _tool(name: str, method: Any, database: Memory | FileDatabase) -> Tool:
    async def called(ctx: podium.ToolContext, **values: Any) -> Any:
        return database.call(name, values, ctx.path, ctx.call_id)

    hints = typing.get_type_hints(method, include_extras=True)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=podium.ToolContext)
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [context, *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters)]
    )
    called.__annotations__ = {"ctx": podium.ToolContext, **{one.name: hints[one.name] for one in parameters}}
    return podium.tool(name=name, description=method.__doc__ or name)(called)


class Memory:
    """A database in the process."""

    def __init__(self, domain: Domain) -> None:
        self.tools = domain.opened(domain.initial)

    def call(self, name: str, values: Mapping[str, Any], path: str, call_id: str) -> Any:
        return getattr(self.tools, name)(**values)

    def hash(self) -> str:
        return self.tools.db.get_hash()


class FileDatabase:
    """A database in a file: its first line holds the result of each call by its id, the second the data. Both
    are replaced in one go, so a call takes effect at most once. `journal` lists each execution."""

    def __init__(self, domain: Domain, file: Path) -> None:
        self._domain, self._file, self.journal = domain, file, file.with_suffix(".journal")
        if not file.exists():
            self._write({}, domain.initial)
            self.journal.touch()

    def call(self, name: str, values: Mapping[str, Any], path: str, call_id: str) -> Any:
        with self.journal.open("a") as journal:
            journal.write(f"{path} {call_id}\n")
        applied, data = self._read()
        if call_id not in applied:
            tools = self._domain.opened(data)
            try:
                applied[call_id] = {"result": getattr(tools, name)(**values)}
            except ToolError as error:
                applied[call_id] = {"error": str(error)}
            self._write(applied, tools.db.model_dump_json().encode())
        outcome = applied[call_id]
        if "error" in outcome:
            raise ToolError(outcome["error"])
        return outcome["result"]

    def hash(self) -> str:
        return self._domain.opened(self._read()[1]).db.get_hash()

    def applied(self) -> int:
        """Return how many calls took effect."""
        return len(self._read()[0])

    def _read(self) -> tuple[dict[str, Any], bytes]:
        applied, _, data = self._file.read_bytes().partition(b"\n")
        return json.loads(applied), data

    def _write(self, applied: Mapping[str, Any], data: bytes) -> None:
        partial = self._file.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(json.dumps(applied).encode() + b"\n" + data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._file)


class _StoreModel(BaseModel):
    instance: str | None = None


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def load() -> dict[str, Domain]:
    """Return the domains. Stubs stand for the parts of `inspect_ai` that the tools import."""
    sys.path.append(str(install(NEEDS)))
    root = unpacked(INSPECT_EVALS) / "inspect_evals"
    for name, path in {
        "": "",
        ".tau2": "tau2",
        ".tau2.airline": "tau2/airline",
        ".tau2.retail": "tau2/retail",
    }.items():
        package = ModuleType(f"inspect_evals{name}")
        package.__path__ = [str(root / path)]
        sys.modules[package.__name__] = package
    stubs: dict[str, dict[str, Any]] = {
        "inspect_ai": {},
        "inspect_ai.tool": {"ToolError": ToolError, "Tool": object, "tool": _unchanged},
        "inspect_ai.util": {"StoreModel": _StoreModel, "store_as": None},
        "inspect_ai.model": {"Content": object, "ContentText": object},
    }
    for name, members in stubs.items():
        stub = ModuleType(name)
        vars(stub).update(members)
        sys.modules[name] = stub
    return {name: Domain(name) for name in DOMAINS}
