"""The application: routes, problems, and the guard around everything."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from podium import __version__
from podium.server import ui
from podium.server.addresses import Addresses
from podium.server.description import describe
from podium.server.guard import Guard
from podium.server.hall import Hall
from podium.server.origins import Names
from podium.server.problems import TOLD, tell_problems
from podium.server.routes import (
    brain,
    cache,
    corpora,
    events,
    fact_files,
    files,
    models,
    runs,
    session,
    steering,
    system,
    teams,
    traces,
    workflows,
)

TEXT = """Run teams of language-model agents: start them, watch them, steer them.

A run is an append-only log of events; everything here is a reading of it. Scripts send
`Authorization: Bearer KEY`; browsers get a cookie, and send JSON or the header `X-Podium: 1` with whatever
changes something. Only the probes, `/api/health` and `/api/ready`, answer without either."""


ROUTERS = (
    *(
        part.router
        for part in (
            events,
            runs,
            steering,
            files,
            traces,
            workflows,
            teams,
            fact_files,
            brain,
            corpora,
            cache,
            models,
            system,
            session,
        )
    ),
    session.form,
)
"""In the order in which they are looked through: `/api/runs/stream` is no run."""


def build_api() -> FastAPI:
    """All routes, without anything behind them: what the OpenAPI description is made of."""
    app = FastAPI(
        title="Podium", version=__version__, description=TEXT, openapi_url="/api/openapi.json", docs_url=None,
        redoc_url=None, responses=TOLD, separate_input_output_schemas=True,
    )  # fmt: skip
    for router in ROUTERS:
        app.include_router(router)
    tell_problems(app)
    describe(app)
    return app


def build_app(hall: Hall, names: Names, *, ready: Callable[[int], Any] = lambda _: None) -> ASGIApp:
    """The application of a server; `ready` is told how many runs go on that an earlier one has left."""
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
    return Addresses(Guard(app, door=hall.door, keys=hall.keys, names=names, cookie=hall.cookie))
