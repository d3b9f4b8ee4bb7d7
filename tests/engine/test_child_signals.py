"""Signals to subprocesses of the event loop."""

# pyright: reportDeprecated=false
from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from podium.engine.process import send_signal


def wait_until_ended(pid: int) -> None:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="child watchers are gone; the loop waits by itself")
def test_a_signal_leaves_the_exit_status_to_the_event_loop(caplog: pytest.LogCaptureFixture) -> None:
    """With the watcher that Python 3.12 and later use, which reaps only when the loop runs."""

    async def code() -> int:
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", "read line; exit 3", stdin=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(b"\n")  # the loop does not run until the process has ended
        wait_until_ended(process.pid)
        send_signal(process, signal.SIGKILL)
        return await process.wait()

    policy = asyncio.get_event_loop_policy()
    before = policy.get_child_watcher()
    with asyncio.Runner() as runner:
        watcher = asyncio.PidfdChildWatcher()
        watcher.attach_loop(runner.get_loop())
        policy.set_child_watcher(watcher)
        try:
            assert runner.run(code()) == 3
        finally:
            policy.set_child_watcher(before)
    assert caplog.messages == []
