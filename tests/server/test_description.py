"""The OpenAPI description: complete, typed, true, and what the TypeScript types are made of."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis import checks as schema_checks

from podium.engine.events import EVENT_TYPES
from podium.server.app import build_api
from tests.server.routes import all_routes
from tests.server.serving import Served, done, flow, served, started, until

API: dict[str, Any] = build_api().openapi()
ENDLESS = {"streamRuns", "streamEvents"}
EXAMPLES = 8
WANTED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in API["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_route_is_described_but_the_pages() -> None:
    described = {(method.upper(), path) for method, path, _ in operations()}
    hidden = {("GET", "/api/openapi.json"), ("GET", "/"), ("GET", "/{path}"), ("POST", "/session")}
    routes = {(method, re.sub(r":\w+}", "}", path)) for method, path in all_routes()}
    assert routes - hidden == described


def test_every_answer_has_a_type_and_every_problem_is_reported() -> None:
    for method, path, operation in operations():
        good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        assert good
        for answer in good:
            for kind, content in answer["content"].items():
                assert content["schema"] or path.endswith("/blob"), (method, path, kind)
        assert {"401", "403", "404", "409", "413", "421", "422", "429"} <= set(operation["responses"])
        assert operation["operationId"].isidentifier()
        assert operation["summary"]


def test_every_type_of_event_is_described() -> None:
    described = set(API["components"]["schemas"]["EventTypes"]["properties"])
    shipped = {name for name, data in EVENT_TYPES.items() if data.__module__.startswith("podium.")}
    assert described == shipped


# ── whatever the description allows ──────────────────────────────────────────────────────────────

SCHEMA = cast("Any", schemathesis.openapi.from_dict(API))
CALLED = [op["operationId"] for _, _, op in operations() if op["operationId"] not in ENDLESS]


class House:
    """A server with runs in several statuses."""

    def __init__(self, server: Served) -> None:
        self.server = server
        with server.client() as client:
            finished = started(client, "tree", "a garden")
            done(client, finished)
            waiting = started(client, flow("asks"), "x")
            until(client, waiting, "waiting")
        self.runs = [finished, waiting]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    with served(tmp_path_factory.mktemp("house")) as server:
        yield House(server)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", CALLED)
def test_no_request_breaks_the_server_whether_the_description_allows_it_or_not(
    house: House, operation: str, mode: GenerationMode
) -> None:
    described = SCHEMA.find_operation_by_id(operation)
    checks: list[Any] = [cast("Any", schema_checks).CHECKS.get_one(name) for name in WANTED]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=described.as_strategy(generation_mode=mode), run=st.sampled_from([*house.runs, ""]))
    def call(case: Any, run: str) -> None:
        if run and "run_id" in (case.path_parameters or {}):
            case.path_parameters["run_id"] = run
        case.call_and_validate(
            base_url=house.server.base,
            checks=checks,
            timeout=60,
            headers={"Authorization": f"Bearer {house.server.token}"},
        )

    try:
        call()
    except Unsatisfiable:
        pytest.skip("there is nothing about it that could be wrong")
