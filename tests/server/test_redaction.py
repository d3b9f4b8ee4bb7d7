"""No answer of the server tells a secret."""

from __future__ import annotations

import httpx2
import pytest

from tests.server.serving import done, flow, started

KEY = "github_pat_11AAAAAAA0123456789abc_def"


@pytest.mark.parametrize(
    "body",
    [
        {"workflow": KEY, "request": "x"},
        {"workflow": "tree", "request": "x", "model": KEY},
        {"workflow": "tree", "request": "x", "options": {KEY: 2}},
        {"workflow": "tree", "request": "x", "options": {"max_depth": KEY}},
        {"workflow": "tree", "request": "x", "approve": [KEY]},
        {"workflow": "tree", "request": "x", KEY: 1},
        {"workflow": "tree", "request": "x", "budget": {"usd": KEY}},
    ],
)
def test_a_problem_shows_no_secret(client: httpx2.Client, body: dict[str, object]) -> None:
    answer = client.post("/api/runs", json=body)
    assert answer.status_code in (404, 422)
    assert KEY not in answer.text
    assert answer.json()["error"]


def test_a_path_that_is_not_there_shows_no_secret(client: httpx2.Client) -> None:
    answer = client.get(f"/api/runs/{KEY}")
    assert answer.status_code in (404, 422)
    assert KEY not in answer.text


def test_a_run_shows_no_secret(client: httpx2.Client) -> None:
    run_id = started(client, flow("quick"), f"use {KEY}")
    done(client, run_id)
    for place in ("", "/events", "/report", "/report?format=html", "/trace?content=true"):
        answer = client.get(f"/api/runs/{run_id}{place}")
        assert answer.status_code == 200, place
        assert KEY not in answer.text
    assert KEY not in client.get("/api/runs").text
