"""Podium on PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import podium
from benchmarks.common import POSTGRES
from benchmarks.podium_ import PodiumSteps
from podium import Settings


class PodiumThere(PodiumSteps):
    """Podium on the store at `url`, or the one that the environment names."""

    def __init__(self, url: str = "") -> None:
        self.url = url

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        self.settings = Settings.load()
        async with podium.open_store(self.url or os.environ[POSTGRES]) as self.store:
            yield


podium_postgres = PodiumThere()
