"""LangGraph with its PostgreSQL saver on a pool of connections, every step durable before the next."""
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from benchmarks.common import POSTGRES
from benchmarks.langgraph_ import LangGraph, chain_graph, fan_graph, tree_graph

CONNECTIONS = 20
OPTIONS = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""As the saver asks for them."""


class LangGraphThere(LangGraph):
    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        pool = AsyncConnectionPool(
            os.environ[POSTGRES], min_size=CONNECTIONS, max_size=CONNECTIONS, kwargs=OPTIONS, open=False
        )
        async with pool:
            saver = AsyncPostgresSaver(pool)
            await saver.setup()
            self.chains, self.fans, self.trees = chain_graph(saver), fan_graph(saver), tree_graph(saver)
            yield


langgraph_postgres = LangGraphThere()
