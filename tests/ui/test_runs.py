"""A person starts runs in the browser, watches, answers, forks: with a real server and a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.serving import done, flow, started, until
from tests.ui.browsing import ROOT, Visitor, needs_ui

pytestmark = needs_ui

CORPUS = ROOT / "tests" / "workflows" / "research" / "example"
SCENE = "Create a dramatic opening scene where two rivals meet on a night train"


@pytest.mark.parametrize(
    ("workflow", "picture", "option", "wish"),
    [
        ("tree", ".box", "", SCENE),
        ("studio", ".dept", "", SCENE),
        ("council", ".idea", "", SCENE),
        ("research", ".strip", "Corpus", "How are batteries changing the electricity grid?"),
        ("build", ".checklist", "Workspace", "Write a function that adds two numbers"),
    ],
)
async def test_a_run_of_each_workflow_is_started_from_its_form_and_shown(
    visitor: Visitor, workflow: str, picture: str, option: str, wish: str, tmp_path: Path
) -> None:
    page, folders = visitor.page, {"Corpus": CORPUS, "Workspace": tmp_path / "project"}
    folders["Workspace"].mkdir()
    (folders["Workspace"] / "README.md").write_text("# A project\n")
    await visitor.go(f"/new?workflow={workflow}")
    await page.get_by_label("What should be done?").fill(wish)
    await page.get_by_label("Model", exact=True).fill("rehearsal")
    await page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    if option:
        await page.get_by_label(option, exact=True).fill(str(folders[option]))
    await page.get_by_role("button", name="Start", exact=True).click()
    await visitor.see(visitor.status("completed"))
    report = page.frame_locator("iframe.report")
    await visitor.see(report.get_by_text("Rehearsal."))
    await page.get_by_role("link", name="graph").click()
    await visitor.see(page.locator(picture))
    assert await page.locator(".astable").count() == 1
    for tab, sign in (
        ("timeline", ".bar"),
        ("transcript", ".event"),
        ("budget", ".meters"),
        ("artifacts", ".pick"),
    ):
        tabs = page.get_by_role("navigation", name="Parts of the run")
        await tabs.get_by_role("link", name=tab).click()
        await visitor.see(page.locator(sign))


async def test_a_form_says_what_is_wrong_before_anything_is_started(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("/new?workflow=council")
    await page.get_by_label("rounds").fill("9")
    await page.get_by_role("button", name="Start", exact=True).click()
    await visitor.see(page.get_by_text("Say what should be done."))
    await visitor.see(page.get_by_text("At most 5."))
    with visitor.server.client() as client:
        assert client.get("/api/runs").json()["runs"] == []


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
    assert "needs you" in await page.title()
    run_id = visitor.run_id
    await visitor.go("/?needs=you")
    await page.locator(f"a[href='/runs/{run_id}']").click()
    await page.get_by_role("button", name="Approve").click()
    await visitor.see(visitor.status("completed"))
    assert await page.get_by_role("button", name="Approve").count() == 0


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


async def test_a_lost_stream_is_told_and_taken_up_again(visitor: Visitor, tmp_path: Path) -> None:
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
