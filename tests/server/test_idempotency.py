"""A start that is asked for twice under one name is one run, whatever happens in between."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from podium.server.users import add_user
from tests.server.conftest import Shared
from tests.server.serving import Served, done, served

BODY = {"workflow": "tree", "request": "Plan a garden", "model": "rehearsal"}


def start(client: httpx2.Client, key: str, **changed: object) -> httpx2.Response:
    return client.post("/api/runs", json={**BODY, **changed}, headers={"Idempotency-Key": key})


def test_the_same_wish_brings_the_same_run_and_another_one_is_refused(client: httpx2.Client) -> None:
    first, again = start(client, "wish-1"), start(client, "wish-1")
    assert (first.status_code, again.status_code) == (202, 202)
    run_id = first.json()["run_id"]
    assert again.json()["run_id"] == run_id
    assert again.headers["location"] == f"/api/runs/{run_id}"
    assert (first.headers.get("idempotent-replayed"), again.headers["idempotent-replayed"]) == (None, "true")
    other = start(client, "wish-1", request="Plan a house")
    assert (other.status_code, run_id in other.json()["error"]) == (422, True)
    assert start(client, "wish-2").json()["run_id"] != run_id
    done(client, run_id)
    over = start(client, "wish-1").json()
    assert (over["run_id"], over["status"]) == (run_id, "completed")
    assert len(client.get("/api/runs").json()["runs"]) == 2


async def test_of_many_equal_wishes_at_once_one_starts_a_run(server: Served) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Idempotency-Key": "wish"}
    async with httpx2.AsyncClient(base_url=server.base, headers=headers, timeout=120) as client:
        answers = await asyncio.gather(*(client.post("/api/runs", json=BODY) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["run_id"] for answer in answers}) == 1
        assert len((await client.get("/api/runs")).json()["runs"]) == 1
        assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1


def test_a_wish_is_known_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        run_id = start(client, "wish").json()["run_id"]
    with served(tmp_path) as server, server.client() as client:
        assert start(client, "wish").json()["run_id"] == run_id


def test_the_names_of_one_user_are_nothing_to_another(shared: Shared) -> None:
    with shared.of("alice") as alice, shared.of("bob") as bob:
        hers, his = start(alice, "wish").json()["run_id"], start(bob, "wish").json()["run_id"]
        assert hers != his


def test_the_last_money_is_spent_once_by_a_wish_that_is_sent_twice(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"budget_usd": 1.0})
    with served(tmp_path, users=file) as server, server.client(key) as alice:
        first = start(alice, "wish", budget={"usd": 1.0}, approve=["plan"])
        again = start(alice, "wish", budget={"usd": 1.0}, approve=["plan"])
        assert (first.status_code, again.status_code) == (202, 202)
        assert first.json()["run_id"] == again.json()["run_id"]


@pytest.mark.parametrize("key", ["x" * 201, "two words", "ümlaut"])
def test_a_name_that_is_none_is_reported(client: httpx2.Client, key: str) -> None:
    answer = client.post("/api/runs", json=BODY, headers=[(b"Idempotency-Key", key.encode())])
    assert answer.status_code == 422
    assert client.get("/api/runs").json()["runs"] == []
