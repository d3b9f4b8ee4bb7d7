"""Tools that agents can call: `@podium.tool`, schemas and validation of arguments."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, cast, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

from podium.engine.budget import problem_with
from podium.engine.codec import fingerprint
from podium.engine.events import Charge
from podium.errors import StopRun, UsageError
from podium.models.messages import ToolDefinition, without_keywords
from podium.settings.parsing import plain

if TYPE_CHECKING:
    from podium.agents.agent import Agent
    from podium.agents.ask import Run
    from podium.engine.budget import Budget

Approve = bool | Callable[..., bool | Awaitable[bool]]
"""`True`, or a function of the arguments, perhaps asynchronous, that returns whether a person must approve
the call."""
Once = bool | Literal["tell"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Tool names that every provider accepts."""
RESERVED = frozenset({"answer", "read_result"})
"""Names with a meaning of their own: the answer of an agent, and reading a long result."""


NOT_COMPOSITE = (
    "The tool {name} asks agents or persons, so it needs composite=True: @podium.tool(composite=True)."
)


class ToolContext:
    """Passed to a tool whose signature asks for it."""

    __slots__ = ("_tool", "call_id", "path", "run")

    def __init__(self, run: Run, path: str, tool: Tool, call_id: str) -> None:
        self.run = run
        self.path = path
        """Path of the call in the log, for example `plan/tool[2.0]`."""
        self.call_id = call_id
        """The same after a resume, and different for each call: pass it on as an idempotency key."""
        self._tool = tool

    async def ask(self, agent: Agent, task: str, /, **arguments: Any) -> Any:
        """Ask an agent, as `run.ask` does. The tool must be composite."""
        self._check()
        return await self.run.ask(agent, task, **arguments)

    async def wait_for(self, question: str, **arguments: Any) -> Any:
        """Ask a person, as `run.wait_for` does. The tool must be composite."""
        self._check()
        return await self.run.wait_for(question, **arguments)

    def _check(self) -> None:
        if not self._tool.composite:
            raise StopRun(NOT_COMPOSITE.format(name=self._tool.name))


class Arguments(NamedTuple):
    """The outcome of validating arguments: values, or an error message for the model."""

    values: dict[str, Any]
    error: str = ""
    defaults: Mapping[str, Any] = {}
    """Arguments that the call leaves to the function's own defaults."""


