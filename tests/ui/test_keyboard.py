"""Without a mouse: everything can be reached, and one sees where one is. Without motion: nothing moves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.serving import done, started, until
from tests.ui.browsing import Visitor, needs_ui

pytestmark = needs_ui

SCREENS = ("/", "/new?workflow=council", "/brain", "/team", "/settings", "/compare")
TABS = ("overview", "graph", "timeline", "transcript", "artifacts", "budget")
ALL = """() => {
  const what = "a[href], :is(button, input, select, textarea):not(:disabled), summary";
  window.wanted = [...document.querySelectorAll(what)].filter(one =>
    one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0
    && !(one.type === "radio" && !one.checked));
  document.querySelector("main")?.focus();
  document.activeElement?.blur();
  return window.wanted.length;
}"""
AT = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  return [window.wanted.indexOf(at), seen, at.outerHTML.slice(0, 120)];
}"""


async def walk(visitor: Visitor) -> list[str]:
    """Press Tab until everything was reached; tells what was not, and what did not show that it was."""
    page = visitor.page
    count: int = await page.evaluate(ALL)
    reached: set[int] = set()
    hidden: list[str] = []
    for _ in range(count * 2 + 40):
        await page.keyboard.press("Tab")
        focused: list[Any] = await page.evaluate(AT)
        if focused[0] >= 0:
            reached.add(focused[0])
            hidden += [] if focused[1] else [f"no outline: {focused[2]}"]
        if len(reached) == count:
            break
    missed: list[str] = await page.evaluate(
        "seen => window.wanted.filter((_, at) => !seen.includes(at)).map(one => one.outerHTML.slice(0, 120))",
        sorted(reached),
    )
    return [*(f"not reached: {element}" for element in missed), *dict.fromkeys(hidden)]


@pytest.mark.slow
@pytest.mark.parametrize("workflow", ["tree", "studio"])
async def test_tab_reaches_everything_and_shows_where_it_is(visitor: Visitor, workflow: str) -> None:
    with visitor.server.client() as client:
        options = {"project": "night-train"} if workflow == "studio" else {}
        run_id = started(client, workflow, "A scene in the harbour at dawn", options=options)
        done(client, run_id)
        asking = started(client, workflow, "the sea", approve=["route" if workflow == "studio" else "plan"])
        until(client, asking, "waiting")
    screens = SCREENS if workflow == "studio" else ()
    for path in (*screens, f"/runs/{asking}", *(f"/runs/{run_id}?tab={tab}" for tab in TABS)):
        await visitor.go(path)
        await visitor.settle()
        assert await walk(visitor) == [], path


async def test_a_transcript_is_one_stop_and_walked_with_arrows(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, "studio", "A scene in the harbour at dawn")
        done(client, run_id)
    await visitor.go(f"/runs/{run_id}?tab=transcript")
    await page.get_by_role("region", name="Events of the run").focus()
    for _ in range(3):
        await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.wait_for_url("**#2")
    await visitor.see(page.locator(".event[aria-current]", has_text="run.started"))


async def test_nothing_moves_for_who_asked_for_that(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, "studio", "A scene in the harbour at dawn")
        done(client, run_id)
    moving = """wanted => {
        const boxes = [...document.querySelectorAll(".appear")]
        const names = boxes.map(one => getComputedStyle(one).animationName)
        return names.length > 0 && names.every(name => name === wanted)
    }"""
    for wish, seen in (("reduce", "none"), ("no-preference", "appear")):
        await page.emulate_media(reduced_motion="reduce" if wish == "reduce" else "no-preference")
        await visitor.go(f"/runs/{run_id}?tab=graph")
        await page.wait_for_function(moving, arg=seen)
