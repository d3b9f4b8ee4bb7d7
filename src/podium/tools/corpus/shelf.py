"""Where the indexes of folders are kept: beside the store, one file a folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from podium.settings import Settings, default_store, nearest
from podium.settings.places import at_home, named
from podium.tools.corpus import index
from podium.tools.tool import ToolError

LONGEST_NAME = 60


class Shelved(msgspec.Struct, frozen=True):
    """A folder that has an index."""

    name: str
    folder: Path
    file: Path
    """The index."""
    documents: int
    troubles: int
    """Files that could not be read."""
    characters: int
    indexed_at: str
    semantic: bool = False
    """Its documents have vectors."""


def shelf_of(settings: Settings) -> Path:
    """The folder of the indexes. A store that is not a file here has them in the user's data folder."""
    url = settings.store if settings.store.startswith("sqlite:///") else default_store()
    database = Path(url.removeprefix("sqlite:///"))
    return database.with_name(f"{database.name}.corpora")


def index_of(folder: Path, settings: Settings) -> Path:
    """The index of a folder, which need not exist; one folder has one, however it is written."""
    key = hashlib.sha256(str(_real(folder)).encode("utf-8", "surrogateescape")).hexdigest()
    return shelf_of(settings) / f"{key[:20]}.sqlite"


def _real(folder: str | Path) -> Path:
    """Where a folder is, whether it is there or not; a link that leads round in a circle is no trouble."""
    return Path(os.path.realpath(at_home(folder)))


def list_corpora(settings: Settings) -> list[Shelved]:
    """All that have an index, by name; blocking."""
    found = [_look(file) for file in sorted(shelf_of(settings).glob("*.sqlite"))]
    return sorted((one for one in found if one is not None), key=lambda one: (one.name, str(one.folder)))


def find_corpus(reference: str, settings: Settings) -> Shelved:
    """The one of a name, or of a folder; blocking."""
    known = list_corpora(settings)
    called = [one for one in known if one.name == reference]
    if len(called) == 1:
        return called[0]
    folder = _real(reference)
    for one in known:
        if one.folder == folder:
            return one
    if called:
        raise ToolError(f"Several corpora are called {reference!r}: name one by its folder.")
    meant = nearest(reference, [one.name for one in known])
    also = f" Did you mean {meant!r}?" if meant else ""
    raise ToolError(f"There is no corpus {reference!r}.{also}")


def check_name(name: str, folder: str, settings: Settings) -> None:
    """Whether a folder can go by a name; empty: its own. Blocking."""
    odd = len(name) > LONGEST_NAME or not name.isprintable() or "/" in name or name != name.strip()
    if odd or name in (".", ".."):
        raise ToolError("A name is one short line without /, and not only dots.")
    root = named(folder).resolve()
    for other in list_corpora(settings):
        if name and other.name == name and other.folder != root:
            raise ToolError(f"{name!r} is the name of {other.folder}.")


def remove_corpus(shelved: Shelved) -> None:
    """Take the index away; the documents stay where they are. Blocking."""
    with index.locked(shelved.file):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{shelved.file}{suffix}").unlink(missing_ok=True)


def _look(file: Path) -> Shelved | None:
    """`None`: not an index that this version can use; the next `add` makes it anew."""
    if not index.is_usable(file):
        return None
    with index.connected(file) as db:
        about = db.execute("SELECT folder, name, indexed_at, semantic FROM about").fetchone()
        good, bad, size = db.execute(
            "SELECT count(*) FILTER (WHERE trouble = ''), count(*) FILTER (WHERE trouble != ''), "
            "coalesce(sum(length(text)), 0) FROM document"
        ).fetchone()
    if about is None:  # its first indexing has not come to an end
        return None
    return Shelved(about[1], Path(about[0]), file, good, bad, size, about[2], bool(about[3]))
