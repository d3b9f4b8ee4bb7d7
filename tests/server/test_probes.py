"""Liveness and readiness without a key, for balancers."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from podium import __version__
from podium.server.app import build_api
from podium.server.security import PROBES
from tests.server.conftest import Shared
from tests.server.serving import Served


def test_without_a_key_they_say_that_all_is_well_and_nothing_else(shared: Shared) -> None:
    with shared.server.client("") as balancer:
        health, ready = (balancer.get(path) for path in PROBES)
    assert (health.status_code, ready.status_code) == (200, 200)
    assert {key: value for key, value in health.json().items() if value} == {"status": "ok"}
    assert {key: value for key, value in ready.json().items() if value is not None} == {
        "ready": True,
        "reason": "",
    }
    assert health.headers["Cache-Control"] == ready.headers["Cache-Control"] == "no-store"


def test_with_a_key_they_say_more(shared: Shared) -> None:
    with shared.of("alice") as alice:
        assert alice.get("/api/health").json()["version"] == __version__
        assert alice.get("/api/ready").json()["running"] == 0


def test_a_store_that_fails_is_not_ready_and_why_is_reported_with_a_key_only(server: Served) -> None:
    with closing(sqlite3.connect(server.folder / "podium.sqlite")) as other:
        other.execute("ALTER TABLE run RENAME TO hidden")
        other.commit()
    with server.client("") as balancer, server.client() as operator:
        answer = balancer.get("/api/ready")
        assert (answer.status_code, answer.json()["ready"], answer.json()["reason"]) == (503, False, "")
        shown = operator.get("/api/ready")
        assert (shown.status_code, shown.json()["ready"]) == (503, False)
        assert shown.json()["reason"]
        assert balancer.get("/api/health").status_code == 200, "a restart would not help"


@pytest.mark.parametrize("path", PROBES)
def test_they_are_guarded_like_all_others_but_for_the_key(server: Served, path: str) -> None:
    with server.client("wrong") as stranger:
        assert stranger.get(path).status_code == 401
    with server.client("") as page:
        assert page.get(path, headers={"Host": "evil.example"}).status_code == 421
        assert page.get(path, headers={"Origin": "http://evil.example"}).status_code == 403
        assert page.post(path, json={}).status_code in (401, 405)


@pytest.mark.parametrize("path", PROBES)
def test_the_description_says_that_a_key_is_optional(path: str) -> None:
    operation = build_api().openapi()["paths"][path]["get"]
    assert operation["security"][0] == {}
    assert {"key": []} in operation["security"]
