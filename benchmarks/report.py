"""The findings as Markdown: goals first, then the tables behind them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.common import FULL, WORKLOADS, Sizes
from benchmarks.orchestration import Grown
from benchmarks.results import GOALS, Goal, Results, against, ratio, us_per_call
from benchmarks.short import Short

NAMES = {
    "steps": "Podium, `run.step`",
    "asks": "Podium, `run.ask`",
    "command": "Podium, `podium resume`",
    "langgraph": "LangGraph, SQLite saver, sync",
}

ASKERS = {
    "http": "bare HTTP client",
    "adapter": "Podium, the adapter alone",
    "ask": "Podium, `run.ask`",
    "pydantic_ai": "Pydantic AI, `Agent.run`",
    "langchain": "LangChain, `ainvoke`",
}

SHORT = {
    "plain": "plain asyncio",
    "commits": "five bare commits",
    "open": "Podium, one open store",
    "path": "Podium, a path as the store",
}


def titles(sizes: Sizes) -> dict[str, str]:
    return {
        "chain": f"chain of {sizes.chain}",
        "fanout": f"fan-out, 1 + {sizes.fanout} + 1",
        "tree": f"tree, {sizes.calls('tree'):,} calls, {sizes.cap} at once",
        "many": f"{sizes.runs} runs of {sizes.steps} steps at once",
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


def judge(goal: Goal, results: Results, sizes: Sizes) -> tuple[str, str, str, str]:
    value = goal.measure(results)
    digits = 0 if goal.unit in {"µs", "MB", ""} else 1 if goal.unit == "KB" else 2
    if value is None:
        verdict = "not measured"
    elif sizes != FULL:
        verdict = "small sizes"
    elif value <= goal.limit:
        verdict = "met"
    else:
        verdict = f"missed by {(value / goal.limit - 1) * 100:.0f} %" if goal.limit else "missed"
    return goal.name, f"{goal.limit:g} {goal.unit}", f"{number(value, digits)} {goal.unit}", verdict


def workload_rows(results: Results, sizes: Sizes, latency: float) -> Iterator[list[str]]:
    for workload in WORKLOADS:
        for subject, name in NAMES.items():
            found = results.find(subject, workload)
            if found is None:
                continue
            slow = results.find(subject, workload, latency)
            yield [
                titles(sizes)[workload],
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


def asked_rows(results: Results) -> Iterator[list[str]]:
    for asked in results.asked:
        for asker, walls in asked.one.items():
            yield [
                f"{ASKERS[asker]} {asked.versions.get(asker, '')}".strip(),
                number(statistics.median(walls) * 1000),
                number(against(asked.one, asker, "http")),
                number(statistics.median(asked.many[asker]) * 1000, 0),
                number(against(asked.many, asker, "http")),
            ]


def grown_line(grown: Grown) -> str:
    tree, plain = statistics.median(grown.tree_s), statistics.median(grown.plain_s)
    return (
        f"{grown.nodes:,} nodes, {grown.calls:,} calls of {grown.latency_s * 1000:,.0f} ms: {tree:.2f} s "
        f"({tree / grown.ideal_s:.3f} × ideal); plain asyncio {plain:.2f} s ({plain / grown.ideal_s:.3f} ×); "
        f"ideal {grown.ideal_s:.2f} s."
    )


def short_rows(short: Short) -> Iterator[list[str]]:
    for contender, title in SHORT.items():
        at_once, in_turn = short.at_once_ms[contender], short.in_turn_ms[contender]
        yield [
            title,
            number(statistics.median(at_once), 3),
            number(against(short.at_once_ms, contender, "open")),
            number(statistics.median(in_turn), 3),
            number(against(short.in_turn_ms, contender, "commits")),
        ]


def shut_in_rows(results: Results) -> Iterator[list[str]]:
    for program, by_tier in results.shut_in.items():
        bare = by_tier["bare"]
        for tier, took in by_tier.items():
            yield [program, tier, number(took, 1), number(took / bare, 1)]


def render(results: Results, sizes: Sizes, latency: float) -> str:
    """The whole report."""
    machine = ", ".join(f"{key} {value}" for key, value in results.machine.items())
    lines = ["# Benchmarks", "", f"{machine}.", ""]
    if sizes != FULL:
        lines += ["A quick look on small workloads, not judged: the goals are meant for the full ones.", ""]
    lines += table(["goal", "at most", "measured", ""], [judge(goal, results, sizes) for goal in GOALS])
    head = ["workload", "subject", "µs per step", "plain asyncio µs", "× plain", "× bare commit"]
    head += [f"× plain, {latency * 1000:.0f} ms model", "peak MB"]
    lines += ["", "## Per step", "", "Every fsync on; a fake model of 0 ms; medians, interleaved.", ""]
    lines += table(head, list(workload_rows(results, sizes, latency)))
    trees = [tree for tree in (results.real_tree, results.grown) if tree is not None]
    if trees:
        lines += ["", "## The `tree` workflow", ""] + [f"- {grown_line(tree)}" for tree in trees]
    if results.short is not None:
        lines += ["", "## Runs of three steps", ""]
        head = [
            "",
            f"{results.short.runs} at once, ms a run",
            "× open store",
            "in turn, ms a run",
            "× five commits",
        ]
        lines += table(head, list(short_rows(results.short)))
    lines += ["", "## After `kill -9`", ""]
    head = ["", "spawn to first new call s", "of it replay s", "calls made again", "complete"]
    lines += table(head, list(resume_rows(results)))
    if results.asked:
        lines += ["", "## A question over HTTP", ""]
        lines += [
            "The same data asked of one provider on loopback that answers at once; medians.",
            "",
        ]
        head = ["", "one, ms", "× bare", f"{sizes.fanout} at once, ms", "× bare"]
        lines += table(head, list(asked_rows(results)))
    if results.followed is not None:
        seen = results.followed
        lines += ["", f"## {seen.readers} readers of one busy run", ""]
        lines += [
            f"{seen.events:,} events, {seen.lost} lost; delay in ms: median {seen.median_ms:.0f}, "
            f"95 % {seen.p95_ms:.0f}, longest {seen.max_ms:.0f}."
        ]
    if results.shut_in:
        lines += ["", "## A program in the sandbox", ""]
        lines += table(["program", "", "ms", "× bare"], list(shut_in_rows(results)))
    if results.failures:
        lines += ["", "## Failed", ""] + [f"- {name}: {reason}" for name, reason in results.failures.items()]
    return "\n".join(lines) + "\n"
