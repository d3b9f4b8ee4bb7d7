"""The corpus in `examples/` is what research is shown with: enough, of all kinds, and not of one mind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from podium.tools.corpus.corpus import Corpus, open_corpus
from tests.tools.corpus.shelves import settings_in

FOLDER = Path(__file__).parents[3] / "examples" / "corpus"


@pytest.fixture
async def corpus(tmp_path: Path) -> Corpus:
    return await open_corpus(FOLDER, settings_in(tmp_path))


async def test_there_are_at_least_thirty_documents_of_all_four_kinds(corpus: Corpus) -> None:
    kinds = Counter(path.suffix for path in FOLDER.rglob("*") if path.is_file())
    assert corpus.documents == kinds.total() >= 30
    assert corpus.troubles == []
    assert set(kinds) == {".md", ".txt", ".html", ".pdf"}
    assert all(count >= 3 for count in kinds.values())


async def test_every_document_has_a_title_a_date_and_a_length_to_quote_from(corpus: Corpus) -> None:
    for file in FOLDER.rglob("*.*"):
        document = (await corpus.read(file.relative_to(FOLDER).as_posix())).document
        assert document.title, file
        assert len(document.published) == 10, file
        assert 130 <= len(document.text.split()) <= 500, file


@pytest.mark.parametrize(
    ("question", "first", "second", "figures"),
    [
        ("how much caffeine a day is safe", "caffeine-limits.md", "caffeine-blog.html", ("400 mg", "600 mg")),
        ("Melitta Bentz paper filter year", "paper-filter.md", "filter-flyer.txt", ("1908", "1912")),
        ("caffeine in arabica", "arabica-and-robusta.md", "robusta-caffeine-note.txt", ("1.2", "1.7")),
        ("brewing water temperature", "water-temperature.md", "temperature-revisited.md", ("90", "87")),
    ],
)
async def test_documents_that_contradict_each_other_are_found_together(
    corpus: Corpus, question: str, first: str, second: str, figures: tuple[str, str]
) -> None:
    passages = {passage.path.rpartition("/")[2]: passage for passage in await corpus.search(question, 6)}
    assert {first, second} <= set(passages)
    for name, figure in zip((first, second), figures, strict=True):
        assert figure in (await corpus.read(passages[name].path)).document.text


async def test_one_page_gives_orders_to_models(corpus: Corpus) -> None:
    page = "pages/brew-better-now.html"
    assert "ignore all previous instructions" in (await corpus.read(page)).document.text
    assert page in [passage.path for passage in await corpus.search("burr grinder beans", 8)]
