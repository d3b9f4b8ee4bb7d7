"""`podium replay`: walk a finished run again from its log, and compare."""

from __future__ import annotations

from podium.api import replay as replay_run
from podium.api.outcome import result_of
from podium.cli.card import say_line
from podium.cli.failure import FAILED
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import out, print_json
from podium.engine.codec import encode
from podium.errors import ReplayDivergedError
from podium.report.words import count


async def replay(run: RunId = "last", /, *, store: StoreUrl = None, json: AsJson = False) -> int:
    """Play a finished run again from its log, without any model call.

    Says whether today's code comes to the same result, or at which step it differs.
    """
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        recorded, state = await result_of(opened_store, found)
        try:
            replayed = await replay_run(found.run_id, store=opened_store, settings=settings)
        except ReplayDivergedError as error:
            return _tell(found.run_id, json, False, error.path, error.reason, error.hint)
    same = encode(replayed.output) == encode(recorded.output) and replayed.status == recorded.status
    reason = "" if same else f"the log says {recorded.status}, today's code {replayed.status}"
    if not same and replayed.status == recorded.status:
        reason = "the output differs"
    steps = count(len(state.steps), "step")
    return _tell(found.run_id, json, same, "", reason or steps)


def _tell(run_id: str, json: bool, same: bool, path: str, reason: str, hint: str = "") -> int:
    if json:
        told = {"run_id": run_id, "same": same, "diverged_at": path or None}
        print_json({**told, "reason": None if same else reason})
    elif same:
        say_line(out(), ("✓ same result", "green"), f"  run {run_id}, {reason}, no model call")
    else:
        where = f" at {path}" if path else ""
        say_line(out(), ("✗ different", "red"), f"  run {run_id}{where}: {reason}")
        if hint:
            say_line(out(), ("Hint: ", "bold"), hint)
    return 0 if same else FAILED
