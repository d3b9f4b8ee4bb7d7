"""One server and one visitor a test; one browser for all tests of this worker."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.chromium import CHROMIUM
from tests.server.serving import Served, served
from tests.ui.browsing import Visitor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of this folder share the loop that their browser was started in."""
    for item in items:
        if item.path.parent == Path(__file__).parent and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    with served(tmp_path, pause_grace="500ms") as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    """Chromium takes longer to start than most tests take: what tests must not share is in their contexts."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser, server: Served) -> AsyncGenerator[Visitor]:
    # axe is put into the page from outside, which the page's own rules rightly forbid
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    guest = Visitor(await context.new_page(), server)
    await guest.enter()
    yield guest
    await context.close()
    assert guest.errors == []
    assert guest.foreign == []
