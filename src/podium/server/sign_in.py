"""The sign-in page, its form, and where the browser goes afterwards.

The page stands in for whatever page was asked for, and its form posts to that page's own address. So the
address, fragment included, is still there when the key is accepted, and no parameter names a place to go to.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import Scope

from podium.server.key_check import WrongKey

FORM_PATH = "/session"
"""The route that handles the form, whatever address it was posted to."""
PAGE = (Path(__file__).parent / "pages" / "sign_in.html").read_text("utf-8")
_FORM = "application/x-www-form-urlencoded"
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@%-][A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")
"""A path that a browser cannot take for another host: it has one slash at its start, and no backslash."""


def wants_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser asks for a page, rather than a program for data."""
    return not is_api(scope) and "text/html" in headers.get("accept", "")


def is_api(scope: Scope) -> bool:
    return scope["path"] == "/api" or scope["path"].startswith("/api/")


def is_sign_in_form(scope: Scope, headers: Headers) -> bool:
    """Return whether this is the form of the sign-in page. No other route takes a form."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return scope["method"] == "POST" and kind == _FORM and not is_api(scope)


def sign_in_page(wrong: WrongKey | None = None) -> HTMLResponse:
    """Return the page with its form; after a wrong key it says so."""
    if wrong is None:
        return HTMLResponse(PAGE, 401)
    status, error, hint = wrong_key_text(wrong)
    note = f'<p class="wrong" role="alert">{escape(f"{error} {hint}")}</p>'
    headers = {"Retry-After": str(wrong.retry_after_s)} if wrong.retry_after_s else None
    return HTMLResponse(PAGE.replace("<!-- problem -->", note), status, headers=headers)


def wrong_key_text(wrong: WrongKey) -> tuple[int, str, str]:
    """Return status, sentence and hint for a wrong key."""
    if wrong.retry_after_s:
        return (
            429,
            "Too many wrong keys came from your address.",
            f"Wait {wrong.retry_after_s} s, then try again.",
        )
    return (
        401,
        "That key is not valid.",
        "Check that you copied all of it, or ask whoever runs this server for a new one.",
    )


def target_after_sign_in(scope: Scope) -> str:
    """Return the path and query that were asked for, without a token; `/` if a browser could take the path
    for the address of another server."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    path = raw.decode("latin-1")
    if path == FORM_PATH or not _PLAIN_PATH.fullmatch(path):
        return "/"
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    query = urlencode([(name, value) for name, value in pairs if name != "token"])
    return f"{path}?{query}" if query else path
