"""What the cookies of a machine's only user are signed with.

The token in the printed address is made anew at each start. The cookie that a browser got for it should
outlive that: a page that is open while the server is started again goes on by itself. So its secret is kept
beside the store, for the store's owner only; who can read it can read the runs themselves.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

SUFFIX = ".session"


def session_secret(store_url: str) -> str:
    """The secret that is kept beside a store in a file; empty where there is no such place."""
    _, sqlite, file = store_url.partition("sqlite:///")
    if not sqlite or not file:
        return ""
    path = Path(f"{file}{SUFFIX}")
    try:
        return path.read_text("ascii") or _made(path)
    except FileNotFoundError:
        return _made(path)
    except OSError:  # somebody else's: cookies then live as long as the server
        return ""


def _made(path: Path) -> str:
    """Written whole and then put in its place, so that two servers that start at once agree."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
        with suppress(FileExistsError):  # then the other one was first
            os.link(draft, path)
        return path.read_text("ascii")
    except OSError:  # the folder cannot be written: cookies then live as long as the server
        return ""
    finally:
        draft.unlink(missing_ok=True)
