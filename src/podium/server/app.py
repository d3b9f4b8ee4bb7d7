"""The FastAPI application. `python -m podium.server.app FILE` writes its OpenAPI description."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp

from podium import __version__
from podium.engine.events import EVENT_TYPES, EventData
from podium.report.view import RunMessages, RunView, ViewLine
from podium.server.problems import ERROR_RESPONSES, install_error_handlers
from podium.server.rate_limits import Names
from podium.server.routes import (
    Addresses,
    events,
    files,
    knowledge,
    models,
    runs,
    system,
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
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        separate_input_output_schemas=app.separate_input_output_schemas,
    )
    parts = document.setdefault("components", {})
    parts["securitySchemes"] = SECURITY
    parts["schemas"] |= event_schemas() | view_schemas()
    line = {"anyOf": [{"$ref": REF.format(name="ViewLine")}, {"type": "null"}]}
    parts["schemas"]["Event"]["properties"]["line"] |= line
    parts["schemas"]["Event"]["properties"]["line"].pop("additionalProperties", None)
    document["security"] = [{name: []} for name in SECURITY]
    for methods in document["paths"].values():
        for operation in methods.values():
            if operation.get("operationId") in OPEN:
                operation["security"] = OPEN[operation["operationId"]]
    return document


def view_schemas() -> dict[str, Any]:
    """Return the schemas of a run's view, of the workflows' own parts, and of the line of an event."""
    details = [shown.detail_type for name in SHIPPED if (shown := presentation_of(name)).detail_type]
    _, schemas = msgspec.json.schema_components([RunView, RunMessages, ViewLine, *details], ref_template=REF)
    schemas.pop("Detail", None)
    own = [{"$ref": REF.format(name=detail.__name__)} for detail in details if detail]
    schemas["RunView"]["properties"]["detail"] = {
        "anyOf": own,
        "description": "The workflow's own part. Absent for workflows without one.",
    }
    schemas["RunViewAt"] = {
        "title": "RunViewAt",
        "description": "The view of a run up to one event.",
        "type": "object",
        "properties": {"seq": {"type": "integer"}, "view": {"$ref": REF.format(name="RunView")}},
        "required": ["seq", "view"],
    }
    return schemas


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
    namespace = event_type.partition(".")[0]
    prefix = "" if namespace in ENGINE else namespace.title()
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
    plain_fields: list[Any] = [
        (field.name, Any, None) if field.type is msgspec.Raw else (field.name, field.type, field.default)
        for field in fields
    ]
    return msgspec.defstruct(data.__name__, plain_fields, namespace={"__doc__": data.__doc__}, kw_only=True)


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
`Authorization: Bearer KEY`; browsers get a cookie, and send JSON or the header `X-Podium: 1` with requests
that change something. Only the probes, `/api/health` and `/api/ready`, answer without either."""


ROUTERS = (
    events.router,
    runs.router,
    runs.control,
    files.router,
    workflows.router,
    workflows.teams_router,
    knowledge.router,
    knowledge.corpora,
    models.cache_router,
    models.router,
    system.router,
    system.form,
)
"""In matching order: `/api/runs/stream` must not match as a run id."""


def build_api() -> FastAPI:
    """Return the application with all routes but no server state, as used for the OpenAPI description."""
    app = FastAPI(
        title="Podium",
        version=__version__,
        description=TEXT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=ERROR_RESPONSES,
        separate_input_output_schemas=True,
    )
    for router in ROUTERS:
        app.include_router(router)
    install_error_handlers(app)
    describe(app)
    return app


def build_app(state: ServerState, names: Names, *, ready: Callable[[int], Any] = lambda _: None) -> ASGIApp:
    """Return the ASGI application of a server. `ready` is called with the number of runs that continue from
    an earlier server."""
    app = build_api()
    app.include_router(system.pages)
    app.state.server = state

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        ready(await state.scheduler.take_up())
        try:
            yield
        finally:
            state.end_streams()
            await state.scheduler.stop()

    app.router.lifespan_context = lifespan
    return Addresses(
        SecurityMiddleware(
            app, authenticator=state.authenticator, keys=state.keys, names=names, cookie=state.cookie
        )
    )


def main(arguments: list[str]) -> None:
    """Write the description; a file that holds it already is left as it is."""
    file = Path(arguments[0])
    text = json.dumps(build_api().openapi(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
