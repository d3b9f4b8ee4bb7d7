"""Edits and their validation.

Unedited parts of a file are kept byte for byte, also if it is not UTF-8 or has CRLF line ends.

Everything is validated before anything is written: a set with one invalid change is refused as a whole, with
a reason for each invalid change.
"""

from __future__ import annotations

import codecs
import difflib
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from podium.errors import ChangeRefusedError, WorkspaceError
from podium.tools.workspace.change import Caps, Change, Edit, Refusal, path_trouble
from podium.tools.workspace.git import FILE, LINK, PROGRAM, Blob, Write
from podium.tools.workspace.tree import WorkTree

MAX_SHOWN = 1_200
"""Maximum characters of the nearest text that an error quotes."""
MAX_SAME = 600
"""Maximum characters compared with each candidate."""
MAX_COMPARED = 200_000
"""Larger files are not searched for text similar to a block."""

_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class EditError(Exception):
    """The reason why a block or a text does not fit a file; one sentence that the coder can act on."""


class Encoded(msgspec.Struct, frozen=True):
    """A decoded text, and how to encode it for its file again."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    crlf: bool = False
    """Every line of the file ends with CRLF."""
    foreign: bool = False
    """Some bytes are not UTF-8; they are preserved."""

    def bytes_of(self, text: str) -> bytes:
        """Encode `text` in the format of this file."""
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            return self.bom + text.encode(self.encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            raise EditError("The text holds characters that no file can hold.") from error


def decoded(data: bytes) -> Encoded | None:
    """Decode a file; None if it is binary."""
    for bom, encoding in _WIDE.items():
        if data.startswith(bom):
            try:
                return _of(data[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError:
                return None
    if b"\0" in data[:8192]:
        return None
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(bom) :]
    try:
        return _of(body.decode(), "utf-8", bom)
    except UnicodeDecodeError:
        return msgspec.structs.replace(
            _of(body.decode("utf-8", "surrogateescape"), "utf-8", bom), foreign=True
        )


def rewritten(old: bytes, content: str) -> bytes:
    """Encode a whole new text for an existing file; CRLF line ends and the BOM are kept."""
    before = decoded(old)
    if before is None or before.foreign:
        return Encoded("").bytes_of(content)
    return before.bytes_of(content.removeprefix("\ufeff"))


def edited(old: bytes, edits: Sequence[Edit]) -> bytes:
    """Apply all blocks to a file; each must match exactly once."""
    before = decoded(old)
    if before is None:
        raise EditError("It is a binary file: it can be replaced or deleted, not edited.")
    text = before.text
    for number, edit in enumerate(edits, 1):
        which = f"Block {number}" if len(edits) > 1 else "The block"
        if before.foreign and not edit.replace.isascii():
            raise EditError(f"{which} adds letters beyond ASCII to a file that is not UTF-8.")
        text = _replaced(text, edit, which, crlf=before.crlf)
    return before.bytes_of(text)


def _replaced(text: str, edit: Edit, which: str, *, crlf: bool) -> str:
    search, replace = edit.search, edit.replace
    if crlf:
        search, replace = search.replace("\r\n", "\n"), replace.replace("\r\n", "\n")
    if not search:
        raise EditError(f"{which} has no text to search for.")
    if search == replace:
        raise EditError(f"{which} changes nothing: search and replace are the same.")
    count = text.count(search)
    if count == 1 and text.count(search, text.find(search) + 1) == 0:
        return text.replace(search, replace, 1)
    if count:
        lines = ", ".join(str(line) for line in _lines_of(text, search)[:8])
        raise EditError(f"{which} fits more than once (lines {lines}): search for more lines around it.")
    raise EditError(f"{which} is not in the file. {_nearest(text, search)}")


def _lines_of(text: str, search: str) -> list[int]:
    lines, start = list[int](), 0
    while (at := text.find(search, start)) >= 0:
        lines.append(text.count("\n", 0, at) + 1)
        start = at + 1
    return lines


def _nearest(text: str, search: str) -> str:
    """Describe the lines of the file that are most similar to the searched text."""
    if not text.strip():
        return "The file is empty."
    lines, wanted = text.splitlines(), search.strip("\n").splitlines()
    if len(text) > MAX_COMPARED or len(search) > MAX_COMPARED // 20:
        return "Read the file again and copy the text from it."
    start = _likeliest(lines, wanted)
    near = "\n".join(lines[start : start + len(wanted)])
    if near.split() == search.split():
        intro = "The nearest text differs in spaces or line ends"
    else:
        intro = "The nearest text is"
    quoted = near if len(near) <= MAX_SHOWN else near[:MAX_SHOWN] + "…"
    return f"{intro}, from line {start + 1}:\n{quoted}"


def _likeliest(lines: list[str], wanted: list[str]) -> int:
    """Return the start of the lines most similar to the wanted ones. A quick ratio selects ten candidates for
    the exact comparison, to save time."""
    stripped, words = [line.strip() for line in lines], [line.strip() for line in wanted]
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2("\n".join(words)[:MAX_SAME])

    def likeness(start: int, *, closely: bool) -> float:
        matcher.set_seq1("\n".join(stripped[start : start + len(words)])[:MAX_SAME])
        return matcher.ratio() if closely else matcher.quick_ratio()

    starts = _candidates(stripped, {line for line in words if line}, len(words))
    best = sorted(starts, key=lambda start: likeness(start, closely=False), reverse=True)[:10]
    return max(best, key=lambda start: likeness(start, closely=True))


def _candidates(lines: list[str], anchors: set[str], length: int) -> list[int]:
    """Return where to compare: around identical lines, or else everywhere; bounded."""
    last = max(0, len(lines) - length)
    near = {
        min(max(0, number - back), last)
        for number, line in enumerate(lines)
        if line in anchors
        for back in range(min(length, 8))
    }
    return sorted(near)[:400] if near else list(range(last + 1))[:2_000]


def _of(text: str, encoding: str, bom: bytes) -> Encoded:
    crlf = (
        "\r\n" in text and text.count("\r\n") == text.count("\n") and text.count("\r\n") == text.count("\r")
    )
    return Encoded(text.replace("\r\n", "\n") if crlf else text, encoding, bom, crlf)


class _Refused(Exception):
    """The reason why one change is refused."""


def checked(changes: Sequence[Change], files: Mapping[str, Blob], tree: WorkTree, caps: Caps) -> list[Write]:
    """Return the writes for these changes, or raise a `ChangeRefusedError` that lists every refused one."""
    if len(changes) > caps.changes:
        reason = f"{len(changes)} files are too many for one set; {caps.changes} are allowed."
        raise ChangeRefusedError([Refusal(0, changes[0].path, changes[0].action, reason)])
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
    """Validation of one set of changes against the current files."""

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
        """Return the file's blob, or refuse. Untracked files do not count."""
        blob = self._files.get(path)
        if blob is None:
            other = self._folded.get(path.casefold())
            hint = f"; there is {other}" if other else ""
            raise _Refused(f"There is no such file{hint}.")
        if blob.mode == LINK or self._tree.look(path).kind != "file":
            raise _Refused("It is a link or not a regular file.")
        return blob

    def _free(self, path: str) -> None:
        """Refuse if a new file cannot be created at this path."""
        folded = path.casefold()
        if other := self._folded.get(folded):
            raise _Refused(
                "The file exists already: modify it."
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
    """Check the limits of the set and of the workspace."""
    written = sum(len(write.data or b"") for write in writes)
    reason = workspace_trouble(writes, files, caps)
    if written > caps.change_bytes:
        reason = f"The set writes {written:,} bytes; {caps.change_bytes:,} are allowed."
    return [
        Refusal(index, change.path, change.action, reason) for index, change in enumerate(changes) if reason
    ]


def workspace_trouble(writes: Sequence[Write], files: Mapping[str, Blob], caps: Caps) -> str:
    """Return which limit the workspace would exceed after these writes, as one sentence; empty if none."""
    written = sum(len(write.data or b"") for write in writes)
    replaced = sum(files[write.path].size for write in writes if write.path in files)
    size = sum(blob.size for blob in files.values()) + written - replaced
    count = len({*files, *(write.path for write in writes)} - {w.path for w in writes if w.data is None})
    if size > caps.workspace_bytes:
        return f"The workspace would have {size:,} bytes; {caps.workspace_bytes:,} are allowed."
    if count > caps.workspace_files:
        return f"The workspace would have {count:,} files; {caps.workspace_files:,} are allowed."
    return ""
