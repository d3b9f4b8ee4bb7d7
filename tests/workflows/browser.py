"""A real browser that opens pages, and a server that no page may ever ask."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.chromium import CHROMIUM


class _Beacon(BaseHTTPRequestHandler):
    """Remembers who called."""

    called: list[str]

    def do_GET(self) -> None:
        self.called.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


@contextmanager
def listening() -> Generator[tuple[str, list[str]]]:
    """The address of a server that nobody should ever ask, and the list of those who did."""
    called: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Beacon", (_Beacon,), {"called": called}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", called
    server.shutdown()
    server.server_close()
    thread.join()


class Markup(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.attributes if name in names]


def browse(page: Path, *, fragment: str = "") -> str:
    """The page's DOM after a real browser has opened it."""
    flags = ["--window-size=1280,1000", "--virtual-time-budget=2000", "--dump-dom"]
    return _chromium(page, *flags, fragment=fragment).decode("utf-8", "replace")


def printed(page: Path) -> bytes:
    """The page as PDF."""
    target = page.with_suffix(".pdf")
    _chromium(page, f"--print-to-pdf={target}")
    return target.read_bytes()


def _chromium(page: Path, *flags: str, fragment: str = "") -> bytes:
    always = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    address = page.as_uri() + (f"#{fragment}" if fragment else "")
    command = [str(CHROMIUM), *always, f"--user-data-dir={page.parent / 'profile'}", *flags, address]
    return subprocess.run(command, capture_output=True, timeout=120, check=True).stdout
