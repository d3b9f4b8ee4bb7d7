"""Whatever a model writes, wherever it is shown: none of it runs, and nothing is asked of elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser

from podium.brain.brain import Brain
from podium.engine.log import Row, RunRow
from podium.engine.store_parts import Fact
from podium.settings import Settings
from podium.stores import open_store
from tests.server.serving import Served, done, events_of, started
from tests.ui.browsing import POLLING_MS, ROOT, Visitor, needs_ui
from tests.ui.poison import HOSTILE, bad, poisoned, row, sampled

pytestmark = needs_ui

WISHES = {
    "tree": "Plan a weekend in Lisbon",
    "studio": "Create a dramatic opening scene on a night train",
    "council": "How can a small library win back teenagers?",
    "research": "How are batteries changing the electricity grid?",
    "build": "Write a function that adds two numbers",
}
OPTIONS = {"research": {"corpus": str(ROOT / "tests" / "workflows" / "research" / "example")}}
TABS = ("overview", "graph", "graph&view=steps", "timeline", "transcript", "artifacts", "budget")
GROWN = "main :is(script, object, embed, base, link, img[src^='http'], iframe:not([sandbox='']))"
"""What only HTML that was let in could have made."""
OPEN_ALL = "document.querySelectorAll('main details').forEach(one => { one.open = true })"
SHOWN = "() => document.body.innerText.includes('document.documentElement.dataset.ran')"


async def put(server: Served, run_id: str, rows: list[Row], workflow: str, status: str) -> None:
    """A run as if a process had written it; every text of its summary is hostile, too."""
    async with open_store(f"sqlite:///{server.folder / 'podium.sqlite'}") as store:
        summary = RunRow(
            run_id=run_id,
            workflow=workflow,
            request=bad("wish"),
            status=status,
            stop_reason=bad("reason"),
            created_us=rows[0].time_us,
            updated_us=rows[-1].time_us,
            model=bad("model"),
        )
        await store.create(summary, rows)


async def look(visitor: Visitor, path: str, *, full: bool = True) -> None:
    """Open a screen with everything that can be unfolded, and look whether anything ran in any frame."""
    page = visitor.page
    await page.goto(f"{visitor.server.base}{path}")
    await visitor.settle()
    await page.evaluate(OPEN_ALL)
    if full:
        await page.wait_for_function(
            SHOWN, polling=POLLING_MS
        )  # a page that shows nothing of it would check nothing
    await nothing_ran(visitor, path)


async def nothing_ran(visitor: Visitor, path: str) -> None:
    for frame in visitor.page.frames:
        assert await frame.locator("html[data-ran]").count() == 0, f"a script ran on {path}"
    assert await visitor.page.locator(GROWN).count() == 0, path


@pytest.mark.slow
@pytest.mark.parametrize("workflow", WISHES)
async def test_nothing_in_the_log_of_a_run_is_more_than_text(visitor: Visitor, workflow: str) -> None:
    """The log of a real run, with every text in it replaced by a hostile one."""
    dialogs = watch_dialogs(visitor)
    with visitor.server.client() as client:
        source = started(client, workflow, WISHES[workflow], options=OPTIONS.get(workflow, {}))
        done(client, source)
        events = events_of(client, source)
    await put(visitor.server, "poisoned", poisoned(events), workflow, "completed")
    await look_at_run(visitor, "poisoned")
    await look(visitor, "/")
    if workflow == "tree":  # the page of a comparison is the same for all workflows
        await put(visitor.server, "sampled", sampled(workflow), workflow, "failed")
        await look(visitor, "/compare?a=poisoned&b=sampled")
    await visitor.page.goto(f"{visitor.server.base}/api/runs/poisoned/report?format=html")
    await nothing_ran(visitor, "the report")
    assert dialogs == []


@pytest.mark.slow
@pytest.mark.parametrize("workflow", WISHES)
async def test_no_field_of_an_event_is_more_than_text(visitor: Visitor, workflow: str) -> None:
    """Every event type that there is, with a hostile text in each of its fields."""
    dialogs = watch_dialogs(visitor)
    await put(visitor.server, "sampled", sampled(workflow), workflow, "failed")
    await look_at_run(visitor, "sampled")
    assert dialogs == []


def watch_dialogs(visitor: Visitor) -> list[str]:
    """The messages of all dialogs that a script opens from now on."""
    dialogs: list[str] = []
    visitor.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    return dialogs


async def look_at_run(visitor: Visitor, run_id: str) -> None:
    for tab in TABS:
        await look(visitor, f"/runs/{run_id}?tab={tab}")
    await look_at_steps(visitor, run_id)


async def look_at_steps(visitor: Visitor, run_id: str) -> None:
    """What stands beside a picture: the first steps, with prompt, reply and grades; and a fork."""
    page = visitor.page
    await page.goto(f"{visitor.server.base}/runs/{run_id}?tab=timeline")
    await page.locator(".bar").first.wait_for()
    await visitor.settle()
    for number in range(min(3, await page.locator(".bar").count())):
        await page.locator(".bar").nth(number).click()
        await page.wait_for_url("**step=**")
        await visitor.settle()
        await page.evaluate(OPEN_ALL)
        await nothing_ran(visitor, f"step {number} of {run_id}")
    if await page.get_by_role("button", name="Fork from here").count():
        await page.get_by_role("button", name="Fork from here").click()
        await page.get_by_role("dialog").wait_for()
        await visitor.settle()
        await nothing_ran(visitor, f"the fork of {run_id}")


async def test_facts_and_what_a_run_asks_are_text(visitor: Visitor) -> None:
    server = visitor.server
    facts = [
        Fact(subject=bad(f"who {number}"), predicate=text, value=bad(text), quote=text)
        for number, text in enumerate(HOSTILE)
    ]
    async with open_store(f"sqlite:///{server.folder / 'podium.sqlite'}") as store:
        settings = Settings.load(cwd=server.folder, env={})
        brain = await Brain.open(store, HOSTILE[1], settings=settings)
        await brain.propose("some-run", facts)
        await brain.close()
    question = {"question": bad("?"), "choices": HOSTILE[:4], "details": [{HOSTILE[5]: bad("detail")}]}
    rows = [
        row(1, "", "run.created", {"workflow": "studio", "request": bad("wish")}),
        row(2, "", "run.started", {}),
        row(3, "q", "run.waiting", question),
    ]
    await put(server, "asking", rows, "studio", "waiting")
    await look(visitor, "/runs/asking")
    await look(visitor, "/?needs=you")
    await look(visitor, "/brain")
    await visitor.page.get_by_role("button", name="Correct").first.click()
    await visitor.page.get_by_role("dialog").wait_for()
    await visitor.settle()
    await nothing_ran(visitor, "a fact")


@asynccontextmanager
async def guarded(browser: Browser, server: Served) -> AsyncGenerator[Visitor]:
    """Pages that keep to the server's policy: files are as a model wrote them, and are held by it."""
    async with await browser.new_context() as context:
        visitor = Visitor(await context.new_page(), server)
        await visitor.enter()
        yield visitor


