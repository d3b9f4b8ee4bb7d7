"""Signing in and out: a key is exchanged for a cookie."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from podium.server.callers import COOKIE_S, Caller
from podium.server.contracts.shared import Done
from podium.server.contracts.world import Login
from podium.server.hall import Hall, InHall
from podium.server.key_check import LONGEST_KEY, WrongKey
from podium.server.problems import RefusedError
from podium.server.sign_in import FORM_PATH, sign_in_page, target_after_sign_in, wrong_key_text

router = APIRouter(prefix="/api", tags=["system"])
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


def give_cookie(request: Request, response: Response, hall: Hall, caller: Caller) -> None:
    """Set the session cookie. Scripts cannot read it; a browser sends it along when a link of another site is
    followed, but with nothing else that another site's page makes it request."""
    response.set_cookie(
        hall.cookie, hall.door.cookie_for(caller), max_age=COOKIE_S, path="/", httponly=True, samesite="lax",
        secure=_over_tls(request),
    )  # fmt: skip


def _over_tls(request: Request) -> bool:
    """Return whether the browser talks TLS, to a proxy if not to us. The guard has checked that the Origin is
    ours."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""
