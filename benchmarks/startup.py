"""What a person waits for before anything happens: imports and the two quickest commands."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def seconds(command: Sequence[str], repetitions: int) -> float:
    """Median wall time of a command, from spawn to exit."""
    walls: list[float] = []
    for _ in range(repetitions):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        walls.append(time.perf_counter() - start)
    return statistics.median(walls)


def measure(store: str, repetitions: int) -> dict[str, float]:
    """`import podium` is what it adds to an empty Python; the commands are the whole wait."""
    podium = str(Path(sys.executable).with_name("podium"))
    empty = seconds([sys.executable, "-c", "pass"], repetitions)
    return {
        "python_s": empty,
        "import_s": seconds([sys.executable, "-c", "import podium"], repetitions) - empty,
        "help_s": seconds([podium, "--help"], repetitions),
        "runs_s": seconds([podium, "runs", "--store", store], repetitions),
    }
