"""What a file says after a change: search-and-replace blocks, line ends and encodings.

The rest of the file is kept byte for byte, also where it is not UTF-8 or has Windows line ends.
"""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Sequence

import msgspec

from podium.tools.workspace.change import Edit

MAX_SHOWN = 1_200
"""Characters of the nearest text that an error quotes."""
MAX_SAME = 600
"""Characters that are compared with each candidate."""
MAX_COMPARED = 200_000
"""Files above this size are not searched for what a block may have meant."""

_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class EditError(Exception):
    """Why a block or a text does not fit a file; a sentence that the coder can act on."""


class Encoded(msgspec.Struct, frozen=True):
    """A text, and how it becomes the bytes of its file again."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    crlf: bool = False
    """Every line of the file ends as on Windows."""
    foreign: bool = False
    """Some bytes are not UTF-8; they are kept as they are."""

    def bytes_of(self, text: str) -> bytes:
        """The bytes that hold `text` in this file's way."""
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            return self.bom + text.encode(self.encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            raise EditError("The text holds characters that no file can hold.") from error


def decoded(data: bytes) -> Encoded | None:
    """The text of a file; `None` for a binary one."""
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
    """A whole new text for a file that was there: Windows line ends and the mark at its beginning stay."""
    before = decoded(old)
    if before is None or before.foreign:
        return Encoded("").bytes_of(content)
    return before.bytes_of(content.removeprefix("\ufeff"))


def edited(old: bytes, edits: Sequence[Edit]) -> bytes:
    """The file after all blocks, each of which has to match exactly once."""
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
    found, start = list[int](), 0
    while (at := text.find(search, start)) >= 0:
        found.append(text.count("\n", 0, at) + 1)
        start = at + 1
    return found


def _nearest(text: str, search: str) -> str:
    """The lines of the file that look most like what was searched for."""
    if not text.strip():
        return "The file is empty."
    lines, wanted = text.splitlines(), search.strip("\n").splitlines()
    if len(text) > MAX_COMPARED or len(search) > MAX_COMPARED // 20:
        return "Read the file again and copy the text from it."
    start = _likeliest(lines, wanted)
    near = "\n".join(lines[start : start + len(wanted)])
    if near.split() == search.split():
        told = "The nearest text differs in spaces or line ends"
    else:
        told = "The nearest text is"
    quoted = near if len(near) <= MAX_SHOWN else near[:MAX_SHOWN] + "…"
    return f"{told}, from line {start + 1}:\n{quoted}"


def _likeliest(lines: list[str], wanted: list[str]) -> int:
    """Where the lines begin that have most in common with the wanted ones; a quick look chooses whom to
    compare closely, because a coder waits for this and so does everybody else."""
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
    """Where to compare: around lines that are the same, else everywhere in reach; bounded."""
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
