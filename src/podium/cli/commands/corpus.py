"""`podium corpus`: folders of documents, indexed by their words, for research and for searching by hand."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from podium.cli.card import print_table, say_line, say_prose
from podium.cli.flags import AsJson, StoreUrl, number, option
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
    passage_data,
    remove_corpus,
    search_all,
)
from podium.tools.corpus.search import CorpusPassage
from podium.tools.corpus.update import Changes
from podium.tools.tool import ToolError

NO_CORPUS = "There is no corpus yet."
ADD_HINT = "Create one with `podium corpus add FOLDER`."
SLOW = 500
"""Number of files above which progress is shown."""
MOST_LISTED = 20
"""Number of unreadable files that are listed; the rest is only counted."""

Reference = Annotated[str, Parameter(metavar="CORPUS", help="Name or folder of a corpus.")]


async def add(
    folder: Annotated[str, Parameter(metavar="FOLDER", help="Folder of documents.")],
    /,
    *,
    name: Annotated[str, option("Name of the corpus; default: the folder's name.")] = "",
    semantic: Annotated[
        bool | None,
        Parameter(
            negative="--no-semantic",
            show_default=False,
            help="Also search by meaning; needs pip install 'podium[semantic]'. Stored with the index.",
        ),
    ] = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Index the documents of a folder: Markdown, text, HTML and PDF.

    Files are read again only if they changed; deleted files leave the index. Unreadable files are reported.
    Symbolic links, hidden files and files with names of secrets are skipped.
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
        counts = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
        print_json({**shelved.to_dict(), **counts, "troubles": changes.troubles})
        return 0
    _print_added(shelved, corpus.changes)
    return 0


async def list_(*, store: StoreUrl = None, json: AsJson = False) -> int:
    """List indexed folders with the size of their index."""
    known = await offload(list_corpora, Settings.load(store=store))
    if json:
        print_json({"corpora": [corpus.to_dict() for corpus in known]})
    elif not known:
        say(NO_CORPUS)
        say((ADD_HINT, "dim"))
    else:
        titles = ("name", "documents", "unreadable", "characters", "indexed", "folder")
        rows = [
            (
                corpus.name,
                f"{corpus.documents:,}",
                f"{corpus.troubles:,}",
                amount(corpus.characters),
                corpus.indexed_at[:16].replace("T", " "),
                str(corpus.folder),
            )
            for corpus in known
        ]
        spare = ("indexed", "characters", "unreadable")
        print_table(out(), titles, rows, figures=titles[1:4], spare=spare)
    return 0


async def search(
    query: Annotated[str, Parameter(help="Words, a question, or a phrase in quotes.")],
    /,
    *,
    corpus: Annotated[str, option("Only this corpus (name or folder).", metavar="CORPUS")] = "",
    limit: Annotated[int, number("Maximum number of passages.")] = 8,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Find the most relevant documents, each with its best passage.

    Searches the index as it is; update it with `podium corpus add`.
    """
    if not query.strip():
        raise UsageError("The search text is empty.", hint="Give some words.")
    if limit < 1:
        raise UsageError("--limit must be at least 1.")
    chosen = await _chosen(corpus, Settings.load(store=store))
    try:
        passages = await search_all(chosen, query, limit)
    except ToolError as error:
        raise UsageError(str(error), hint="Rebuild the index with `podium corpus add`.") from error
    if json:
        print_json({"query": query, "results": [passage_data(*pair) for pair in passages]})
    elif passages:
        _print_passages(passages, several=len(chosen) > 1)
    else:
        say("Nothing was found.")
    return 0


async def remove(reference: Reference, /, *, store: StoreUrl = None, json: AsJson = False) -> int:
    """Delete the index of a folder. The documents stay where they are."""
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
        line = f"Reading: {read:,} of {all_:,} files"
        err().print(line if read < all_ else " " * len(line), end="\r", style="dim")


async def _chosen(reference: str, settings: Settings) -> list[Shelved]:
    known = await offload(list_corpora, settings)
    if not known:
        raise UsageError(NO_CORPUS, hint=ADD_HINT)
    if not reference:
        return known
    try:
        return [await offload(find_corpus, reference, settings)]
    except ToolError as error:
        listed = ", ".join(one_line(corpus.name, 40) for corpus in known[:12])
        raise UsageError(str(error), hint=f"Known: {listed}.") from error


def _print_added(shelved: Shelved, changes: Changes) -> None:
    done = [f"{amount(getattr(changes, what))} {what}" for what in ("added", "changed", "removed")]
    say(
        (one_line(shelved.name), "bold"),
        f"  {count(shelved.documents, 'document')}  ",
        _dim(" · ".join(done)),
    )
    if not shelved.documents:
        say("The folder has no Markdown, text, HTML or PDF files.", to_stderr=True)
    for trouble in changes.troubles[:MOST_LISTED]:
        say(("Left out: ", "bold yellow"), one_line(trouble, 300), to_stderr=True)
    if len(changes.troubles) > MOST_LISTED:
        say(_dim(f"… and {len(changes.troubles) - MOST_LISTED} more: --json"), to_stderr=True)
    say(_dim(f'Search it: podium corpus search "…" --corpus {one_line(shelved.name)}'))


def _print_passages(passages: list[tuple[Shelved, CorpusPassage]], *, several: bool) -> None:
    console = out()
    for rank, (corpus, passage) in enumerate(passages, 1):
        where = f"{one_line(corpus.name)}: {one_line(passage.path)}" if several else one_line(passage.path)
        about = [where, *filter(None, (passage.published, one_line(", ".join(passage.authors), 60)))]
        say_line(console, (f"{rank}. {one_line(passage.title, 100)}", "bold"))
        say_line(console, _dim(" · ".join(about)))
        say_prose(console, one_line(passage.snippet))


def _dim(text: str) -> tuple[str, str]:
    return text, "dim"
