"""`podium run WORKFLOW … --estimate`: what a run would take, and nothing else."""

from __future__ import annotations

from podium.cli.failure import OK
from podium.cli.terminal import print_json, say
from podium.engine.workflow import Estimate
from podium.report.words import safe


def print_estimate(estimate: Estimate, *, as_json: bool) -> int:
    """The exit code."""
    if as_json:
        print_json(estimate.data)
    else:
        for line in estimate.lines:
            say(safe(line))
    return OK
