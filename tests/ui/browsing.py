"""A real browser in front of a real server: what a test of the web UI needs, and what it looks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.chromium import CHROMIUM
from tests.server.serving import Served

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src" / "podium" / "server" / "ui" / "index.html"
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
VIOLATIONS = """async rules => {
    const found = await axe.run(document, {runOnly: rules, resultTypes: ["violations"]})
    return found.violations
}"""
"""All rules are tried; of what passed nothing is sent over, which would be the markup of the whole page."""
PATIENCE_MS = 150_000
POLLING_MS = 50
"""Interval of conditions that read the whole page; by default they are evaluated on every frame."""
expect.set_options(timeout=PATIENCE_MS)
SETTLED = """() => {
    const main = document.querySelector("main")
    const filled = (list, line) => !main.querySelector(list) || main.querySelector(line)
    return main?.firstElementChild && !document.querySelector(".bones")
        && filled(".activity", ".activity .line") && filled(".transcript", ".event, .message")
        && filled(".canvas", ".box")
}"""
"""Nothing is loading any more, and no list or graph is still empty."""

needs_ui = pytest.mark.skipif(
    CHROMIUM is None or not BUILT.exists() or not AXE.exists(),
    reason="needs Chromium and a built web UI (`make ui`)",
)


class Visitor:
    """Somebody with a browser; remembers what went wrong in it and what it asked of others."""

    def __init__(self, page: Page, server: Served) -> None:
        self.page = page
        self.server = server
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.loads = 0
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("load", lambda _: self._loaded())
        page.on("request", lambda request: self._note(request.url))

    def _loaded(self) -> None:
        self.loads += 1

    def _note(self, url: str) -> None:
        if not url.startswith((self.server.base, "data:", "blob:", "about:")):
            self.foreign.append(url)

    async def enter(self) -> None:
        """Come in with the address that the server printed."""
        await self.page.goto(f"{self.server.base}/?token={self.server.token}")
        await self.page.get_by_role("heading", name="Runs").wait_for()

    async def go(self, path: str) -> None:
        await self.page.goto(f"{self.server.base}{path}")
        await self.page.locator("main h1").first.wait_for()

    async def settle(self) -> None:
        """Wait until the screen shows its data: what is read from the page at once needs this."""
        await self.page.wait_for_function(SETTLED, polling=POLLING_MS)

    async def see(self, locator: Locator) -> None:
        await locator.first.wait_for()

    def status(self, word: str) -> Locator:
        return self.page.locator(".facts .status", has_text=word)

    @property
    def run_id(self) -> str:
        return self.page.url.rpartition("/runs/")[2].partition("?")[0].partition("#")[0]

    async def flaws(self, rules: list[str] = LEVELS) -> list[str]:
        """What axe finds on the page. Nodes of a graph can be zoomed to any size, and stand in the table
        below it as well, which is what the rule about the size of targets asks for."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE.read_text("utf-8"))
        violations: list[Any] = await self.page.evaluate(VIOLATIONS, rules)
        return [
            f"{violation['id']}: {node['html'][:200]}"
            for violation in violations
            for node in violation["nodes"]
            if violation["id"] != "target-size" or ("turn" not in node["html"] and "face" not in node["html"])
        ]

    async def too_wide(self) -> bool:
        return bool(await self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))
