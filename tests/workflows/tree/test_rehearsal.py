"""What the rehearsal makes of real requests: a sensible tree of two levels, with steps that differ."""

from __future__ import annotations

import re

import pytest

import podium
from podium.engine.log import Store
from podium.models.sample_values import LABEL
from podium.workflows.tree.rehearsal import listed_items

REQUESTS = [
    "Compare Postgres, MySQL and SQLite for a small shop",
    "Plan a weekend in Lisbon for three friends",
    "Write a guide to composting on a balcony",
    "How do tides work?",
    "Plane ein Wochenende in Köln für drei Freunde, die gerne draußen übernachten",
]


@pytest.mark.parametrize("request_text", REQUESTS)
async def test_a_request_becomes_a_tree_of_two_levels_with_distinct_steps(
    store: Store, request_text: str
) -> None:
    result = await podium.run("tree", request_text, model="rehearsal", store=store)
    assert (result.status, result.rehearsal) == ("completed", True)
    nodes = result.output["nodes"]
    assert {row["depth"] for row in nodes} == {0, 1, 2}
    titles = [row["title"] for row in nodes]
    assert len(set(titles)) == len(titles) >= 6
    assert {row["outcome"] for row in nodes} == {"success"}
    document = result.output["document"]
    assert document.startswith(f"# {request_text}")
    assert LABEL in document
    assert all(row["title"] in document for row in nodes if row["depth"] == 1)


async def test_different_requests_are_answered_differently(store: Store) -> None:
    documents = [
        (await podium.run("tree", request, model="rehearsal", store=store)).output["document"]
        for request in REQUESTS
    ]
    points = [tuple(re.findall(r"^- (.+)$", text, re.MULTILINE)) for text in documents]
    assert len(set(points)) == len(REQUESTS), "the points name words of the request"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Compare Postgres, MySQL and SQLite for a small shop", ["Postgres", "MySQL", "SQLite"]),
        ("Tea or coffee", ["coffee"]),
        ("How do tides work?", []),
        ("Plan trips to Lisbon, Porto and Faro", ["Lisbon", "Porto", "Faro"]),
        ("Vergleiche Postgres, MySQL und SQLite für ein kleines Team", ["Postgres", "MySQL", "SQLite"]),
        ("Vergleicht das Auto, die Bahn oder das Fahrrad", ["das Auto", "die Bahn", "das Fahrrad"]),
        ("Plane ein Fest für Freunde, die gerne draußen feiern", []),
    ],
)
def test_what_a_request_lists_becomes_its_steps(text: str, items: list[str]) -> None:
    listed = listed_items(text)
    assert listed[-len(items) :] == items if items else listed == []


async def test_the_guards_hold_for_the_rehearsal_too(store: Store) -> None:
    options = {"max_depth": 1, "max_bands": 1, "max_steps": 2, "deliverable": "json"}
    result = await podium.run("tree", REQUESTS[0], model="rehearsal", store=store, options=options)
    assert result.status == "completed"
    assert len(result.output["nodes"]) == 3
    assert {artifact.name for artifact in result.artifacts} >= {"data.json", "synthesis.md"}


async def test_a_rehearsal_with_a_folder_uses_a_tool(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "prices.txt").write_text("tea 3")
    result = await podium.run(
        "tree", "How do tides work?", model="rehearsal", store=store, options={"files": str(folder)}
    )
    assert result.status == "completed"
    rows = await store.read(result.run_id, types=("tree.tool_call_result",))
    assert rows
    assert all(b'"ok":true' in row.data and b"prices.txt" in row.data for row in rows)


async def test_umlauts_are_spelt_out_in_the_names_of_steps(store: Store) -> None:
    result = await podium.run("tree", "Vergleiche Köln, Gießen und Düren", model="rehearsal", store=store)
    names = [row["nodeId"] for row in result.output["nodes"]]
    assert {"root/1-koeln", "root/2-giessen", "root/3-dueren"} <= set(names)


async def test_codes_for_a_terminal_become_no_words_of_a_tree(store: Store) -> None:
    result = await podium.run("tree", "Plan a \x1b[31mred\x1b[0m party", model="rehearsal", store=store)
    assert "31m" not in str([row["title"] for row in result.output["nodes"]][1:])
    assert "mred" not in result.output["document"]
