"""A map of a repository within a number of tokens: its files as a tree, and what the likeliest declare."""

from __future__ import annotations

from collections.abc import Sequence

from podium.tools.aside import aside
from podium.tools.repository.reading import Repository
from podium.tools.repository.symbols import symbols_of
from podium.tools.testing.languages import is_code, is_test_file
from podium.tools.tool import ToolError

CHARACTERS_PER_TOKEN = 3.5
"""On the careful side: paths and code are cut into smaller tokens than prose."""
MAX_READ = 3_000
"""Files that are looked into for their symbols."""


async def draw_map(repository: Repository, tokens: int, *, named: Sequence[str] = ()) -> str:
    """The map. Files that a step named come with all they declare, then code, then tests, then the rest."""
    return await aside(_draw, repository, int(tokens * CHARACTERS_PER_TOKEN), list(named))


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
    except ToolError:  # binary: declares nothing
        return ""
    if not symbols:
        return ""
    return "\n".join(
        [f"{path}:", *(f"  {'  ' * symbol.depth}{symbol.line}: {symbol.text}" for symbol in symbols)]
    )


def _tree(paths: list[str], room: int) -> list[str]:
    """All files, or as deep as there is room, with folders below told by their number of files."""
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
    """A name in one line of text."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
