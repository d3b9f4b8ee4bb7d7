"""Searching: what comes first, where it stands, and that no query is anything but words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.tools.corpus.corpus import open_corpus
from tests.tools.corpus.shelves import TIDES, WINDS, folder_with, settings_in


async def test_the_document_that_says_most_comes_first(tmp_path: Path) -> None:
    docs = folder_with(
        tmp_path / "docs",
        named_dot_md="# Lighthouse\n\nIt stands on the rock.",
        much_dot_md="# Rock\n\nThe lighthouse is white. The lighthouse is tall. Its keeper lives there.",
        once_dot_md="# Coast\n\n" + "Sand and stones and grass. " * 60 + "Far away stands a lighthouse.",
        none_dot_md="# Inland\n\nOnly fields.",
    )
    passages = await (await open_corpus(docs, settings_in(tmp_path))).search("lighthouse")
    assert [passage.path for passage in passages][-1] == "once.md"
    assert {passage.path for passage in passages} == {"named.md", "much.md", "once.md"}
    assert [passage.score for passage in passages] == sorted(
        (passage.score for passage in passages), reverse=True
    )


async def test_words_that_most_documents_hold_still_count(tmp_path: Path) -> None:
    notes = {f"n{number}_dot_md": f"Water, and note {number} besides." for number in range(20)}
    docs = folder_with(tmp_path / "docs", **notes, more_dot_md="Water under water over water.")
    passages = await (await open_corpus(docs, settings_in(tmp_path))).search("water", 3)
    assert passages[0].path == "more.md"
    assert all(passage.score > 0.001 for passage in passages)


async def test_words_are_found_in_other_forms_and_without_accents(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md="Brewing cafés grew.", b_dot_md="Nothing.")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    for query in ("brew", "brewed", "cafe", "CAFÉS", "how do I brew it?"):
        assert [passage.path for passage in await corpus.search(query)] == ["a.md"], query


async def test_a_phrase_in_quotes_is_looked_for_as_it_stands(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md="A cold brew.", b_dot_md="A brew for the cold.")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    assert [passage.path for passage in await corpus.search('"cold brew"')] == ["a.md"]
    assert len(await corpus.search("cold brew")) == 2


async def test_a_passage_stands_where_it_says_and_is_the_telling_part(tmp_path: Path) -> None:
    filler = "Grass and stones lie here. " * 80
    docs = folder_with(
        tmp_path / "docs", a_dot_md=f"# Walk\n\n{filler}The lighthouse stands on a rock. {filler}"
    )
    corpus = await open_corpus(docs, settings_in(tmp_path))
    (passage,) = await corpus.search("lighthouse rock")
    text = (await corpus.read("a.md")).document.text
    assert text[passage.start : passage.end] == passage.snippet
    assert "The lighthouse stands on a rock." in passage.snippet
    assert len(passage.snippet) < 800
    assert text[passage.start - 2] in ".\n"
    assert passage.snippet.endswith(".")


LONG = (
    "We are a small club with some members, and before the season begins we would like to know, as far as "
    "the papers of the archive allow, which rules of the harbour, the town, the province and the country "
    "visitors, owners, guests, crews, pilots and neighbours must observe when they want to bring, repair, "
    "paint, store, sell, borrow or scrap a vessel, a trailer, an engine or a sail, and above all what they "
    "say about every kind of "
)


async def test_the_last_word_of_a_long_question_counts(tmp_path: Path) -> None:
    notes = {
        f"n{number}_dot_md": f"Rules of the harbour for visitors, owners and crews, part {number}. Vessels, "
        "engines and sails may be stored, repaired and painted."
        for number in range(30)
    }
    filler = "The archive keeps many letters. " * 60
    docs = folder_with(tmp_path / "docs", **notes, zz_dot_md=f"{filler}Antifouling is forbidden. {filler}")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    assert len((LONG + "antifouling").split()) > 70
    first = (await corpus.search(LONG + "antifouling?", 3))[0]
    assert first.path == "zz.md"
    assert "Antifouling is forbidden." in first.snippet


async def test_a_question_of_thousands_of_words_is_answered(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md="Low water.", b_dot_md="High wind.")
    query = " ".join(f"word{number}" for number in range(300)) + " water"
    assert [
        passage.path for passage in await (await open_corpus(docs, settings_in(tmp_path))).search(query)
    ] == ["a.md"]


@pytest.mark.parametrize("query", ["抽出温度", "温度", "น้ำ"])
async def test_writings_without_spaces_are_found_and_located(tmp_path: Path, query: str) -> None:
    text = "コーヒーの話。" * 40 + "抽出温度は九十二度です。น้ำร้อน。" + "水は大切です。" * 40
    docs = folder_with(tmp_path / "docs", a_dot_txt=text, b_dot_txt="ほかの話。")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    passage = (await corpus.search(query))[0]
    assert passage.path == "a.txt"
    assert text[passage.start : passage.end] == passage.snippet
    assert query in passage.snippet


async def test_what_a_document_says_about_itself_comes_along(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md=TIDES, b_dot_md=WINDS)
    (passage,) = await (await open_corpus(docs, settings_in(tmp_path))).search("low water")
    assert (passage.title, passage.published, passage.authors) == ("Tides", "2024-05-17", ("Harbour Office",))
    assert passage.media_type == "text/markdown"


@pytest.mark.parametrize("query", ["", " ", "***", '"', '""', "()", "\0", "the of and"])
async def test_a_query_without_a_telling_word_finds_nothing_or_its_words(tmp_path: Path, query: str) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md="Low water.")
    assert await (await open_corpus(docs, settings_in(tmp_path))).search(query) == []


@pytest.mark.parametrize(
    "query",
    [
        'water" OR title:x',
        "water AND",
        "NOT water",
        "NEAR(water low, 2)",
        "water*",
        "^water",
        "-water",
        "title : water",
        "{title body} : water",
        "water'; DROP TABLE document; --",
        "a\0water",
        '"unclosed water',
        "water " * 5_000,
        "water + low",
        "col:water",
        "water\ud800",
    ],
)
async def test_the_language_of_the_index_is_only_words(tmp_path: Path, query: str) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md="Low water.")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    assert [passage.path for passage in await corpus.search(query)] == ["a.md"]


@given(query=st.text(max_size=60))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_query_is_an_error(tmp_path: Path, query: str) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md="Low water, 水, น้ำ and more.", b_dot_md="x " * 50)
    corpus = await open_corpus(docs, settings_in(tmp_path))
    for passage in await corpus.search(query):
        text = (await corpus.read(passage.path)).document.text
        assert text[passage.start : passage.end] == passage.snippet


@pytest.mark.parametrize(("limit", "count"), [(3, 3), (100, 10), (0, 0), (-1, 0)])
async def test_at_most_so_many_are_given_as_were_asked_for(tmp_path: Path, limit: int, count: int) -> None:
    docs = folder_with(tmp_path / "docs", **{f"n{n}_dot_md": f"Note {n} on tides" for n in range(10)})
    assert len(await (await open_corpus(docs, settings_in(tmp_path))).search("tides", limit)) == count
