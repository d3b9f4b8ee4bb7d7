"""Files and repository map for a coder. Whatever does not fit ends with a note on how to read on."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from podium.engine.process import offload
from podium.tools.files import match_pattern
from podium.tools.folder import SECRET_FILES
from podium.tools.line_search import Found, Text, match_plainly, shortened
from podium.tools.openat_walk import printable
from podium.tools.symbols import name_of, symbols_of
from podium.tools.testing.cases import is_code, is_test_file
from podium.tools.tool import ToolError
from podium.tools.workspace.edits import decoded
from podium.tools.workspace.git import LINK, SUBMODULE, Blob
from podium.tools.workspace.tree import WorkTree
from podium.tools.workspace.workspace import Workspace

MAX_FILE_BYTES = 1_000_000
"""Maximum size of a file that is read as a whole."""
MAX_RANGE_BYTES = 100_000_000
"""Maximum size of a file that is read in ranges."""
MAX_LINES = 800
MAX_CHARACTERS = 40_000
MAX_SEARCHED_BYTES = 30_000_000
MAX_FOUND = 100
MAX_LISTED = 500
MAX_CONTEXT = 10
_ROOM = 120
"""Characters reserved for a note on how to read on."""


class _Page(msgspec.Struct):
    """Lines of one answer, within a number of characters."""

    room: int
    lines: list[str] = []

    def add(self, *lines: str) -> bool:
        """Add the lines if they fit, or return False."""
        size = sum(len(line) + 1 for line in lines)
        if size > self.room:
            return False
        self.room -= size
        self.lines += lines
        return True


class Repository:
    """Reads and searches the files in their currently recorded state."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tree = WorkTree(workspace.folder)

    def paths(self) -> list[str]:
        """Return every file that can be read as a whole, sorted by path."""
        return sorted(path for path, blob in self._workspace.files.items() if _is_readable(path, blob))

    def text(self, path: str, limit: int = MAX_FILE_BYTES) -> str:
        """Return a file's text, or raise a `ToolError` with the reason."""
        blob = self._workspace.files.get(path)
        if blob is None:
            raise ToolError(f"There is no file {printable(path)[:200]}.{self._hint(path)}")
        if _is_secret(path):
            raise ToolError(f"{path} is refused: it may hold secrets.")
        if blob.mode in (LINK, SUBMODULE):
            raise ToolError(f"{path} is a link or a submodule.")
        if blob.size > limit:
            raise ToolError(f"{path} is too large: {blob.size:,} bytes.")
        try:
            file = decoded(self._tree.read(path, limit))
        except OSError as error:
            raise ToolError(f"{path} cannot be read: {error.strerror}.") from error
        if file is None:
            raise ToolError(f"{path} is a binary file of {blob.size:,} bytes.")
        return file.text.encode("utf-8", "replace").decode()

    def lines(
        self, path: str, first: int = 1, last: int = 0, *, offset: int = 0, limit: int = MAX_CHARACTERS
    ) -> str:
        """Return a range of lines with their numbers, and a note on how to read on, `limit` characters at
        most. `offset` skips characters of the first line, for lines that are longer than an answer."""
        every = self.text(path, MAX_RANGE_BYTES).split("\n")
        if every[-1] == "":
            every.pop()
        if not every:
            return "[the file is empty]"
        start = max(1, first)
        if start > len(every):
            raise ToolError(f"{path} has only {len(every)} lines.")
        if offset and offset >= len(every[start - 1]):
            raise ToolError(f"Line {start} of {path} has only {len(every[start - 1]):,} characters.")
        end = min(last if last >= start else len(every), start + MAX_LINES - 1, len(every))
        width, page = len(str(end)), _Page(max(limit, 2 * _ROOM) - _ROOM)
        for number in range(start, end + 1):
            skipped = offset if number == start else 0
            line = every[number - 1][skipped:]
            if page.add(f"{number:>{width}}  {line}"):
                continue
            if number > start:
                end = number - 1
                break
            shown = page.room - width - 4
            page.add(f"{number:>{width}}  {line[:shown]}")
            more = f"[line {number} goes on for {len(line) - shown:,} characters: "
            return "\n".join([*page.lines, f"{more}first line {number}, offset {skipped + shown}]"])
        if end < len(every):
            page.lines.append(f"[{len(every) - end} lines follow, from line {end + 1}]")
        return "\n".join(page.lines)

    def list_files(self, where: str = "", *, offset: int = 0, limit: int = MAX_CHARACTERS) -> str:
        """Return the files with their sizes: all, those of a folder, or those whose path or name fits a
        pattern such as `*.py`."""
        folder = where.strip("/").removeprefix("./").strip("/")
        files = self._workspace.files
        names = [path for path in sorted(files) if not _is_secret(path)]
        if folder not in ("", "."):
            below = [path for path in names if path.startswith(folder + "/")]
            names = below or [path for path in names if _fits(path, folder)]
        if not names:
            return (
                f"No files: {printable(where)[:200]} is no folder, and no path fits it."
                if where
                else "No files."
            )
        if offset >= len(names):
            raise ToolError(f"There are only {len(names):,} files.")
        page, shown = _Page(max(limit, 2 * _ROOM) - _ROOM), 0
        for path in names[max(0, offset) : max(0, offset) + MAX_LISTED]:
            if not page.add(f"{printable(path)} ({_about(files[path])})"):
                break
            shown += 1
        end = max(0, offset) + shown
        if end < len(names):
            page.lines.append(f"[{len(names) - end:,} files follow: offset {end}]")
        return "\n".join(page.lines)

    async def search(
        self,
        wanted: str,
        *,
        regex: bool = False,
        pattern: str = "*",
        limit: int = 50,
        context: int = 0,
        offset: int = 0,
        characters: int = MAX_CHARACTERS,
    ) -> str:
        """Return the lines that contain a text or match a regular expression, as `path:line: text`.

        `context` adds lines before and after each, as `path-line- text`. `offset` skips the first matches.
        """
        if not wanted or len(wanted) > 500:
            raise ToolError("A text of 1 to 500 characters is needed.")
        limit, offset = max(1, min(limit, MAX_FOUND)), max(0, offset)
        texts, left_out = await offload(self._texts, pattern)
        if regex:
            matches = await match_pattern(wanted, texts, offset + limit + 1)
        else:
            matches = await offload(match_plainly, wanted, texts, offset + limit + 1)
        if offset and offset >= len(matches):
            raise ToolError(f"There are only {len(matches):,} matches.")
        shown = matches[offset : offset + limit]
        page = _Page(max(characters, 1_000) - 2 * _ROOM)
        count = _show(page, shown, dict(texts), max(0, min(context, MAX_CONTEXT)))
        notes = list[str]()
        if offset + count < len(matches):
            notes.append(f"[more lines match: offset {offset + count}]")
        if left_out:
            notes.append(f"[{left_out} files were not searched: name a pattern]")
        return "\n".join([*page.lines, *notes]) or "Nothing found."

    def _texts(self, pattern: str) -> tuple[list[Text], int]:
        texts, size, left_out = list[Text](), 0, 0
        for path, blob in sorted(self._workspace.files.items()):
            if blob.mode in (LINK, SUBMODULE) or _is_secret(path) or not _fits(path, pattern):
                continue
            if size + blob.size > MAX_SEARCHED_BYTES:
                left_out += 1
                continue
            size += blob.size
            try:
                texts.append((path, self.text(path, MAX_SEARCHED_BYTES)))
            except ToolError:  # binary: nothing to search
                continue
        return texts, left_out

    def _hint(self, path: str) -> str:
        name = path.rpartition("/")[2].casefold()
        near = [known for known in self.paths() if known.rpartition("/")[2].casefold() == name and name]
        return f" Did you mean {', '.join(near[:3])}?" if near else ""


