"""Files of a workspace for a coder's eyes: only what git knows, no binary, huge or secret ones."""

from __future__ import annotations

import fnmatch

from podium.tools.aside import aside
from podium.tools.folder import SECRET_FILES
from podium.tools.matching import Found, Text, match_plainly
from podium.tools.patterns import match_pattern
from podium.tools.testing.languages import is_code
from podium.tools.tool import ToolError
from podium.tools.workspace.editing import decoded
from podium.tools.workspace.history import LINK, SUBMODULE, Blob
from podium.tools.workspace.tree import WorkTree, shown
from podium.tools.workspace.workspace import Workspace

MAX_FILE_BYTES = 1_000_000
MAX_LINES = 800
MAX_CHARACTERS = 40_000
MAX_SEARCHED_BYTES = 30_000_000
MAX_FOUND = 100


class Repository:
    """Reading and searching the files as they are recorded now."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tree = WorkTree(workspace.folder)

    def paths(self) -> list[str]:
        """Every file that may be read, by name."""
        return sorted(path for path, blob in self._workspace.files.items() if _is_readable(path, blob))

    def text(self, path: str) -> str:
        """A file's text, or a `ToolError` with the reason why there is none."""
        blob = self._workspace.files.get(path)
        if blob is None:
            raise ToolError(f"There is no file {shown(path)[:200]}.{self._hint(path)}")
        if _is_secret(path):
            raise ToolError(f"{path} is refused: it may hold secrets.")
        if blob.mode in (LINK, SUBMODULE):
            raise ToolError(f"{path} is a link or a submodule.")
        if blob.size > MAX_FILE_BYTES:
            raise ToolError(f"{path} is too large: {blob.size:,} bytes.")
        try:
            found = decoded(self._tree.read(path, MAX_FILE_BYTES))
        except OSError as error:
            raise ToolError(f"{path} cannot be read: {error.strerror}.") from error
        if found is None:
            raise ToolError(f"{path} is a binary file of {blob.size:,} bytes.")
        return found.text.encode("utf-8", "replace").decode()

    def lines(self, path: str, first: int = 1, last: int = 0) -> str:
        """Some lines of a file with their numbers; what follows is told."""
        every = self.text(path).split("\n")
        if every[-1] == "":
            every.pop()
        if not every:
            return "[the file is empty]"
        start = max(1, first)
        if start > len(every):
            raise ToolError(f"{path} has only {len(every)} lines.")
        end = min(last if last >= start else len(every), start + MAX_LINES - 1, len(every))
        width, told, size = len(str(end)), list[str](), 0
        for number in range(start, end + 1):
            line = f"{number:>{width}}  {every[number - 1][:2_000]}"
            size += len(line) + 1
            if size > MAX_CHARACTERS and told:
                end = number - 1
                break
            told.append(line)
        if end < len(every):
            told.append(f"[{len(every) - end} lines follow: ask from line {end + 1}]")
        return "\n".join(told)

    async def search(self, wanted: str, *, regex: bool = False, pattern: str = "*", limit: int = 50) -> str:
        """Lines that hold a text or fit an expression, as `path:line: text`."""
        if not wanted or len(wanted) > 500:
            raise ToolError("A text of 1 to 500 characters is needed.")
        limit = max(1, min(limit, MAX_FOUND))
        texts, left_out = await aside(self._texts, pattern)
        if regex:
            found = await match_pattern(wanted, texts, limit)
        else:
            found = await aside(match_plainly, wanted, texts, limit)
        return _told(found, limit, left_out)

    def _texts(self, pattern: str) -> tuple[list[Text], int]:
        texts, size, left_out = list[Text](), 0, 0
        for path in self.paths():
            if not (
                fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)
            ):
                continue
            size += self._workspace.files[path].size
            if size > MAX_SEARCHED_BYTES:
                left_out += 1
                continue
            try:
                texts.append((path, self.text(path)))
            except ToolError:  # binary or large: nothing to find in it
                continue
        return texts, left_out

    def _hint(self, path: str) -> str:
        name = path.rpartition("/")[2].casefold()
        near = [known for known in self.paths() if known.rpartition("/")[2].casefold() == name and name]
        return f" Did you mean {', '.join(near[:3])}?" if near else ""


def _is_readable(path: str, blob: Blob) -> bool:
    return blob.mode not in (LINK, SUBMODULE) and blob.size <= MAX_FILE_BYTES and not _is_secret(path)


def _is_secret(path: str) -> bool:
    """By its name; a program called `secrets.py` is a program."""
    name = path.rpartition("/")[2].casefold()
    return not is_code(name) and any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_FILES)


def _told(found: list[Found], limit: int, left_out: int) -> str:
    lines = [f"{shown(path)}:{number}: {line}" for path, number, line in found]
    if len(found) >= limit:
        lines.append(f"[the first {limit}]")
    if left_out:
        lines.append(f"[{left_out} files were not searched: name a pattern]")
    return "\n".join(lines) or "Nothing found."
