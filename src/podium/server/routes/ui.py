"""Routes of the web UI: the files built into `ui/`, or a placeholder page if there are none.

Built files have a hash in their names, so a browser may cache them forever; the page that references them is
revalidated each time. Every other path that looks like a page of the UI serves that page, which reads the
address itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse

from podium.server.auth import target_after_sign_in
from podium.server.problems import RefusedError
from podium.server.routes.system import give_cookie
from podium.server.state import By, InHall

FOR_EVER = "public, max-age=31536000, immutable"
HASHED = re.compile(r".+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
PLACEHOLDER = (Path(__file__).parents[1] / "pages" / "placeholder.html").read_text("utf-8")

router = APIRouter(include_in_schema=False)


@router.get("/")
async def index(request: Request, hall: InHall, by: By) -> Response:
    """The page. The token of the printed address is first exchanged for a cookie (see the middleware)."""
    if "token" in request.query_params:
        response = RedirectResponse(target_after_sign_in(request.scope), 303)
        if not by.by_cookie:
            give_cookie(request, response, hall, by)
        return response
    return _page(hall.ui)


@router.get("/{path:path}")
async def file(path: str, hall: InHall) -> Response:
    """A built file, or the page for an address of the UI."""
    if path == "api" or path.startswith("api/"):
        raise RefusedError(404, "There is nothing here.")
    found = _built(hall.ui, path)
    if found is None:
        if "." in path.rpartition("/")[2]:
            raise RefusedError(404, "There is no such file.")
        return _page(hall.ui)
    kept = FOR_EVER if path.startswith("assets/") and HASHED.fullmatch(found.name) else "no-cache"
    return FileResponse(found, headers={"Cache-Control": kept})


def _page(folder: Path) -> Response:
    page = folder / "index.html"
    if not page.is_file():
        return HTMLResponse(PLACEHOLDER)
    return FileResponse(page, headers={"Cache-Control": "no-cache"})


def _built(folder: Path, path: str) -> Path | None:
    """Return the file of that name inside the folder, or None. Paths that leave the folder are rejected."""
    try:
        found = (folder / path).resolve()
        inside = found.is_relative_to(folder.resolve()) and found.is_file()
    except (ValueError, OSError):  # not a valid file name
        return None
    return found if inside else None
