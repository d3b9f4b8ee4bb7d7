"""Where the figures were made: without that they mean little."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import time
from pathlib import Path

MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


def file_system(folder: Path) -> str:
    """The type of the file system that a folder is on; `unknown` where the kernel does not tell."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    entries = [line.split()[1:3] for line in mounts.read_text().splitlines()]
    own = [(len(point), kind) for point, kind in entries if folder.resolve().is_relative_to(point)]
    return max(own)[1]


def fsync_us(folder: Path) -> float:
    """Median time of one small append made durable."""
    walls: list[float] = []
    descriptor = os.open(folder / "fsync", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for _ in range(200):
        start = time.perf_counter()
        os.write(descriptor, b"x" * 512)
        os.fsync(descriptor)
        walls.append(time.perf_counter() - start)
    os.close(descriptor)
    return statistics.median(walls) * 1e6


def describe(folder: Path) -> dict[str, str]:
    return {
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "file system": file_system(folder),
        "fsync": f"{fsync_us(folder):.0f} µs",
        "load at the start": f"{os.getloadavg()[0]:.1f}",
    }
