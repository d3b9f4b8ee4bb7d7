"""Whatever a user may call a thing can be asked for over HTTP; what cannot be is refused where it begins."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import httpx2

from tests.server.conftest import Shared
from tests.server.serving import FLOWS, done, flow, started

ODD = (
    "harbour/2026", "/", "a/facts/b", "x/search", "/api/session", "100%", "a%2Fb", "50%25", "wha?t", "#1",
    "a&b=c", "Müller & Söhne", "灯台", "a b", "a+b", "a;b,c:d@e", '"quoted"', "it's", "\\back", "<b>", "…",
    "~", "-", "...", "review",
)  # fmt: skip
FACT = json.dumps({"subject": "Mara Voss", "predicate": "trade", "value": "thief"})


def encoded(name: str) -> str:
    return quote(name, safe="")


def test_a_project_of_any_name_can_be_read_searched_reviewed_and_forgotten(client: httpx2.Client) -> None:
    for name in ODD:
        live_through(client, name)


def live_through(client: httpx2.Client, name: str) -> None:
    base = f"/api/brain/projects/{encoded(name)}"
    assert client.post(f"{base}/import", json={"lines": FACT}).json()["imported"] == 1
    assert [project["project"] for project in client.get("/api/brain/projects").json()["projects"]] == [name]
    (fact,) = client.get(f"{base}/review").json()["facts"]
    assert client.post(f"{base}/review", json={"accept": [fact["id"]]}).json()["accepted"] == [fact["id"]]
    assert client.get(f"{base}/search", params={"text": "thief"}).json()["facts"][0]["id"] == fact["id"]
    assert client.get(f"{base}/facts").json()["project"] == name
    assert client.get(f"{base}/facts/{fact['id']}").json()["value"] == "thief"
    assert client.get(f"{base}/export").text.count("\n") == 1
    assert client.delete(f"{base}/facts", params={"all": "true"}).json() == {"forgotten": 1}


def test_a_slash_leads_to_nobody_elses_project(shared: Shared) -> None:
    with shared.of("alice") as alice:
        base = f"/api/brain/projects/{encoded('sea/side')}"
        assert alice.post(f"{base}/import", json={"lines": FACT}).status_code == 200
        assert len(alice.get(f"{base}/review").json()["facts"]) == 1
    with shared.of("bob") as bob:
        assert bob.get(f"{base}/review").status_code == 404
        theirs = encoded("alice/sea/side")
        assert bob.get(f"/api/brain/projects/{theirs}/review").status_code == 404


def test_a_project_that_no_address_can_name_is_refused_where_it_would_begin(client: httpx2.Client) -> None:
    for name in (".", "..", " . ", "a\x00b", " ", "x" * 101):
        body = {"workflow": "studio", "request": "A scene at sea", "options": {"project": name}}
        answer = client.post("/api/runs", json=body)
        assert answer.status_code == 422, answer.text
        assert "is not the name of a project" in answer.json()["error"]


def test_an_artifact_is_found_by_its_name_with_slashes(client: httpx2.Client) -> None:
    run_id = started(client, flow("makes"), "x")
    done(client, run_id)
    made = client.get(f"/api/runs/{run_id}/artifacts").json()["artifacts"][1]
    by_name = client.get(f"/api/runs/{run_id}/artifacts/{encoded(made['name'])}")
    assert (by_name.status_code, len(by_name.content)) == (200, made["bytes"])


def test_a_corpus_is_removed_by_its_folder(client: httpx2.Client, tmp_path: Path) -> None:
    folder = tmp_path / "what #1? 100%"
    folder.mkdir()
    (folder / "a.md").write_text("# Lighthouses\n\nThey shine.")
    for name in ("", "odd #2? 50% & more"):
        added = client.post("/api/corpora", json={"folder": str(folder), "name": name})
        assert added.status_code == 200, added.text
        reference = name or str(folder)
        removed = client.delete(f"/api/corpora/{encoded(reference)}")
        assert removed.json()["folder"] == str(folder)
    for name in ("a/b", ".", ".."):
        refused = client.post("/api/corpora", json={"folder": str(folder), "name": name})
        assert (refused.status_code, refused.json()["error"].count(".")) == (422, 1)


def test_a_workflow_in_a_file_is_read_and_estimated_by_its_path(client: httpx2.Client) -> None:
    for name in (encoded(flow("makes")), flow("makes")):
        assert client.get(f"/api/workflows/{name}").json()["name"] == "makes"
    estimate = client.post(f"/api/workflows/{encoded(str(FLOWS) + ':makes')}/estimate", json={"request": "x"})
    assert estimate.json()["error"] == "The workflow makes cannot tell what a run would take."


def test_a_slash_in_disguise_opens_no_door(shared: Shared) -> None:
    """What the guard lets pass and what the routes answer are the same address."""
    with shared.server.client("") as nobody:
        for address in ("/api%2Fsession", "/api%2fruns", "/api/%2Fruns", "/api/runs%2F..%2Fsession"):
            assert nobody.post(address, json={"key": "x"}).status_code == 401
            assert nobody.get(address).status_code == 401
    with shared.of("alice") as alice:
        assert alice.get("/api%2Fruns").headers["Content-Type"].startswith("text/html"), "a page, no runs"
        assert alice.get("/assets/..%2F..%2Fapp.py").status_code == 404
