"""Users do not see each other: not a run, not a fact, not a figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.server.users import add_user
from podium.workflows import SHIPPED, builtin, find_workflow
from tests.server.conftest import Shared
from tests.server.routes import all_routes, filled
from tests.server.serving import FLOWS, done, served, started, until

OF_RUNS = [route for route in all_routes() if "{run_id}" in route[1]]
BODIES = {"answer": {"answer": "x"}, "fork": {"at": "plan"}, "trace": {"otlp": "http://x"}}


def test_the_runs_of_others_are_not_there_for_any_route(shared: Shared) -> None:
    assert len(OF_RUNS) >= 15
    with shared.of("alice") as alice, shared.of("bob") as bob:
        run_id = started(alice, "tree", "a garden")
        done(alice, run_id)
        assert alice.get(f"/api/runs/{run_id}").json()["owner"] == "alice"
        for method, path in OF_RUNS:
            body = BODIES.get(path.rpartition("/")[2], {})
            where = filled(path, run_id=run_id)
            params = {"path": "plan"} if path.endswith("/step") else {}
            answer = bob.request(method, where, params=params, json=body if method == "POST" else None)
            unknown = bob.request(
                method,
                where.replace(run_id, "zzzzzzzzzzzz"),
                params=params,
                json=body if method == "POST" else None,
            )
            assert answer.status_code == 404, (method, path, answer.text)
            shown = answer.json() | {"error": answer.json()["error"].replace(run_id, "zzzzzzzzzzzz")}
            assert shown == unknown.json(), "not even that it is there"
        assert bob.get("/api/runs").json()["runs"] == []
        assert bob.get("/api/runs", params={"before": run_id}).status_code == 404
        assert bob.get("/api/runs", params={"text": run_id}).json()["runs"] == []
        assert run_id in str(alice.get("/api/runs").json())
        assert "podium_runs{" not in bob.get("/api/metrics").text


def test_whose_a_run_is_stands_in_its_log_and_a_fork_stays_with_its_owner(shared: Shared) -> None:
    with shared.of("alice") as alice:
        run_id = started(alice, "tree", "a garden")
        done(alice, run_id)
        created = alice.get(f"/api/runs/{run_id}/events", params={"limit": 1}).json()["events"][0]
        assert created["data"]["config"]["owner"] == "alice"
        fork = alice.post(f"/api/runs/{run_id}/fork", json={"at": "plan"}).json()
        assert fork["owner"] == "alice"


@pytest.mark.parametrize(
    "body",
    [
        {"workflow": f"{FLOWS}:quick", "request": "x"},
        {"workflow": "tree", "request": "x", "model": f"python:{FLOWS}:quick"},
        {"workflow": "tree", "request": "x", "model_for": {"planner": "python:/tmp/x.py:f"}},
        {"workflow": "tree", "request": "x", "model": "openai-compatible:x@http://169.254.169.254/"},
        {"workflow": "tree", "request": "x", "options": {"files": "/etc"}},
        {"workflow": "research", "request": "x", "options": {"corpus": "/etc"}},
        {"workflow": "research", "request": "x", "options": {"brief": "/etc/passwd"}},
        {"workflow": "studio", "request": "x", "options": {"team": "/etc/team.yaml"}},
        {"workflow": "studio", "request": "x", "options": {"team": ["film"]}},
    ],
)
def test_users_reach_neither_files_nor_code_of_the_machine(shared: Shared, body: dict[str, object]) -> None:
    with shared.of("alice") as alice:
        answer = alice.post("/api/runs", json=body)
        assert answer.status_code == 403, answer.text
        assert alice.get("/api/runs").json()["runs"] == []


def test_only_options_that_were_looked_at_are_open_to_users() -> None:
    """A new option is refused to them until somebody has decided; a name that no workflow has is a
    mistake."""
    for name in SHIPPED:
        options = {option.name for option in find_workflow(name).options}
        assert builtin(name).shared_options <= options
        assert not builtin(name).shared_options & {"files", "corpus", "workspace", "brief", "test_command"}


def test_users_are_not_reported_of_options_that_they_may_not_use(shared: Shared) -> None:
    with shared.of("alice") as alice:
        tree = alice.get("/api/workflows/tree").json()
        assert "files" not in [option["name"] for option in tree["options"]]
        assert alice.get(f"/api/workflows/{FLOWS}:quick").status_code == 403
        assert alice.post("/api/teams/check", json={"text": "extends: /etc/passwd"}).status_code == 403
        assert alice.get("/api/doctor").json()["checks"] == []


def test_replies_of_somebody_elses_run_are_no_model(shared: Shared) -> None:
    with shared.of("alice") as alice, shared.of("bob") as bob:
        run_id = started(alice, "tree", "a garden")
        done(alice, run_id)
        again = {"workflow": "tree", "request": "a garden", "model": f"replay:{run_id}"}
        assert bob.post("/api/runs", json=again).status_code == 404
        assert alice.post("/api/runs", json=again).status_code == 202


def test_projects_of_one_name_are_two(shared: Shared) -> None:
    scene = "Write a scene in which the thief Mara Voss meets the keeper of the lighthouse"
    with shared.of("alice") as alice, shared.of("bob") as bob:
        done(alice, started(alice, "studio", scene, options={"project": "lighthouse"}))
        projects = alice.get("/api/brain/projects").json()["projects"]
        assert [project["project"] for project in projects] == ["lighthouse"]
        waiting = alice.get("/api/brain/projects/lighthouse/review").json()
        assert waiting["facts"]
        assert {fact["project"] for fact in waiting["facts"]} == {"lighthouse"}
        assert bob.get("/api/brain/projects").json()["projects"] == []
        for path in ("facts", "review", "search?text=mara", f"facts/{waiting['facts'][0]['id']}"):
            assert bob.get(f"/api/brain/projects/lighthouse/{path}").status_code == 404
            assert bob.get(f"/api/brain/projects/alice%2Flighthouse/{path}").status_code == 404
        assert bob.post("/api/brain/projects/lighthouse/review", json={}).status_code == 404
        assert bob.get("/api/teams/film/stats?rehearsals=true").json()["agents"] == []
        assert alice.get("/api/teams/film/stats?rehearsals=true").status_code == 200


def test_a_user_cannot_spend_more_than_they_were_given(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"budget_usd": 10.0, "run_usd": 2.0})
    with served(tmp_path, users=file) as server, server.client(key) as alice:
        first = started(alice, "tree", "a garden", approve=["plan"])
        until(alice, first, "waiting")
        assert alice.get(f"/api/runs/{first}").json()["budget"]["usd"] == 2.0
        me = alice.get("/api/me").json()
        assert (me["budget_usd"], me["spent_usd"], me["reserved_usd"]) == (10.0, 0.0, 2.0)
        greedy = {"workflow": "tree", "request": "x", "budget": {"usd": 8.5}}
        refused = alice.post("/api/runs", json=greedy)
        assert refused.status_code == 422
        assert refused.json()["error"] == "$8.00 is left of your budget; this run asks for $8.50."
        assert alice.post(f"/api/runs/{first}/resume", json={"budget": {"usd": 10.5}}).status_code == 422
        assert alice.post(f"/api/runs/{first}/cancel", json={}).status_code == 200
        assert alice.get("/api/me").json()["reserved_usd"] == 0.0
        done(alice, started(alice, "tree", "x", budget={"usd": 10.0}))


def test_the_live_list_shows_each_user_of_their_own_runs(shared: Shared) -> None:
    with shared.of("alice") as alice, shared.of("bob") as bob:
        hers = started(alice, "tree", "a garden")
        done(alice, hers)
        with bob.stream("GET", "/api/runs/stream", headers={"Last-Event-ID": "1"}) as answer:
            again = started(alice, "tree", "a garden")
            done(alice, again)
            his = started(bob, "tree", "a garden")
            shown = ""
            for line in answer.iter_lines():
                shown += line
                if his in line and '"completed"' in line:
                    break
    assert hers not in shown
    assert again not in shown
