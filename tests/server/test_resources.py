"""Everything that is not a run: teams, facts, models, the server itself."""

from __future__ import annotations

import re

import httpx2

from podium import __version__
from tests.server.serving import done, flow, started

SCENE = "Write a scene in which the thief Mara Voss meets the keeper of the lighthouse"


def test_facts_are_reviewed_edited_searched_and_forgotten(client: httpx2.Client) -> None:
    run_id = started(client, "studio", SCENE, options={"project": "lighthouse"})
    done(client, run_id)
    base = "/api/brain/projects/lighthouse"
    waiting = client.get(f"{base}/review", params={"run": run_id}).json()["facts"]
    assert waiting
    assert {fact["status"] for fact in waiting} == {"proposed"}
    first = waiting[0]["id"]
    wrong = client.post(f"{base}/review", json={"accept": [first, "nothing"]})
    assert wrong.status_code == 404
    assert client.get(f"{base}/facts").json()["facts"] == [], "a wrong id changes nothing"
    twice = client.post(f"{base}/review", json={"accept": [first], "discard": [first]})
    assert twice.status_code == 422
    edit = {"id": first, "value": "a stolen lantern"}
    reviewed = client.post(f"{base}/review", json={"accept": [first], "edit": [edit]}).json()
    assert (reviewed["accepted"], reviewed["edited"]) == ([first], [first])
    assert reviewed["waiting"] == len(waiting) - 1
    (fact,) = client.get(f"{base}/facts").json()["facts"]
    assert (fact["value"], fact["status"]) == ("a stolen lantern", "accepted")
    facts = client.get(f"{base}/search", params={"text": "lantern"}).json()["facts"]
    assert [fact["id"] for fact in facts] == [first]
    history = client.get(f"{base}/facts/{first}").json()["history"]
    assert [fact["action"] for fact in history] == ["proposed", "edited", "accepted"]
    assert history[-1]["by"] == "web"
    assert client.delete(f"{base}/facts/{first}").json() == {"forgotten": 1}
    assert client.get(f"{base}/facts/{first}").status_code == 404
    assert client.get("/api/brain/projects/nothing/facts").status_code == 404


def test_teams_are_shown_and_files_checked_with_every_flaw(client: httpx2.Client) -> None:
    assert client.get("/api/teams").json() == {"teams": ["film", "software"]}
    film = client.get("/api/teams/film").json()
    assert len(film["departments"]) == 7
    assert client.get("/api/teams/nothing").status_code == 422
    good = client.post("/api/teams/check", json={"text": "extends: default\nname: mine\n"}).json()
    assert (good["ok"], good["team"], good["departments"]) == (True, "mine", 7)
    bad = client.post("/api/teams/check", json={"text": "name: x\ndepartments:\n  a: {colour: 1}\n"}).json()
    assert bad["ok"] is False
    assert any("colour" in f"{flaw['place']} {flaw['reason']}" and flaw["line"] == 3 for flaw in bad["flaws"])


def test_how_a_team_did_is_reported_from_the_logs(client: httpx2.Client) -> None:
    assert client.get("/api/teams/film/stats?rehearsals=true").json()["agents"] == []
    done(client, started(client, "studio", SCENE, options={"specialists": "always"}))
    agents = client.get("/api/teams/film/stats?rehearsals=true").json()["agents"]
    assert agents
    assert all(0 <= agent["acceptance"] <= 1 and agent["results"] >= 1 for agent in agents)
    assert client.get("/api/teams/film/stats").json()["agents"] == [], "rehearsals are not counted as real"


def test_models_health_and_checks_are_reported(client: httpx2.Client) -> None:
    models = client.get("/api/models").json()
    assert models["model"] == "rehearsal"
    assert {"fast", "balanced", "powerful"} <= set(models["profiles"])
    assert any(offer["provider"] == "openai" and not offer["usable"] for offer in models["providers"])
    assert client.get("/api/health").json()["version"] == __version__
    ready = client.get("/api/ready").json()
    assert (ready["ready"], ready["running"], ready["queued"]) == (True, 0, 0)
    checks = client.get("/api/doctor").json()
    assert checks["ok"] is True
    assert {"python", "sqlite", "store", "lock"} <= {check["name"] for check in checks["checks"]}


def test_figures_are_in_the_format_of_prometheus(client: httpx2.Client) -> None:
    done(client, started(client, flow("quick"), "x"))
    answer = client.get("/api/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    sample = re.compile(r'[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? [0-9.e+-]+')
    for line in answer.text.splitlines():
        assert line.startswith("# ") or sample.fullmatch(line), line
    assert 'podium_runs{workflow="quick",status="completed"} 1' in answer.text
    assert 'podium_stretches_total{status="completed"} 1' in answer.text