@dataclass(frozen=True)
class Tool:
    """A tool of an agent. Make one with `@podium.tool`, or from a JSON schema."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of the arguments."""
    function: Callable[..., Any]
    approve: Approve = False
    """A person must approve each call, or those for which a function of the arguments returns True."""
    once: Once = False
    """A call is never repeated. If a crash or a timeout leaves its outcome unknown, a person is asked what
    happened; with `"tell"` the model is told instead."""
    safe: bool = False
    """The tool has no side effects, so a rehearsal may execute it."""
    timeout: float | None = None
    cost: Charge | None = None
    """The most that one call costs; reserved before it and counted after it."""
    max_parallel: int = 0
    """Most calls of this tool at a time in a run; 0: no limit of its own."""
    composite: bool = False
    """The tool uses the run itself (`ctx.run.ask`, `ctx.run.wait_for`), so it is a branch, not a step."""
    budget: Budget | None = None
    """Ceiling of one call of a composite tool."""
    context: str = ""
    """Name of the parameter that takes the `ToolContext`; empty: there is none."""
    arguments: type[BaseModel] | None = None
    """Validates the arguments of a function tool; `None`: the JSON schema does."""
    version: str | Callable[[], str] = ""
    """Part of what a recorded call depends on: if it changes, the call runs again after a resume. A function
    is called when the call starts."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise UsageError(
                f"The tool name {self.name!r} cannot be used.",
                hint="Use 1 to 64 letters, digits, - and _: @podium.tool(name=…).",
            )
        if problem := self._problem():
            raise UsageError(
                f"The tool {self.name} has {problem}.", hint="See docs/agents.md for its options."
            )
        if self.composite and (self.once or self.cost is not None or self.max_parallel):
            what = "be once" if self.once else "have a cost" if self.cost else "have a max_parallel"
            raise UsageError(
                f"The tool {self.name} is composite, so it cannot {what}.",
                hint="Put what must happen once, costs something or is limited into a plain tool.",
            )

    def _problem(self) -> str:
        """Return which option has an impossible value; empty if none has."""
        options: dict[str, Any] = vars(self)
        timeout, most = options["timeout"], options["max_parallel"]
        if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
            return f"timeout={timeout!r}; it takes seconds above 0"
        if not isinstance(most, int) or most < 0:
            return f"max_parallel={most!r}; it takes a number from 0"
        if self.once not in (True, False, "tell"):
            return f'once={self.once!r}; it takes True, False or "tell"'
        cost = options["cost"]
        if cost is not None and (not isinstance(cost, Charge) or problem_with(cost)):
            return f"cost={cost!r}; it takes a podium.Charge with figures from 0"
        return ""

    @cached_property
    def definition(self) -> ToolDefinition:
        """The tool as the model sees it."""
        return ToolDefinition(self.name, self.description, dict(self.schema))

    def validate(self, given: Any) -> Arguments:
        """Return the arguments with the types of the signature, or what is wrong with them."""
        if not isinstance(given, dict):
            return Arguments({}, f"The arguments are not a JSON object: {str(given)[:200]}")
        values = cast("dict[str, Any]", given)
        if self.arguments is None:
            return _by_schema(self.schema, values)
        return _by_model(self.arguments, values, self._with_default)

    @cached_property
    def _with_default(self) -> frozenset[str]:
        """Parameters with a default of their own; one of pydantic's is not known to the function."""
        parameters = inspect.signature(self.function).parameters.values()
        return frozenset(
            parameter.name
            for parameter in parameters
            if parameter.default is not parameter.empty and not isinstance(parameter.default, FieldInfo)
        )

    def needs_approval(self, values: Mapping[str, Any]) -> bool | Awaitable[bool]:
        return self.approve(**values) if callable(self.approve) else self.approve

    def __call__(self, *args: Any, **values: Any) -> Any:
        """Call the function itself, as in a test."""
        return self.function(*args, **values)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    approve: Approve = False,
    once: Once = False,
    safe: bool = False,
    timeout: float | None = None,
    cost: Charge | None = None,
    max_parallel: int = 0,
    composite: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool of a function: `@podium.tool`, or `@podium.tool(approve=True, once=True)`.

    Name, description and argument schema come from the function's name, docstring and type hints.
    """
    if function is not None:
        return _tool_of(function, {})

    def decorate(decorated: Callable[..., Any]) -> Tool:
        return _tool_of(decorated, options)

    return decorate


def _tool_of(function: Callable[..., Any], options: dict[str, Any]) -> Tool:
    name = options.pop("name", "") or getattr(function, "__name__", "")
    text, described = _docstring(inspect.getdoc(function) or "")
    context, model = _signature(function, name, described)
    schema = without_keywords(model.model_json_schema(by_alias=True), "title")
    schema.pop("description", None)
    return Tool(
        name=name,
        description=options.pop("description", "") or text,
        schema=schema,
        function=function,
        context=context,
        arguments=model,
        **options,
    )


def _signature(
    function: Callable[..., Any], name: str, described: Mapping[str, str]
) -> tuple[str, type[BaseModel]]:
    """Return the name of the context parameter, and a model that validates the other parameters. Its fields
    have neutral names, because a parameter may be called `json`, `copy` or `_id`."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(
            f"The types of the tool {name} cannot be resolved: {error}.",
            hint="Import them at the top of the module, not inside a function or under TYPE_CHECKING.",
        ) from error
    context, fields = "", dict[str, Any]()
    for number, parameter in enumerate(inspect.signature(function).parameters.values()):
        hint = hints.get(parameter.name, Any)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UsageError(
                f"The tool {name} has the parameter {parameter}, which a model cannot fill.",
                hint="Give each argument a name and a type.",
            )
        if hint is ToolContext:
            context = parameter.name
            continue
        fields[f"argument_{number}"] = _field(parameter, hint, described)
    try:
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
        return context, create_model(name, __config__=config, **fields)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise UsageError(
            f"The tool {name} has a type that has no JSON schema: {str(error).splitlines()[0]}",
            hint="Use types such as str, int, list[str], Literal, dataclasses or pydantic models.",
        ) from error


def _field(parameter: inspect.Parameter, hint: Any, described: Mapping[str, str]) -> tuple[Any, Any]:
    """Return the field of a parameter. Its default may be a pydantic `Field(default_factory=…)`."""
    known: dict[str, Any] = {"alias": parameter.name}
    if parameter.name in described:
        known["description"] = described[parameter.name]
    default = ... if parameter.default is parameter.empty else parameter.default
    if isinstance(default, FieldInfo):
        return Annotated[hint, default, Field(**known)], default
    return Annotated[hint, Field(default, **known)], default


