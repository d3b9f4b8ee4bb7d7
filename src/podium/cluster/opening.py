"""The engine that the settings name."""

from __future__ import annotations

from importlib.util import find_spec

from podium.cluster.port import Engine
from podium.errors import UsageError
from podium.stores import is_postgres

PROCRASTINATE = "procrastinate"
QUEUED = ("", PROCRASTINATE)
"""The names of the engine that keeps its queue in the store."""
TEMPORAL = "temporal://"
LOCAL = "local"
"""No engine: a server drives its runs itself, whatever its store is."""


async def open_engine(name: str, store: str, *, patience_s: float = 30.0) -> Engine:
    """The engine `name` (empty: the usual one) for a store. `patience_s`: how long a database that is away is
    waited for."""
    if name not in QUEUED and not name.startswith(TEMPORAL):
        raise UsageError(
            f"There is no engine {name}.", hint=f"Known: {PROCRASTINATE}, {TEMPORAL}HOST:PORT/NAMESPACE."
        )
    if not is_postgres(store):
        raise UsageError(
            "Workers on several machines need a store that all of them reach.",
            hint="Name it with --store postgresql://HOST/DATABASE.",
        )
    if find_spec("procrastinate") is None:
        raise UsageError(
            "Running on many machines needs an extra that is not installed.",
            hint="Install it with: pip install 'podium[cluster]'.",
        )
    if name.startswith(TEMPORAL):
        return await _open_temporal(name, store)
    from podium.cluster.procrastinate.engine import ProcrastinateEngine  # noqa: PLC0415 - slow to import

    return await ProcrastinateEngine.open(store, patience_s=patience_s)


async def _open_temporal(name: str, store: str) -> Engine:
    if find_spec("temporalio") is None:
        raise UsageError(
            "Temporal needs an extra that is not installed.",
            hint="Install it with: pip install 'podium[temporal]'.",
        )
    from podium.cluster.temporal.engine import TemporalEngine  # noqa: PLC0415 - slow to import

    return await TemporalEngine.open(name, store)
