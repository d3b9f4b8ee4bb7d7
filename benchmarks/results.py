"""Everything that one run of the benchmarks found, and the goals it is held against."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.asking import Asked
from benchmarks.crash import Resumed
from benchmarks.orchestration import Grown
from benchmarks.readers import Followed
from benchmarks.short import Short
from benchmarks.worker import Measured


@dataclass
class Results:
    """A part that failed is missing here and named in `failures`."""

    machine: dict[str, str] = field(default_factory=dict[str, str])
    workloads: list[Measured] = field(default_factory=list[Measured])
    resumed: dict[str, Resumed] = field(default_factory=dict[str, Resumed])
    """By `subject steps`, for example `steps 200`."""
    followed: Followed | None = None
    asked: list[Asked] = field(default_factory=list[Asked])
    """Each beside a bare client of its own virtual environment."""
    grown: Grown | None = None
    """The `tree` workflow at its largest, with a model of 20 ms."""
    real_tree: Grown | None = None
    """A smaller one, with a model of 1 s."""
    short: Short | None = None
    """Runs of three steps."""
    shut_in: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Milliseconds of programs, `bare` and by the tier of the sandbox that they ran in."""
    idle_kb: dict[str, float] = field(default_factory=dict[str, float])
    startup: dict[str, float] = field(default_factory=dict[str, float])
    replay_s: float | None = None
    core_mb: float | None = None
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def find(self, subject: str, workload: str, latency: float = 0.0) -> Measured | None:
        for found in self.workloads:
            if (found.subject, found.workload, found.latency) == (subject, workload, latency):
                return found
        return None


def us_per_call(found: Measured, contender: str = "") -> float:
    """Overhead: what is left of the median wall time when the model's own time is taken away."""
    wall = statistics.median(found.walls[contender or found.subject])
    return (wall - found.ideal) / found.calls * 1e6


def ratio(found: Measured, to: str) -> float | None:
    """Wall time against another contender's: the median over rounds, in each of which both ran."""
    if to not in found.walls:
        return None
    pairs = zip(found.walls[found.subject], found.walls[to], strict=True)
    return statistics.median(own / other for own, other in pairs)


def against(found: dict[str, list[float]], asker: str, other: str) -> float | None:
    """The same for questions over HTTP."""
    if asker not in found or other not in found:
        return None
    pairs = zip(found[asker], found[other], strict=True)
    return statistics.median(own / theirs for own, theirs in pairs)


@dataclass(frozen=True)
class Goal:
    """A number that is not to be passed."""

    name: str
    limit: float
    unit: str
    measure: Callable[[Results], float | None]


def _overhead(workload: str) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        found = results.find("steps", workload)
        return us_per_call(found) if found else None

    return measure


def _chain_ratio(results: Results) -> float | None:
    found = results.find("steps", "chain")
    return ratio(found, "commit") if found else None


def _first_call(results: Results) -> float | None:
    found = results.resumed.get("steps short")
    return found.spawn_to_first_call_s if found else None


def _long_replay(results: Results) -> float | None:
    found = results.resumed.get("steps long")
    return found.ask_to_first_call_s if found else None


def _asks_beside_peer(results: Results) -> float | None:
    found = (against(asked.many, "ask", "pydantic_ai") for asked in results.asked)
    return next((value for value in found if value is not None), None)


def _real_tree(results: Results) -> float | None:
    """Against the schedule in which nothing but the model takes time."""
    return results.real_tree and statistics.median(results.real_tree.tree_s) / results.real_tree.ideal_s


GOALS = (
    Goal("fan-out, per step", 40, "µs", _overhead("fanout")),
    Goal("tree, per step", 60, "µs", _overhead("tree")),
    Goal("500 runs at once, per step", 50, "µs", _overhead("many")),
    Goal("chain, against one bare commit", 1.5, "×", _chain_ratio),
    Goal("`tree` of 156 nodes, model of 1 s, against the ideal schedule", 1.03, "×", _real_tree),
    Goal("200 asks over HTTP at once, against Pydantic AI's agent", 1.0, "×", _asks_beside_peer),
    Goal("kill -9, resume: spawn to first new call", 0.3, "s", _first_call),
    Goal("10,000 steps replayed on resume", 1.0, "s", _long_replay),
    Goal("10,000 steps replayed by `replay`", 1.0, "s", lambda results: results.replay_s),
    Goal("events lost by 20 readers", 0, "", lambda results: results.followed and results.followed.lost),
    Goal("idle run, asleep", 20, "KB", lambda results: results.idle_kb.get("sleep")),
    Goal("idle run, waiting for a person", 20, "KB", lambda results: results.idle_kb.get("wait_for")),
    Goal("podium --help", 0.3, "s", lambda results: results.startup.get("help_s")),
    Goal("podium runs", 0.3, "s", lambda results: results.startup.get("runs_s")),
    Goal("import podium", 0.15, "s", lambda results: results.startup.get("import_s")),
    Goal("core install", 60, "MB", lambda results: results.core_mb),
)