_SECTION = re.compile(r"^(args|arguments|parameters|returns|raises|yields|examples?)\s*:\s*$", re.IGNORECASE)
_ARGUMENT = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX = re.compile(r"^\s*:param\s+(?:[\w\[\], |]+\s+)?(\w+)\s*:\s*(.*)$")


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description and the text per argument of a docstring, in Google's or Sphinx's style."""
    description, arguments = list[str](), dict[str, str]()
    section, last = "", ""
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section, last = heading[1].lower(), ""
        elif sphinx := _SPHINX.match(line):
            last = sphinx[1]
            arguments[last] = sphinx[2].strip()
        elif line.lstrip().startswith(":"):
            section, last = "other", ""
        elif section in ("args", "arguments", "parameters") and (entry := _ARGUMENT.match(line)):
            last = entry[1]
            arguments[last] = entry[2].strip()
        elif last and line.strip():
            arguments[last] += f" {line.strip()}"
        elif not section:
            description.append(line)
    return "\n".join(description).strip(), arguments


def _by_model(model: type[BaseModel], given: dict[str, Any], with_default: frozenset[str]) -> Arguments:
    """Validate with the function's types. What pydantic converts without loss passes, such as "5" for 5 or
    "true" for true: its meaning is clear, and sending it back would cost a turn. A JSON schema is stricter,
    because the program behind such a tool gets the arguments as they are."""
    try:
        valid = model.model_validate(given, by_alias=True)
    except ValidationError as error:
        return Arguments({}, _explained(plain(error), model.model_fields.values()))
    values = {field.alias or key: getattr(valid, key) for key, field in model.model_fields.items()}
    defaults = {name: values.pop(name) for name in list(values) if name in with_default and name not in given}
    return Arguments(values, defaults=defaults)


def _explained(problem: str, fields: Any) -> str:
    known = ", ".join(str(field.alias) for field in fields) or "no arguments"
    return f"The arguments are wrong: {problem} The tool takes: {known}."


def _by_schema(schema: Mapping[str, Any], given: dict[str, Any]) -> Arguments:
    from podium.models.json_schema import problem_with  # noqa: PLC0415 - slow to import

    problem = problem_with(schema, given)
    if not problem:
        return Arguments(given)
    known = ", ".join(schema.get("properties", {})) or "no arguments"
    return Arguments({}, f"The arguments are wrong: {problem}. The tool takes: {known}.")


class ToolSet(Protocol):
    """Tools that come together, such as those of an MCP server: an item of `Agent(tools=[…])`."""

    @property
    def name(self) -> str:
        """Stable name of the set: part of the path of its recorded list."""
        ...

    async def tools(self, run: Run, agent: Agent, path: str) -> Sequence[Tool]:
        """Return the tools for the ask of an agent at a path. A list that comes from outside must be a
        recorded step at `PATH/tools[NAME]`, so that a replay needs nothing from outside."""
        ...


def is_tool_set(item: Any) -> bool:
    return not isinstance(item, Tool) and callable(getattr(item, "tools", None))


def equip(tools: Iterable[Any]) -> dict[str, Tool]:
    """Return the tools of an agent by name. Plain functions become tools; a name may occur only once."""
    equipped: dict[str, Tool] = {}
    for item in tools:
        if not callable(item):
            raise UsageError(
                f"{str(item)[:100]} is not a tool.",
                hint="Tools are functions, @podium.tool, agent.as_tool(), podium.web(), files() and mcp().",
            )
        made = item if isinstance(item, Tool) else tool(item)
        if made.name in RESERVED or made.name in equipped:
            why = "is reserved" if made.name in RESERVED else "occurs twice"
            raise UsageError(f"The tool name {made.name} {why}.", hint="Rename it: @podium.tool(name=…).")
        equipped[made.name] = made
    return equipped


def agent_tool(agent: Agent, *, name: str, description: str, returns: Any, budget: Budget | None) -> Tool:
    """Return a tool that asks an agent, in a branch with a ceiling of its own if there is a budget."""

    async def ask(ctx: ToolContext, request: str) -> Any:
        return await ctx.run.ask(agent, "answer", prompt=request, returns=returns)

    made = tool(name=name or _tool_name(agent.name), composite=True, safe=True)(ask)
    described = description or f"Ask {agent.name}{f', {agent.role}' if agent.role else ''}."
    version = fingerprint([agent.name, agent.role, agent.instructions, agent.model, agent.profile])
    return replace(made, description=described, budget=budget, version=version)


def _tool_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:64] or "agent"
