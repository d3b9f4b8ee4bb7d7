"""Each of the five workflows from its form to a fork, in one page that is never loaded anew.

The model is the rehearsal, held back until the test lets it go: so what appears was not there before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.ui.browsing import ROOT, Visitor, needs_ui

pytestmark = needs_ui

CORPUS = ROOT / "tests" / "workflows" / "research" / "example"
MODEL = """
import asyncio
from pathlib import Path

import podium
from podium.models.rehearsal import Rehearsal


async def patient(call: podium.Call) -> object:
    while not Path({gate!r}).exists():
        await asyncio.sleep(0.01)
    reply = await Rehearsal().complete(call)
    return list(reply.tool_calls) or reply.text
"""


@dataclass(frozen=True)
class Case:
    """A workflow, where it asks, and what in its picture is there only later."""

    workflow: str
    gate: str
    appears: str
    before: int = 0
    request: str = "Create a dramatic opening scene where two rivals meet on a night train"
    options: dict[str, str] = field(default_factory=dict[str, str])


CASES = (
    Case("tree", "plan", ".box", before=1),
    Case("studio", "result", ".who-chip.good"),
    Case("council", "result", ".idea"),
    Case(
        "research",
        "plan",
        ".grid .face",
        request="How are batteries changing the electricity grid?",
        options={"Corpus": str(CORPUS)},
    ),
    Case("build", "plan", ".checklist li", request="Write a function that adds two numbers"),
)


SIGNS = {"timeline": ".bar", "transcript": ".event, .message", "budget": ".meters", "artifacts": ".pick"}
"""What each further tab of a finished run shows."""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    (tmp_path / "patient.py").write_text(MODEL.format(gate=str(tmp_path / "gate")))
    return tmp_path / "gate"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.workflow)
async def test_a_run_is_started_watched_approved_read_and_forked(
    visitor: Visitor, case: Case, gate: Path, tmp_path: Path
) -> None:
    page = visitor.page
    if case.workflow == "build":
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "README.md").write_text("# A project\n")
        case = replace(case, options={"Workspace": str(tmp_path / "project")})
    await fill_in(visitor, case, f"python:{tmp_path / 'patient.py'}:patient")
    await visitor.see(visitor.status("running"))
    first, loads = visitor.run_id, visitor.loads
    await page.get_by_role("link", name="graph").click()
    shown = page.locator(case.appears)
    await expect(shown).to_have_count(case.before)
    gate.touch()  # noqa: ASYNC240 - it is tiny
    await approve_until_done(visitor)
    await visitor.see(shown.nth(case.before))
    await expect(page.locator(".astable")).to_have_count(1)
    tabs = page.get_by_role("navigation", name="Parts of the run")
    for tab, sign in SIGNS.items():
        await tabs.get_by_role("link", name=tab).click()
        await visitor.see(page.locator(sign))
    await page.get_by_role("link", name="overview").click()
    await visitor.see(page.frame_locator("iframe.report").locator("h1"))
    await fork(visitor)
    await visitor.see(page.get_by_text(f"fork of {first}"))
    await approve_until_done(visitor)
    assert visitor.run_id != first
    assert visitor.loads == loads, "the page had to be loaded again"


async def fill_in(visitor: Visitor, case: Case, model: str) -> None:
    page = visitor.page
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="New run").click()
    await page.get_by_role("group", name="Workflow").get_by_role("button", name=case.workflow).click()
    await page.get_by_label("What should be done?").fill(case.request)
    await page.get_by_label("Model", exact=True).fill(model)
    for name, value in case.options.items():
        option = page.get_by_label(name, exact=True)
        if not await option.is_visible():
            await page.get_by_text("more", exact=False).last.click()
        await option.fill(value)
    await page.get_by_label(f"the {case.gate}").check()
    await page.get_by_role("button", name="Start", exact=True).click()


async def approve_until_done(visitor: Visitor) -> None:
    """Say yes whenever the run asks: a fork asks again what lies behind its step."""
    over, asks = visitor.status("completed"), visitor.page.get_by_role("button", name="Approve")
    while True:
        await either(over, asks)
        if await over.count():
            return
        await asks.first.click()
        await visitor.page.get_by_text("Sent: approve").first.wait_for(state="detached")


async def either(first: Locator, other: Locator) -> None:
    await first.or_(other).first.wait_for()


async def fork(visitor: Visitor) -> None:
    """From the first piece of work in the timeline, with its reply changed."""
    page = visitor.page
    await page.get_by_role("link", name="timeline").click()
    await page.locator(".bar").first.click()
    await page.get_by_role("button", name="Fork from here").click()
    reply = page.get_by_label("Reply", exact=True)
    await reply.fill((await reply.input_value()).replace("[rehearsal]", "[edited]"))
    await page.get_by_role("button", name="Fork", exact=True).click()
