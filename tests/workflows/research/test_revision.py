"""What is read is shown, and what is missing drives the next iteration."""

from __future__ import annotations

import re
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.tools.documents.html import read_html
from podium.workflows.research.contracts import Source
from podium.workflows.research.measures.citations import only_known
from podium.workflows.research.measures.text import best_passages, nearest
from tests.workflows.research.crew import Crew, Shelves, half_checked, study


def test_passages_of_every_aspect_are_chosen_over_all_sources() -> None:
    filler = "\n\n".join(f"Paragraph {nth} speaks of weather and of gardens at length." for nth in range(900))
    answer = "The maintainer signs every upload with an OpenPGP key."
    other = "A sponsor checks the package of a newcomer first."
    texts = {"s1": f"{filler}\n\n{answer}\n\n{filler}", "s2": filler, "s3": f"{filler}\n\n{other}"}
    aspects = ["weather in gardens", "which key signs an upload", "what a sponsor checks"]
    shown = best_passages(texts, aspects, 6_000)
    assert answer in shown["s1"]
    assert other in shown["s3"]
    assert sum(map(len, shown.values())) <= 6_000


def test_the_same_page_in_another_format_is_shown_once() -> None:
    filler = "\n\n".join(f"Paragraph {nth} speaks of weather and of gardens at length." for nth in range(400))
    page = "The maintainer signs every upload with an OpenPGP key that stands in the keyring of the archive."
    texts = {"s1": f"{page}\n\n{filler}", "s2": f"{page} \n\n{filler}"}
    shown = best_passages(texts, ["which key signs an upload"], 3_000)
    assert sum(text.count("signs every upload") for text in shown.values()) == 1


def test_what_stands_between_good_passages_of_the_best_source_is_shown() -> None:
    stray = "\n\n".join(f"Keys {nth} open doors of houses and of cars in town." for nth in range(300))
    best = "Uploads are signed with a key.\n\nIt must be renewed each year.\n\nA key signs one upload."
    shown = best_passages({"s1": stray, "s2": best}, ["which key signs an upload"], 2_000)
    assert "It must be renewed each year." in shown["s2"]


async def test_missing_aspects_and_the_last_version_reach_the_next_iteration(store: Store) -> None:
    thin = {"coverage": 0.4, "tone": 0.93, "missing": ["who may sponsor"], "issues": ["Name the keyring."]}
    crew, shelves = Crew({"judge": [thin, {"coverage": 0.9, "tone": 0.9}]}), Shelves()
    logged = await study(store, crew, "Who may upload a package", shelves=shelves, min_quality=0.5)
    assert logged.result.status == "completed"
    assert logged.output["metrics"]["iteration_count"] == 2, "coverage 0.4 cannot complete"
    assert any(query == "who may sponsor" for _, query in shelves.asked)
    again = crew.tasks("write_article")[1].prompt
    assert "# The last version" in again
    assert "who may sponsor" in again
    assert "Name the keyring." in again
    feedback = logged.all("evaluated")[0]["feedback"]
    assert any(one.startswith("coverage 0.40, target 0.70.") for one in feedback)
    assert not any(one.startswith("tone") for one in feedback), "0.93 is above its target"


async def test_coverage_that_stays_low_ends_partial_with_what_is_missing(store: Store) -> None:
    thin = {"coverage": 0.6, "tone": 0.9, "missing": ["who may sponsor"]}
    logged = await study(store, Crew({"judge": thin}), "Who may upload a package", min_quality=0.5)
    assert logged.result.status == "partial"
    assert (logged.output["coverage"], logged.output["missing"]) == (0.6, ["who may sponsor"])
    assert any("who may sponsor" in one for one in logged.output["warnings"])


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("It grew fast (Smith, 2019). More [@s1].", "It grew fast. More [@s1]."),
        ("It grew [@s1].\n\n## References\n\n1. Smith, J. (2019). Made up.\n", "It grew [@s1]."),
        (
            "It grew [@s1].\n\n**Sources:**\n- Made up, 2020\n\n## Next\n\nMore.",
            "It grew [@s1].\n\n## Next\n\nMore.",
        ),
        ("It met (May 2019) in Rome [@s1].", "It met (May 2019) in Rome [@s1]."),
    ],
)
def test_sources_that_were_not_retrieved_are_taken_out(written: str, left: str) -> None:
    known = only_known(written, [Source(id="s1", title="A", url="corpus:a.md", kind="corpus")])
    assert known.markdown.strip() == left
    assert bool(known.removed) == (written.strip() != left)


