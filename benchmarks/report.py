"""The findings as Markdown: goals first, then the tables behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.common import WORKLOADS
from benchmarks.results import GOALS, Goal, Results, ratio, us_per_call

NAMES = {
    "steps": "Podium, `run.step`",
    "asks": "Podium, `run.ask`",
    "langgraph": "LangGraph, SQLite saver, sync",
}
TITLES = {
    "chain": "chain of 200",
    "fanout": "fan-out, 1 + 200 + 1",
    "tree": "tree of 1,555 nodes, 64 at once",
    "many": "500 runs of 10 steps at once",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table that also reads well as plain text."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"| {' | '.join(padded)} |"

    return [line(head), line(["-" * width for width in widths]), *map(line, rows)]


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def judge(goal: Goal, results: Results) -> tuple[str, str, str, str]:
    value = goal.measure(results)
    digits = 0 if goal.unit in {"µs", "MB", ""} else 1 if goal.unit == "KB" else 2
    if value is None:
        verdict = "not measured"
    elif value <= goal.limit:
        verdict = "met"
    else:
        verdict = f"missed by {(value / goal.limit - 1) * 100:.0f} %" if goal.limit else "missed"
    return goal.name, f"{goal.limit:g} {goal.unit}", f"{number(value, digits)} {goal.unit}", verdict


def workload_rows(results: Results, latency: float) -> Iterator[list[str]]:
    for workload in WORKLOADS:
        for subject, name in NAMES.items():
            found = results.find(subject, workload)
            if found is None:
                continue
            slow = results.find(subject, workload, latency)
            yield [
                TITLES[workload],
                name,
                number(us_per_call(found), 0),
                number(us_per_call(found, "plain"), 1),
                number(ratio(found, "plain"), 1),
                number(ratio(found, "commit")),
                number(ratio(slow, "plain") if slow else None),
                number(found.peak_mb, 0),
            ]


def resume_rows(results: Results) -> Iterator[list[str]]:
    for key, found in results.resumed.items():
        subject, _, _ = key.partition(" ")
        yield [
            f"{NAMES[subject]}, {found.done_before:,} steps done",
            number(found.spawn_to_first_call_s),
            number(found.ask_to_first_call_s, 3),
            str(found.repeated),
            "yes" if found.complete else "no",
        ]


def render(results: Results, latency: float) -> str:
    """The whole report."""
    machine = ", ".join(f"{key} {value}" for key, value in results.machine.items())
    lines = ["# Benchmarks", "", f"{machine}.", ""]
    lines += table(["goal", "at most", "measured", ""], [judge(goal, results) for goal in GOALS])
    head = ["workload", "subject", "µs per step", "plain asyncio µs", "× plain", "× bare commit"]
    head += [f"× plain, {latency * 1000:.0f} ms model", "peak MB"]
    lines += ["", "## Per step", "", "Every fsync on; a fake model of 0 ms; medians, interleaved.", ""]
    lines += table(head, list(workload_rows(results, latency)))
    lines += ["", "## After `kill -9`", ""]
    head = ["", "spawn to first new call s", "of it replay s", "calls made again", "complete"]
    lines += table(head, list(resume_rows(results)))
    if results.followed is not None:
        seen = results.followed
        lines += ["", f"## {seen.readers} readers of one busy run", ""]
        lines += [f"{seen.events:,} events, {seen.lost} lost; delay in ms: median {seen.median_ms:.0f}, "
                  f"95 % {seen.p95_ms:.0f}, longest {seen.max_ms:.0f}."]  # fmt: skip
    if results.failures:
        lines += ["", "## Failed", ""] + [f"- {name}: {reason}" for name, reason in results.failures.items()]
    return "\n".join(lines) + "\n"
