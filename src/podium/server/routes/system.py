"""The server itself: who asks, checks, health, figures for Prometheus."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from podium import __version__
from podium.api.checks import check_all
from podium.server.contracts.world import Allowance, Check, Checks, Health, Me, Readiness
from podium.server.hall import By, ByAnyone, InHall
from podium.server.metrics import exposition

router = APIRouter(prefix="/api", tags=["system"])


@router.get("/me", operation_id="whoAmI", summary="Who is asking")
async def who_am_i(hall: InHall, by: By) -> Me:
    """And how much they may do."""
    running, queued = await hall.conductor.count_of(by.name)
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
async def read_health(hall: InHall, by: ByAnyone) -> Health:
    """For the liveness probe of a balancer. Version and uptime are told with a key only."""
    if by is None:
        return Health()
    return Health(version=__version__, uptime_s=round(time.monotonic() - hall.started, 3))


@router.get(
    "/ready", operation_id="readReadiness", summary="Whether runs can be accepted",
    responses={503: {"model": Readiness, "description": "The store does not answer."}},
)  # fmt: skip
async def read_readiness(hall: InHall, by: ByAnyone, response: Response) -> Readiness:
    """For the readiness probe of a balancer: 503 while the store does not answer. How busy the server is, and
    what is wrong with the store, are told with a key only."""
    reason = await hall.store_check.problem()
    response.status_code = 503 if reason else 200
    if by is None:
        return Readiness(ready=not reason)
    running, queued = (0, 0) if reason else await hall.conductor.count_of(None)
    return Readiness(
        ready=not reason, running=running, queued=queued, max_runs=hall.conductor.max_runs, reason=reason
    )


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
