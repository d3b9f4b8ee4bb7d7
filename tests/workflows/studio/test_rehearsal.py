"""What the rehearsal makes of real requests: departments that differ, grades that make retries seen."""

from __future__ import annotations

import pytest

import podium
from podium.engine.log import Store
from podium.models.sample_values import LABEL
from tests.workflows.studio.crew import WORKED, RunEvents

REQUESTS = [
    (WORKED, "film"),
    ("A comprehensive plan for the final battle: story, music and shots", "film"),
    ("Design the interface and implement the front end of a diary", "software"),
]


@pytest.mark.parametrize(("request_text", "team"), REQUESTS)
async def test_a_rehearsal_is_whole_differs_per_department_and_says_what_it_is(
    store: Store, request_text: str, team: str
) -> None:
    options = {"team": team}
    result = await podium.run("studio", request_text, model="rehearsal", store=store, options=options)
    assert (result.status, result.rehearsal) == ("completed", True)
    outputs = [report["output"] for report in result.output["departments"]]
    assert len(set(outputs)) == len(outputs) > 1
    topic = " ".join(request_text.split()[:5])
    assert all(LABEL in text and topic in text for text in outputs)
    assert result.output["deliverable"].startswith(f"# {request_text}")
    assert "Rehearsal" in (await page(store, result))


async def page(store: Store, result: podium.RunResult) -> str:
    made = next(artifact for artifact in result.artifacts if artifact.name == "deliverable.html")
    return (await store.get_blob(made.blob)).decode()


async def test_grades_vary_so_that_retries_are_seen(store: Store) -> None:
    result = await podium.run("studio", WORKED, model="rehearsal", store=store)
    log = await RunEvents.of(store, result.run_id)
    scores = {data["score"] for data in log.of_type("specialist_graded")}
    assert len(scores) > 4
    assert log.of_type("specialist_retried")
    assert {data["status"] for data in log.of_type("specialist_reviewed")} >= {"approved", "revision-needed"}


async def test_a_rehearsal_can_be_repeated_and_other_requests_go_another_way(store: Store) -> None:
    first, again, other = [
        await podium.run(
            "studio", text, model="rehearsal", store=store, options={"departments": "story,audio"}
        )
        for text in (WORKED, WORKED, "A lullaby for a robot that cannot sleep")
    ]
    assert first.output["deliverable"] == again.output["deliverable"]
    assert first.output["overall_quality"] != other.output["overall_quality"]


@pytest.mark.parametrize("options", [{"router": "model"}, {"batch_grading": True}, {"synthesis_rounds": 2}])
async def test_every_option_can_be_rehearsed(store: Store, options: dict[str, object]) -> None:
    result = await podium.run("studio", WORKED, model="rehearsal", store=store, options=options)
    assert (result.status, result.output["errors"]) == ("completed", [])
