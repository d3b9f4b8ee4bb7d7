"""Every route of the server, for tests that must not forget one."""

from __future__ import annotations

import re

from fastapi.routing import APIRoute

from podium.server.app import ROUTERS
from podium.server.routes import system

VALUES = {"run_id": "abcdefghjkmn", "seq": "1", "artifact": "x", "name": "tree", "project": "p", "fact": "f"}


def all_routes() -> list[tuple[str, str]]:
    """Method and path of each, also of those that no description tells."""
    routes = [("GET", "/api/openapi.json")]
    for router in (*ROUTERS, system.pages):
        for route in router.routes:
            assert isinstance(route, APIRoute)
            routes += [(method, route.path) for method in sorted(route.methods or ())]
    return routes


def filled(path: str, **values: str) -> str:
    """A path with something in every place."""
    known = {**VALUES, **values}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda place: known.get(place[1], "x"), path)
