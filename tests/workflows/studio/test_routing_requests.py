"""Routing of 120 requests in six languages, labelled by somebody who had not seen the keywords.

The replies of the model were given by a strong model that saw one prompt at a time. A route is right if all
departments of the label work and none that the label forbids.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.workflows.studio.routing import choose_route, route_by_keywords
from podium.workflows.studio.team import TeamSpec, load_team

RECORDED = Path(__file__).parents[2] / "recorded"
REQUESTS: list[dict[str, Any]] = json.loads((RECORDED / "routing_requests.json").read_text("utf-8"))
REPLIES: dict[str, dict[str, float]] = json.loads((RECORDED / "routing_replies.json").read_text("utf-8"))
TEAMS: dict[str, TeamSpec] = {name: load_team(name) for name in ("film", "software")}


@podium.workflow
async def routing(run: podium.Run, request: str, *, team: str, router: str) -> list[str]:
    return list((await choose_route(run, TEAMS[team], request, [], router, [])).chosen)


def replying(row: dict[str, Any]) -> Callable[[podium.Call], Any]:
    async def reply(call: podium.Call) -> dict[str, Any]:
        assert row["request"].strip() in call.prompt
        scores = REPLIES[row["id"]].items()
        return {
            "scores": [{"department": key, "relevance": n, "reason": "", "part": ""} for key, n in scores]
        }

    return reply


def right(row: dict[str, Any], chosen: list[str]) -> bool:
    return set(row["departments"]) <= set(chosen) and not set(chosen) & set(row["forbidden"])


async def routes(store: Store, router: str) -> dict[str, list[str]]:
    by_id: dict[str, list[str]] = {}
    for row in REQUESTS:
        options = {"team": row["team"], "router": router}
        run = await podium.run(routing, row["request"], model=replying(row), store=store, options=options)
        assert run.status == "completed", run.error
        by_id[row["id"]] = run.output
    return by_id


def test_the_requests_are_those_that_were_asked_for() -> None:
    assert len(REQUESTS) == 120
    assert {row["language"] for row in REQUESTS} == {"en", "de", "fr", "es", "ja", "pl"}
    for row in REQUESTS:
        assert set(REPLIES[row["id"]]) == set(TEAMS[row["team"]].departments)


async def test_keywords_alone_are_right_for_few_requests_and_know_it() -> None:
    routes_by_id = {row["id"]: route_by_keywords(TEAMS[row["team"]], row["request"]) for row in REQUESTS}
    correct = [row["id"] for row in REQUESTS if right(row, list(routes_by_id[row["id"]].chosen))]
    assert len(correct) >= 20
    sure = [row for row in REQUESTS if not routes_by_id[row["id"]].doubt]
    wrong = [row["id"] for row in sure if not right(row, list(routes_by_id[row["id"]].chosen))]
    assert wrong == [], "where keywords are sure they are right"


@pytest.mark.parametrize(("router", "least"), [("model", 114), ("auto", 114)])
async def test_with_a_model_nearly_all_are_routed_rightly(store: Store, router: str, least: int) -> None:
    result = await routes(store, router)
    correct = sum(right(row, result[row["id"]]) for row in REQUESTS)
    assert correct >= least
    for language in ("en", "de", "fr", "es", "ja", "pl"):
        own = [row for row in REQUESTS if row["language"] == language]
        assert sum(right(row, result[row["id"]]) for row in own) >= 17, language


@pytest.mark.parametrize("request_text", ["Sort them out and send them to us.", "What each of them says"])
def test_small_words_are_no_keywords(request_text: str) -> None:
    assert route_by_keywords(TEAMS["film"], request_text).relevance("story") == 0
