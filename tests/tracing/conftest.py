"""A collector and a store; the tests are skipped where the extra is not installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from podium.engine.log import Store
from podium.stores import open_store

if TYPE_CHECKING:
    from tests.tracing.receiver import Receiver

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra `otel` is not installed")


@pytest.fixture
def collector() -> Iterator[Receiver]:
    from tests.tracing.receiver import receiving  # noqa: PLC0415 - needs the extra

    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(str(tmp_path / "store.sqlite")) as opened:
        yield opened
