"""What all subjects share that run an agent turn by turn. Standard library only, because a peer imports it in
a virtual environment of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

PAGE = "The tide comes and goes twice a day. " * 54
"""Result of the tool: 2 kB."""


MODULES = {
    "turns": "turns_subjects", "at_once": "turns_subjects", "two_commits": "turns_subjects",
    "pydantic_ai": "turns_subjects", "asks": "turns_asks", "langchain": "turns_langchain",
    "langchain_durable": "turns_langchain",
}  # fmt: skip
"""Where each subject is declared; imported by name, because each has its own dependencies."""


class Subject:
    """Something that runs an agent which calls one tool per turn."""

    version = ""

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        yield

    async def turns(self, n: int) -> str:
        """Make `n` turns with one call each, and a last one with the answer."""
        raise NotImplementedError
