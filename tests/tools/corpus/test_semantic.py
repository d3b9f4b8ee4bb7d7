"""Finding by meaning: vectors beside words, kept with the index, and nothing changes without them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from podium.tools.corpus.corpus import find_corpus, index_of, list_corpora, open_corpus, search_all
from podium.tools.corpus.search import fuse
from podium.tools.corpus.update import Changes
from podium.tools.documents import word_vectors as meaning
from tests.tools.corpus.shelves import folder_with, settings_in
from tests.tools.documents.pdfs import pdf

DOCTOR = "A physician looks after the sick and prescribes medicine."
CAR = b"<html><body><p>The car needs new tyres and a repair of its engine.</p></body></html>"
FILES = {
    "doctor_dot_md": f"# Health\n\n{DOCTOR}",
    "car_dot_html": CAR,
    "bread_dot_txt": "Flour, yeast and salt make a loaf.",
    "moon_dot_pdf": pdf("The moon moves the sea.", title="Moon"),
}

needs_vectors = pytest.mark.skipif(not meaning.is_installed(), reason="needs podium[semantic]")


@needs_vectors
async def test_a_document_is_found_by_meaning_without_a_word_of_the_question(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", **FILES)
    corpus = await open_corpus(docs, settings_in(tmp_path), semantic=True)
    assert corpus.changes == Changes(documents=4, added=4)
    for query, path in [("doctor", "doctor.md"), ("automobile", "car.html"), ("lunar tides", "moon.pdf")]:
        first = (await corpus.search(query))[0]
        assert first.path == path, query
        text = (await corpus.read(path)).document.text
        assert text[first.start : first.end] == first.snippet
    assert await corpus.search("volcano") == []
    assert await corpus.search('"doctor"') == []


@needs_vectors
async def test_the_passage_that_is_meant_is_shown(tmp_path: Path) -> None:
    filler = "The old bridge was painted green in spring. " * 60
    text = f"{DOCTOR} Nurses care for patients. A surgeon operates, and a pharmacy sells the pills. " * 3
    docs = folder_with(tmp_path / "docs", a_dot_md=f"{filler}\n\n{text}\n\n{filler}")
    corpus = await open_corpus(docs, settings_in(tmp_path), semantic=True)
    (passage,) = await corpus.search("doctors, hospitals")
    assert DOCTOR in passage.snippet


@needs_vectors
async def test_the_choice_stays_with_the_index_until_it_is_taken_back(tmp_path: Path) -> None:
    docs, settings = folder_with(tmp_path / "docs", **FILES), settings_in(tmp_path)
    corpus = await open_corpus(docs, settings)
    assert await corpus.search("automobile") == []
    corpus = await open_corpus(docs, settings, semantic=True)
    assert corpus.changes == Changes(documents=4)
    assert [passage.path for passage in await corpus.search("automobile")] == ["car.html"]
    (docs / "boat.md").write_text("A yacht lies at anchor.")
    corpus = await open_corpus(docs, settings)
    assert corpus.changes == Changes(documents=5, added=1)
    assert (await corpus.search("sailing ship"))[0].path == "boat.md"
    assert find_corpus(str(docs), settings).semantic
    (docs / "car.html").unlink()
    corpus = await open_corpus(docs, settings)
    assert "car.html" not in [passage.path for passage in await corpus.search("automobile")]
    corpus = await open_corpus(docs, settings, semantic=False)
    assert await corpus.search("sailing ship") == []
    with sqlite3.connect(index_of(docs, settings)) as db:
        assert db.execute("SELECT count(*) FROM meaning").fetchone() == (0,)


@needs_vectors
async def test_with_and_without_vectors_together_words_decide(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await open_corpus(folder_with(tmp_path / "one", **FILES), settings, semantic=True)
    both = list_corpora(settings)
    assert [passage.path for _, passage in await search_all(both, "automobile", 5)] == ["car.html"]
    await open_corpus(folder_with(tmp_path / "two", a_dot_md="The engine."), settings)
    both = list_corpora(settings)
    assert await search_all(both, "automobile", 5) == []
    assert {shelved.name for shelved, _ in await search_all(both, "engine", 5)} == {"one", "two"}


@needs_vectors
async def test_documents_found_both_ways_come_first_and_searches_repeat(tmp_path: Path) -> None:
    docs = folder_with(
        tmp_path / "docs",
        a_dot_md="Car parks close at ten.",
        b_dot_md="The garage repairs every vehicle and motor.",
        c_dot_md="Where to have a car repaired: the garage repairs every vehicle.",
    )
    corpus = await open_corpus(docs, settings_in(tmp_path), semantic=True)
    passages = await corpus.search("repair of a car")
    assert passages[0].path == "c.md"
    assert {passage.path for passage in passages} >= {"b.md", "c.md"}
    assert await corpus.search("repair of a car") == passages


def test_places_in_both_rankings_are_added_up() -> None:
    assert [number for number, _ in fuse([1, 2, 3], [3, 4])] == [3, 1, 2, 4]
    assert fuse([], []) == []


def test_a_text_is_cut_into_passages_without_gaps() -> None:
    text = "A sentence of some words. " * 200 + "x" * 3_000 + "\n\n" + "行" * 900
    places = meaning.passages(text)
    assert [start for start, _ in places[1:]] == [end for _, end in places[:-1]]
    assert (places[0][0], places[-1][1]) == (0, len(text))
    assert max(end - start for start, end in places) <= meaning.PASSAGE
    assert meaning.passages("") == meaning.passages(" \n ") == []


@needs_vectors
def test_vectors_of_nothing_are_zero_and_a_text_is_nearest_to_itself() -> None:
    assert meaning.vectors_of([""]) == bytes(meaning.SIZE)
    texts = ["The tide turns.", "A loaf of bread.", "Engines need oil."]
    documents = [meaning.vectors_of(texts[:1]), meaning.vectors_of([*texts[2:], texts[1]])]
    (which, place, similarity), *_ = meaning.nearest(meaning.vectors_of([texts[1]]), documents, 2)
    assert (which, place) == (1, 1)
    assert abs(similarity - 1) < 0.02
    assert meaning.nearest(meaning.vectors_of(texts), [], 2) == []