@pytest.mark.parametrize("media", ["text/html", "image/svg+xml", "text/markdown", "application/xhtml+xml"])
async def test_a_file_of_a_model_runs_and_fetches_nothing_where_it_is_shown(
    browser: Browser, server: Served, media: str, tmp_path: Path
) -> None:
    page = f"<!doctype html><html><body>{''.join(HOSTILE)}</body></html>".encode()
    async with open_store(f"sqlite:///{tmp_path / 'podium.sqlite'}") as store:
        blob = store.put_blob(page)
        made = {
            "id": "made",
            "name": f"page {HOSTILE[1]}",
            "media_type": media,
            "bytes": len(page),
            "blob": blob,
        }
        rows = [
            row(1, "", "run.created", {"workflow": "studio", "request": "wish"}),
            row(2, "artifact[made]", "artifact.created", made),
            row(3, "", "run.completed", {"output": {"text": bad()}, "driven_s": 1.0, "usage": {}}),
        ]
        summary = RunRow(run_id="filed", workflow="studio", request="wish", status="completed")
        await store.create(summary, rows, [page])
    async with guarded(browser, server) as visitor:
        await look(visitor, "/runs/filed?tab=artifacts&file=made", full=False)
        await visitor.page.goto(
            f"{server.base}/api/runs/filed/artifacts/made?inline=true", wait_until="commit"
        )
        await nothing_ran(visitor, "the file itself")
    assert visitor.errors == []
    assert visitor.foreign == []
