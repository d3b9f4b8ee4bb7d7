"""The OpenAPI description, with what FastAPI cannot know: how one signs in, and what each type of event
holds."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from podium.engine.events import EVENT_TYPES, EventData
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
        "name": "podium",
        "description": "Given by `POST /api/session`.",
    },
}
OPEN = {"signIn"}
"""Operations that need no key: they are where one is given."""


def describe(app: FastAPI) -> None:
    """Let the application tell our description instead of its own."""

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
                operation["security"] = []
    return found


def event_schemas() -> dict[str, Any]:
    """A schema for the data of each type of event, and a table of all of them: `EventTypes`."""
    for name in SHIPPED:  # with its presentation come the classes of a workflow's events
        presentation_of(name)
    shipped = {
        name: data for name, data in sorted(EVENT_TYPES.items()) if data.__module__.startswith("podium.")
    }
    _, components = msgspec.json.schema_components(
        [_plain(data) for data in shipped.values()], ref_template=REF
    )
    named = {name: f"{data.__name__}Data" for name, data in shipped.items()}
    schemas = {f"{name}Data": schema for name, schema in components.items()}
    table = {
        "title": "EventTypes",
        "description": "What `data` of an event holds, by its type. A reader must not fail on others.",
        "type": "object",
        "properties": {name: {"$ref": REF.format(name=schema)} for name, schema in named.items()},
    }
    return {**_renamed(schemas, set(components)), "EventTypes": table}


def _plain(data: type[EventData]) -> type[msgspec.Struct]:
    """The same class for a description: values that are kept as they are written can be anything."""
    fields = msgspec.structs.fields(data)
    if all(field.type is not msgspec.Raw for field in fields):
        return data
    told: list[Any] = [
        (field.name, Any, None) if field.type is msgspec.Raw else (field.name, field.type, field.default)
        for field in fields
    ]
    return msgspec.defstruct(data.__name__, told, namespace={"__doc__": data.__doc__}, kw_only=True)


def _renamed(value: Any, names: set[str]) -> Any:
    """References to the names that the schemas have here: `Question` of the log is not the wire's."""
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {
            key: _renamed(part, names) if key != "$ref" else _reference(part, names)
            for key, part in parts.items()
        }
    if isinstance(value, list):
        return [_renamed(part, names) for part in cast("list[Any]", value)]
    return value


def _reference(text: str, names: set[str]) -> str:
    name = text.rpartition("/")[2]
    return f"{text}Data" if name in names else text
