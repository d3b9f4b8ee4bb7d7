"""Ask a provider that never stops talking, and tell how much memory that took.

python -m tests.models.programs.read_flood NAME BASE_URL streamed|whole
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys

from podium.models.model import Call, ModelFault
from podium.models.registry import open_model
from podium.settings import ProviderOptions, Settings


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def main(name: str, url: str, how: str) -> None:
    settings = Settings(providers={name.partition(":")[0]: ProviderOptions(base_url=url)})
    model = open_model(name, settings=settings, env={})
    call = Call(run_id="", workflow="", path="", agent="", role="", task="", system="s", prompt="p")
    message = ""
    before = peak_kb()
    try:
        await model.complete(call, (lambda text: None) if how == "streamed" else None)
    except ModelFault as fault:
        message = f"{fault.kind}: {fault}"
    print(json.dumps({"said": message, "grown_mb": (peak_kb() - before) / 1024}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
