"""Error responses: every exception becomes a message, a hint and an HTTP status."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from podium.engine.redaction import Redact, redact_text, redactor
from podium.errors import (
    ExportError,
    NotResumableError,
    PodiumError,
    RunLockedError,
    StoreError,
    StoreFullError,
    UnknownRunError,
    UsageError,
)
from podium.server.schemas.shared import Problem

LOG = logging.getLogger("podium.server")

STATUSES: tuple[tuple[type[PodiumError], int], ...] = (
    (UnknownRunError, 404),
    (NotResumableError, 409),
    (RunLockedError, 409),
    (UsageError, 422),
    (ExportError, 502),
    (StoreFullError, 507),
    (StoreError, 503),
)
"""HTTP status by exception class; the first match counts. Any other error is a 500."""

SENTENCES = {
    401: ("You are not signed in.", "Open the address that `podium serve` printed, or send your key."),
    404: ("There is nothing here.", ""),
    405: ("This cannot be done here.", ""),
}

ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in (
        (400, "The request is not valid HTTP or JSON."),
        (401, "No key or cookie, or a wrong one."),
        (403, "Not from this page, or not allowed to this user."),
        (404, "It does not exist, or it belongs to another user."),
        (409, "Its status does not allow this."),
        (413, "The request is too large."),
        (421, "The server does not go by that name."),
        (422, "Something in the request is wrong; nothing was started."),
        (429, "Too many requests, or too many runs."),
        (503, "The store cannot be used at the moment."),
        (507, "The disk is full."),
    )
}
"""Error responses of every route, for the OpenAPI description."""


KEYS_ONLY = redactor()
"""Redacts keys of well-known formats, for problems that name nothing from settings or the environment."""


class RefusedError(PodiumError):
    """A refusal with an explicit HTTP status."""

    def __init__(
        self, status: int, message: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.headers = headers


def problem(
    status: int,
    error: str,
    hint: str = "",
    problems: list[str] | None = None,
    headers: Mapping[str, str] | None = None,
    redact: Redact = KEYS_ONLY,
) -> JSONResponse:
    """Return an error response with secrets redacted."""
    body = Problem(
        error=redact_text(error, redact),
        hint=redact_text(hint, redact),
        problems=[redact_text(flaw, redact) for flaw in problems or ()],
    )
    return JSONResponse(body.model_dump(), status, headers=dict(headers or {}))


def _redact_of(request: Request) -> Redact:
    """Return the redactor of the server, or the default one."""
    state = getattr(request.app.state, "server", None)
    return KEYS_ONLY if state is None else state.redact


def install_error_handlers(app: FastAPI) -> None:
    """Install exception handlers so that every error response is a `Problem`."""

    @app.exception_handler(PodiumError)
    async def podium(request: Request, error: PodiumError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        if isinstance(error, RefusedError):
            return problem(
                error.status, error.message, error.hint, redact=_redact_of(request), headers=error.headers
            )
        status = next((code for kind, code in STATUSES if isinstance(error, kind)), 500)
        if status == 500:
            LOG.error("A request failed: %s", error, exc_info=error)
        return problem(status, error.message, error.hint, redact=_redact_of(request))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        sentence, hint = SENTENCES.get(error.status_code, (str(error.detail), ""))
        return problem(error.status_code, sentence, hint, headers=error.headers, redact=_redact_of(request))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        flaws = [_flaw(flaw) for flaw in error.errors()]
        if any(flaw.get("type") == "json_invalid" for flaw in error.errors()):
            return problem(400, "The request is not valid JSON.", flaws[0], redact=_redact_of(request))
        return problem(
            422,
            "Something in the request is wrong.",
            "Correct it and send it again.",
            flaws[:50],
            redact=_redact_of(request),
        )

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        LOG.error("A request failed unexpectedly.", exc_info=error)
        return problem(500, "Something unexpected went wrong.", "See the server's log.")


def _flaw(error: Mapping[str, Any]) -> str:
    """Format one validation error: `budget.usd: Input should be greater than or equal to 0.`"""
    place = ".".join(str(part) for part in error.get("loc", ())[1:])
    message = str(error.get("msg", "is wrong")).rstrip(".")
    return f"{place}: {message}." if place else f"{message}."
