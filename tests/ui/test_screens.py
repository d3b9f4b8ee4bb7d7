"""Every screen, for everybody: no flaw that axe finds, both themes, a phone, the keyboard, hostile text."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.payloads import payloads
from tests.server.serving import done, flow, started, until
from tests.ui.browsing import ROOT, Visitor, needs_ui

pytestmark = needs_ui

SCREENS = (
    "/",
    "/new",
    "/new?workflow=council",
    "/new?workflow=build",
    "/models",
    "/team",
    "/brain",
    "/compare",
    "/settings",
    "/nowhere",
)
CORPUS = str(ROOT / "tests" / "workflows" / "research" / "example")
RUNS: dict[str, tuple[str, dict[str, str]]] = {
    "tree": ("Plan a weekend in Lisbon", {}),
    "studio": ("Plan a weekend in Lisbon", {"project": "lisbon"}),
    "council": ("Plan a weekend in Lisbon", {}),
    "research": ("How are batteries changing the electricity grid?", {"corpus": CORPUS}),
    "build": ("Write a function that adds two numbers", {}),
}
TABS = ("overview", "graph", "graph&view=steps", "timeline", "transcript", "artifacts", "budget")


@pytest.mark.slow
@pytest.mark.parametrize("screens", [SCREENS[:5], SCREENS[5:]], ids=["first", "second"])
async def test_no_screen_has_a_flaw_that_axe_finds(visitor: Visitor, screens: tuple[str, ...]) -> None:
    assert await flaws_of(visitor, *screens) == []


@pytest.mark.slow
@pytest.mark.parametrize("workflow", RUNS)
async def test_no_picture_of_a_run_has_a_flaw_that_axe_finds(visitor: Visitor, workflow: str) -> None:
    run_id = finished(visitor, workflow)
    paths = [f"/runs/{run_id}?tab=graph"]
    paths += [f"/runs/{run_id}?tab=transcript&step=story/brief"] if workflow == "studio" else []
    assert await flaws_of(visitor, *paths) == []


@pytest.mark.slow
@pytest.mark.parametrize("tabs", [TABS[:4], TABS[4:]], ids=["first", "second"])
async def test_no_tab_of_a_run_has_a_flaw_that_axe_finds(visitor: Visitor, tabs: tuple[str, ...]) -> None:
    run_id = finished(visitor, "tree")
    assert await flaws_of(visitor, *(f"/runs/{run_id}?tab={tab}" for tab in tabs)) == []


@pytest.mark.slow
async def test_neither_a_comparison_nor_a_question_has_a_flaw_that_axe_finds(visitor: Visitor) -> None:
    first, second = finished(visitor, "tree"), finished(visitor, "studio")
    with visitor.server.client() as client:
        asking = started(client, flow("asks"), "the sea")
        until(client, asking, "waiting")
    assert await flaws_of(visitor, f"/compare?a={first}&b={second}", f"/runs/{asking}") == []


def finished(visitor: Visitor, workflow: str) -> str:
    """The id of a finished run."""
    request, options = RUNS[workflow]
    with visitor.server.client() as client:
        run_id = started(client, workflow, request, options=options)
        done(client, run_id)
    return run_id


async def flaws_of(visitor: Visitor, *paths: str) -> list[str]:
    """What axe finds on screens, in both themes and on a phone, and screens that are wider than a phone.

    A theme only changes colours, so of a dark screen only these are looked at.
    """
    page = visitor.page
    flaws: list[str] = []
    for path in paths:
        await page.emulate_media(color_scheme="light", reduced_motion="reduce")
        await page.set_viewport_size({"width": 1440, "height": 844})
        await page.goto(f"{visitor.server.base}{path}")
        await visitor.settle()
        flaws += [f"{path}: {flaw}" for flaw in await visitor.flaws()]
        await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        flaws += [f"{path} in the dark: {flaw}" for flaw in await visitor.flaws(["color-contrast"])]
        await page.emulate_media(color_scheme="light", reduced_motion="reduce")
        await page.set_viewport_size({"width": 390, "height": 844})
        await visitor.settle()
        flaws += [f"{path} on a phone: {flaw}" for flaw in await visitor.flaws()]
        flaws += [f"{path} is wider than a phone"] if await visitor.too_wide() else []
    return flaws


async def test_the_keyboard_is_enough(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        for words in ("first", "second"):
            done(client, started(client, flow("quick"), words))
    await visitor.go("/")
    await visitor.see(page.locator(".runs tbody tr"))
    await page.keyboard.press("/")
    await page.keyboard.type("first")
    await page.wait_for_url("**/?q=first")
    await page.locator(".runs tbody tr").nth(1).wait_for(state="detached")
    await page.locator("h1").click()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await visitor.see(visitor.status("completed"))
    await page.keyboard.press("?")
    await visitor.see(page.get_by_role("dialog", name="Keyboard"))
    await page.keyboard.press("Escape")
    await page.get_by_role("dialog").wait_for(state="detached")
    await page.keyboard.press("n")
    await visitor.see(page.get_by_role("heading", name="New run"))
    await page.keyboard.press("g")
    await page.keyboard.press("r")
    await visitor.see(page.get_by_role("heading", name="Runs"))


async def test_a_transcript_is_searched_linked_and_shows_what_was_asked(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, flow("quick"), "the deep sea")
        done(client, run_id)
    await visitor.go(f"/runs/{run_id}?tab=transcript")
    await page.get_by_label("Search the transcript").fill("model.asked")
    await page.locator(".event").nth(1).wait_for(state="detached")
    await page.locator(".event").click()
    await page.wait_for_url(re.compile(r"#\d+$"))
    await page.get_by_text("Prompt", exact=True).click()
    await visitor.see(page.locator("pre", has_text="about the deep sea"))
    await page.reload()
    await visitor.see(page.locator(".event[aria-current]"))


async def test_hostile_text_is_only_ever_text(visitor: Visitor) -> None:
    page = visitor.page
    hostile = (
        "\n".join(payloads("http://beacon.invalid")) + "<img src=http://beacon.invalid/x onerror=alert(1)>"
    )
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    with visitor.server.client() as client:
        source = started(client, flow("quick"), hostile)
        done(client, source)
        forked = client.post(f"/api/runs/{source}/fork", json={"at": "write", "reply": hostile}).json()[
            "run_id"
        ]
        done(client, forked)
    for path in (
        "/",
        *(f"/runs/{forked}?tab={tab}&step=write" for tab in TABS),
        f"/compare?a={source}&b={forked}",
    ):
        await visitor.go(path)
        await visitor.settle()
        assert await page.locator("main img[src*='beacon'], main script, main svg script").count() == 0
    assert dialogs == []
