"""A run that asks one question of a provider on loopback, and what its log tells afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import podium
from podium.engine.core import Delta
from podium.engine.events import Event
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.models.events import ModelAttempted, ModelFellBack, ModelRepaired
from podium.settings import OwnPrice, ProviderOptions, Settings
from tests.models.wire.server import Wire

MODELS = {
    "openai": "openai:gpt-4o",
    "openai-chat": "openai-chat:gpt-4o",
    "anthropic": "anthropic:claude-haiku-4-5",
}
"""One model for each wire format."""

INPUT, OUTPUT = 10.0, 40.0
"""What they cost here, in US dollars per million tokens."""

AGENT = podium.Agent("Nora", "critic", "Be strict.", max_tokens=500)


def settings_for(wire: Wire, folder: Path, **more: Any) -> Settings:
    """Everything goes to this server; another attempt follows almost at once."""
    limits: dict[str, Any] = more.pop("limits", {})
    addresses = {"openai": f"{wire.url}/v1", "openai-chat": f"{wire.url}/v1", "anthropic": wire.url}
    return Settings(
        store=str(folder / "store.sqlite"),
        providers={name: ProviderOptions(base_url=url, **limits) for name, url in addresses.items()},
        prices={name: OwnPrice(input=INPUT, output=OUTPUT) for name in MODELS.values()},
        retry_wait=0.001,
        **more,
    )


@dataclass(frozen=True, slots=True)
class RunEvents:
    """What came of it."""

    result: RunResult
    events: list[Event]
    deltas: list[Delta]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event.data for event in self.events if isinstance(event.data, kind)]

    @property
    def attempts(self) -> list[ModelAttempted]:
        return self.of(ModelAttempted)

    @property
    def fell_back(self) -> list[ModelFellBack]:
        return self.of(ModelFellBack)

    @property
    def repaired(self) -> list[ModelRepaired]:
        return self.of(ModelRepaired)


async def ask(
    store: Store,
    settings: Settings,
    model: str | None,
    *,
    agent: podium.Agent = AGENT,
    returns: Any = str,
    prompt: str = "Say something.",
    watch: bool = False,
    **started: Any,
) -> RunEvents:
    """Ask once; with `watch` somebody looks at the reply while it is generated, so it is streamed."""
    gate = asyncio.Event()

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        await gate.wait()
        answer: Any = await run.ask(agent, "draft", prompt=prompt, returns=returns)
        return answer

    handle = await podium.start(flow, "x", model=model, store=store, settings=settings, **started)
    deltas: list[Delta] = []

    async def look() -> None:
        deltas.extend([delta async for delta in handle.deltas()])

    looking = asyncio.create_task(look()) if watch else None
    await asyncio.sleep(0)  # the viewer is there from its first turn on
    gate.set()
    result = await handle.result()
    if looking is not None:
        await looking
    rows = await store.read(handle.run_id)
    return RunEvents(result, [row.to_event(handle.run_id) for row in rows], deltas)
