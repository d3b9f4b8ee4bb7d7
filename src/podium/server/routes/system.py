"""Routes for sign-in, health, metrics, checks and the web UI (the files built into `ui/`, or a placeholder).

Built files have a hash in their names, so a browser may cache them forever; the page that references them is
revalidated each time. Every other path that looks like a page of the UI serves that page, which reads the
address itself.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse

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
from podium.server.state import By, ByAnyone, InState, ServerState, exposition

router = APIRouter(prefix="/api", tags=["system"])


@router.get("/me", operation_id="whoAmI", summary="Who is asking")
async def who_am_i(state: InState, by: By) -> Me:
    """And how much they may do."""
    running, queued = await state.scheduler.count_of(by.name)
    user = by.user
    money = await state.quotas.money(by.name, user)
    return Me(
        name=by.name,
        local=user is None,
        budget_usd=user.budget_usd if user else None,
        spent_usd=round(money.spent, 9),
        reserved_usd=round(money.reserved, 9),
        allowances=[
            Allowance(
                period=allowance.period,
                limit_usd=allowance.limit,
                spent_usd=round(allowance.spent, 9),
                left_usd=round(allowance.left(money.reserved), 9),
                renewed_at=allowance.renewed.isoformat() if allowance.renewed else None,
            )
            for allowance in money.allowances
        ],
        max_runs=user.max_runs if user else state.scheduler.max_runs,
        running=running,
        queued=queued,
    )


@router.get("/health", operation_id="readHealth", summary="Whether the server answers")
async def read_health(state: InState, by: ByAnyone) -> Health:
    """For the liveness probe of a load balancer. Version and uptime need a key."""
    if by is None:
        return Health()
    return Health(version=__version__, uptime_s=round(time.monotonic() - state.started, 3))


@router.get(
    "/ready",
    operation_id="readReadiness",
    summary="Whether runs can be accepted",
    responses={503: {"model": Readiness, "description": "The store does not answer."}},
)
async def read_readiness(state: InState, by: ByAnyone, response: Response) -> Readiness:
    """For the readiness probe of a balancer: 503 while the store does not answer. How busy the server is, and
    what is wrong with the store, need a key."""
    reason = await state.store_check.problem()
    response.status_code = 503 if reason else 200
    if by is None:
        return Readiness(ready=not reason)
    running, queued = (0, 0) if reason else await state.scheduler.count_of(None)
    return Readiness(
        ready=not reason, running=running, queued=queued, max_runs=state.scheduler.max_runs, reason=reason
    )


@router.get(
    "/metrics", operation_id="readMetrics", summary="Figures for Prometheus", response_class=PlainTextResponse
)
async def read_metrics(state: InState, by: By) -> PlainTextResponse:
    """In the text format; users see their own figures."""
    return PlainTextResponse(await exposition(state, by), media_type="text/plain; version=0.0.4")


@router.get("/doctor", operation_id="runChecks", summary="Check what Podium needs")
async def run_checks(state: InState, by: By) -> Checks:
    """The checks of `podium doctor`. Users of a shared server only see whether all passed."""
    checks = await check_all(state.store.url)
    ok = all(check.state != "fail" for check in checks)
    shown = [] if by.user is not None else checks
    return Checks(
        ok=ok,
        checks=[
            Check(name=result.name, state=result.state, told=result.told, fix=result.fix) for result in shown
        ],
    )


form = APIRouter(include_in_schema=False)


@router.post("/session", operation_id="signIn", summary="Exchange a key for a cookie")
async def sign_in(body: Login, request: Request, response: Response, state: InState) -> Done:
    """For browsers. Scripts send `Authorization: Bearer KEY` with each request instead."""
    checked = await state.keys.check(body.key, _client(request))
    if isinstance(checked, WrongKey):
        status, error, hint = wrong_key_text(checked)
        headers = {"Retry-After": str(checked.retry_after_s)} if checked.retry_after_s else {}
        raise RefusedError(status, error, hint=hint, headers=headers)
    give_cookie(request, response, state, checked)
    return Done()


@router.delete("/session", operation_id="signOut", summary="Forget the cookie")
async def sign_out(request: Request, response: Response, state: InState) -> Done:
    """The cookie is refused from then on, also where it was copied to."""
    state.authenticator.end(request.cookies.get(state.cookie, ""))
    response.delete_cookie(state.cookie, path="/", httponly=True, samesite="lax", secure=_over_tls(request))
    response.headers["Clear-Site-Data"] = '"cache"'
    return Done()


@form.post(FORM_PATH)
async def sign_in_by_form(request: Request, state: InState) -> Response:
    """The form of the sign-in page, posted to the address of any page."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    checked = await state.keys.check(fields.get("key", [""])[0].strip()[: LONGEST_KEY + 1], _client(request))
    if isinstance(checked, WrongKey):
        return sign_in_page(checked)
    response = RedirectResponse(target_after_sign_in(request.scope), 303)
    give_cookie(request, response, state, checked)
    return response


def give_cookie(request: Request, response: Response, state: ServerState, caller: Caller) -> None:
    """Set the session cookie. Scripts cannot read it. A browser sends it when a link of another site is
    followed, but with no other request that another site's page causes."""
    response.set_cookie(
        state.cookie,
        state.authenticator.cookie_for(caller),
        max_age=COOKIE_S,
        path="/",
        httponly=True,
        samesite="lax",
        secure=_over_tls(request),
    )


def _over_tls(request: Request) -> bool:
    """Return whether the browser uses TLS, to a proxy or to us. The security middleware has checked that the
    Origin is ours."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


FOR_EVER = "public, max-age=31536000, immutable"
HASHED = re.compile(r".+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
PLACEHOLDER = (Path(__file__).parents[1] / "pages" / "placeholder.html").read_text("utf-8")

pages = APIRouter(include_in_schema=False)


@pages.get("/")
async def index(request: Request, state: InState, by: By) -> Response:
    """The page. The token of the printed address is first exchanged for a cookie (see the middleware)."""
    if "token" in request.query_params:
        response = RedirectResponse(target_after_sign_in(request.scope), 303)
        if not by.by_cookie:
            give_cookie(request, response, state, by)
        return response
    return _page(state.ui)


@pages.get("/{path:path}")
async def file(path: str, state: InState) -> Response:
    """A built file, or the page for an address of the UI."""
    if path == "api" or path.startswith("api/"):
        raise RefusedError(404, "There is nothing here.")
    built = _built(state.ui, path)
    if built is None:
        if "." in path.rpartition("/")[2]:
            raise RefusedError(404, "There is no such file.")
        return _page(state.ui)
    caching = FOR_EVER if path.startswith("assets/") and HASHED.fullmatch(built.name) else "no-cache"
    return FileResponse(built, headers={"Cache-Control": caching})


def _page(folder: Path) -> Response:
    page = folder / "index.html"
    if not page.is_file():
        return HTMLResponse(PLACEHOLDER)
    return FileResponse(page, headers={"Cache-Control": "no-cache"})


def _built(folder: Path, path: str) -> Path | None:
    """Return the file of that name inside the folder, or None. Paths that leave the folder are rejected."""
    try:
        target = (folder / path).resolve()
        inside = target.is_relative_to(folder.resolve()) and target.is_file()
    except (ValueError, OSError):  # not a valid file name
        return None
    return target if inside else None
