"""Who spent what, on which model."""

from __future__ import annotations

import pytest

from podium.engine.events import BudgetSettled, Charge, EventData, StepCompleted, StepStarted
from podium.engine.state import RunState
from podium.models.events import ModelAttempted
from podium.report.data import Cost, costs_of, facts_of, price_word, summed
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from tests.report.logs import log

PAID = Charge(usd=0.25, input_tokens=100, output_tokens=10, calls=1)
UNPRICED = Charge(input_tokens=7, output_tokens=3, calls=1, unpriced_calls=1)
FREE = Charge(input_tokens=5, output_tokens=5, calls=1)


def asked(path: str, agent: str, model: str, *charges: Charge) -> list[tuple[str, EventData]]:
    calls = [ModelAttempted(attempt=1, model=model, ok=True, charge=charge) for charge in charges]
    return [
        (path, StepStarted(kind="ask", about={"agent": agent, "model": model})),
        *((path, c) for c in calls),
    ]


ENTRIES = [
    *asked("a", "writer", "openai:x", PAID, PAID),
    *asked("b", "critic", "openai:x", PAID),
    *asked("c", "writer", "python:/some/where/m.py:f", FREE),
    *asked("d", "critic", "nobody:y", UNPRICED),
]


def found(entries: list[tuple[str, EventData]]) -> list[Cost]:
    events = log(*entries)
    return costs_of(events, RunState.of(events))


def test_each_agent_with_each_model_is_one_entry() -> None:
    costs = found(ENTRIES)
    assert [(cost.agent, cost.model) for cost in costs] == [
        ("writer", "openai:x"),
        ("critic", "openai:x"),
        ("writer", "python:m.py:f"),
        ("critic", "nobody:y"),
    ]
    assert costs[0].usage == PAID + PAID
    assert summed((cost.model, cost.usage) for cost in costs)["openai:x"].calls == 3


def test_a_call_that_was_cut_off_counts_for_the_model_of_its_step() -> None:
    assert found([*asked("a", "writer", "openai:x"), ("a", BudgetSettled(charge=PAID))]) == [
        Cost("writer", "openai:x", PAID)
    ]


def test_what_a_step_of_the_workflow_spends_is_no_agents() -> None:
    assert found([("s", StepStarted()), ("s", StepCompleted(charge=PAID))]) == [Cost("steps", "", PAID)]


def test_inherited_calls_were_paid_by_another_run() -> None:
    data = ModelAttempted(attempt=1, model="m", ok=True, charge=PAID, inherited=True)
    assert found([("a", StepStarted(kind="ask")), ("a", data)]) == []


@pytest.mark.parametrize(
    ("usage", "word"),
    [
        (PAID, "$0.25"),
        (FREE, "free"),
        (UNPRICED, "price unknown"),
        (PAID + UNPRICED, "$0.25 + price unknown"),
        (PAID + FREE, "$0.25"),
        (Charge(calls=3), "$0.00"),
    ],
)
def test_free_is_not_unknown_and_a_failed_call_is_neither(usage: Charge, word: str) -> None:
    assert price_word(usage) == word


def test_reports_hold_the_table_in_every_format() -> None:
    facts = facts_of(log(*ENTRIES))
    markdown, html = to_markdown(facts), to_html(facts)
    assert "| writer | openai:x | 2 | 200 | 20 | $0.50 |" in markdown
    assert "| critic | nobody:y | 1 | 7 | 3 | price unknown |" in markdown
    assert "<td>writer</td><td>openai:x</td>" in html
    assert "price unknown" in html
    assert facts.by_agent["writer"].calls == 3
    assert "What it cost" not in to_markdown(facts_of(log(("s", StepStarted()))))
