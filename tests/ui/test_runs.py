"""A person starts runs in the browser, watches, answers, forks: with a real server and a real Chromium."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import expect

from tests.server.serving import done, events_of, flow, started, until
from tests.ui.browsing import Visitor, needs_ui

pytestmark = needs_ui

SCENE = "Create a dramatic opening scene where two rivals meet on a night train"


async def test_a_form_says_what_is_wrong_before_anything_is_started(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("/new?workflow=council")
    await page.get_by_label("rounds").fill("9")
    await page.get_by_role("button", name="Start", exact=True).click()
    await visitor.see(page.get_by_text("Say what should be done."))
    await visitor.see(page.get_by_text("At most 5."))
    with visitor.server.client() as client:
        assert client.get("/api/runs").json()["runs"] == []


async def test_the_activity_shows_the_lines_of_the_terminal(visitor: Visitor) -> None:
    """The words come with the events: the browser has none of its own."""
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, "studio", SCENE)
        done(client, run_id)
        lines = [
            event["line"]["text"]
            for event in events_of(client, run_id)
            if event["line"]["weight"] != "trace" or event["type"].startswith("run.")
        ]
    await visitor.go(f"/runs/{run_id}")
    await expect(page.locator(".activity .line .words")).to_have_text(lines)
    await visitor.see(page.locator(".activity .line.result .words", has_text="routed to"))


async def test_scores_of_a_rehearsal_are_marked_as_made_up(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, "studio", SCENE)
        done(client, run_id)
    await visitor.go(f"/runs/{run_id}?tab=graph")
    await visitor.see(page.locator(".facts").get_by_text("(made up)"))
    await visitor.see(page.get_by_text("Made up in a rehearsal"))


async def test_a_workflow_that_the_ui_does_not_know_is_drawn_by_its_steps(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, flow("quick"), "the deep sea")
        done(client, run_id)
    await visitor.go(f"/runs/{run_id}?tab=graph")
    await visitor.see(page.locator(".box.completed", has_text="write"))
    await visitor.see(page.locator(".glyph", has_text="quick"))
    await page.get_by_text("As a table").click()
    await visitor.see(page.get_by_role("button", name="write", exact=True))


async def test_steps_appear_while_a_run_goes_on(visitor: Visitor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with visitor.server.client() as client:
        run_id = started(client, flow("waits"), str(gate))
        await visitor.go(f"/runs/{run_id}?tab=graph")
        await visitor.see(visitor.page.locator(".box.completed", has_text="first"))
        await visitor.see(visitor.page.locator(".box.running", has_text="second"))
        gate.touch()
        await visitor.see(visitor.page.locator(".box.completed", has_text="second"))
        await visitor.see(visitor.status("completed"))
        done(client, run_id)


async def test_a_run_that_asks_is_answered_where_it_is_seen(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("/new?workflow=studio")
    await page.get_by_label("What should be done?").fill(SCENE)
    await page.get_by_label("Model", exact=True).fill("rehearsal")
    await page.get_by_label("the route").check()
    await page.get_by_role("button", name="Start", exact=True).click()
    await visitor.see(visitor.status("needs you"))
    await expect(page).to_have_title(re.compile("needs you"))
    run_id = visitor.run_id
    await visitor.go("/?needs=you")
    await page.locator(f"a[href='/runs/{run_id}']").click()
    await page.get_by_role("button", name="Approve").click()
    await visitor.see(visitor.status("completed"))
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)


async def test_a_run_is_forked_at_a_step_with_another_reply(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        source = started(client, flow("quick"), "the sea")
        done(client, source)
        await visitor.go(f"/runs/{source}?tab=graph&step=write")
        await page.get_by_role("button", name="Fork from here").click()
        await page.get_by_label("Reply", exact=True).fill("Words of a person")
        await page.get_by_role("button", name="Fork", exact=True).click()
        await visitor.see(page.get_by_text(f"fork of {source}"))
        await visitor.see(visitor.status("completed"))
        assert visitor.run_id != source
        assert done(client, visitor.run_id)["output"] == "Words of a person"
        await visitor.go(f"/compare?a={source}&b={visitor.run_id}")
    await visitor.see(page.locator(".diff .new", has_text="Words of a person"))


async def test_a_run_is_cancelled_only_when_it_is_said_twice(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = started(client, flow("waits"), str(tmp_path / "never"))
        await visitor.go(f"/runs/{run_id}")
        await page.get_by_role("button", name="Cancel", exact=True).click()
        assert client.get(f"/api/runs/{run_id}").json()["status"] in ("queued", "running")
        await page.get_by_role("button", name="Cancel for good").click()
        await visitor.see(visitor.status("cancelled"))
        until(client, run_id, "cancelled")


async def test_a_lost_stream_is_reported_and_taken_up_again(visitor: Visitor, tmp_path: Path) -> None:
    page, gate = visitor.page, tmp_path / "gate"
    with visitor.server.client() as client:
        run_id = started(client, flow("waits"), str(gate))
        await page.route("**/events/stream*", lambda route: route.abort())
        await visitor.go(f"/runs/{run_id}?tab=graph")
        await visitor.see(page.get_by_text("Reconnecting… nothing is lost"))
        gate.touch()
        done(client, run_id)
        await page.unroute("**/events/stream*")
        await visitor.see(visitor.status("completed"))
        await page.get_by_text("Reconnecting…").wait_for(state="detached")
