"""What shutting a program in costs: one `true`, and a small run of pytest, beside the bare program.

    .venv/bin/python -m benchmarks.sandbox [--quick]

Prints a table of medians in milliseconds and their ratio to the bare ones, and as the last line JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from podium.engine.process import run_process
from podium.errors import SandboxUnavailableError
from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox

TESTS = (
    "import pytest\n\n@pytest.mark.parametrize('n', range(50))\ndef test_it(n):\n    assert n * 2 == n + n\n"
)
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PROGRAMS: dict[str, list[str]] = {"true": ["true"], "pytest, 50 tests": PYTEST}


async def middle(work: Callable[[], Awaitable[bool]], repeats: int) -> float:
    """The median of some runs, in milliseconds; the first one warms up."""
    took: list[float] = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        assert await work(), "the program failed"
        took.append((time.perf_counter() - began) * 1000)
    return median(took[1:])


async def measure(folder: Path, repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds by program, bare and in each tier that works here."""
    found: dict[str, dict[str, float]] = {}
    boxes = [box for tier in ("bubblewrap", "landlock") if (box := await opened(tier)) is not None]
    for name, argv in PROGRAMS.items():
        count = repeats if name == "true" else max(2, repeats // 4)

        async def bare(argv: list[str] = argv) -> bool:
            return (await run_process(argv, cwd=folder)).returncode == 0

        found[name] = {"bare": await middle(bare, count)}
        for box in boxes:

            async def shut_in(argv: list[str] = argv, box: Sandbox = box) -> bool:
                return (await box.run(argv, folder=folder)).ok

            found[name][box.tier] = await middle(shut_in, count)
    return found


async def opened(tier: str) -> Sandbox | None:
    settings = settings_for(tier)
    try:
        return await open_sandbox(settings)
    except SandboxUnavailableError as error:
        print(f"{tier}: {error}", file=sys.stderr)
        return None


def settings_for(tier: str) -> Settings:
    return Settings(sandbox=SandboxOptions(tier="landlock" if tier == "landlock" else "bubblewrap"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    repeats = 4 if parser.parse_args().quick else 40
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_it.py").write_text(TESTS, encoding="ascii")
        found = asyncio.run(measure(Path(folder), repeats))
    for name, by_tier in found.items():
        bare = by_tier["bare"]
        shown = ", ".join(f"{tier} {ms:.1f} ms ({ms / bare:.1f} ×)" for tier, ms in by_tier.items())
        print(f"{name}: {shown}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
