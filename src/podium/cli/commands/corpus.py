"""`podium corpus`: folders of documents, indexed by their words, for research and for searching by hand."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from podium.cli.card import print_table, say_line, say_prose
from podium.cli.flags import AsJson, StoreUrl, whole_number
from podium.cli.terminal import err, out, print_json, say
from podium.engine.process import offload
from podium.errors import UsageError
from podium.report.words import amount, count, one_line
from podium.settings import Settings
from podium.tools.corpus.corpus import (
    Shelved,
    check_name,
    find_corpus,
    list_corpora,
    open_corpus,
    remove_corpus,
    search_all,
    url_of,
)
from podium.tools.corpus.search import CorpusPassage
from podium.tools.corpus.update import Changes
from podium.tools.tool import ToolError

NONE_YET = "There is no corpus yet."
HOW = "Make one with `podium corpus add FOLDER`."
SLOW = 500
"""Number of files above which progress is shown."""
MOST_TOLD = 20
"""Number of unreadable files that are listed; the rest is only counted."""

Reference = Annotated[str, Parameter(metavar="CORPUS", help="Its name, or its folder.")]


async def add(
    folder: Annotated[str, Parameter(metavar="FOLDER", help="Where the documents lie.")],
    /,
    *,
    name: Annotated[str, Parameter(show_default=False, help="How to call it; else as the folder.")] = "",
    semantic: Annotated[
        bool | None,
        Parameter(
            negative="--no-semantic",
            show_default=False,
            help="Find documents by meaning too: pip install 'podium[semantic]'. Kept with the index.",
        ),
    ] = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Index the documents of a folder: Markdown, text, HTML and PDF.

    What was indexed before is read again only if it changed; files that are gone leave the index. Files that
    cannot be read are told. Links, hidden files and names that secrets go by are left out.
    """
    settings = Settings.load(store=store)
    try:
        await offload(check_name, name, folder, settings)
        corpus = await open_corpus(folder, settings, name=name, progress=_progress, semantic=semantic)
        shelved = await offload(find_corpus, str(corpus.folder), settings)
    except ToolError as error:
        raise UsageError(str(error), hint="See `podium corpus add --help`.") from error
    if json:
        changes = corpus.changes
        told = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
        print_json({**_shelved_data(shelved), **told, "troubles": changes.troubles})
        return 0
    _tell_added(shelved, corpus.changes)
    return 0


async def list_(*, store: StoreUrl = None, json: AsJson = False) -> int:
    """The folders that have an index, with how much is in it."""
    known = await offload(list_corpora, Settings.load(store=store))
    if json:
        print_json({"corpora": [_shelved_data(one) for one in known]})
    elif not known:
        say(NONE_YET)
        say((HOW, "dim"))
    else:
        titles = ("name", "documents", "unreadable", "characters", "indexed", "folder")
        rows = [
            (
                one.name, f"{one.documents:,}", f"{one.troubles:,}", amount(one.characters),
                one.indexed_at[:16].replace("T", " "), str(one.folder),
            )
            for one in known
        ]  # fmt: skip
        spare = ("indexed", "characters", "unreadable")
        print_table(out(), titles, rows, figures=titles[1:4], spare=spare)
    return 0


