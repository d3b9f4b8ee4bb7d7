"""Signing in and out in a real browser, under the server's own headers."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from podium.server.users import add_user
from tests.server.serving import Served, done, flow, served, started
from tests.ui.browsing import PATIENCE_MS, Visitor, needs_ui

pytestmark = needs_ui

WRONG = "That key is not valid."
FLOOD = """async () => {
    const tries = Array.from({length: 60}, () => fetch("/api/session", {
        method: "POST", headers: {"Content-Type": "application/json"}, body: '{"key": "podium-alice-wrong"}'
    }))
    return (await Promise.all(tries)).map(answer => answer.status)
}"""


class Home:
    """A server, the keys that open it, and one finished run."""

    def __init__(self, server: Served, keys: dict[str, str]) -> None:
        self.server = server
        self.keys = keys
        with server.client(next(iter(keys.values()))) as client:
            self.run_id = started(client, "tree", "Plan a weekend in Lisbon")
            done(client, self.run_id)

    @property
    def deep_link(self) -> str:
        return f"{self.server.base}/runs/{self.run_id}?tab=transcript#3"


@contextmanager
def with_users(folder: Path) -> Generator[Home]:
    """A server with named users."""
    file = folder / "users.toml"
    keys = {name: add_user(file, name, {}) for name in ("alice", "bob")}
    with served(folder, users=file) as server:
        yield Home(server, keys)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Home]:
    """A server with named users, for all tests that leave it as it was."""
    with with_users(tmp_path_factory.mktemp("shared")) as home:
        yield home


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Generator[Home]:
    """A server with the printed token alone."""
    folder = tmp_path_factory.mktemp("local")
    with served(folder) as server:
        yield Home(server, {"": server.token})


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncGenerator[BrowserContext]:
    """A browser profile without cookies. The content security policy is in force."""
    created = await browser.new_context(viewport={"width": 1000, "height": 700})
    created.set_default_timeout(PATIENCE_MS)
    yield created
    await created.close()


async def sign_in(page: Page, key: str) -> None:
    await page.get_by_label("Key").fill(key)
    await page.get_by_role("button", name="Sign in").click()


async def me(page: Page) -> dict[str, Any]:
    return await page.evaluate("async () => await (await fetch('/api/me')).json()")


@pytest.mark.parametrize("kind", ["shared", "local"])
async def test_a_key_leads_to_the_page_that_was_asked_for(
    context: BrowserContext, kind: str, request: pytest.FixtureRequest
) -> None:
    home: Home = request.getfixturevalue(kind)
    name, key = next(iter(home.keys.items()))
    page = await context.new_page()
    answer = await page.goto(home.deep_link)
    assert answer is not None
    assert answer.status == 401
    await sign_in(page, key)
    await page.locator(".event[aria-current]").wait_for()
    assert page.url == home.deep_link
    assert (await me(page))["name"] == name
    (cookie,) = await context.cookies()
    assert (cookie.get("sameSite"), cookie.get("httpOnly"), cookie.get("path")) == ("Lax", True, "/")


async def test_a_wrong_key_is_reported_on_the_page_and_the_link_is_kept(
    context: BrowserContext, shared: Home
) -> None:
    page = await context.new_page()
    await page.goto(shared.deep_link)
    for wrong in ("podium-alice-wrong", "x" * 600, "<script>"):
        await sign_in(page, wrong)
        await expect(page.get_by_role("alert")).to_contain_text(WRONG)
        await expect(page.get_by_label("Key")).to_be_focused()
        await expect(page.get_by_label("Key")).to_have_value("")
        assert page.url == shared.deep_link
    assert await context.cookies() == []
    await sign_in(page, shared.keys["alice"])
    await page.locator(".event[aria-current]").wait_for()
    assert page.url == shared.deep_link


async def test_a_right_key_gets_in_after_any_number_of_wrong_ones(
    context: BrowserContext, tmp_path: Path
) -> None:
    with with_users(tmp_path) as home:
        page = await context.new_page()
        await page.goto(f"{home.server.base}/settings")
        said = ""
        while "Too many wrong keys" not in said:  # on a slow machine the limit may have recovered meanwhile
            assert 429 in await page.evaluate(FLOOD)
            await sign_in(page, "podium-alice-wrong")
            said = await page.get_by_role("alert").inner_text()
        await sign_in(page, home.keys["bob"])
        await page.get_by_role("button", name="Sign out").wait_for()
        assert (await me(page))["name"] == "bob"
        await page.close()


async def test_no_path_leads_to_another_server(
    context: BrowserContext, shared: Home, elsewhere: Elsewhere
) -> None:
    page = await context.new_page()
    for path in ("//{evil}/", "/\\{evil}/", "/%2f%2f{evil}/", "/.//{evil}/", "/%09/{evil}/"):
        await context.clear_cookies()
        await page.goto(shared.server.base + path.format(evil=elsewhere.netloc))
        await sign_in(page, shared.keys["alice"])
        await page.locator("main h1, main .empty").first.wait_for()
        await expect(page.get_by_label("Key")).to_have_count(0)
        assert page.url.startswith(shared.server.base + "/")
        assert elsewhere.seen == []
        assert (await me(page))["name"] == "alice"


async def test_an_old_token_in_the_address_does_not_come_back_after_signing_in(
    context: BrowserContext, local: Home
) -> None:
    page = await context.new_page()
    await page.goto(f"{local.server.base}/?token=old&needs=you")
    await sign_in(page, local.server.token)
    await page.get_by_role("heading", name="Runs").wait_for()
    assert page.url == f"{local.server.base}/?needs=you"
    await page.goto(f"{local.server.base}/?token=old")
    await page.get_by_role("heading", name="Runs").wait_for()
    assert page.url == f"{local.server.base}/", "the cookie is enough"


async def test_signing_out_ends_the_session_on_the_server_too(context: BrowserContext, shared: Home) -> None:
    page = await context.new_page()
    await page.goto(f"{shared.server.base}/settings")
    await sign_in(page, shared.keys["alice"])
    await page.get_by_role("button", name="Sign out").wait_for()
    (cookie,) = await context.cookies()
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("Key").wait_for()
    assert await context.cookies() == []
    kept = f"{cookie.get('name')}={cookie.get('value')}"
    with shared.server.client("", Cookie=kept) as thief:
        assert thief.get("/api/me").status_code == 401
    await page.go_back()
    await page.get_by_label("Key").wait_for()


async def test_a_page_whose_session_has_ended_offers_to_sign_in_again(
    context: BrowserContext, shared: Home
) -> None:
    page = await context.new_page()
    await page.goto(f"{shared.server.base}/settings")
    await sign_in(page, shared.keys["alice"])
    await page.get_by_role("button", name="Sign out").wait_for()
    await context.clear_cookies()
    await page.get_by_role("link", name="Models", exact=True).click()
    await page.get_by_role("alert").get_by_role("button", name="Sign in").first.click()
    await sign_in(page, shared.keys["alice"])
    await page.get_by_role("heading", name="Models").first.wait_for()
    assert page.url == f"{shared.server.base}/models"


# ── other sites ──────────────────────────────────────────────────────────────────────────────────


class Elsewhere:
    """A server of another site: `localhost`, where Podium is `127.0.0.1`. It serves one page."""

    def __init__(self) -> None:
        self.page = ""
        self.seen: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(outer.page.encode())

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.netloc = f"localhost:{self.server.server_port}"


@pytest.fixture
def elsewhere() -> Generator[Elsewhere]:
    site = Elsewhere()
    thread = threading.Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


async def signed_in(context: BrowserContext, home: Home) -> Page:
    page = await context.new_page()
    await page.goto(home.server.base)
    await sign_in(page, home.keys["alice"])
    await page.get_by_role("heading", name="Runs").wait_for()
    return page


async def test_a_link_of_another_site_finds_the_user_signed_in(
    context: BrowserContext, shared: Home, elsewhere: Elsewhere
) -> None:
    page = await signed_in(context, shared)
    report = f"{shared.server.base}/api/runs/{shared.run_id}/report"
    elsewhere.page = f"<a href='{shared.deep_link}'>the run</a> <a href='{report}'>the report</a>"
    await page.goto(f"http://{elsewhere.netloc}/")
    await page.get_by_text("the run").click()
    await page.locator(".event[aria-current]").wait_for()
    assert page.url == shared.deep_link
    await page.goto(f"http://{elsewhere.netloc}/")
    async with page.expect_navigation(url=report) as opened:
        await page.get_by_text("the report").click()
    answer = await opened.value
    assert answer is not None
    assert answer.status == 200


FORM = """<form id=f method=post action='{action}' enctype='{kind}' target='{target}'>
<input name='{name}' value='{value}'></form><iframe name=inner></iframe>"""
SUBMIT = "document.getElementById('f').submit()"


async def test_a_form_of_another_site_starts_nothing(
    context: BrowserContext, shared: Home, elsewhere: Elsewhere
) -> None:
    await signed_in(context, shared)
    start = f'{{"workflow": "{flow("quick")}", "request": "'
    for kind, target in product(("text/plain", "application/x-www-form-urlencoded"), ("_self", "inner")):
        elsewhere.page = FORM.format(
            action=f"{shared.server.base}/api/runs", kind=kind, target=target, name=start, value='"}'
        )
        page = await context.new_page()
        await page.goto(f"http://{elsewhere.netloc}/")
        async with page.expect_event(
            "response", lambda response: response.url.endswith("/api/runs")
        ) as answered:
            await page.evaluate(SUBMIT)
        assert (await answered.value).status == 403, (kind, target)
    with shared.server.client(shared.keys["alice"]) as client:
        assert [run["run_id"] for run in client.get("/api/runs").json()["runs"]] == [shared.run_id]


async def test_another_site_cannot_sign_somebody_in_under_its_own_key(
    context: BrowserContext, shared: Home, elsewhere: Elsewhere
) -> None:
    page = await signed_in(context, shared)
    for path in ("/", "/runs/x"):
        elsewhere.page = FORM.format(
            action=shared.server.base + path,
            kind="application/x-www-form-urlencoded",
            target="_self",
            name="key",
            value=shared.keys["bob"],
        )
        await page.goto(f"http://{elsewhere.netloc}/")
        async with page.expect_navigation() as answered:
            await page.evaluate(SUBMIT)
        answer = await answered.value
        assert answer is not None
        assert (answer.request.method, answer.status) == ("POST", 403)
        await page.goto(shared.server.base)
        assert (await me(page))["name"] == "alice"


async def test_the_sign_in_page_is_accessible_in_both_themes(browser: Browser, shared: Home) -> None:
    async with await browser.new_context(bypass_csp=True, viewport={"width": 390, "height": 700}) as context:
        visitor = Visitor(await context.new_page(), shared.server)
        await visitor.page.goto(shared.deep_link)
        assert await visitor.flaws() == []
        await sign_in(visitor.page, "wrong")
        await visitor.page.get_by_role("alert").wait_for()
        assert await visitor.flaws() == []
        await visitor.page.emulate_media(color_scheme="dark")
        assert await visitor.flaws(["color-contrast"]) == []
        assert not await visitor.too_wide()
        assert visitor.errors == []
