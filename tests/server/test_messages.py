"""Conversations over HTTP: messages, approvals with edited arguments, and a chat."""

from __future__ import annotations

from typing import Any

import httpx2

import tests.report.acting
from tests.server.serving import done, started, until

ACTING = tests.report.acting.__file__


def acting(client: httpx2.Client) -> str:
    """Start a run of an agent with tools that waits for an approval."""
    run_id = started(client, f"{ACTING}:plan", "Add and pay", model=f"python:{ACTING}:model")
    until(client, run_id, "waiting")
    return run_id


def view_of(client: httpx2.Client, run_id: str) -> Any:
    return client.get(f"/api/runs/{run_id}/view").json()["view"]


def test_messages_tools_and_a_question_with_its_schemas(client: httpx2.Client) -> None:
    run_id = acting(client)
    view = view_of(client, run_id)
    [(path, question)] = view["questions"].items()
    assert question["answers"]["approve"]["properties"]["amount"] == {"type": "number"}
    assert question["details"]["arguments"] == {"amount": 3.5}
    assert view["conversations"] == 2
    assert (view["steps"]["plan"]["turn"], view["steps"]["plan/tool[1.0]"]["call"]) == (1, "add(a=1, b=2)")

    body = {"answer": {"approve": {"amount": "much"}}, "question": path}
    refused = client.post(f"/api/runs/{run_id}/answer", json=body)
    assert refused.status_code == 422
    assert "does not fit" in refused.json()["error"]
    body["answer"] = {"approve": {"amount": 2.5}}
    assert client.post(f"/api/runs/{run_id}/answer", json=body).status_code == 202
    done(client, run_id)

    shown = client.get(f"/api/runs/{run_id}/messages").json()
    ida, otto = shown["conversations"]
    assert (ida["title"], otto["agent"]) == ("Ida, plan (3 turns, 5 calls)", "Otto")
    paid = ida["messages"][3]["calls"][1]
    assert (paid["words"], paid["result"], paid["cost_usd"]) == ("pay(amount=2.5)", "paid 2.5", 0.02)
    tools = view_of(client, run_id)["tools"]
    assert tools["pay"] | {"seconds": 0} == {"calls": 1, "cost_usd": 0.02, "seconds": 0}
    assert tools["divide"]["failed"] == 1
    assert "tool pay" not in view_of(client, run_id)["agents"]

    second = client.get(f"/api/runs/{run_id}/messages", params={"path": "plan/turn#2"}).json()
    assert [message["turn"] for message in second["conversations"][0]["messages"][2:]] == [1, 2]
    call = client.get(f"/api/runs/{run_id}/messages", params={"path": "plan/tool[2.1]"}).json()
    assert (call["conversations"], call["call"]) == ([], paid)
    nothing = client.get(f"/api/runs/{run_id}/messages", params={"path": "elsewhere"}).json()
    assert nothing["conversations"] == []
    assert "pay(amount=2.5)" in client.get(f"/api/runs/{run_id}/report").text


def test_a_chat_over_http(client: httpx2.Client) -> None:
    run_id = started(client, "chat", "hello")
    for number, text in enumerate(("and now?", "/end")):
        until(client, run_id, "waiting")
        detail = view_of(client, run_id)["detail"]
        assert detail["kind"] == "chat"
        assert detail["next"] == ("question" if number == 0 else "question#2")
        client.post(f"/api/runs/{run_id}/answer", json={"answer": text, "question": detail["next"]})
    finished = done(client, run_id)
    assert finished["deliverable"].startswith("[rehearsal]")
    [talk] = client.get(f"/api/runs/{run_id}/messages").json()["conversations"]
    texts = [message["text"] for message in talk["messages"] if message["role"] == "user"]
    assert texts == ["hello", "and now?"]
    assert "next" not in view_of(client, run_id)["detail"]
