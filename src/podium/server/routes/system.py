"""Routes for sign-in, health, metrics and checks."""

from __future__ import annotations

import time
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from podium import __version__
from podium.api.doctor import check_all
from podium.server.auth import (
    COOKIE_S,
    FORM_PATH,
    LONGEST_KEY,
    Caller,
    WrongKey,
    sign_in_page,
    target_after_sign_in,
    wrong_key_text,
)
from podium.server.problems import RefusedError
from podium.server.schemas.shared import Done
from podium.server.schemas.system import Allowance, Check, Checks, Health, Login, Me, Readiness
from podium.server.state import By, ByAnyone, InHall, ServerState, exposition

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


form = APIRouter(include_in_schema=False)


@router.post("/session", operation_id="signIn", summary="Exchange a key for a cookie")
async def sign_in(asked: Login, request: Request, response: Response, hall: InHall) -> Done:
    """For browsers. Scripts send `Authorization: Bearer KEY` with each request instead."""
    checked = await hall.keys.check(asked.key, _client(request))
    if isinstance(checked, WrongKey):
        status, error, hint = wrong_key_text(checked)
        headers = {"Retry-After": str(checked.retry_after_s)} if checked.retry_after_s else {}
        raise RefusedError(status, error, hint=hint, headers=headers)
    give_cookie(request, response, hall, checked)
    return Done()


@router.delete("/session", operation_id="signOut", summary="Forget the cookie")
async def sign_out(request: Request, response: Response, hall: InHall) -> Done:
    """The cookie is refused from then on, also where it was copied to."""
    hall.door.end(request.cookies.get(hall.cookie, ""))
    response.delete_cookie(hall.cookie, path="/", httponly=True, samesite="lax", secure=_over_tls(request))
    response.headers["Clear-Site-Data"] = '"cache"'
    return Done()


@form.post(FORM_PATH)
async def sign_in_by_form(request: Request, hall: InHall) -> Response:
    """The form of the sign-in page, posted to the address of any page."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    checked = await hall.keys.check(fields.get("key", [""])[0].strip()[: LONGEST_KEY + 1], _client(request))
    if isinstance(checked, WrongKey):
        return sign_in_page(checked)
    response = RedirectResponse(target_after_sign_in(request.scope), 303)
    give_cookie(request, response, hall, checked)
    return response


def give_cookie(request: Request, response: Response, hall: ServerState, caller: Caller) -> None:
    """Set the session cookie. Scripts cannot read it. A browser sends it when a link of another site is
    followed, but with no other request that another site's page causes."""
    response.set_cookie(
        hall.cookie, hall.door.cookie_for(caller), max_age=COOKIE_S, path="/", httponly=True, samesite="lax",
        secure=_over_tls(request),
    )  # fmt: skip


def _over_tls(request: Request) -> bool:
    """Return whether the browser uses TLS, to a proxy or to us. The security middleware has checked that the
    Origin is ours."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""
