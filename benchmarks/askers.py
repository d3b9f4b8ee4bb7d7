"""A question over HTTP through Podium's adapter alone, through a whole `run.ask`, and to the same model
through Pydantic AI's own `Agent`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import podium
from benchmarks.bare import LIMITS, PROMPT, SCHEMA, SYSTEM, Asker, Verdict
from benchmarks.podium_ import check
from podium import Agent, Run, Settings, Workflow, workflow
from podium.models.model import Call
from podium.models.providers.hosted import HostedModel
from podium.models.registry import open_model
from podium.settings import OwnPrice

WORKER = Agent("worker", role="worker", instructions=SYSTEM)


def _name(address: str) -> str:
    return f"openai-compatible:bench@{address}"


def _settings(address: str) -> Settings:
    return Settings(prices={_name(address): OwnPrice(input=1.0, output=2.0)})


class Adapter(Asker):
    """Podium's adapter, without an engine around it."""

    version = podium.__version__

    @asynccontextmanager
    async def opened(self, address: str, folder: Path) -> AsyncGenerator[None]:
        model = open_model(_name(address), settings=_settings(address))
        assert isinstance(model, HostedModel)
        self.model = model
        self.call = Call(
            run_id="",
            workflow="",
            path="",
            agent="worker",
            role="worker",
            task="judge",
            system=SYSTEM,
            prompt=PROMPT,
            schema=SCHEMA,
        )
        try:
            yield
        finally:
            await model.close()

    async def ask(self) -> None:
        reply = await self.model.complete(self.call)
        Verdict.model_validate_json(reply.text)


@workflow
async def one_by_one(run: Run, request: Any) -> None:
    for _ in range(request["n"]):
        await run.ask(WORKER, "judge", prompt=PROMPT, returns=Verdict)


@workflow
async def at_once(run: Run, request: Any) -> None:
    asks = (run.ask(WORKER, "judge", prompt=PROMPT, returns=Verdict) for _ in range(request["n"]))
    await run.gather({f"part-{i}": ask for i, ask in enumerate(asks)})


class WholeAsk(Asker):
    """`run.ask`: durable before and after, with a reservation, a repair if need be, and its price."""

    version = podium.__version__

    @asynccontextmanager
    async def opened(self, address: str, folder: Path) -> AsyncGenerator[None]:
        self.name, self.settings = _name(address), _settings(address)
        model = open_model(self.name, settings=self.settings)
        assert isinstance(model, HostedModel)
        self.model = model
        async with podium.open_store(f"sqlite:///{folder}/asked.sqlite") as self.store:
            yield
        await model.close()

    async def _run(self, flow: Workflow, n: int) -> None:
        started = podium.run(
            flow, {"n": n}, model=self.model, concurrency=0, store=self.store, settings=self.settings
        )
        check(await started)

    async def chain(self, n: int) -> None:
        await self._run(one_by_one, n)

    async def fanout(self, n: int) -> None:
        await self._run(at_once, n)


class PydanticAi(Asker):
    """Pydantic AI's own agent, as its documentation uses it."""

    version = version("pydantic-ai-slim")

    @asynccontextmanager
    async def opened(self, address: str, folder: Path) -> AsyncGenerator[None]:
        async with httpx2.AsyncClient(limits=LIMITS) as client:
            provider = OpenAIProvider(base_url=address, api_key="no-key", http_client=client)
            model = OpenAIChatModel("bench", provider=provider)
            self.agent = PydanticAgent(model, output_type=NativeOutput(Verdict), instructions=SYSTEM)
            yield

    async def ask(self) -> None:
        await self.agent.run(PROMPT)


adapter, ask, pydantic_ai = Adapter(), WholeAsk(), PydanticAi()
