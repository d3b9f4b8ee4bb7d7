"""Agents with tools in the browser: messages and calls, approvals, and a chat."""

from __future__ import annotations

import httpx2
from playwright.async_api import expect

import tests.report.acting
from tests.server.serving import done, started, until
from tests.ui.browsing import Visitor, needs_ui

pytestmark = needs_ui
ACTING = tests.report.acting.__file__


def waiting_run(client: httpx2.Client) -> str:
    run_id = started(client, f"{ACTING}:plan", "Add and pay", model=f"python:{ACTING}:model")
    until(client, run_id, "waiting")
    return run_id


async def test_the_transcript_shows_messages_calls_results_and_cost(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = waiting_run(client)
        client.post(f"/api/runs/{run_id}/answer", json={"answer": "approve"})
        done(client, run_id)
    await visitor.go(f"/runs/{run_id}?tab=transcript")
    talk = page.locator(".talk", has_text="Ida, plan (3 turns, 5 calls)")
    await expect(talk.locator(".message")).to_have_count(5)
    await expect(talk.locator(".message.user")).to_contain_text("Add and pay")
    added = talk.locator(".call", has_text="add(a=1, b=2)")
    await expect(added.locator("summary")).to_contain_text("done")
    await expect(added.locator("pre")).to_be_hidden()
    await added.locator("summary").click()
    await expect(added.locator("pre").first).to_contain_text('"a": 1')
    divided = talk.locator(".call", has_text="divide(a=1, b=0)")
    await expect(divided.locator(".state")).to_have_text("failed")
    await expect(talk.locator(".call", has_text="pay(amount=3.5)")).to_contain_text("$0.0200")
    await expect(page.locator("script", has_text="alert")).to_have_count(0)
    assert await visitor.flaws() == []

    await added.get_by_role("button", name="plan/tool[1.0]").click()
    await visitor.see(page.get_by_role("heading", name="add(a=1, b=2)"))
    await page.get_by_label("Which events").select_option("all")
    await visitor.see(page.locator(".event", has_text="divide: failed: ZeroDivisionError"))

    await visitor.go(f"/runs/{run_id}?tab=graph&step=plan%2Fturn%232")
    await visitor.see(page.get_by_role("heading", name="Plan, turn 2"))
    await expect(page.locator(".message")).to_have_count(4)
    await visitor.go(f"/runs/{run_id}?tab=budget")
    pay = page.get_by_role("group", name="Cost by tool").locator("tr", has_text="pay")
    await expect(pay).to_contain_text("$0.0200")
    assert await visitor.flaws() == []


async def test_a_call_is_approved_with_edited_arguments(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = waiting_run(client)
        await visitor.go(f"/runs/{run_id}")
        ask = page.locator(".ask")
        await expect(ask).to_contain_text("May the agent call pay?")
        await expect(ask.get_by_role("group", name="What it is about")).to_contain_text("3.5")
        assert await visitor.flaws() == []
        await ask.get_by_text("Edit the arguments").click()
        field = ask.get_by_label("Edit the arguments")
        await expect(field).to_have_value('{\n  "amount": 3.5\n}')
        await field.fill('{"amount": ')
        await ask.get_by_role("button", name="Approve these arguments").click()
        await visitor.see(ask.get_by_text("This is not valid JSON"))
        await field.fill('{"amount": "much"}')
        await ask.get_by_role("button", name="Approve these arguments").click()
        await visitor.see(ask.get_by_text("The answer does not fit"))
        await field.fill('{"amount": 2.5}')
        await ask.get_by_role("button", name="Approve these arguments").click()
        await visitor.see(visitor.status("completed"))
        await visitor.see(page.get_by_text("approved with edited arguments: amount=2.5"))
        messages = client.get(f"/api/runs/{run_id}/messages").json()["conversations"][0]["messages"]
        assert messages[3]["calls"][1]["result"] == "paid 2.5"


async def test_a_call_is_rejected_with_a_reason(visitor: Visitor) -> None:
    page = visitor.page
    with visitor.server.client() as client:
        run_id = waiting_run(client)
    await visitor.go(f"/runs/{run_id}")
    await page.get_by_text("Reject with a reason").click()
    await page.get_by_label("Reason").fill("too dear")
    await page.locator(".ask form").get_by_role("button", name="Reject").click()
    await visitor.see(visitor.status("completed"))
    await visitor.see(page.get_by_text("rejected: too dear"))


async def test_a_chat_of_two_messages(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("/new")
    await page.get_by_role("button", name="chat").click()
    await page.get_by_label("What should be done?").fill("hello there")
    await page.get_by_role("button", name="Start").click()
    log = page.get_by_role("log", name="Messages")
    answers = log.locator(".message.assistant", has_text="[rehearsal]")
    await expect(log.locator(".message.user")).to_have_text(["userhello there"])
    await expect(answers).to_have_count(1)
    await visitor.see(visitor.status("needs you"))
    await expect(page.locator(".ask")).to_have_count(0)
    box = page.get_by_label("Your message")
    await box.fill("and now?")
    await box.press("Enter")
    await expect(answers).to_have_count(2)
    await expect(log.locator(".message.user")).to_have_text(["userhello there", "userand now?"])
    await expect(box).to_have_value("")
    assert await visitor.flaws() == []
    await page.get_by_role("button", name="End the conversation").click()
    await visitor.see(visitor.status("completed"))
    await expect(box).to_have_count(0)
    await expect(answers).to_have_count(2)
