"""Which changes of a set may be made, and what the files are then.

Everything is decided before anything is written: a set with one bad change is refused whole, and every bad
one is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from podium.errors import ChangeRefusedError, WorkspaceError
from podium.tools.workspace.change import Caps, Change, Refusal
from podium.tools.workspace.editing import EditError, Encoded, edited, rewritten
from podium.tools.workspace.history import FILE, LINK, PROGRAM, Blob, Write
from podium.tools.workspace.paths import path_trouble
from podium.tools.workspace.tree import WorkTree


class _Refused(Exception):
    """Why one change may not be made."""


def checked(changes: Sequence[Change], files: Mapping[str, Blob], tree: WorkTree, caps: Caps) -> list[Write]:
    """What to write for these changes, or a `ChangeRefusedError` that names every one that is refused."""
    if len(changes) > caps.changes:
        told = f"{len(changes)} files are too many for one set; {caps.changes} are allowed."
        raise ChangeRefusedError([Refusal(0, changes[0].path, changes[0].action, told)])
    check = _Check(changes, files, tree, caps)
    writes, refusals = list[Write](), list[Refusal]()
    for index, change in enumerate(changes):
        try:
            writes += check.writes_of(change)
        except (_Refused, EditError, WorkspaceError) as error:
            refusals.append(Refusal(index, change.path, change.action, str(error)))
    if not refusals:
        refusals = _too_much(changes, writes, files, caps)
    if refusals:
        raise ChangeRefusedError(refusals)
    return writes


class _Check:
    """One set of changes against the files as they are."""

    def __init__(
        self, changes: Sequence[Change], files: Mapping[str, Blob], tree: WorkTree, caps: Caps
    ) -> None:
        self._files, self._tree, self._caps = files, tree, caps
        named = [name for change in changes for name in (change.path, change.new_path) if name]
        self._named = Counter(name.casefold() for name in named)
        leaving = {change.path for change in changes if change.action in ("delete", "rename")}
        staying = [path for path in files if path not in leaving]
        self._folded = {path.casefold(): path for path in staying}
        self._folders = {folder for path in staying for folder in _folders(path.casefold())}
        coming = [
            change.new_path or change.path for change in changes if change.action in ("create", "rename")
        ]
        self._coming = {path.casefold() for path in coming}
        self._coming_folders = {folder for path in coming for folder in _folders(path.casefold())}

    def writes_of(self, change: Change) -> list[Write]:
        for path in (change.path, change.new_path):
            if (path or path is change.path) and (trouble := path_trouble(path)):
                raise _Refused(trouble)
            if path and self._named[path.casefold()] > 1:
                raise _Refused(f"{path} is named by more than one change of the set.")
        if change.new_path and change.action != "rename":
            raise _Refused("Only a rename has a new path.")
        if change.action == "create":
            return [self._created(change)]
        if change.action == "modify":
            return [self._modified(change)]
        if change.content is not None or (change.edits and change.action == "delete"):
            raise _Refused(f"A {change.action} takes no content.")
        if change.action == "delete":
            self._present(change.path)
            return [Write(change.path, None)]
        return self._renamed(change)

    def _created(self, change: Change) -> Write:
        if change.content is None or change.edits:
            raise _Refused("A new file needs its whole content, and no search-and-replace blocks.")
        self._free(change.path)
        data = Encoded("").bytes_of(_sound(change.content))
        return self._bounded(Write(change.path, data, PROGRAM if change.executable else FILE))

    def _modified(self, change: Change) -> Write:
        blob = self._present(change.path)
        if (change.content is None) == (not change.edits) and change.executable is None:
            raise _Refused("Give either the whole content or search-and-replace blocks.")
        old = self._read(change.path, blob)
        if change.content is not None:
            data = rewritten(old, _sound(change.content))
        else:
            data = self._edited(old, change)
        return self._bounded(Write(change.path, data, _mode(change, blob)))

    def _renamed(self, change: Change) -> list[Write]:
        if not change.new_path:
            raise _Refused("A rename needs a new path.")
        blob = self._present(change.path)
        self._free(change.new_path)
        data = self._edited(self._read(change.path, blob), change)
        write = Write(change.new_path, data, _mode(change, blob))
        return [Write(change.path, None), self._bounded(write) if change.edits else write]

    def _edited(self, old: bytes, change: Change) -> bytes:
        for edit in change.edits:
            _sound(edit.replace)
        return edited(old, change.edits) if change.edits else old

    def _present(self, path: str) -> Blob:
        """The file of this name; what is not in git is not the coder's."""
        blob = self._files.get(path)
        if blob is None:
            other = self._folded.get(path.casefold())
            hint = f"; there is {other}" if other else ""
            raise _Refused(f"There is no such file{hint}.")
        if blob.mode == LINK or self._tree.look(path).kind != "file":
            raise _Refused("It is a link or something else than a regular file.")
        return blob

    def _free(self, path: str) -> None:
        """Whether a new file may lie here."""
        folded = path.casefold()
        if other := self._folded.get(folded):
            raise _Refused(
                "The file is there already: modify it."
                if other == path
                else f"It differs from {other} only in case."
            )
        if folded in self._folders or folded in self._coming_folders:
            raise _Refused("There is a folder of this name.")
        for folder in _folders(folded):
            if folder in self._folded or folder in self._coming:
                raise _Refused(f"{folder} is a file, not a folder.")
        if self._tree.look(path).kind == "link":
            raise _Refused("It lies behind a link, and links are not followed.")

    def _read(self, path: str, blob: Blob) -> bytes:
        return self._tree.read(path, max(blob.size, self._caps.file_bytes))

    def _bounded(self, write: Write) -> Write:
        size = len(write.data or b"")
        if size > self._caps.file_bytes:
            raise _Refused(f"The file would have {size:,} bytes; {self._caps.file_bytes:,} are allowed.")
        return write


def _sound(text: str) -> str:
    if "\0" in text:
        raise _Refused("The text holds a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Refused("The text holds characters that no file can hold.") from None
    return text


def _mode(change: Change, blob: Blob) -> str:
    if change.executable is None:
        return blob.mode
    return PROGRAM if change.executable else FILE


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _too_much(
    changes: Sequence[Change], writes: Sequence[Write], files: Mapping[str, Blob], caps: Caps
) -> list[Refusal]:
    """The caps that hold for the set and for the workspace."""
    written = sum(len(write.data or b"") for write in writes)
    replaced = sum(files[write.path].size for write in writes if write.path in files)
    size = sum(blob.size for blob in files.values()) + written - replaced
    count = len({*files, *(write.path for write in writes)} - {w.path for w in writes if w.data is None})
    reason = ""
    if written > caps.change_bytes:
        reason = f"The set writes {written:,} bytes; {caps.change_bytes:,} are allowed."
    elif size > caps.workspace_bytes:
        reason = f"The workspace would have {size:,} bytes; {caps.workspace_bytes:,} are allowed."
    elif count > caps.workspace_files:
        reason = f"The workspace would have {count:,} files; {caps.workspace_files:,} are allowed."
    return [
        Refusal(index, change.path, change.action, reason) for index, change in enumerate(changes) if reason
    ]
