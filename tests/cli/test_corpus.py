"""`podium corpus` as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.tools.documents import word_vectors as meaning
from tests.cli.shell import Shell
from tests.tools.corpus.shelves import TIDES, WINDS, folder_with


def test_a_folder_is_added_listed_searched_and_removed(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", tides_dot_md=TIDES, deep__winds_dot_txt=WINDS)
    assert "There is no corpus yet." in podium("corpus", "list").out
    added = podium("corpus", "add", "docs", "--name", "sea").out
    assert added.startswith("sea  2 documents  2 added · 0 changed · 0 removed\n")
    listed = podium("corpus", "list").out.splitlines()
    assert listed[0].split() == ["name", "documents", "unreadable", "characters", "indexed", "folder"]
    assert listed[1].split()[:3] == ["sea", "2", "0"]
    assert listed[1].endswith(str(tmp_path / "docs"))
    passages = podium("corpus", "search", "how low is the water?").out
    assert passages == ("1. Tides\ntides.md · 2024-05-17 · Harbour Office\nLow water comes twice a day.\n")
    assert podium("corpus", "search", "volcano").out == "Nothing was found.\n"
    assert "is untouched" in podium("corpus", "remove", "docs").out
    assert "There is no corpus yet." in podium("corpus", "list").out
    assert (tmp_path / "docs" / "tides.md").exists()


def test_everything_is_there_as_json(podium: Shell, tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", tides_dot_md=TIDES, bad_dot_pdf=b"no pdf")
    added = podium("corpus", "add", "docs", "--json").json
    assert (added["name"], added["documents"], added["unreadable"]) == ("docs", 1, 1)
    assert (added["added"], added["changed"], added["removed"]) == (1, 0, 0)
    assert added["troubles"] == ["bad.pdf: it is not a PDF that can be read (PdfStreamError)."]
    assert podium("corpus", "list", "--json").json["corpora"][0]["folder"] == str(docs)
    (hit,) = podium("corpus", "search", "water", "--json").json["results"]
    assert (hit["url"], hit["title"], hit["published"]) == ("corpus:tides.md", "Tides", "2024-05-17")
    assert (hit["snippet"], hit["start"], hit["end"]) == ("Low water comes twice a day.", 0, 28)
    assert podium("corpus", "remove", "docs", "--json").json == {"removed": "docs", "folder": str(docs)}


def test_several_corpora_are_searched_together_or_one_alone(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "one", a_dot_md=TIDES)
    folder_with(tmp_path / "two", a_dot_md="# Wells\n\nThe well gives water all year.")
    podium("corpus", "add", "one")
    podium("corpus", "add", "two")
    both = podium("corpus", "search", "water").out
    assert "one: a.md" in both
    assert "two: a.md" in both
    alone = podium("corpus", "search", "water", "--corpus", "two", "--json").json["results"]
    assert [hit["title"] for hit in alone] == ["Wells"]


def test_what_was_left_out_is_reported_beside_the_result(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", **{f"n{n}_dot_pdf": b"no pdf" for n in range(25)})
    output = podium("corpus", "add", "docs")
    assert output.out.startswith("docs  0 documents")
    assert "The folder has no Markdown, text, HTML or PDF files." in output.err
    assert output.err.count("Left out: ") == 20
    assert "… and 5 more" in output.err


def test_mistakes_are_one_sentence_and_a_hint(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", a_dot_md=TIDES)
    folder_with(tmp_path / "more", a_dot_md=TIDES)
    for words, message in [
        (("add", "nowhere"), f"{tmp_path / 'nowhere'} is not a folder."),
        (("add", "docs/a.md"), "is not a folder."),
        (("search", "water"), "There is no corpus yet."),
        (("remove", "docs"), "There is no corpus yet."),
        (("search", "  "), "The search text is empty."),
        (("add", "docs", "--name", "a/b"), "A name is one short line without /, and not only dots."),
        (("ad", "docs"), "podium corpus has no 'ad'"),
    ]:
        output = podium("corpus", *words, code=2)
        assert message in output.err
        assert "Hint: " in output.err
        assert "Traceback" not in output.err
    podium("corpus", "add", "docs", "--name", "sea")
    for words, message in [
        (("add", "more", "--name", "sea"), f"'sea' is the name of {tmp_path / 'docs'}."),
        (("search", "water", "--corpus", "see"), "There is no corpus 'see'. Did you mean 'sea'?"),
        (("search", "water", "--limit", "0"), "--limit must be at least 1."),
        (("remove", "see"), "Hint: Known: sea."),
    ]:
        assert message in podium("corpus", *words, code=2).err


def test_a_title_cannot_steer_the_terminal(podium: Shell, tmp_path: Path) -> None:
    source = '---\ntitle: "x\\e[31m\\e]0;y\\a"\n---\nLow water \x1b[31m red.'
    folder_with(tmp_path / "docs", a_dot_md=source)
    podium("corpus", "add", "docs")
    assert "\x1b" not in podium("corpus", "search", "water").out


def test_the_index_lies_beside_the_store(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", a_dot_md=TIDES)
    podium("corpus", "add", "docs", "--store", "elsewhere/other.sqlite")
    assert len(list((tmp_path / "elsewhere" / "other.sqlite.corpora").glob("*.sqlite"))) == 1
    assert "There is no corpus yet." in podium("corpus", "list").out


def test_on_a_terminal_a_long_reading_shows_how_far_it_has_come(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", **{f"n{n}_dot_md": f"Note {n}" for n in range(600)})
    terminal = podium.terminal("corpus", "add", "docs")
    assert terminal.wait() == 0
    assert "Reading: 256 of 600 files" in terminal.seen
    assert "docs  600 documents" in terminal.seen
    again = podium.terminal("corpus", "add", "docs")
    assert again.wait() == 0
    assert "Reading" not in again.seen


def test_ctrl_c_ends_an_indexing_and_the_next_one_goes_on(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", **{f"n{n}_dot_md": f"Note {n}" for n in range(5_000)})
    terminal = podium.terminal("corpus", "add", "docs")
    terminal.until("Reading: 256 of 5,000 files")
    terminal.interrupt()
    assert terminal.wait() == 130
    assert "Traceback" not in terminal.seen
    added = podium("corpus", "add", "docs", "--json").json
    assert added["documents"] == 5_000
    assert added["added"] < 5_000


def test_ctrl_c_while_pages_are_read_leaves_none_of_them_as_unreadable(podium: Shell, tmp_path: Path) -> None:
    page = "<html><head><title>Note</title></head><body><p>Low water comes twice a day.</p></body></html>"
    folder_with(tmp_path / "docs", **{f"n{n}_dot_html": page for n in range(1_500)})
    terminal = podium.terminal("corpus", "add", "docs")
    terminal.until("Reading: 256 of 1,500 files")
    terminal.interrupt()
    assert terminal.wait() == 130, terminal.seen
    added = podium("corpus", "add", "docs", "--json").json
    assert (added["documents"], added["unreadable"], added["troubles"]) == (1_500, 0, [])
    assert added["added"] < 1_500


@pytest.mark.skipif(not meaning.is_installed(), reason="needs podium[semantic]")
def test_a_corpus_can_be_searched_by_meaning(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", a_dot_md="The car needs new tyres.", b_dot_md="Flour and yeast.")
    podium("corpus", "add", "docs", "--semantic")
    assert podium("corpus", "list", "--json").json["corpora"][0]["semantic"] is True
    assert "a.md" in podium("corpus", "search", "automobile").out
    podium("corpus", "add", "docs", "--no-semantic")
    assert podium("corpus", "search", "automobile").out == "Nothing was found.\n"


def test_without_the_extra_meaning_is_refused_in_one_sentence(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", a_dot_md=TIDES)
    hidden = "import sys; sys.modules.update(wordllama=None, tokenizers=None)\n"
    folder_with(tmp_path / "blocked", sitecustomize_dot_py=hidden)
    blocked = f"{tmp_path / 'blocked'}:{podium.env['PYTHONPATH']}"
    output = podium("corpus", "add", "docs", "--semantic", code=2, PYTHONPATH=blocked)
    assert "pip install 'podium[semantic]'" in output.err
    assert "Traceback" not in output.err


@pytest.mark.skipif(not meaning.is_installed(), reason="needs podium[semantic]")
def test_an_index_with_vectors_works_on_where_the_extra_is_missing(podium: Shell, tmp_path: Path) -> None:
    folder_with(tmp_path / "docs", a_dot_md=TIDES)
    podium("corpus", "add", "docs", "--semantic")
    hidden = "import sys; sys.modules.update(wordllama=None, tokenizers=None)\n"
    folder_with(tmp_path / "blocked", sitecustomize_dot_py=hidden)
    blocked = f"{tmp_path / 'blocked'}:{podium.env['PYTHONPATH']}"
    assert podium("corpus", "add", "docs", "--json", PYTHONPATH=blocked).json["troubles"] == []
    folder_with(tmp_path / "docs", b_dot_md=WINDS)
    added = podium("corpus", "add", "docs", "--json", PYTHONPATH=blocked).json
    assert (added["documents"], added["semantic"]) == (2, True)
    assert "found by their words only" in added["troubles"][0]
    assert "b.md" in podium("corpus", "search", "wind", PYTHONPATH=blocked).out
    assert podium("corpus", "add", "docs", "--json").json["troubles"] == []
    assert "b.md" in podium("corpus", "search", "storms and weather").out
