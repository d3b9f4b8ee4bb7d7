"""Tool calls of the Berkeley Function Calling Leaderboard through the agent loop.

`python -m benchmarks.bfcl` downloads `bfcl-eval` once. A scripted model makes the golden calls of each case;
the tools record what they get. It then makes broken variants of the same calls: each must go back to the
model with an error, and no tool may run. All of it twice: with tools made from the JSON schema, and with
function tools, whose arguments pydantic validates.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import podium
from benchmarks.bfcl_data import Case, Function, cases_of, golden_calls
from benchmarks.bfcl_mutants import LENIENT, mutants_of
from benchmarks.bfcl_tools import function_tool, schema_tool
from benchmarks.proof import Bars, at_once
from benchmarks.wheels import BFCL, unpacked
from podium.agents.tools import Tool
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.models.model import Call

PYTHON = {"simple_python": 400, "multiple": 200, "parallel": 200, "parallel_multiple": 200}
OTHERS = (
    "simple_java",
    "simple_javascript",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
WRONG_DATA = {"parallel_multiple_21", "parallel_multiple_94"}
"""Cases whose golden calls do not fit their own schemas."""
Make = Callable[[Function, Callable[..., Any]], Tool]
KINDS: dict[str, Make] = {"JSON schema": schema_tool, "function": function_tool}


class Outcome(NamedTuple):
    """The second turn of a run as the model sees it, and the calls that reached a function."""

    results: list[tuple[str, bool]]
    """Text of each result in the model's order, and whether it reports a failure."""
    ran: list[tuple[str, dict[str, Any]]]


@podium.workflow
async def one_ask(run: podium.Run, request: str) -> str:
    return await run.ask(AGENTS[request], "call", prompt="Make the calls.")


AGENTS: dict[str, podium.Agent] = {}


async def make_calls(case: Case, make: Make, calls: Sequence[ToolCall], store: Store) -> Outcome:
    """Let a scripted model make calls in one turn, and return what became of them."""
    ran: list[tuple[str, dict[str, Any]]] = []
    seen: list[tuple[str, bool]] = []

    def recording(name: str) -> Callable[..., Any]:
        async def body(**values: Any) -> dict[str, Any]:
            ran.append((name, values))
            return {"called": name, "with": values}

        return body

    async def model(call: Call) -> Any:
        if len(call.messages) == 1:
            return list(calls)
        seen.extend((message.text, message.failed) for message in call.messages if message.role == "tool")
        return "done"

    tools = [make(function, recording(function.name)) for function in case.functions]
    AGENTS[case.id] = podium.Agent("caller", tools=tools, max_tool_calls=len(calls) + 1)
    done = await podium.run(one_ask, case.id, model=model, store=store)
    if done.status != "completed":
        raise RuntimeError(f"{case.id}: {done.status}: {done.error}")
    return Outcome(seen, ran)


async def passes(case: Case, make: Make, store: Store) -> bool:
    """Return whether all golden calls reach their functions with their arguments, in the model's order."""
    calls = golden_calls(case)
    outcome = await make_calls(case, make, calls, store)
    wanted = [{"called": call.name, "with": call.arguments} for call in calls]
    if any(failed for _, failed in outcome.results):
        return False
    return [json.loads(text) for text, _ in outcome.results] == wanted and len(outcome.ran) == len(calls)


async def rejected(case: Case, make: Make, store: Store) -> Iterator[tuple[str, bool]]:
    """Send broken variants of the golden calls; return the kind of each and whether it was rejected."""
    mutants = [(kind, call) for call in golden_calls(case) for kind, call in mutants_of(case, call)]
    outcome = await make_calls(case, make, [call for _, call in mutants], store)
    failed = [was for _, was in outcome.results]
    if len(outcome.ran) != failed.count(False):
        raise RuntimeError(f"{case.id}: a call ran and was reported as failed, or the reverse")
    return zip([kind for kind, _ in mutants], failed, strict=True)


async def prove(data: Path, folder: Path, bars: Bars, every: int = 1) -> None:
    """Check each `every`-th case and print the tables."""
    python = {name: cases_of(data, name)[::every] for name in PYTHON}
    async with podium.open_store(f"sqlite:///{folder}/bfcl.sqlite") as store:
        print(f"{'golden calls dispatched':32}{'JSON schema':>14}{'function':>14}")
        failed: dict[str, set[str]] = {kind: set() for kind in KINDS}
        for name, cases in python.items():
            print(await _line(name, cases, store, failed))
        for kind in KINDS:
            wanted = sorted(WRONG_DATA & {case.id for cases in python.values() for case in cases})
            bars.check(f"cases that fail, {kind} tools", sorted(failed[kind]), wanted)
        for name in OTHERS:
            print(await _line(name, cases_of(data, name)[::every], store, {"JSON schema": set()}), "(no bar)")
        await _prove_mutants([case for cases in python.values() for case in cases], store, bars)


async def _line(name: str, cases: Sequence[Case], store: Store, failed: dict[str, set[str]]) -> str:
    line = f"{name:32}"
    for kind in failed:
        make = KINDS[kind]
        passed = await at_once([passes(case, make, store) for case in cases])
        wrong = {case.id for case, was in zip(cases, passed, strict=True) if not was}
        failed[kind] |= wrong
        line += f"{f'{len(cases) - len(wrong)} of {len(cases)}':>14}"
    return line


async def _prove_mutants(cases: Sequence[Case], store: Store, bars: Bars) -> None:
    every: Counter[str] = Counter()
    refused: dict[str, Counter[str]] = defaultdict(Counter)
    valid = [case for case in cases if case.id not in WRONG_DATA]
    for kind, make in KINDS.items():
        for outcomes in await at_once([rejected(case, make, store) for case in valid]):
            for mutant, was in outcomes:
                refused[kind][mutant] += was
                every[mutant] += kind == "function"
    print(f"\n{'broken calls sent back':32}{'JSON schema':>14}{'function':>14}{'of':>10}")
    for mutant, number in every.items():
        print(
            f"{mutant:32}{refused['JSON schema'][mutant]:>14,}{refused['function'][mutant]:>14,}{number:>10,}"
        )
    strict = {mutant: number for mutant, number in every.items() if mutant not in LENIENT}
    for kind in KINDS:
        names = every if kind == "JSON schema" else strict
        missed = {mutant: every[mutant] - refused[kind][mutant] for mutant in names}
        bars.check(f"broken calls that ran, {kind} tools", sum(missed.values()), 0)
    print(f"Function tools accept what pydantic converts without loss: {', '.join(LENIENT)}.")


def main() -> None:
    bars = Bars()
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with TemporaryDirectory() as folder:
        asyncio.run(prove(unpacked(BFCL) / "bfcl_eval" / "data", Path(folder), bars, every))
    sys.exit(bars.missed)


if __name__ == "__main__":
    main()
