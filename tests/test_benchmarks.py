"""The benchmarks work: every workload makes exactly its calls, and a report comes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.asking import Asked
from benchmarks.asking import measure as measure_asking
from benchmarks.brain import measure as measure_brain
from benchmarks.common import FULL, QUICK, WORKLOADS
from benchmarks.corpus import Costs, goals
from benchmarks.corpus import measure as measure_corpus
from benchmarks.corpus_html import measure as measure_html
from benchmarks.corpus_html import render as render_html
from benchmarks.corpus_html import write_pages
from benchmarks.machine import file_system
from benchmarks.orchestration import ideal
from benchmarks.orchestration import measure as measure_tree
from benchmarks.postgres import TINY as POSTGRES_TINY
from benchmarks.postgres import measure as measure_postgres
from benchmarks.postgres import render as render_postgres
from benchmarks.provider import serving
from benchmarks.reach import WORDS
from benchmarks.reach import Taken as Reached
from benchmarks.reach import measure as measure_reach
from benchmarks.reach import render as render_reach
from benchmarks.report import SHORT, render
from benchmarks.results import Results, against, ratio
from benchmarks.retrieval import line as retrieval_line
from benchmarks.retrieval import measure as measure_retrieval
from benchmarks.server import measure as measure_server
from benchmarks.short import measure as measure_short
from benchmarks.studio_brain import ASKED, EMBEDDING, fill, once, run_of
from benchmarks.worker import Measured, measure

from podium.tools.documents.word_vectors import is_installed
from tests.stores.postgres import Server

TINY = replace(QUICK, chain=4, fanout=5, depth=2, branching=2, runs=3, steps=2, repetitions=1)


def test_the_workloads_have_the_agreed_sizes() -> None:
    assert {name: FULL.calls(name) for name in WORKLOADS} == {
        "chain": 200,
        "fanout": 202,
        "tree": 1814,
        "many": 5000,
    }


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS)
async def test_a_workload_makes_exactly_its_calls_beside_its_baselines(workload: str, tmp_path: Path) -> None:
    figures = await measure("steps", workload, 0.0, TINY, tmp_path, seconds=60)
    assert figures.calls == TINY.calls(workload)
    assert set(figures.walls) == {"plain", "steps"} | ({"commit"} if workload == "chain" else set())
    assert all(len(walls) == len(figures.walls["plain"]) for walls in figures.walls.values())


async def test_asks_are_measured_too(tmp_path: Path) -> None:
    figures = await measure("asks", "fanout", 0.0, TINY, tmp_path, seconds=60)
    assert len(figures.walls["asks"]) == 1


async def test_postgresql_is_measured_beside_a_bare_insert(pg_server: Server) -> None:
    figures = await measure_postgres(pg_server.new_database(), POSTGRES_TINY, rounds=1)
    assert all(set(taken.wall_us) == {"plain", "insert", "podium"} for taken in figures.values())
    assert len(render_postgres(figures).splitlines()) == 2 + len(POSTGRES_TINY)


async def test_how_soon_a_word_reaches_another_machine_is_measured(pg_server: Server) -> None:
    figures = await measure_reach(pg_server.new_database(), "", rounds=1)
    assert [taken.title for taken in figures] == [word.title for word in WORDS]
    for taken in figures:
        assert (len(taken.there), len(taken.back), len(taken.trips)) == (1, 1, 1)
        assert min(taken.there[0], taken.trips[0]) > 0
        assert taken.there[0] < taken.back[0], taken


def test_a_word_that_was_once_too_late_has_missed_its_goal() -> None:
    """And what it takes is told in round trips of the same round."""
    slow = Reached("temporal", "a cancel", [5.0, 5.0, 990.0], [10.0, 30.0, 1000.0], [1.0, 10.0, 2.0])
    quick = Reached("procrastinate", "a cancel", [5.0], [999.9], [3.0])
    shown = render_reach([quick, slow]).splitlines()
    assert shown[2:4] == [
        "| procrastinate | a cancel | 5 | 5 | 1000 | 1000 | 333 | met |",
        "| temporal | a cancel | 5 | 990 | 30 | 1000 | 10 | missed |",
    ]
    assert shown[-1] == "A bare round trip: 2.50 ms in the median, 10.00 at most."


async def test_questions_over_http_are_one_request_each_whoever_asks(tmp_path: Path) -> None:
    askers = ["http", "adapter", "ask", "pydantic_ai"]
    with serving() as address:
        figures = await measure_asking(askers, address, tmp_path, replace(TINY, questions=3))
    assert [len(figures.one[name]) for name in askers] == [1, 1, 1, 1]
    assert [len(figures.many[name]) for name in askers] == [1, 1, 1, 1]
    assert all(figures.versions[name] for name in askers)


def test_questions_over_http_have_a_table_of_their_own() -> None:
    figures = Asked({"http": [0.001], "ask": [0.003]}, {"http": [0.2], "ask": [0.5]}, {"ask": "0.1.0"})
    text = render(Results(asked=[figures]), FULL, 0.05)
    assert "| Podium, `run.ask` 0.1.0 | 3.00    | 3.00   | 500             | 2.50   |" in text
    assert against(figures.many, "ask", "langchain") is None


def test_what_shutting_programs_in_costs_is_part_of_the_report() -> None:
    text = render(Results(shut_in={"true": {"bare": 2.0, "bubblewrap": 30.0}}), FULL, 0.05)
    assert "## A program in the sandbox" in text
    assert [line.split("|")[1:5] for line in text.splitlines() if "bubblewrap" in line] == [
        [" true    ", " bubblewrap ", " 30.0 ", " 15.0   "]
    ]


@pytest.mark.parametrize(
    ("depth", "branching", "cap", "seconds"),
    [(0, 9, 1, 1), (1, 3, 64, 3), (1, 3, 2, 4), (1, 3, 1, 5), (2, 2, 9, 5)],
)
def test_the_ideal_schedule_is_what_the_calls_take_and_nothing_else(
    depth: int, branching: int, cap: int, seconds: float
) -> None:
    assert ideal(depth, branching, cap, 1.0) == seconds


async def test_the_tree_workflow_is_measured_beside_plain_asyncio(tmp_path: Path) -> None:
    figures = await measure_tree(TINY, tmp_path)
    assert (figures.nodes, figures.calls) == (7, 10)
    assert (len(figures.tree_s), len(figures.plain_s)) == (1, 1)
    assert "7 nodes, 10 calls of 20 ms" in render(Results(grown=figures), FULL, 0.05)


async def test_the_tree_workflow_is_measured_with_a_slower_model_too(tmp_path: Path) -> None:
    figures = await measure_tree(replace(TINY, depth=1), tmp_path, 0.03)
    assert (figures.nodes, figures.calls, figures.ideal_s) == (3, 4, 0.09)
    text = render(Results(real_tree=figures), FULL, 0.05)
    assert "3 nodes, 4 calls of 30 ms" in text
    assert "model of 1 s, against the ideal schedule" in text


async def test_short_runs_are_measured_by_path_and_on_an_open_store(tmp_path: Path) -> None:
    figures = await measure_short(TINY, tmp_path)
    assert {name: len(taken) for name, taken in figures.at_once_ms.items()} == dict.fromkeys(SHORT, 1)
    assert set(figures.in_turn_ms) == set(SHORT)
    lines = render(Results(short=figures), FULL, 0.05).splitlines()
    assert [line for line in lines if line.startswith("| Podium, a path as the store")]


def test_a_ratio_is_taken_within_each_round() -> None:
    walls = {"steps": [2.0, 30.0, 4.0], "commit": [1.0, 10.0, 4.0]}
    assert ratio(Measured("steps", "chain", 0.0, 1, 0.0, walls=walls), "commit") == 2.0


def test_the_report_judges_goals_and_names_what_failed() -> None:
    results = Results(core_mb=61.0, startup={"help_s": 0.2}, failures={"langgraph": "no such package"})
    text = render(results, FULL, 0.05)
    assert "| core install" in text
    assert "missed by 2 %" in text
    assert "0.20 s   | met" in text
    assert "- langgraph: no such package" in text


def test_the_file_system_of_a_folder_is_reported(tmp_path: Path) -> None:
    assert file_system(Path("/proc")) in {"proc", "unknown"}
    assert file_system(tmp_path)


async def test_a_loaded_server_is_measured(tmp_path: Path) -> None:
    figures = await measure_server(tmp_path, runs=3, readers=4)
    assert (figures.runs, figures.readers) == (3, 4)
    assert figures.reads >= 3
    assert figures.read_max >= figures.read_p50 > 0
    assert figures.events > 40


async def test_a_department_s_brain_work_is_measured(tmp_path: Path) -> None:
    figures = await measure_brain(50, tmp_path)
    assert figures.facts == 50
    assert figures.first >= figures.names > 0
    assert figures.whole == figures.search + figures.names + figures.contradictions


@pytest.mark.parametrize("embedding", ["", EMBEDDING])
async def test_a_studio_asks_its_brain_everything_while_it_is_measured(
    tmp_path: Path, embedding: str
) -> None:
    url = f"sqlite:///{tmp_path}/brain.sqlite"
    await fill(30, url, embedding)
    took = await once(url, embedding)
    assert set(took) == set(ASKED)
    assert (len(took["contradictions"]), len(took["propose"])) == (3, 1)
    assert run_of(took) >= sum(took["recall"])


async def test_a_corpus_is_measured_beside_a_plain_scan(tmp_path: Path) -> None:
    figures = await measure_corpus(40, tmp_path)
    assert figures.documents == 40
    assert figures.worst_ms >= figures.search_ms > 0
    assert min(figures.per_second, figures.again_ms, figures.cpu_ms, figures.scan_ms) > 0


async def test_indexing_html_is_measured_beside_a_plain_loop(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    write_pages(docs, 12)
    sizes = [file.stat().st_size for file in docs.iterdir()]
    assert min(sizes) > 3_000
    assert max(sizes) < 25_000
    figures = await measure_html(docs, tmp_path)
    assert figures.documents == 12
    shown = render_html(figures).splitlines()
    assert [line.split()[0] for line in shown[1:3]] == ["plain", "podium"]
    assert min(figures.plain.clock, figures.podium.clock, figures.podium.busy) > 0


@pytest.mark.skipif(not is_installed(), reason="needs podium[semantic]")
async def test_ways_of_finding_are_compared(tmp_path: Path) -> None:
    given = [("who mends automobiles", "The garage repairs cars."), ("moon", "The moon moves the sea.")]
    rows = await measure_retrieval(given, 2, tmp_path)
    assert sorted(row.is_paraphrase for row in rows) == [False, True]
    assert all(row.places["both"] == 1 for row in rows)
    assert "1.000" in retrieval_line("All", rows)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (Costs(10_000, 300.0, 400.0, 10.0, 49.9, 9.0, 2_000.0), "met"),
        (Costs(10_000, 299.9, 400.0, 10.0, 49.9, 9.0, 2_000.0), "missed"),
        (Costs(10_000, 300.0, 400.0, 10.0, 50.0, 9.0, 2_000.0), "missed"),
        (Costs(1_000, 10.0, 400.0, 99.0, 99.0, 9.0, 2_000.0), ""),
    ],
)
def test_a_corpus_has_goals_at_ten_thousand_documents(cost: Costs, shown: str) -> None:
    assert goals(cost) == shown
