"""What lies beside runs: the cache, folders of documents, files of facts, trials of models, traces."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx2
import pytest

from podium.engine.events import Charge
from podium.engine.store_parts import Sample
from podium.stores import open_store
from tests.server.conftest import Shared
from tests.server.serving import done, served, started

FACT = {"subject": "Mara Voss", "predicate": "eyes", "value": "green"}


def lines(*facts: dict[str, str]) -> str:
    return "".join(json.dumps(fact) + "\n" for fact in facts)


# ── the cache ──


async def filled(folder: Path) -> None:
    """A store with the answers of two models in its cache."""
    async with open_store(str(folder / "podium.sqlite")) as store:
        for number, model in enumerate(("openai:a", "openai:a", "openai:b")):
            sample = Sample(
                id=f"{number:032d}",
                key=f"k{number}",
                number=1,
                model=model,
                data=b"x" * 10,
                charge=Charge(usd=0.5, calls=1, input_tokens=3),
                made_us=1_000_000 + number,
            )
            store.keep_sample(sample, 10**9)
            store.use_sample(sample, time.time_ns() // 1000)


async def test_the_cache_is_reported_by_model_and_emptied_in_parts(tmp_path: Path) -> None:
    await filled(tmp_path)
    with served(tmp_path) as server, server.client() as client:
        cache = client.get("/api/cache").json()
        assert (cache["entries"], cache["hits"], cache["saved_usd"]) == (3, 3, 1.5)
        assert {model["model"]: model["entries"] for model in cache["models"]} == {
            "openai:a": 2,
            "openai:b": 1,
        }
        assert cache["limit_bytes"] > 0
        assert client.delete("/api/cache", params={"model": "openai:c"}).status_code == 404
        assert client.delete("/api/cache", params={"unused_s": 1e9}).json()["entries"] == 0
        assert client.delete("/api/cache", params={"model": "openai:a"}).json()["entries"] == 2
        assert client.delete("/api/cache").json() == {"entries": 1, "bytes": 10}
        assert client.get("/api/cache").json()["entries"] == 0


# ── folders of documents ──


def test_a_folder_is_indexed_searched_and_forgotten(client: httpx2.Client, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tides.md").write_text("# Tides\n\nThe moon pulls the sea, and so the tides come and go.\n")
    assert client.get("/api/corpora").json() == {"corpora": []}
    added = client.post("/api/corpora", json={"folder": str(folder), "name": "sea"}).json()
    assert (added["name"], added["documents"], added["added"], added["troubles"]) == ("sea", 1, 1, [])
    assert [corpus["name"] for corpus in client.get("/api/corpora").json()["corpora"]] == ["sea"]
    (result,) = client.get("/api/corpora/search", params={"text": "moon tides"}).json()["results"]
    assert (result["corpus"], result["path"], result["title"]) == ("sea", "tides.md", "Tides")
    assert "moon" in result["snippet"]
    assert client.get("/api/corpora/search", params={"text": "x", "corpus": "air"}).status_code == 404
    nowhere = client.post("/api/corpora", json={"folder": str(tmp_path / "nothing")})
    assert (nowhere.status_code, nowhere.json()["error"] != "") == (422, True)
    assert client.post("/api/corpora", json={"folder": "a\0b"}).status_code == 422
    assert client.delete("/api/corpora/~nobody-of-that-name").status_code == 404
    for odd in ("~nobody-of-that-name", "x" * 300):
        assert client.post("/api/corpora", json={"folder": odd}).status_code == 422
    assert client.delete("/api/corpora/air").status_code == 404
    assert client.delete("/api/corpora/sea").json() == {"removed": "sea", "folder": str(folder)}
    assert client.get("/api/corpora").json() == {"corpora": []}
    assert (folder / "tides.md").exists()


# ── facts as files ──


def test_facts_go_out_and_come_in_again(client: httpx2.Client) -> None:
    base = "/api/brain/projects/harbour"
    assert client.get(f"{base}/export").status_code == 404
    first = client.post(f"{base}/import", json={"lines": lines(FACT), "accept": True})
    assert first.json() == {"imported": 1, "known": 0}
    exported = client.get(f"{base}/export")
    assert exported.headers["content-type"] == "application/x-ndjson"
    (shown,) = [json.loads(line) for line in exported.text.splitlines()]
    assert {name: shown[name] for name in FACT} == FACT
    assert (shown["project"], shown["status"]) == ("harbour", "accepted")
    again = client.post(f"{base}/import", json={"lines": exported.text})
    assert again.json() == {"imported": 0, "known": 1}
    wrong = client.post(f"{base}/import", json={"lines": lines(FACT, {"subject": "x"})})
    assert (wrong.status_code, "line 2" in wrong.json()["error"]) == (422, True)
    (change,) = client.get(f"{base}/facts/{shown['id']}").json()["history"]
    assert (change["action"], change["by"]) == ("imported", "web")
    assert client.delete(f"{base}/facts").status_code == 422
    assert client.delete(f"{base}/facts", params={"run": "none"}).json() == {"forgotten": 0}
    assert client.delete(f"{base}/facts", params={"all": True}).json() == {"forgotten": 1}


def test_search_by_meaning_says_what_it_needs(client: httpx2.Client) -> None:
    client.post("/api/brain/projects/harbour/import", json={"lines": lines(FACT)})
    refused = client.post("/api/brain/projects/harbour/embed")
    assert (refused.status_code, refused.json()["error"]) == (422, "No embedding model is configured.")


def test_users_take_facts_out_of_their_own_projects_and_into_them(shared: Shared) -> None:
    with shared.of("alice") as alice, shared.of("bob") as bob:
        base = "/api/brain/projects/harbour"
        elsewhere = {**FACT, "project": "bob/harbour"}
        assert alice.post(f"{base}/import", json={"lines": lines(elsewhere)}).json()["imported"] == 1
        assert json.loads(alice.get(f"{base}/export").text)["project"] == "harbour"
        assert bob.get(f"{base}/export").status_code == 404
        assert bob.delete(f"{base}/facts", params={"all": True}).status_code == 404
        assert bob.get("/api/brain/projects").json()["projects"] == []
        history = json.loads(alice.get(f"{base}/export").text)["id"]
        assert alice.get(f"{base}/facts/{history}").json()["history"][0]["by"] == "alice"


# ── models and teams ──


def test_a_model_is_asked_one_question(client: httpx2.Client) -> None:
    tried = client.post("/api/models/test", json={"model": "rehearsal"}).json()
    assert (tried["ok"], tried["rehearsal"], tried["attempts"]) == (True, True, 1)
    assert set(tried["reply"]) == {"sum", "sentence"}
    assert client.get("/api/runs").json()["runs"] == [], "a trial is no run of this store"
    for model in ("openai:gpt-4o", "nothing:x", "replay:abcdef"):
        answer = client.post("/api/models/test", json={"model": model})
        assert answer.status_code in (200, 422), answer.text
        shown = answer.json()
        assert shown.get("ok") is not True
        assert shown["error"]


def test_all_models_of_a_provider_are_reported(client: httpx2.Client) -> None:
    provider = client.get("/api/models/openai").json()
    assert provider["provider"] == "openai"
    assert all(model["model"].startswith("openai:") for model in provider["models"])
    assert len(provider["models"]) > 5
    assert client.get("/api/models/nothing").status_code == 404


def test_a_team_s_file_can_be_had_changed_and_checked(client: httpx2.Client) -> None:
    text = client.get("/api/teams/film/file").text
    assert client.post("/api/teams/check", json={"text": text}).json()["ok"] is True


# ── traces ──


def test_the_trace_of_a_run_is_otlp_and_holds_prompts_only_when_asked(client: httpx2.Client) -> None:
    run_id = started(client, "tree", "Plan a garden with a very special pond")
    done(client, run_id)
    plain = client.get(f"/api/runs/{run_id}/trace")
    assert plain.headers["content-disposition"] == f'attachment; filename="{run_id}.trace.json"'
    spans = plain.json()["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert len({span["traceId"] for span in spans}) == 1
    assert "special pond" not in plain.text
    assert "special pond" in client.get(f"/api/runs/{run_id}/trace", params={"content": True}).text
    wrong = client.post(f"/api/runs/{run_id}/trace", json={"otlp": "localhost:4318"})
    assert (wrong.status_code, "not an http address" in wrong.json()["error"]) == (422, True)
    refused = client.post(f"/api/runs/{run_id}/trace", json={"otlp": "http://127.0.0.1:9"})
    assert (refused.status_code, "did not accept the trace" in refused.json()["error"]) == (502, True)


# ── for whoever runs the server ──

FOR_OPERATORS = [
    ("GET", "/api/cache", None),
    ("DELETE", "/api/cache", None),
    ("GET", "/api/corpora", None),
    ("POST", "/api/corpora", {"folder": "/"}),
    ("GET", "/api/corpora/search?text=x", None),
    ("DELETE", "/api/corpora/x", None),
    ("POST", "/api/models/test", {"model": "rehearsal"}),
    ("POST", "/api/brain/projects/p/embed", None),
]


@pytest.mark.parametrize(("method", "path", "body"), FOR_OPERATORS)
def test_users_of_a_shared_server_cannot_use_what_all_share(
    shared: Shared, method: str, path: str, body: object
) -> None:
    with shared.of("alice") as alice:
        answer = alice.request(method, path, json=body)
        assert (answer.status_code, "shared server" in answer.json()["error"]) == (403, True)


def test_a_user_cannot_have_the_server_send_traces_anywhere(shared: Shared) -> None:
    with shared.of("alice") as alice:
        run_id = started(alice, "tree", "x")
        assert alice.get(f"/api/runs/{run_id}/trace").status_code == 200
        sent = alice.post(f"/api/runs/{run_id}/trace", json={"otlp": "http://169.254.169.254/"})
        assert sent.status_code == 403
