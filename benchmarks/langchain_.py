"""The same question through LangChain's client for OpenAI, beside the bare client that it uses itself.

Runs in a virtual environment of its own, so the type checker cannot see the package.
"""
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_openai import ChatOpenAI

from benchmarks.bare import PROMPT, SYSTEM, Asker, Verdict


class LangChain(Asker):
    """`with_structured_output`, in the mode that sends the provider a schema."""

    version = version("langchain-openai")

    @asynccontextmanager
    async def opened(self, address: str, folder: Path) -> AsyncGenerator[None]:
        model: Any = ChatOpenAI(
            model="bench", base_url=address, api_key="no-key", max_retries=0, max_tokens=4096
        )
        self.model = model.with_structured_output(Verdict, method="json_schema")
        yield

    async def ask(self) -> None:
        await self.model.ainvoke([("system", SYSTEM), ("user", PROMPT)])


langchain = LangChain()