def test_permalink_signs_of_headings_are_not_text() -> None:
    page = "<html><body><article><h1>Uploads¶</h1><p>Paragraph ¶ 12 holds.</p></article></body></html>"
    text = read_html(page).text
    assert "Uploads¶" not in text
    assert "¶ 12" in text


def test_passages_that_verified_claims_rest_on_stay() -> None:
    filler = "\n\n".join(f"Paragraph {nth} speaks of keys and of uploads at length." for nth in range(900))
    answer = "A sponsor may be found on a list that is kept for newcomers and renewed every week of the year."
    texts = {"s1": f"{filler}\n\n{answer}\n\n{filler}", "s2": filler}
    at = texts["s1"].index(answer)
    assert answer not in best_passages(texts, ["keys", "uploads"], 6_000).get("s1", "")
    kept = best_passages(texts, ["keys", "uploads"], 6_000, {"s1": [(at, at + 8)]})
    assert answer in kept["s1"]
    assert sum(map(len, kept.values())) <= 6_000


async def test_the_fact_checker_sees_what_the_writer_saw_in_every_iteration(store: Store) -> None:
    thin = {"coverage": 0.4, "tone": 0.9, "missing": ["who may sponsor"]}
    crew = Crew({"judge": [thin, {"coverage": 0.9, "tone": 0.9}]})
    await study(store, crew, "Who may upload a package", min_quality=0.5)
    for written, checked in zip(crew.tasks("write_article"), crew.tasks("fact_check"), strict=True):
        shown = re.findall(r"(?s)Title: .*?(?=\nEND UNTRUSTED)", written.prompt)
        assert shown
        assert all(one in checked.prompt for one in shown)


def test_points_beyond_the_limit_are_dropped_by_relevance() -> None:
    points = [f"colour of house {nth}" for nth in range(20)] + ["who signs the upload"]
    kept = nearest(points, "Who may sign an upload", 20)
    assert len(kept) == 20
    assert kept[-1] == "who signs the upload"


async def test_points_that_no_source_holds_are_not_demanded_again(store: Store) -> None:
    def checked(call: podium.Call) -> dict[str, Any]:
        listed = re.findall(r"^- (p\d+): (.*)$", call.prompt, re.MULTILINE)
        sources = re.findall(r"source (s\d+)", call.prompt)
        quote = {"source_id": sources[0], "quote": "counted"}
        points = [{"point_id": key} | ({} if "sponsor" in point else quote) for key, point in listed]
        return {**half_checked(1.0)(call), "points": points}

    missing = ["who may sponsor", "what a key is"]
    thin = {"coverage": 0.4, "tone": 0.9, "missing": missing}
    crew = Crew({"judge": thin, "fact_check": checked})
    shelves = Shelves()
    logged = await study(store, crew, "Who may upload a package", shelves=shelves, min_quality=0.5)
    judges = [call.prompt for call in crew.tasks("judge")]
    assert "The sources say nothing about these points." not in judges[0]
    assert "who may sponsor" in judges[1].partition("The sources say nothing about these points.")[2]
    assert logged.output["missing"] == ["what a key is"]
    assert logged.output["unsupported"] == ["who may sponsor"]


async def test_an_iteration_that_brought_nothing_is_the_last(store: Store) -> None:
    thin = {"coverage": 0.6, "tone": 0.9, "missing": ["who may sponsor"]}
    logged = await study(store, Crew({"judge": thin}), "Who may upload a package", min_quality=0.5)
    assert logged.output["metrics"]["iteration_count"] == 2
    assert logged.all("evaluated")[-1]["decision"] == "force_complete"
    gaps = [{**thin, "missing": [gap]} for gap in ("prices", "doses", "dates")]
    logged = await study(store, Crew({"judge": gaps}), "Who may upload a package", min_quality=0.5)
    assert logged.output["metrics"]["iteration_count"] == 3, "each iteration covered an aspect"
