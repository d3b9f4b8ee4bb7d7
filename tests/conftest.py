"""What every test has in common: a machine of its own, where no run and no setting of the person lies."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.stores import postgres

# The default store and the person's own podium.toml are found through these, also by subprocesses.
_home = tempfile.TemporaryDirectory(prefix="podium-tests-")
# No test may ever reach a real provider with the person's own key.
_foreign = re.compile(
    r"PODIUM_.*|OTEL_.*|.*_API_KEY|.*_BASE_URL|AWS_.*|(HTTP|HTTPS|ALL|NO)_PROXY|PG[A-Z]+", re.IGNORECASE
)
for _name in [name for name in os.environ if _foreign.fullmatch(name)]:
    del os.environ[_name]
os.environ["XDG_DATA_HOME"] = os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = _home.name

# A shell that starts this in the background lets it ignore Ctrl-C, and all its children with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says nothing on a busy machine.
settings.register_profile("podium", deadline=None, print_blob=True)
settings.load_profile("podium")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow tests at the start of each worker's part of the list, so that none is left for the end."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = [item for item in items if not item.get_closest_marker("slow")]
    if workers == 1 or not slow:
        return
    size = len(items) / workers
    items[:] = []
    for worker in range(workers):
        items += slow[worker::workers]
        taken = round(size * (worker + 1)) - len(items)
        items += quick[:taken]
        del quick[:taken]


@pytest.fixture(scope="session")
def pg_server() -> Generator[postgres.Server]:
    """One PostgreSQL for all tests of this worker."""
    if why := postgres.missing():
        pytest.skip(f"PostgreSQL: {why}")
    with postgres.server() as running:
        yield running