def _show(page: _Page, matches: Sequence[Found], texts: dict[str, str], context: int) -> int:
    """Add the matches to the page, each with its context; return how many fitted. Context that two matches
    share is shown once."""
    shown = ("", 0)
    for count, (path, number, line) in enumerate(matches):
        block = [f"{printable(path)}:{number}: {line}"]
        if context:
            every, after = texts[path].splitlines(), matches[count + 1 : count + 2]
            start = max(1, number - context, shown[1] + 1 if shown[0] == path else 1)
            end = min(len(every), number + context)
            if after and after[0][0] == path:
                end = min(end, after[0][1] - 1)
            block = [*_beside(path, every, start, number - 1), *block, *_beside(path, every, number + 1, end)]
            if page.lines and (shown[0] != path or start > shown[1] + 1):
                block.insert(0, "--")
            shown = (path, end)
        if page.add(*block):
            continue
        if count:
            return count
        page.lines.append(f"{printable(path)}:{number}: {line}"[: page.room])
        return 1
    return len(matches)


def _beside(path: str, every: Sequence[str], first: int, last: int) -> list[str]:
    return [f"{printable(path)}-{at}- {shortened(every[at - 1])}" for at in range(first, last + 1)]


def _fits(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)


def _about(blob: Blob) -> str:
    if blob.mode == SUBMODULE:
        return "submodule"
    return "link" if blob.mode == LINK else f"{blob.size:,} bytes"


def _is_readable(path: str, blob: Blob) -> bool:
    return blob.mode not in (LINK, SUBMODULE) and blob.size <= MAX_FILE_BYTES and not _is_secret(path)


def _is_secret(path: str) -> bool:
    """Judge by the file name. Source files such as `secrets.py` are not secrets."""
    name = path.rpartition("/")[2].casefold()
    return not is_code(name) and any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_FILES)