async def search(
    query: Annotated[str, Parameter(help="Some words, or a whole question; a phrase in quotes.")],
    /,
    *,
    corpus: Annotated[
        str, Parameter(metavar="CORPUS", show_default=False, help="Only this one, by name or folder.")
    ] = "",
    limit: Annotated[int, Parameter(metavar="N", converter=whole_number, help="Most passages to list.")] = 8,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """The documents that say most about something, each with its most telling passage.

    The index answers as it is; `podium corpus add` brings it up to date.
    """
    if not query.strip():
        raise UsageError("There is nothing to search for.", hint="Give some words.")
    if limit < 1:
        raise UsageError("--limit must be at least 1.")
    chosen = await _chosen(corpus, Settings.load(store=store))
    try:
        found = await search_all(chosen, query, limit)
    except ToolError as error:
        raise UsageError(str(error), hint="`podium corpus add` makes it anew.") from error
    if json:
        print_json({"query": query, "results": [_passage_data(*pair) for pair in found]})
    elif found:
        _tell_found(found, several=len(chosen) > 1)
    else:
        say("Nothing was found.")
    return 0


async def remove(reference: Reference, /, *, store: StoreUrl = None, json: AsJson = False) -> int:
    """Forget the index of a folder. The documents stay where they are."""
    chosen = (await _chosen(reference, Settings.load(store=store)))[0]
    await offload(remove_corpus, chosen)
    if json:
        print_json({"removed": chosen.name, "folder": str(chosen.folder)})
    else:
        say(f"The index of {one_line(chosen.name)} is removed; {chosen.folder} is untouched.")
    return 0


def _progress(read: int, all_: int) -> None:
    """Show progress in one transient line, only on a terminal."""
    if err().is_terminal and all_ > SLOW:
        told = f"Reading: {read:,} of {all_:,} files"
        err().print(told if read < all_ else " " * len(told), end="\r", style="dim")


async def _chosen(reference: str, settings: Settings) -> list[Shelved]:
    known = await offload(list_corpora, settings)
    if not known:
        raise UsageError(NONE_YET, hint=HOW)
    if not reference:
        return known
    try:
        return [await offload(find_corpus, reference, settings)]
    except ToolError as error:
        listed = ", ".join(one_line(one.name, 40) for one in known[:12])
        raise UsageError(str(error), hint=f"There are: {listed}.") from error


def _tell_added(shelved: Shelved, changes: Changes) -> None:
    done = [f"{amount(getattr(changes, what))} {what}" for what in ("added", "changed", "removed")]
    say(
        (one_line(shelved.name), "bold"),
        f"  {count(shelved.documents, 'document')}  ",
        _dim(" · ".join(done)),
    )
    if not shelved.documents:
        say("No Markdown, text, HTML or PDF was found there.", to_stderr=True)
    for trouble in changes.troubles[:MOST_TOLD]:
        say(("Left out: ", "bold yellow"), one_line(trouble, 300), to_stderr=True)
    if len(changes.troubles) > MOST_TOLD:
        say(_dim(f"… and {len(changes.troubles) - MOST_TOLD} more: --json"), to_stderr=True)
    say(_dim(f'Look into it: podium corpus search "…" --corpus {one_line(shelved.name)}'))


def _tell_found(found: list[tuple[Shelved, CorpusPassage]], *, several: bool) -> None:
    console = out()
    for number, (corpus, passage) in enumerate(found, 1):
        where = f"{one_line(corpus.name)}: {one_line(passage.path)}" if several else one_line(passage.path)
        about = [where, *filter(None, (passage.published, one_line(", ".join(passage.authors), 60)))]
        say_line(console, (f"{number}. {one_line(passage.title, 100)}", "bold"))
        say_line(console, _dim(" · ".join(about)))
        say_prose(console, one_line(passage.snippet))


def _dim(text: str) -> tuple[str, str]:
    return text, "dim"


def _shelved_data(one: Shelved) -> dict[str, Any]:
    return {
        "name": one.name, "folder": str(one.folder), "documents": one.documents, "unreadable": one.troubles,
        "characters": one.characters, "indexed_at": one.indexed_at, "semantic": one.semantic,
    }  # fmt: skip


def _passage_data(corpus: Shelved, passage: CorpusPassage) -> dict[str, Any]:
    return {
        "corpus": corpus.name, "url": url_of(passage.path), "path": passage.path, "title": passage.title,
        "published": passage.published, "authors": list(passage.authors), "media_type": passage.media_type,
        "snippet": passage.snippet, "start": passage.start, "end": passage.end,
        "score": round(passage.score, 4),
    }  # fmt: skip
