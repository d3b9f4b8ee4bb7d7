"""Figures in the text format of Prometheus: few, and each a fact of the store or of this process."""

from __future__ import annotations

import time
from collections.abc import Iterable

from podium.server.callers import Caller
from podium.server.hall import Hall


async def exposition(hall: Hall, by: Caller) -> str:
    """Everything, or what is the caller's own."""
    totals = await hall.store.run_totals(by.owner)
    runs = [({"workflow": one.workflow, "status": one.status}, one.runs) for one in totals]
    calls = [({"workflow": one.workflow, "status": one.status}, one.usage.calls) for one in totals]
    usd = [({"workflow": one.workflow, "status": one.status}, one.usage.usd) for one in totals]
    tokens = [({"workflow": one.workflow, "status": one.status}, one.usage.tokens) for one in totals]
    running, queued = await hall.conductor.count_of(by.name if by.owner else None)
    parts = [
        _metric("podium_runs", "gauge", "Runs in the store.", runs),
        _metric("podium_model_calls", "gauge", "Model calls of these runs.", calls),
        _metric("podium_tokens", "gauge", "Tokens of these runs, in and out.", tokens),
        _metric("podium_cost_usd", "gauge", "What these runs have cost, in US dollars.", usd),
        _metric("podium_runs_driven", "gauge", "Runs that this server drives now.", [({}, running)]),
        _metric("podium_runs_queued", "gauge", "Runs that wait for a place.", [({}, queued)]),
    ]
    if by.owner is None:
        ends = [({"status": status}, number) for status, number in sorted(hall.conductor.finished.items())]
        uptime = round(time.monotonic() - hall.started, 3)
        parts += [
            _metric("podium_stretches_total", "counter", "How stretches of driving ended.", ends),
            _metric(
                "podium_stream_readers", "gauge", "Readers of live events.", [({}, hall.broadcasts.readers)]
            ),
            _metric("podium_uptime_seconds", "gauge", "Since the server started.", [({}, uptime)]),
        ]
    return "".join(parts)


def _metric(name: str, kind: str, text: str, samples: Iterable[tuple[dict[str, str], float]]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        told = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        lines.append(f"{name}{{{told}}} {value:g}" if told else f"{name} {value:g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
