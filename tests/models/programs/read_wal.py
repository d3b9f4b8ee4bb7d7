"""Run the leaky workflow and look into the files of its store while they are open.

python -m tests.models.programs.read_wal STORE REQUEST SECRET...
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import podium
from tests.models.programs.secret_flow import leaky


async def main(store: str, request: str, *secrets: str) -> None:
    async with podium.open_store(store) as opened:
        await podium.run(leaky, request, model="openai:gpt-4o", store=opened)
        files = [path for path in Path(store).parent.glob(f"{Path(store).name}*") if path.is_file()]
        data = {path.name: path.read_bytes() for path in files}
    shown = {
        "files": sorted(data),
        "leaks": [secret for secret in secrets if any(secret.encode() in held for held in data.values())],
        "redacted": any(b"[redacted]" in held for held in data.values()),
    }
    print(json.dumps(shown))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
