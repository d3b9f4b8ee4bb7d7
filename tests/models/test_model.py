"""What a call may cost, and what it did cost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.models.model import FREE, UNKNOWN, Call, Price, Usage, charge, estimate, worst_case


def ask(
    system: str = "", prompt: str = "", max_tokens: int = 100, schema: dict[str, Any] | None = None
) -> Call:
    return Call(
        run_id="r",
        workflow="w",
        path="p",
        agent="a",
        role="",
        task="t",
        system=system,
        prompt=prompt,
        schema=schema,
        max_tokens=max_tokens,
    )


def test_the_fields_of_a_call_are_those_of_the_specification() -> None:
    assert set(Call.__struct_fields__) == {
        "run_id",
        "workflow",
        "path",
        "agent",
        "role",
        "task",
        "system",
        "prompt",
        "schema",
        "attempt",
        "temperature",
        "max_tokens",
        "timeout",
        "messages",
        "tools",
        "files",
        "must_answer",
        "counted",
        "size",
    }


def test_the_worst_case_counts_bytes_in_and_max_tokens_out() -> None:
    schema = {"type": "object"}
    charge = worst_case(ask("héllo", "日本", 50, schema), FREE)
    assert charge == Charge(input_tokens=6 + 6 + len(encode(schema)), output_tokens=50, calls=1)


def test_the_worst_case_of_a_known_price_is_money() -> None:
    charge = worst_case(ask(prompt="x" * 1000, max_tokens=500), Price("known", 2.0, 10.0))
    assert charge.usd == pytest.approx((1000 * 2 + 500 * 10) / 1e6)
    assert charge.unpriced_calls == 0


def test_free_is_not_unknown() -> None:
    usage = Usage(10, 20)
    assert charge(FREE, usage) == Charge(0.0, 10, 20, 1, 0)
    assert charge(UNKNOWN, usage) == Charge(0.0, 10, 20, 1, 1)
    assert charge(Price("known", 1.0, 2.0), usage) == Charge(50 / 1e6, 10, 20, 1, 0)


def test_an_estimate_is_a_quarter_of_the_bytes_rounded_up() -> None:
    assert estimate(ask("ab", "cde"), "日本") == Usage(2, 2)
    assert estimate(ask(), "") == Usage(0, 0)


@given(system=st.text(), prompt=st.text(), reply=st.text(), most=st.integers(0, 20))
def test_an_estimate_never_passes_the_worst_case(system: str, prompt: str, reply: str, most: int) -> None:
    call = ask(system, prompt, most)
    usage, worst = estimate(call, reply), worst_case(call, FREE)
    assert usage.input_tokens <= worst.input_tokens
    assert usage.output_tokens <= worst.output_tokens


def test_lone_surrogates_can_be_counted() -> None:
    assert worst_case(ask(prompt="\ud800"), FREE).input_tokens == 3
