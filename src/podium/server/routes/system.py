"""The server itself: who asks, models, checks, health, figures for Prometheus."""

from __future__ import annotations

import time
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from podium import __version__
from podium.api.checks import check_all
from podium.errors import StoreError
from podium.server.callers import COOKIE_S, Caller
from podium.server.contracts.shared import Done
from podium.server.contracts.world import (
    Allowance,
    Check,
    Checks,
    Health,
    Login,
    Me,
    Readiness,
)
from podium.server.hall import By, Hall, InHall
from podium.server.metrics import exposition
from podium.server.problems import RefusedError

router = APIRouter(prefix="/api", tags=["system"])
door = APIRouter(include_in_schema=False)
"""Where a browser without script signs in."""


@router.post("/session", operation_id="signIn", summary="Exchange a key for a cookie")
async def sign_in(asked: Login, request: Request, response: Response, hall: InHall) -> Done:
    """For browsers. Scripts send `Authorization: Bearer KEY` with each request instead."""
    give_cookie(request, response, hall, await _caller(hall, asked.key))
    return Done()


@router.delete("/session", operation_id="signOut", summary="Forget the cookie")
async def sign_out(response: Response, hall: InHall) -> Done:
    response.delete_cookie(hall.cookie, path="/", httponly=True, samesite="strict")
    return Done()


@door.post("/session")
async def sign_in_by_form(request: Request, hall: InHall) -> Response:
    given = parse_qs((await request.body()).decode("utf-8", "replace")).get("key", [""])[0]
    response = RedirectResponse("/", 303)
    give_cookie(request, response, hall, await _caller(hall, given[:500]))
    return response


async def _caller(hall: Hall, key: str) -> Caller:
    caller = await hall.door.by_key(key)
    if caller is None:
        raise RefusedError(401, "That key is not valid.", hint="`podium users add` makes one.")
    return caller


def give_cookie(request: Request, response: Response, hall: Hall, caller: Caller) -> None:
    """Scripts of a page cannot read it, and other sites' pages cannot make a browser send it."""
    response.set_cookie(
        hall.cookie, hall.door.cookie_for(caller), max_age=COOKIE_S, path="/", httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip


@router.get("/me", operation_id="whoAmI", summary="Who is asking")
async def who_am_i(hall: InHall, by: By) -> Me:
    """And how much they may do."""
    running, queued = hall.conductor.count_of(by.name)
    user = by.user
    money = await hall.purses.money(by.name, user)
    return Me(
        name=by.name,
        local=user is None,
        budget_usd=user.budget_usd if user else None,
        spent_usd=round(money.spent, 9),
        reserved_usd=round(money.reserved, 9),
        allowances=[
            Allowance(
                period=one.period,
                limit_usd=one.limit,
                spent_usd=round(one.spent, 9),
                left_usd=round(one.left(money.reserved), 9),
                renewed_at=one.renewed.isoformat() if one.renewed else None,
            )
            for one in money.allowances
        ],
        max_runs=user.max_runs if user else hall.conductor.max_runs,
        running=running,
        queued=queued,
    )


@router.get("/health", operation_id="readHealth", summary="Whether the server answers")
async def read_health(hall: InHall) -> Health:
    return Health(version=__version__, uptime_s=round(time.monotonic() - hall.started, 3))


@router.get("/ready", operation_id="readReadiness", summary="Whether runs can be accepted")
async def read_readiness(hall: InHall, response: Response) -> Readiness:
    """503 where the store cannot be read."""
    reason = ""
    try:
        await hall.store.list_runs(limit=1)
    except StoreError as error:
        reason, response.status_code = error.message, 503
    conductor = hall.conductor
    return Readiness(
        ready=not reason, running=conductor.running, queued=conductor.queued, max_runs=conductor.max_runs,
        reason=reason,
    )  # fmt: skip


@router.get("/metrics", operation_id="readMetrics", summary="Figures for Prometheus",
            response_class=PlainTextResponse)  # fmt: skip
async def read_metrics(hall: InHall, by: By) -> PlainTextResponse:
    """In the text format; users see their own figures."""
    return PlainTextResponse(await exposition(hall, by), media_type="text/plain; version=0.0.4")


@router.get("/doctor", operation_id="runChecks", summary="Check what Podium needs")
async def run_checks(hall: InHall, by: By) -> Checks:
    """What `podium doctor` tells; users of a shared server are told only whether all is well."""
    found = await check_all(hall.store.url)
    ok = all(check.state != "fail" for check in found)
    shown = [] if by.user is not None else found
    return Checks(
        ok=ok, checks=[Check(name=one.name, state=one.state, told=one.told, fix=one.fix) for one in shown]
    )
