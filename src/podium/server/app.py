"""Application and OpenAPI description."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp

from podium import __version__
from podium.engine.events import EVENT_TYPES, EventData
from podium.server.problems import TOLD, tell_problems
from podium.server.rate_limits import Names
from podium.server.routes import (
    Addresses,
    corpora,
    events,
    facts,
    files,
    models,
    runs,
    steering,
    system,
    ui,
    workflows,
)
from podium.server.security import SecurityMiddleware
from podium.server.state import ServerState
from podium.workflows import SHIPPED, presentation_of

REF = "#/components/schemas/{name}"
SECURITY = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "A user's key, or the token of a local server.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "podium-PORT",
        "description": "Given by `POST /api/session`.",
    },
}
ENGINE = ("run", "step", "budget", "model", "artifact")
"""Event namespaces that every workflow has."""
OPEN: dict[str, list[dict[str, list[str]]]] = {
    "signIn": [],
    **{name: [{}, *({scheme: []} for scheme in SECURITY)] for name in ("readHealth", "readReadiness")},
}
"""Operations that need no key. The probes return more to an authenticated caller."""


def describe(app: FastAPI) -> None:
    """Replace the application's OpenAPI description with ours."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi


def _described(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes,
        separate_input_output_schemas=app.separate_input_output_schemas,
    )  # fmt: skip
    parts = found.setdefault("components", {})
    parts["securitySchemes"] = SECURITY
    parts["schemas"] |= event_schemas()
    found["security"] = [{name: []} for name in SECURITY]
    for methods in found["paths"].values():
        for operation in methods.values():
            if operation.get("operationId") in OPEN:
                operation["security"] = OPEN[operation["operationId"]]
    return found


def event_schemas() -> dict[str, Any]:
    """Return a schema for the data of each event type, and a table of all of them: `EventTypes`."""
    for name in SHIPPED:  # importing a presentation registers the workflow's event classes
        presentation_of(name)
    shipped = {
        name: data for name, data in sorted(EVENT_TYPES.items()) if data.__module__.startswith("podium.")
    }
    schemas: dict[str, Any] = {}
    for name, data in shipped.items():
        schemas |= _schemas_of(name, data)
    table = {
        "title": "EventTypes",
        "description": "What `data` of an event holds, by its type. A reader must not fail on others.",
        "type": "object",
        "properties": {name: {"$ref": REF.format(name=_title(name))} for name in shipped},
    }
    return {**schemas, "EventTypes": table}


def _schemas_of(event_type: str, data: type[EventData]) -> dict[str, Any]:
    """Return the schemas of one event type, under unique names: `TreeNodeCreatedData`."""
    (own,), parts = msgspec.json.schema_components([_plain(data)], ref_template=REF)
    room = event_type.partition(".")[0]
    prefix = "" if room in ENGINE else room.title()
    names = {name: f"{prefix}{name.rpartition('.')[2]}Data" for name in parts}
    names[own["$ref"].rpartition("/")[2]] = _title(event_type)
    return {names[name]: _renamed(schema, names) for name, schema in parts.items()}


def _title(event_type: str) -> str:
    return "".join(word.title() for word in event_type.replace(".", "_").split("_")) + "Data"


def _plain(data: type[EventData]) -> type[msgspec.Struct]:
    """Return the class for the schema: fields of type `Raw` (JSON kept as written) become `Any`."""
    fields = msgspec.structs.fields(data)
    if all(field.type is not msgspec.Raw for field in fields):
        return data
    told: list[Any] = [
        (field.name, Any, None) if field.type is msgspec.Raw else (field.name, field.type, field.default)
        for field in fields
    ]
    return msgspec.defstruct(data.__name__, told, namespace={"__doc__": data.__doc__}, kw_only=True)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Rename references to the names used here: `Question` of the log is not the API's `Question`."""
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {key: _named(key, part, names) for key, part in parts.items()}
    if isinstance(value, list):
        return [_renamed(part, names) for part in cast("list[Any]", value)]
    return value


def _named(key: str, part: Any, names: dict[str, str]) -> Any:
    if key != "$ref":
        return _renamed(part, names)
    return REF.format(name=names[part.rpartition("/")[2]])


TEXT = """Run teams of language-model agents: start them, watch them, steer them.

A run is an append-only log of events; everything here is a reading of it. Scripts send
`Authorization: Bearer KEY`; browsers get a cookie, and send JSON or the header `X-Podium: 1` with whatever
changes something. Only the probes, `/api/health` and `/api/ready`, answer without either."""


ROUTERS = (
    events.router,
    runs.router,
    steering.router,
    files.router,
    workflows.router,
    workflows.teams_router,
    facts.router,
    corpora.router,
    models.cache_router,
    models.router,
    system.router,
    system.form,
)
"""In matching order: `/api/runs/stream` must not match as a run id."""


def build_api() -> FastAPI:
    """Return the application with all routes but no server state, as used for the OpenAPI description."""
    app = FastAPI(
        title="Podium", version=__version__, description=TEXT, openapi_url="/api/openapi.json", docs_url=None,
        redoc_url=None, responses=TOLD, separate_input_output_schemas=True,
    )  # fmt: skip
    for router in ROUTERS:
        app.include_router(router)
    tell_problems(app)
    describe(app)
    return app


def build_app(hall: ServerState, names: Names, *, ready: Callable[[int], Any] = lambda _: None) -> ASGIApp:
    """Return the ASGI application of a server. `ready` is called with the number of runs that continue from
    an earlier server."""
    app = build_api()
    app.include_router(ui.router)
    app.state.hall = hall

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        ready(await hall.conductor.take_up())
        try:
            yield
        finally:
            hall.end_streams()
            await hall.conductor.stop()

    app.router.lifespan_context = lifespan
    return Addresses(SecurityMiddleware(app, door=hall.door, keys=hall.keys, names=names, cookie=hall.cookie))
