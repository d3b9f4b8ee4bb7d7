"""Opens a toolbox with a stubborn server, tells the ids of its processes, and waits to be killed."""

from __future__ import annotations

import asyncio
import sys

from podium.settings import McpServer
from podium.tools.toolbox import Toolbox


async def main() -> None:
    server = McpServer(command=sys.executable, args=[sys.argv[1], "stubborn"])
    async with Toolbox(mcp={"small": server}) as tools:
        result = await tools.call("small.pids", {})
        print(result.text.splitlines()[2], flush=True)
        await tools.call("small.hang", {})


asyncio.run(main())
