"""What must hold for a run that was killed and resumed: its result, its calls, its counts, its ceilings."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import msgspec

from tests.engine.programs.kill_flows import CHAIN_CALLS, Case, branch_result
from tests.engine.programs.kill_log import Life, Report


class Cut(msgspec.Struct):
    """Calls of one life whose outcome did not reach the log."""

    in_flight: list[str]
    """Calls that had begun, by the model's own count."""
    unlogged: int
    """How many of them the log does not name."""
    not_made: int
    """How many calls the log names that had not begun: the kill fell between the log entry and the call."""


def cuts_of(report: Report) -> list[Cut]:
    """Return what each life left unfinished."""
    cuts: list[Cut] = []
    finished, events = Counter[str](), 0
    for life in report.lives:
        now = Counter(life.seen.finished)
        in_flight = Counter(life.begun) - (now - finished)
        open_calls = Counter(life.seen.open)
        if life.seen.events == events:  # it died before it had logged anything
            open_calls = Counter[str]()
        begun = Counter[str](call.split()[0] for call in in_flight.elements())
        cuts.append(
            Cut(list(in_flight.elements()), (begun - open_calls).total(), (open_calls - begun).total())
        )
        finished, events = now, life.seen.events
    return cuts


def check(case: Case, report: Report, undisturbed: Report) -> None:
    """Check one run against the one that was not disturbed."""
    cuts = cuts_of(report)
    check_repeats(case, report, cuts)
    check_ceilings(case, report)
    if case.counts_steps:
        check_same(report, report.last, undisturbed.last)
        return
    check_counts(case, report, cuts)
    for life in report.lives:
        check_shown(life)
    check_result(case, report, undisturbed)


def check_repeats(case: Case, report: Report, cuts: list[Cut]) -> None:
    """No call is repeated whose outcome was logged, and no more than were in flight."""
    begun = Counter(call for life in report.lives for call in life.begun)
    for place, life in enumerate(report.lives):
        assert life.seen.repeated == [], "a step was run again after its end was logged"
        later = {call for after in report.lives[place + 1 :] for call in after.begun}
        assert not later & set(life.seen.finished), "a call was repeated whose outcome was logged"
    assert begun.total() - len(begun) <= sum(len(cut.in_flight) for cut in cuts)
    for cut in cuts:
        assert len(cut.in_flight) <= case.concurrency, f"more in flight than slots: {cut.in_flight}"
    assert not cuts[-1].in_flight


def check_ceilings(case: Case, report: Report) -> None:
    """By the model's own count no ceiling was passed, over all lives together."""
    begun = [call for life in report.lives for call in life.begun]
    if report.calls is not None:
        assert len(begun) <= report.calls
    for path, limit in case.branch_calls.items():
        assert sum(call.startswith(f"{path}/") for call in begun) <= limit


def check_counts(case: Case, report: Report, cuts: list[Cut]) -> None:
    """The run's usage counts each call once: those in the log, and those of unknown outcome."""
    usage = report.last.shown["usage"]
    ended = report.last.seen.ended["usage"]
    assert (usage["calls"], usage["unknown_calls"]) == (ended["calls"], ended.get("unknown_calls", 0))
    assert usage["calls"] - usage["unknown_calls"] == len(report.last.seen.finished)
    assert usage["unknown_calls"] == sum(report.last.seen.lost.values())
    begun = sum(len(life.begun) for life in report.lives)
    unlogged, not_made = sum(cut.unlogged for cut in cuts), sum(cut.not_made for cut in cuts)
    assert usage["calls"] == begun - unlogged + not_made
    if report.calls is not None or case.branch_calls:
        assert unlogged == 0, "under a ceiling each call is logged before it is made"
        assert begun <= usage["calls"]


def check_shown(life: Life) -> None:
    """`podium show --json` counts the calls in flight of a run that nobody drives as unknown."""
    usage, seen = life.shown["usage"], life.seen
    assert usage["calls"] - usage["unknown_calls"] == len(seen.finished)
    assert usage["unknown_calls"] == sum(seen.lost.values()) + sum(seen.open.values())
    if not seen.ended:
        assert life.shown["status"] in {"paused", "queued"}, life.shown["status"]


def check_result(case: Case, report: Report, undisturbed: Report) -> None:
    """The result is that of the undisturbed run, wherever the ceilings allow it."""
    last, usage = report.last, report.last.shown["usage"]
    if case.branch_calls:
        lost: Counter[str] = Counter()
        for path, calls in last.seen.lost.items():
            lost[path.split("/")[0]] += calls
        assert last.seen.last == "run.completed"
        assert last.seen.ended["output"] == branch_result(lost)
    elif case.calls is not None and CHAIN_CALLS + usage["unknown_calls"] > case.calls:
        assert last.seen.last == "run.partial"
        assert last.shown["stop_reason"] == "budget"
        assert usage["calls"] == case.calls
        assert report.raised is not None
        check_same(report, report.raised, undisturbed.last)
    else:
        assert report.raised is None
        check_same(report, last, undisturbed.last)


def check_same(report: Report, life: Life, undisturbed: Life) -> None:
    """The run has ended as the undisturbed one: same status, output, warnings, own events and calls."""
    begun = {call for life_report in (*report.lives, life) for call in life_report.begun}
    assert begun == set(undisturbed.begun)
    assert life.seen.last == undisturbed.seen.last == "run.completed"
    assert without_times(life.seen.ended["output"]) == without_times(undisturbed.seen.ended["output"])
    assert life.shown["warnings"] == undisturbed.shown["warnings"]
    assert life.seen.emitted == undisturbed.seen.emitted


def without_times(output: Any) -> Any:
    """Return an output without the moments at which its parts were made."""
    if isinstance(output, dict):
        parts = cast("dict[str, Any]", output)
        return {key: without_times(value) for key, value in parts.items() if key != "timestamp"}
    if isinstance(output, list):
        return [without_times(value) for value in cast("list[Any]", output)]
    return output


def figures(reports: list[Report]) -> dict[str, Any]:
    """Count what the kills hit, to see that they hit something."""
    cuts = [cut for report in reports for cut in cuts_of(report)]
    return {
        "runs": len(reports),
        "kills": sum(life.killed for report in reports for life in report.lives),
        "killed again": sum(sum(life.killed for life in report.lives) > 1 for report in reports),
        "in flight": sum(len(cut.in_flight) for cut in cuts),
        "unlogged": sum(cut.unlogged for cut in cuts),
        "not made": sum(cut.not_made for cut in cuts),
        "partial": sum(report.raised is not None for report in reports),
    }
