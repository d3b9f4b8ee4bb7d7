"""HTTP endpoints of a worker for probes and autoscalers: health, readiness and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from podium.cluster.port import Engine, Load
from podium.cluster.worker import Worker
from podium.errors import StoreError, UsageError

_PATIENCE_S = 2.0
"""Seconds that the database or the engine may take to answer."""


class _Server(uvicorn.Server):
    """A uvicorn server without signal handlers: the worker handles signals."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def answering(worker: Worker, engine: Engine, host: str, port: int) -> AsyncGenerator[int]:
    """Serve the endpoints for the duration of the block. Yields the port."""
    app = Starlette(routes=_routes(worker, engine))
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, lifespan="off", ws="none"
    )
    server = _Server(config)
    serving = asyncio.create_task(_serve(server), name="podium-health")
    try:
        while not server.started:
            if serving.done():
                raise UsageError(f"The port {host}:{port} cannot be opened.", hint="Choose another --port.")
            await asyncio.sleep(0.01)
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


async def _serve(server: uvicorn.Server) -> None:
    """Run the server. Uvicorn raises `SystemExit` if the port is taken; this raises `OSError` instead."""
    try:
        await server.serve()
    except SystemExit as error:
        raise OSError("it could not start") from error


def _routes(worker: Worker, engine: Engine) -> list[Route]:
    async def healthy(_: Request) -> JSONResponse:
        """Answer if the event loop runs: a restart would help with nothing else."""
        return JSONResponse({"alive": True, "running": worker.driving.running})

    async def ready(_: Request) -> JSONResponse:
        reason = "" if worker.ready else "It is starting or stopping."
        if not reason and not await worker.reaches_store(_PATIENCE_S):
            reason = "The database does not answer."
        if not reason and await _load(engine) is None:
            reason = "The engine does not answer."
        state = {"ready": not reason, "running": worker.driving.running, "reason": reason}
        return JSONResponse(state, status_code=503 if reason else 200)

    async def metrics(_: Request) -> PlainTextResponse:
        load = await _load(engine)
        if load is None:
            return PlainTextResponse("The engine does not answer.\n", status_code=503)
        running = worker.driving.running
        lines = [
            *_metric("podium_queue_depth", "gauge", "Runs that wait for a worker.", load.waiting),
            *_metric("podium_fleet_running", "gauge", "Runs that all workers drive.", load.driven),
            *_metric("podium_worker_running", "gauge", "Runs that this worker drives.", running),
            *_metric("podium_worker_places", "gauge", "Runs that it may drive at once.", worker.places),
            "# HELP podium_worker_stretches_total How stretches of driving ended.",
            "# TYPE podium_worker_stretches_total counter",
            *(
                f'podium_worker_stretches_total{{status="{status}"}} {number}'
                for status, number in sorted(worker.driving.finished.items())
            ),
        ]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    return [Route("/health", healthy), Route("/ready", ready), Route("/metrics", metrics)]


async def _load(engine: Engine) -> Load | None:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await engine.load()
    except (TimeoutError, StoreError):
        return None


def _metric(name: str, kind: str, text: str, value: float) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name} {value:g}"]
