"""`run`, `show`, `events` and `report` of agents with tools, and of a chat."""

from __future__ import annotations

import tests.report.acting
from tests.cli.shell import Shell

ACTING = tests.report.acting.__file__


def waiting_run(podium: Shell) -> str:
    flow = f"{ACTING}:plan"
    podium("run", flow, "Add and pay", "--model", f"python:{ACTING}:model", code=5)
    return podium("show", "--json").json["run_id"]


def test_show_names_tools_their_calls_and_their_cost(podium: Shell) -> None:
    run_id = waiting_run(podium)
    assert "amount: 3.5" in podium("show", run_id).out
    [question] = podium("show", run_id, "--json").json["questions"]
    assert question["answers"]["reject"] == {"type": "string"}
    podium("answer", run_id, '{"approve": {"amount": 2.5}}')
    out = podium("show", run_id).out
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert any(row.startswith("✓ tool[1.0] add(a=1, b=2)") for row in rows)
    assert any(row.startswith("✗ tool[1.1] divide(a=1, b=0)") and row.endswith("failed") for row in rows)
    assert any(row.startswith("pay 1 ") and row.endswith("$0.0200") for row in rows)
    [used] = [use for use in podium("show", run_id, "--json").json["tools"] if use["tool"] == "pay"]
    assert (used["calls"], used["failed"], used["cost_usd"]) == (1, 0, 0.02)


def test_show_of_a_turn_prints_its_messages_and_of_a_call_its_result(podium: Shell) -> None:
    run_id = waiting_run(podium)
    podium("answer", run_id, "approve")
    out = podium("show", run_id, "plan/turn#3").out
    parts = ["system\n", "Calculate.", "user\nAdd and pay", "attached notes.txt", "→ add(a=1, b=2)  done"]
    parts += ["    3\n", "→ pay(amount=3.5)  done  approved (by cli)", "    paid 3.5", "Ida\nIt is 3."]
    assert [part for part in parts if part not in out] == []
    assert "\x1b[31m" not in out
    call = podium("show", run_id, "plan/tool[2.1]").out
    assert [part for part in ("call id ", '"amount": 3.5', "paid 3.5", "$0.0200") if part not in call] == []
    data = podium("show", run_id, "plan/turn#2", "--json").json
    assert [message["role"] for message in data["messages"]] == ["system", "user", "assistant", "assistant"]
    assert podium("show", run_id, "plan/tool[1.0]", "--json").json["call"]["result"] == "3"


def test_a_chat_is_shown_as_messages(podium: Shell) -> None:
    podium("chat", "--model", "rehearsal", stdin="hello\nand now?\n")
    lines = podium("events").out
    assert "▸ you: hello" in lines
    assert "▸ you: and now?" in lines
    shown = podium("show", "last", "message#2").out
    assert [part for part in ("user\nhello", "user\nand now?", "assistant\n") if part not in shown] == []
    report = podium("report").out
    assert "## Conversation: assistant, message (2 turns)" in report
    assert "Asked of a person" not in report
