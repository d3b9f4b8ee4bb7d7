"""What a person can do beside starting and answering: pause, filter, correct facts, settings, large runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
from benchmarks.forest import RUN, events_of, rows_of, summary_of
from playwright.async_api import TimeoutError as PlaywrightTimeoutError
from playwright.async_api import expect

from podium.engine.log import Row
from podium.stores import open_store
from tests.server.serving import done, flow, started, until
from tests.ui.browsing import Visitor, needs_ui

pytestmark = needs_ui


async def test_a_run_is_paused_and_goes_on(visitor: Visitor, tmp_path: Path) -> None:
    page, gate = visitor.page, tmp_path / "gate"
    with visitor.server.client() as client:
        run_id = started(client, flow("waits"), str(gate))
        until(client, run_id, "running")
        await visitor.go(f"/runs/{run_id}")
        await page.get_by_role("button", name="Pause").click()
        await visitor.see(visitor.status("paused"))
        gate.touch()
        await page.get_by_role("button", name="Resume").click()
        await page.get_by_role("dialog").get_by_label("Most calls").fill("50")
        await page.get_by_role("dialog").get_by_role("button", name="Resume").click()
        await visitor.see(visitor.status("completed"))
        assert client.get(f"/api/runs/{run_id}").json()["budget"]["calls"] == 50


async def test_the_list_shows_cost_against_budget_and_keeps_its_filters_in_the_address(
    visitor: Visitor,
) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        until(client, started(client, flow("asks"), "the quiet sea"), "waiting")
        done(client, started(client, "tree", "the loud city", budget={"usd": 2, "calls": 100}))
    await visitor.go("/")
    rows = page.locator(".runs tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(0)).to_contain_text("needs you")  # whoever needs a person comes first
    await expect(rows.nth(1)).to_contain_text("$0.00 / $2.00")
    await expect(rows.nth(1).get_by_role("meter")).to_have_attribute("aria-label", "18 of 100 calls")
    await page.get_by_role("button", name="Needs you").click()
    await page.wait_for_url("**/?needs=you")
    await expect(rows).to_have_count(1)
    await page.get_by_role("button", name="Needs you").click()
    await page.get_by_label("Workflow").select_option("tree")
    await page.get_by_label("Search runs").fill("loud")
    await page.wait_for_url("**/?workflow=tree&q=loud")
    await page.reload()
    await expect(rows).to_have_count(1)
    await expect(page.get_by_label("Search runs")).to_have_value("loud")
    await page.get_by_label("Status").select_option("failed")
    await visitor.see(page.get_by_text("No runs match these filters."))


async def test_facts_are_reviewed_and_corrected_and_keep_their_history(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        options = {"project": "night-train"}
        done(client, started(client, "studio", "A scene in the harbour at dawn", options=options))
    await visitor.go("/brain")
    waiting = page.get_by_role("group", name="Facts that wait").locator("tbody tr")
    canon = page.get_by_role("group", name="Canon").locator("tbody tr")
    await visitor.see(waiting)
    first = await waiting.count()
    await waiting.first.get_by_role("button", name="Discard").click()
    await expect(waiting).to_have_count(first - 1)
    await waiting.first.get_by_role("button", name="Accept").click()
    await expect(canon).to_have_count(1)
    await canon.first.get_by_role("button", name="Correct").click()
    await page.get_by_role("dialog").get_by_label("Value", exact=True).fill("the people of the harbour")
    await page.get_by_role("button", name="Save").click()
    await expect(canon.first).to_contain_text("the people of the harbour")
    await canon.first.get_by_role("button", name="Correct").click()
    await page.get_by_text("History").click()
    await visitor.see(page.get_by_role("dialog").get_by_text("was “"))
    await page.get_by_role("button", name="Take out of canon").click()
    await visitor.see(page.get_by_text("Nothing is canon yet."))


async def test_the_team_page_shows_how_everybody_did(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        done(client, started(client, "studio", "Create a dramatic opening scene on a night train"))
    await visitor.go("/team")
    plot = page.locator("tr", has_text="Plot Specialist")
    await expect(plot.locator("td").nth(2)).to_have_text("")
    await page.get_by_label("Count rehearsals").check()
    await expect(plot.locator("td").nth(2)).to_have_text("1")


async def test_settings_show_what_the_server_runs_with_and_keep_the_theme(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("/settings")
    for shown in ("The only user of this server", "set OPENAI_API_KEY", "at most 20 at once", "bubblewrap"):
        await visitor.see(page.get_by_text(shown))
    assert visitor.server.token not in await page.content()
    await page.get_by_label("Dark", exact=True).check()
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.get_by_label("As the system").check()
    await page.emulate_media(color_scheme="light")
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")


async def test_a_run_of_two_thousand_nodes_is_drawn_chosen_from_and_followed(visitor: Visitor) -> None:
    page, rows = visitor.page, rows_of(2000)
    async with open_store(f"sqlite:///{visitor.server.folder / 'podium.sqlite'}") as store:
        await store.create(summary_of(2000), rows)
        lease = await store.acquire(RUN)
        await visitor.go(f"/runs/{RUN}?tab=graph")
        await visitor.see(page.locator(".turn", has_text="156 nodes · $0.16"))
        assert await page.locator(".box").count() <= 300, "the rest is counted"
        await expect(page.locator(".facts")).to_contain_text("2000")  # all of it is there: nothing moves now
        part, heading = page.locator(".box", has_text="Part 4 of root").first, page.get_by_role("heading")
        for _ in range(10):  # a click is lost if the graph is drawn anew at that moment
            await part.get_by_role("button").first.click()
            with suppress(PlaywrightTimeoutError):
                await heading.filter(has_text="4-part").first.wait_for(timeout=5_000)
                break
        await visitor.see(heading.filter(has_text="4-part"))
        for number, (path, kind, data) in enumerate(events_of("root/900-late", "root"), len(rows) + 1):
            store.append(lease, Row(number, rows[-1].time_us + number, path, kind, msgspec.json.encode(data)))
        store.commit(lease)
        await expect(page.locator(".facts")).to_contain_text("2001")
        await page.get_by_role("link", name="transcript").click()
        await visitor.see(page.get_by_text("20,012 events"))
        assert await page.locator(".event").count() < 100, "only lines on screen are drawn"
        await store.release(lease)
