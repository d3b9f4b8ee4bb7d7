"""One server and one browser a test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from tests.server.serving import Served, served
from tests.ui.browsing import CHROMIUM, Visitor


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    with served(tmp_path) as found:
        yield found


@pytest.fixture
async def visitor(server: Served) -> AsyncGenerator[Visitor]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        # axe is put into the page from outside, which the page's own rules rightly forbid
        context = await browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        found = Visitor(await context.new_page(), server)
        await found.enter()
        yield found
        await browser.close()
        assert found.errors == []
        assert found.foreign == []
