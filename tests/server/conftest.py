"""One server a test, with a store of its own."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from podium.server.users import add_user
from tests.server.serving import Served, served


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    with served(tmp_path) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Generator[httpx2.Client]:
    with server.client() as http:
        yield http


class Shared:
    """A server with two users."""

    def __init__(self, server: Served, keys: dict[str, str]) -> None:
        self.server = server
        self.keys = keys

    def of(self, name: str) -> httpx2.Client:
        return self.server.client(self.keys[name])


@pytest.fixture
def shared(tmp_path: Path) -> Generator[Shared]:
    file = tmp_path / "users.toml"
    keys = {name: add_user(file, name, {}) for name in ("alice", "bob")}
    with served(tmp_path, users=file) as running:
        yield Shared(running, keys)
