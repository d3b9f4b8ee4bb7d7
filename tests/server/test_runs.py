"""Runs over HTTP: everything that the command line can do with them."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.server.serving import FLOWS, PROGRAMS, done, events_of, flow, started, until


def test_a_run_is_durable_when_it_is_accepted_and_then_driven_to_its_end(client: httpx2.Client) -> None:
    answer = client.post("/api/runs", json={"workflow": flow("quick"), "request": "the sea"})
    assert answer.status_code == 202
    run_id = answer.json()["run_id"]
    assert answer.headers["Location"] == f"/api/runs/{run_id}"
    assert answer.json()["status"] == "queued"
    run = done(client, run_id)
    assert (run["status"], run["request"], run["rehearsal"]) == ("completed", "the sea", True)
    assert run["output"].startswith("[rehearsal]")
    assert run["usage"]["calls"] == 1
    assert [cost["agent"] for cost in run["costs"]] == ["writer"]
    assert run["last_seq"] == events_of(client, run_id)[-1]["seq"]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"workflow": "tre", "request": "x"}, "There is no workflow tre."),
        ({"workflow": "tree", "request": "  "}, "The request is empty."),
        ({"workflow": "tree"}, "The request is empty."),
        ({"workflow": "tree", "request": "x", "options": {"max_depht": 2}}, "has no option max_depht."),
        ({"workflow": "tree", "request": "x", "options": {"max_depth": "deep"}}, "cannot be 'deep'"),
        ({"workflow": "tree", "request": "x", "approve": ["nothing"]}, "has no gate nothing."),
        ({"workflow": "tree", "request": "x", "model": "nobody:x"}, "nobody"),
        ({"workflow": "council", "request": "x", "options": {"roles": "critic"}}, "leader"),
    ],
)
def test_what_is_wrong_is_reported_in_a_sentence_and_starts_nothing(
    client: httpx2.Client, body: dict[str, object], shown: str
) -> None:
    answer = client.post("/api/runs", json=body)
    assert answer.status_code == 422
    assert shown in answer.json()["error"]
    assert client.get("/api/runs").json()["runs"] == []


def test_every_flaw_of_a_request_is_reported_with_its_place(client: httpx2.Client) -> None:
    answer = client.post("/api/runs", json={"options": [], "budget": {"usd": -1}, "cahce": True})
    assert answer.status_code == 422
    places = [flaw.split(":")[0] for flaw in answer.json()["problems"]]
    assert sorted(places) == ["budget.usd", "cahce", "options", "workflow"]


def ceilings(**shown: float) -> dict[str, float | None]:
    return {"usd": None, "tokens": None, "calls": None, "seconds": None, "depth": None, **shown}


def test_a_budget_of_a_run_is_a_ceiling_and_a_resume_raises_it(client: httpx2.Client) -> None:
    run_id = started(client, "tree", "Plan a garden", budget={"calls": 3})
    run = done(client, run_id)
    assert (run["status"], run["stop_reason"], run["budget"]) == ("partial", "budget", ceilings(calls=3))
    again = client.post(f"/api/runs/{run_id}/resume", json={"budget": {"calls": 500}})
    assert again.status_code == 202
    run = until(client, run_id, "completed")
    assert (run["status"], run["budget"], run["resumes"]) == ("completed", ceilings(calls=500), 1)
    (listed,) = client.get("/api/runs", params={"text": run_id}).json()["runs"]
    assert listed["budget"] == ceilings(calls=500)  # the list shows spend against it
    assert (listed["calls"], listed["tokens"] > 0) == (run["usage"]["calls"], True)
    refused = client.post(f"/api/runs/{run_id}/resume", json={})
    assert (refused.status_code, "nothing to resume" in refused.json()["error"]) == (409, True)


def test_a_question_is_answered_and_the_run_goes_on(client: httpx2.Client) -> None:
    run_id = started(client, flow("asks"), "the sea")
    run = until(client, run_id, "waiting")
    assert [(question["question"], question["choices"]) for question in run["questions"]] == [
        ("Is it good?", ["yes", "no"])
    ]
    assert [run["run_id"] for run in client.get("/api/runs?needs_you=true").json()["runs"]] == [run_id]
    wrong = client.post(f"/api/runs/{run_id}/answer", json={"answer": "perhaps"})
    assert (wrong.status_code, "not one of the choices" in wrong.json()["error"]) == (422, True)
    answer = client.post(f"/api/runs/{run_id}/answer", json={"answer": "yes"})
    assert (answer.status_code, answer.json()["question"]) == (202, run["questions"][0]["path"])
    run = done(client, run_id)
    assert run["output"].startswith("yes: ")
    answered = [event["data"] for event in events_of(client, run_id) if event["type"] == "run.answered"]
    assert [(event["answer"], event["by"]) for event in answered] == [("yes", "web")]
    assert client.post(f"/api/runs/{run_id}/answer", json={"answer": "yes"}).status_code == 409


def test_a_run_can_be_cancelled_while_it_goes_and_while_it_waits(
    client: httpx2.Client, tmp_path: Path
) -> None:
    going = started(client, flow("waits"), str(tmp_path / "never"))
    until(client, going, "running")
    waiting = started(client, flow("asks"), "x")
    until(client, waiting, "waiting")
    for run_id in (going, waiting):
        answer = client.post(f"/api/runs/{run_id}/cancel", json={"reason": "enough"})
        assert (answer.status_code, answer.json()["status"]) == (200, "cancelled"), answer.text
        assert client.post(f"/api/runs/{run_id}/cancel", json={}).status_code == 409
    assert events_of(client, going)[-1]["data"]["reason"] == "enough"


def test_a_run_that_goes_can_be_paused_and_resumed(client: httpx2.Client, tmp_path: Path) -> None:
    run_id = started(client, flow("waits"), str(tmp_path / "file"))
    until(client, run_id, "running")
    assert client.post(f"/api/runs/{run_id}/pause").status_code == 202
    client.post(f"/api/runs/{run_id}/pause")  # once more: what is under way is not waited for
    assert until(client, run_id, "paused")["stop_reason"] == "paused by web"
    assert client.post(f"/api/runs/{run_id}/pause").status_code == 409
    (tmp_path / "file").touch()
    assert client.post(f"/api/runs/{run_id}/resume", json={}).status_code == 202
    assert until(client, run_id, "completed")["output"] == "firstsecond"
    assert (tmp_path / "file.began").read_text() == "began\n", "the first step was not run again"


def test_a_fork_inherits_what_was_before_and_takes_an_edited_reply(client: httpx2.Client) -> None:
    run_id = started(client, flow("asks"), "the sea")
    until(client, run_id, "waiting")
    client.post(f"/api/runs/{run_id}/answer", json={"answer": "no"})
    done(client, run_id)
    steps = client.get(f"/api/runs/{run_id}/steps").json()["steps"]
    path = next(step["path"] for step in steps if step["kind"] == "ask")
    answer = client.post(f"/api/runs/{run_id}/fork", json={"at": path, "reply": "My own words"})
    assert answer.status_code == 202, answer.text
    fork = answer.json()["run_id"]
    run = until(client, fork, "waiting")
    assert (run["parent"], run["forked_from"]["at"], run["forked_from"]["edit"]) == (run_id, path, "reply")
    step = client.get(f"/api/runs/{fork}/step", params={"path": path}).json()
    assert (step["result"], step["edited"], step["cost_usd"]) == ("My own words", True, 0)
    both = client.post(f"/api/runs/{run_id}/fork", json={"at": path, "reply": "a", "prompt": "b"})
    assert (both.status_code, both.json()["error"]) == (422, "Reply, prompt and model exclude each other.")
    unknown = client.post(f"/api/runs/{run_id}/fork", json={"at": "nowhere"})
    assert (unknown.status_code, "no step nowhere" in unknown.json()["error"]) == (422, True)


def test_a_step_is_reported_in_full(client: httpx2.Client) -> None:
    run_id = started(client, flow("quick"), "the sea", model=f"python:{PROGRAMS / 'models.py'}:echo")
    done(client, run_id)
    step = client.get(f"/api/runs/{run_id}/step", params={"path": "write"}).json()
    assert step["prompt"] == "Write 1 about the sea"
    assert step["result"] == "echo of Write 1 about the sea"
    assert len(step["events"]) >= 3


def test_a_finished_run_replays_to_the_same_result(client: httpx2.Client) -> None:
    run_id = started(client, flow("quick"), "the sea")
    done(client, run_id)
    answer = client.post(f"/api/runs/{run_id}/replay")
    assert answer.json() == {"run_id": run_id, "same": True, "diverged_at": None, "reason": None}


def test_the_list_has_filters_and_pages_that_fit_together(client: httpx2.Client) -> None:
    ids = [started(client, flow("quick"), f"Topic {n} of the sea") for n in range(5)]
    other = started(client, "tree", "Plan a garden")
    for run_id in (*ids, other):
        done(client, run_id)
    seen: list[str] = []
    before = ""
    while True:
        page = client.get("/api/runs", params={"limit": 2, "before": before}).json()
        seen += [run["run_id"] for run in page["runs"]]
        if page["next"] is None:
            break
        before = page["next"]
    assert seen == [other, *reversed(ids)]

    def found(**filters: str) -> list[str]:
        return [run["run_id"] for run in client.get("/api/runs", params=filters).json()["runs"]]

    assert found(workflow="tree") == [other]
    assert found(text="topic 3 OF") == [ids[3]]
    assert found(text="100%_") == []
    assert found(text=ids[2][:7]) == [ids[2]]
    assert found(status="failed") == []
    assert len(found(status="completed")) == 6
    assert client.get("/api/runs", params={"status": "done"}).status_code == 422


def test_events_come_in_pages_and_by_type(client: httpx2.Client) -> None:
    run_id = started(client, flow("counts"), "30")
    done(client, run_id)
    everything = events_of(client, run_id)
    assert [event["seq"] for event in everything] == list(range(1, len(everything) + 1))
    page = client.get(f"/api/runs/{run_id}/events", params={"after": 5, "limit": 3}).json()
    assert ([event["seq"] for event in page["events"]], page["next"]) == ([6, 7, 8], 8)
    counted = client.get(f"/api/runs/{run_id}/events", params={"type": "tests.counted"}).json()["events"]
    assert [event["data"]["number"] for event in counted] == list(range(30))


def test_a_large_output_is_found_through_the_event_that_names_it(
    client: httpx2.Client, tmp_path: Path
) -> None:
    program = tmp_path / "large.py"
    program.write_text(
        "import podium\n\n@podium.workflow\nasync def large(run: podium.Run, request: str) -> str:\n"
        "    return 'x' * 100_000\n"
    )
    run_id = started(client, str(program), "x")
    assert len(done(client, run_id)["output"]) == 100_000
    last = events_of(client, run_id)[-1]
    assert last["data"]["blob"]
    blob = client.get(f"/api/runs/{run_id}/events/{last['seq']}/blob")
    assert len(blob.json()) == 100_000
    assert client.get(f"/api/runs/{run_id}/events/1/blob").status_code == 404


def test_the_beginning_of_an_id_is_enough_and_an_unknown_one_is_404(client: httpx2.Client) -> None:
    run_id = started(client, flow("quick"), "x")
    assert client.get(f"/api/runs/{run_id[:8]}").json()["run_id"] == run_id
    assert client.get("/api/runs/zzzzzzzzzzzz").status_code == 404


def test_a_workflow_shows_its_options_so_that_a_form_can_be_drawn(client: httpx2.Client) -> None:
    own = client.get(f"/api/workflows/{FLOWS}:quick").json()
    assert (own["title"], own["text"]) == ("One question, one answer.", "Nothing else.")
    assert own["options"][0]["name"] == "length"
    assert (own["options"][0]["default"], own["options"][0]["json_schema"]) == (1, {"type": "integer"})
    shipped = {workflow["name"]: workflow for workflow in client.get("/api/workflows").json()["workflows"]}
    options = {option["name"]: option for option in shipped["studio"]["options"]}
    assert options["specialists"]["json_schema"]["enum"] == ["always", "auto", "never"]
    assert options["synthesis_rounds"]["json_schema"]["maximum"] == 5
    assert "route" in shipped["studio"]["gates"]
    refused = client.post("/api/workflows/studio/estimate", json={"request": "x"})
    assert (refused.status_code, "cannot tell" in refused.json()["error"]) == (422, True)


def test_a_run_that_would_only_end_so_again_is_not_resumed(client: httpx2.Client) -> None:
    run_id = started(client, flow("half"), "x")
    assert done(client, run_id)["status"] == "partial"
    answer = client.post(f"/api/runs/{run_id}/resume", json={})
    assert (answer.status_code, "would change nothing" in answer.json()["error"]) == (409, True)


def test_what_a_run_would_take_is_estimated_before_it_is_started(client: httpx2.Client) -> None:
    estimate = client.post(
        "/api/workflows/research/estimate", json={"request": "Tidal power in small harbours"}
    )
    assert estimate.status_code == 200, estimate.text
    assert estimate.json()["lines"]
    assert estimate.json()["data"]
    wrong = client.post("/api/workflows/research/estimate", json={"request": "x", "options": {"length": 5}})
    assert (wrong.status_code, bool(wrong.json()["error"])) == (422, True)
    assert client.get("/api/runs").json()["runs"] == []
