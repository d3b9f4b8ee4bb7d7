"""The index follows its folder: what changed is read again, what is gone leaves, what is bad is told."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from podium.engine.process import offload
from podium.settings import Settings
from podium.tools.corpus.corpus import (
    find_corpus,
    index_of,
    list_corpora,
    open_corpus,
    path_of,
    remove_corpus,
    shelf_of,
    url_of,
)
from podium.tools.corpus.update import Changes, update
from podium.tools.tool import ToolError
from tests.tools.corpus.shelves import TIDES, WINDS, folder_with, settings_in
from tests.tools.documents.pdfs import endless_pdf, pdf

PAGE = b"<html><head><title>Boats</title></head><body><p>A boat waits for high water.</p></body></html>"


async def test_every_kind_of_document_below_the_folder_is_found(tmp_path: Path) -> None:
    docs = folder_with(
        tmp_path / "docs",
        tides_dot_md=TIDES,
        deep__er__winds_dot_txt=WINDS,
        boats_dot_html=PAGE,
        chart_dot_pdf=pdf("Depths of the channel.", title="Chart"),
        other_dot_py="water = 1",
    )
    corpus = await open_corpus(docs, settings_in(tmp_path))
    assert corpus.changes == Changes(documents=4, added=4)
    for words, path in [
        ("low water", "tides.md"),
        ("wind", "deep/er/winds.txt"),
        ("boat", "boats.html"),
        ("depths channel", "chart.pdf"),
    ]:
        assert (await corpus.search(words))[0].path == path


async def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md=TIDES, b_dot_md=WINDS)
    settings = settings_in(tmp_path)
    await open_corpus(docs, settings)
    assert (await open_corpus(docs, settings)).changes == Changes(documents=2)
    (docs / "a.md").write_text("Springs and neaps.")
    (docs / "c.md").write_text("A third one.")
    (docs / "b.md").unlink()
    corpus = await open_corpus(docs, settings)
    assert corpus.changes == Changes(documents=2, added=1, changed=1, removed=1)
    assert [passage.path for passage in await corpus.search("springs")] == ["a.md"]
    assert await corpus.search("water") == []
    assert await corpus.search("wind") == []
    with pytest.raises(ToolError, match=r"no document 'b\.md'"):
        await corpus.read("b.md")


async def test_a_file_that_only_looks_changed_is_not_counted_and_is_looked_at_once(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md=TIDES)
    settings = settings_in(tmp_path)
    await open_corpus(docs, settings)
    os.utime(docs / "a.md", ns=(1, 1))
    assert (await open_corpus(docs, settings)).changes == Changes(documents=1)
    with sqlite3.connect(index_of(docs, settings)) as db:
        assert db.execute("SELECT mtime_ns FROM document").fetchone() == (1,)


async def test_files_that_cannot_be_read_are_reported_and_sink_nothing(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret words")
    docs = folder_with(
        tmp_path / "docs",
        good_dot_md=TIDES,
        empty_dot_txt="",
        bad_dot_pdf=b"%PDF-1.7 nothing",
        noise_dot_md=b"\0\1\2",
        huge_dot_txt=b"word " * 2_100_000,
        _dot_hidden_dot_md="hidden words",
        id_rsa_dot_txt="secret words",
    )
    (docs / "link.md").symlink_to(tmp_path / "outside.md")
    (docs / "folder").symlink_to(tmp_path)
    os.mkfifo(docs / "pipe.md")
    (docs / os.fsdecode(b"\xff.md")).write_text("A name of another time.")
    corpus = await open_corpus(docs, settings_in(tmp_path))
    assert corpus.documents == 1
    assert sorted(corpus.troubles) == [
        "?.md: its name is not UTF-8.",
        "bad.pdf: it is not a PDF that can be read (PdfStreamError).",
        "empty.txt: it is empty.",
        "huge.txt is too large: over 10,000,000 bytes.",
        "link.md: links are not followed.",
        "noise.md: it is not text.",
    ]
    assert await corpus.search("secret hidden") == []
    again = await open_corpus(docs, settings_in(tmp_path))
    assert sorted(again.troubles) == sorted(corpus.troubles)
    (docs / "empty.txt").write_text("Not empty any more.")
    assert (await open_corpus(docs, settings_in(tmp_path))).changes.added == 1


async def test_what_is_no_folder_is_reported_and_leaves_no_index(tmp_path: Path) -> None:
    for wrong in (tmp_path / "nowhere", folder_with(tmp_path, a_dot_md=TIDES) / "a.md"):
        with pytest.raises(ToolError, match="is not a folder"):
            await open_corpus(wrong, settings_in(tmp_path))
    assert list_corpora(settings_in(tmp_path)) == []


async def test_an_index_that_is_damaged_or_of_another_version_is_made_anew(tmp_path: Path) -> None:
    docs, settings = folder_with(tmp_path / "docs", a_dot_md=TIDES), settings_in(tmp_path)
    await open_corpus(docs, settings)
    file = index_of(docs, settings)
    file.write_bytes(b"this is not a database, but it is long enough to look like one" * 100)
    assert list_corpora(settings) == []
    assert (await open_corpus(docs, settings)).changes == Changes(documents=1, added=1)
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    assert (await open_corpus(docs, settings)).changes == Changes(documents=1, added=1)


async def test_one_folder_has_one_index_beside_the_store_however_it_is_written(tmp_path: Path) -> None:
    docs, settings = folder_with(tmp_path / "docs", a_dot_md=TIDES), settings_in(tmp_path)
    (tmp_path / "other").symlink_to(docs)
    for written in (docs, docs / ".." / "docs", tmp_path / "other"):
        await open_corpus(written, settings)
    assert [corpus.folder for corpus in list_corpora(settings)] == [docs]
    assert shelf_of(settings) == tmp_path / "kept" / "podium.sqlite.corpora"
    assert sorted(path.name for path in docs.iterdir()) == ["a.md"]


def test_a_store_elsewhere_keeps_the_indexes_in_the_data_folder() -> None:
    assert shelf_of(Settings(store="postgresql://host/db")).name == "podium.sqlite.corpora"


async def test_a_corpus_is_found_by_name_or_folder_and_can_be_removed(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    first = folder_with(tmp_path / "one" / "notes", a_dot_md=TIDES)
    two = folder_with(tmp_path / "two" / "notes", a_dot_md=WINDS)
    await open_corpus(first, settings, name="sea", at="2026-01-02T03:04:05+00:00")
    await open_corpus(two, settings)
    await open_corpus(first, settings, at="2026-01-03T03:04:05+00:00")
    corpus = find_corpus("sea", settings)
    assert (corpus.folder, corpus.documents, corpus.indexed_at) == (first, 1, "2026-01-03T03:04:05+00:00")
    assert find_corpus(str(two), settings).name == "notes"
    await open_corpus(two, settings, name="sea")
    with pytest.raises(ToolError, match="Several corpora are called 'sea'"):
        find_corpus("sea", settings)
    with pytest.raises(ToolError, match=r"no corpus 'see'\. Did you mean 'sea'"):
        find_corpus("see", settings)
    with pytest.raises(ToolError, match="no corpus '~nobody-of-that-name'"):
        find_corpus("~nobody-of-that-name", settings)
    remove_corpus(find_corpus(str(first), settings))
    assert [remaining.folder for remaining in list_corpora(settings)] == [two]
    assert (first / "a.md").exists()


ADD = (
    "import asyncio, sys; from podium.settings import Settings; "
    "from podium.tools.corpus.corpus import open_corpus; "
    "c = asyncio.run(open_corpus(sys.argv[1], Settings(store=sys.argv[2]))); print(c.documents)"
)


async def test_several_processes_may_index_one_folder_at_the_same_time(tmp_path: Path) -> None:
    docs = folder_with(
        tmp_path / "docs", **{f"n{number}_dot_md": f"Note {number} on tides" for number in range(600)}
    )
    settings = settings_in(tmp_path)
    processes = [_adding(docs, settings) for _ in range(3)]
    assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["600"] * 3
    corpus = await open_corpus(docs, settings)
    assert corpus.changes == Changes(documents=600)
    assert len(await corpus.search("tides", 1_000)) == 600


async def test_an_indexing_that_was_killed_is_taken_up_where_it_was(tmp_path: Path) -> None:
    docs = folder_with(
        tmp_path / "docs", **{f"n{number}_dot_md": f"Note {number} on tides" for number in range(600)}
    )
    settings = settings_in(tmp_path)
    process = _adding(docs, settings)
    file = index_of(docs, settings)
    while process.poll() is None and not _count(file):
        pass
    process.kill()
    process.communicate()
    remaining = 600 - _count(file)
    corpus = await open_corpus(docs, settings)
    assert (corpus.changes.added, corpus.documents) == (remaining, 600)
    assert len(await corpus.search("tides", 1_000)) == 600


async def test_a_search_is_answered_while_another_process_indexes(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", a_dot_md=TIDES)
    settings = settings_in(tmp_path)
    corpus = await open_corpus(docs, settings)
    folder_with(docs, **{f"n{number}_dot_md": f"Note {number} on winds" for number in range(600)})
    process = _adding(docs, settings)
    seen = {len(await corpus.search("winds", 1_000))}
    while process.poll() is None:
        assert [passage.path for passage in await corpus.search("low water")] == ["a.md"]
        seen.add(len(await corpus.search("winds", 1_000)))
    assert process.communicate()[0].strip() == "601"
    assert len(await corpus.search("winds", 1_000)) == 600
    assert seen <= {0, 256, 512, 600}, "only whole batches are seen"


def _adding(docs: Path, settings: Settings) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ADD, str(docs), settings.store]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _count(file: Path) -> int:
    try:
        with sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM document").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


async def test_a_cancel_ends_the_indexing_and_leaves_a_state_to_go_on_from(tmp_path: Path) -> None:
    docs = folder_with(tmp_path / "docs", **{f"n{number}_dot_html": PAGE for number in range(300)})
    settings = settings_in(tmp_path)
    task = asyncio.create_task(open_corpus(docs, settings))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await open_corpus(docs, settings)).documents == 300


async def test_a_document_that_its_reader_does_not_survive_is_reported_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    pages = {f"n{number:03}_dot_html": PAGE for number in range(40)}
    docs = folder_with(tmp_path / "docs", a_dot_pdf=endless_pdf(), m_dot_pdf=endless_pdf(), **pages)
    changes = await offload(_update, tmp_path / "index.sqlite", docs)
    assert (changes.documents, changes.added) == (40, 40)
    assert changes.troubles == [
        "a.pdf: reading it took longer than 3 s.",
        "m.pdf: reading it took longer than 3 s.",
    ]


def _update(file: Path, docs: Path) -> Changes:
    return update(file, docs, "", "", threading.Event(), seconds=3)


@pytest.mark.parametrize("path", ["a.md", "deep/ly/a b.md", "ü/Ω (1)#?.md", "100%.txt", "a[b]<c>.md"])
def test_the_address_of_a_document_leads_back_to_its_path(path: str) -> None:
    url = url_of(path)
    assert url.startswith("corpus:")
    assert path_of(url) == path
    assert not set(url) & set(" ()[]<>#?")


def test_a_plain_path_is_its_own_address() -> None:
    assert url_of("notes/a-b_c.md") == "corpus:notes/a-b_c.md"