CHARACTERS_PER_TOKEN = 3.5
"""A conservative estimate: paths and code take more tokens per character than prose."""
MAX_READ = 3_000
"""Maximum number of files whose symbols are extracted."""


async def draw_map(repository: Repository, tokens: int, *, named: Sequence[str] = ()) -> str:
    """Draw the map. Files that a step named come first, with all their declarations, then code, then
    tests."""
    return await offload(_draw, repository, int(tokens * CHARACTERS_PER_TOKEN), list(named))


def _draw(repository: Repository, room: int, named: list[str]) -> str:
    paths = repository.paths()
    if not paths:
        return "[no files]"
    tree = _tree(paths, max(200, room // 2))
    remaining = room - len("\n".join(tree)) - 2
    blocks = list[str]()
    ranked = sorted(paths, key=lambda path: _rank(path, named))
    for path in [path for path in ranked if is_code(path)][:MAX_READ]:
        block = _declared(repository, path)
        if not block:
            continue
        if len(block) + 1 > remaining:
            if remaining > 400 and path in named:
                block = block[: remaining - 20].rpartition("\n")[0] + "\n  …"
            else:
                break
        blocks.append(block)
        remaining -= len(block) + 1
    return "\n".join([*tree, "", *blocks]).rstrip()


MAX_DECLARATIONS, MAX_SAME_NAME = 30, 5
"""Maximum declarations that a text names, and maximum of one name."""
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_LEAST_WORD = 3


async def find_declarations(repository: Repository, text: str) -> str:
    """Return the declarations that a text names, a line each: place and signature; empty if there are
    none. Names that occur only in code come before ordinary words."""
    return await offload(_find_declarations, repository, text)


def _find_declarations(repository: Repository, text: str) -> str:
    words = dict.fromkeys(word for word in _IDENTIFIER.findall(text) if len(word) >= _LEAST_WORD)
    ordinary = {word for word in words if word.isalpha() and (word.islower() or word.istitle())}
    marked = {word for word in words if f"`{word}" in text or f"{word}(" in text or f".{word}" in text}
    lines = defaultdict[str, list[str]](list)
    paths = [path for path in repository.paths() if is_code(path)][:MAX_READ]
    for path in sorted(paths, key=lambda path: _rank(path, [])):
        try:
            symbols = symbols_of(path, repository.text(path))
        except ToolError:  # binary, or too large
            continue
        for symbol in symbols:
            name = name_of(symbol)
            if name in words and len(lines[name]) < MAX_SAME_NAME:
                lines[name].append(f"{path}:{symbol.line}: {symbol.text}")
    ranked = sorted(lines, key=lambda name: name in ordinary - marked)
    return "\n".join([line for name in ranked for line in lines[name]][:MAX_DECLARATIONS])


def _rank(path: str, named: list[str]) -> tuple[int, int, str]:
    if path in named:
        return (0, 0, path)
    if not is_code(path):
        return (3, 0, path)
    return (2 if is_test_file(path) else 1, path.count("/"), path)


def _declared(repository: Repository, path: str) -> str:
    try:
        symbols = symbols_of(path, repository.text(path))
    except ToolError:  # binary: no declarations
        return ""
    if not symbols:
        return ""
    return "\n".join(
        [f"{path}:", *(f"  {'  ' * symbol.depth}{symbol.line}: {symbol.text}" for symbol in symbols)]
    )


def _tree(paths: list[str], room: int) -> list[str]:
    """List all files, or as many levels as fit in `room`; deeper folders show their number of files."""
    lines = list[str]()
    for depth in range(12, 0, -1):
        lines = _lines(paths, depth)
        if sum(len(line) + 1 for line in lines) <= room:
            return lines
    fitting, size = list[str](), 0
    for line in lines:
        size += len(line) + 1
        if size > room - 40:
            break
        fitting.append(line)
    return [*fitting, f"[… {len(lines) - len(fitting)} more]"]


def _lines(paths: list[str], depth: int) -> list[str]:
    lines, seen, hidden = list[str](), set[str](), dict[str, int]()
    for path in paths:
        parts = path.split("/")
        for level in range(1, min(len(parts), depth)):
            folder = "/".join(parts[:level])
            if folder not in seen:
                seen.add(folder)
                lines.append(f"{'  ' * (level - 1)}{_clean(parts[level - 1])}/")
        if len(parts) <= depth:
            lines.append(f"{'  ' * (len(parts) - 1)}{_clean(parts[-1])}")
            continue
        folder = "/".join(parts[:depth])
        if folder not in hidden:
            hidden[folder] = len(lines)
            count = sum(1 for other in paths if other.startswith(folder + "/"))
            lines.append(f"{'  ' * (depth - 1)}{_clean(parts[depth - 1])}/ ({count} files)")
    return lines


def _clean(name: str) -> str:
    """Return a name with unprintable characters replaced by `?`."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
