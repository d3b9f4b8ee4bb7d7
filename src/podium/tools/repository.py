"""Repository map, files and symbols for a coder."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator, Sequence

import msgspec

from podium.engine.process import offload
from podium.tools.files import match_pattern
from podium.tools.folder import SECRET_FILES
from podium.tools.matching import Found, Text, match_plainly
from podium.tools.testing.cases import is_code, is_test_file, parse_python
from podium.tools.tool import ToolError
from podium.tools.workspace.editing import decoded
from podium.tools.workspace.git import LINK, SUBMODULE, Blob
from podium.tools.workspace.tree import WorkTree, shown
from podium.tools.workspace.workspace import Workspace

MAX_FILE_BYTES = 1_000_000
MAX_LINES = 800
MAX_CHARACTERS = 40_000
MAX_SEARCHED_BYTES = 30_000_000
MAX_FOUND = 100


class Repository:
    """Reads and searches the files in their currently recorded state."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tree = WorkTree(workspace.folder)

    def paths(self) -> list[str]:
        """Return every readable file, sorted by path."""
        return sorted(path for path, blob in self._workspace.files.items() if _is_readable(path, blob))

    def text(self, path: str) -> str:
        """Return a file's text, or raise a `ToolError` with the reason."""
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
        """Return a range of lines with their numbers, and a note about the lines that follow."""
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
        """Return the lines that contain a text or match a regular expression, as `path:line: text`."""
        if not wanted or len(wanted) > 500:
            raise ToolError("A text of 1 to 500 characters is needed.")
        limit = max(1, min(limit, MAX_FOUND))
        texts, left_out = await offload(self._texts, pattern)
        if regex:
            found = await match_pattern(wanted, texts, limit)
        else:
            found = await offload(match_plainly, wanted, texts, limit)
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
            except ToolError:  # binary or too large: nothing to search
                continue
        return texts, left_out

    def _hint(self, path: str) -> str:
        name = path.rpartition("/")[2].casefold()
        near = [known for known in self.paths() if known.rpartition("/")[2].casefold() == name and name]
        return f" Did you mean {', '.join(near[:3])}?" if near else ""


def _is_readable(path: str, blob: Blob) -> bool:
    return blob.mode not in (LINK, SUBMODULE) and blob.size <= MAX_FILE_BYTES and not _is_secret(path)


def _is_secret(path: str) -> bool:
    """Judge by the file name. Source files such as `secrets.py` are not secrets."""
    name = path.rpartition("/")[2].casefold()
    return not is_code(name) and any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_FILES)


def _told(found: list[Found], limit: int, left_out: int) -> str:
    lines = [f"{shown(path)}:{number}: {line}" for path, number, line in found]
    if len(found) >= limit:
        lines.append(f"[the first {limit}]")
    if left_out:
        lines.append(f"[{left_out} files were not searched: name a pattern]")
    return "\n".join(lines) or "Nothing found."


MAX_SYMBOLS = 400
MAX_SIGNATURE = 140


class Symbol(msgspec.Struct, frozen=True):
    """A class, function, method or type."""

    line: int
    text: str
    """The declaration without its body."""
    depth: int = 0
    """1 for a member of a class, 0 otherwise."""


_WORDS = (
    r"(?:export\s+|default\s+|declare\s+|abstract\s+|async\s+"
    r"|public\s+|private\s+|protected\s+|static\s+|final\s+)*"
)
_JAVASCRIPT = (
    rf"^(\s{{0,4}}){_WORDS}(?:class|interface|enum|function\*?|type|namespace)\s+\w+[^{{;=]*",
    r"^(\s{0,4})(?:export\s+)?(?:const|let)\s+\w+\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*(?::[^=]+)?=>",
)
_C_LIKE = (
    rf"^(\s{{0,4}}){_WORDS}(?:class|interface|enum|struct|record|trait|object|namespace)\s+\w+[^{{;]*",
    rf"^(\s{{0,4}}){_WORDS}(?!return|else|new|if|for|while|switch)[\w<>\[\],*&:]+\s+[\w*&:~]+\s*\([^;{{]*\)[^;{{]*\{{",
)
_PATTERNS: dict[str, tuple[str, ...]] = {
    ".js": _JAVASCRIPT, ".jsx": _JAVASCRIPT, ".ts": _JAVASCRIPT, ".tsx": _JAVASCRIPT, ".mjs": _JAVASCRIPT,
    ".cjs": _JAVASCRIPT, ".vue": _JAVASCRIPT, ".svelte": _JAVASCRIPT,
    ".go": (r"^()func\s[^{]+", r"^()type\s+\w+[^{]*"),
    ".rs": (
        r"^(\s{0,4})(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*"
        r"(?:fn|struct|enum|trait|impl|mod|type|macro_rules!)\b[^{;]*",
    ),
    ".rb": (r"^(\s*)(?:def|class|module)\s+\S.*",),
    ".php": (rf"^(\s{{0,4}}){_WORDS}(?:class|interface|trait|function)\s+\w+[^{{;]*",),
    ".ex": (r"^(\s*)(?:def|defp|defmodule)\s+.+?(?=\sdo|$)",),
    ".java": _C_LIKE, ".kt": _C_LIKE, ".scala": _C_LIKE, ".cs": _C_LIKE, ".c": _C_LIKE, ".h": _C_LIKE,
    ".cc": _C_LIKE, ".cpp": _C_LIKE, ".hpp": _C_LIKE, ".swift": _C_LIKE, ".dart": _C_LIKE,
    ".sh": (r"^()(?:function\s+)?[\w-]+\s*\(\)",),
}  # fmt: skip
_COMPILED = {suffix: tuple(map(re.compile, patterns)) for suffix, patterns in _PATTERNS.items()}


def symbols_of(path: str, text: str) -> list[Symbol]:
    """Return the declarations of a file in order; empty if it cannot be parsed."""
    suffix = "." + path.rpartition("/")[2].rpartition(".")[2]
    if suffix in (".py", ".pyi"):
        found = _python_symbols(text)
    else:
        found = list(_by_shape(text, _COMPILED.get(suffix, ())))
    return found[:MAX_SYMBOLS]


def _python_symbols(text: str) -> list[Symbol]:
    tree = parse_python(text)
    try:
        return list(_python(tree.body, 0)) if tree else []
    except RecursionError:  # nested too deeply for the parser
        return []


def _python(body: list[ast.stmt], depth: int) -> Iterator[Symbol]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            yield _symbol(
                node.lineno, f"class {node.name}({bases})" if bases else f"class {node.name}", depth
            )
            if depth < 1:
                yield from _python(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            gives = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield _symbol(node.lineno, f"{word} {node.name}({ast.unparse(node.args)}){gives}", depth)
        elif depth == 0 and isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper():
                    yield _symbol(node.lineno, target.id, depth)


def _by_shape(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[Symbol]:
    if not patterns:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 500:  # generated code
            continue
        for pattern in patterns:
            if found := pattern.match(line):
                yield _symbol(number, found[0].strip().rstrip("{").strip(), 1 if found[1] else 0)
                break


def _symbol(line: int, text: str, depth: int) -> Symbol:
    even = " ".join(text.split())
    return Symbol(line, even if len(even) <= MAX_SIGNATURE else even[: MAX_SIGNATURE - 1] + "…", depth)


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
    left = room - len("\n".join(tree)) - 2
    blocks = list[str]()
    ranked = sorted(paths, key=lambda path: _rank(path, named))
    for path in [path for path in ranked if is_code(path)][:MAX_READ]:
        block = _declared(repository, path)
        if not block:
            continue
        if len(block) + 1 > left:
            if left > 400 and path in named:
                block = block[: left - 20].rpartition("\n")[0] + "\n  …"
            else:
                break
        blocks.append(block)
        left -= len(block) + 1
    return "\n".join([*tree, "", *blocks]).rstrip()


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
    kept, size = list[str](), 0
    for line in lines:
        size += len(line) + 1
        if size > room - 40:
            break
        kept.append(line)
    return [*kept, f"[… {len(lines) - len(kept)} more]"]


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
