"""List, read, search and write file tools.

Regular expressions are matched in a subprocess: Python's `re` cannot be interrupted and holds the GIL, so one
bad pattern would block the process forever.
"""

from __future__ import annotations

import asyncio
import fnmatch
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from podium.engine.process import offload, run_process
from podium.errors import UsageError
from podium.settings.places import named
from podium.tools import line_search
from podium.tools.folder import Folder
from podium.tools.line_search import Found, Text, match_plainly
from podium.tools.tool import (
    MAX_TEXT,
    ROOM,
    Arguments,
    Tool,
    ToolError,
    ToolResult,
    read_arguments,
    spec_of,
    succeeded,
)

MATCHING_SECONDS = 5.0


class _Answer(msgspec.Struct):
    found: list[Found] = []
    error: str = ""


async def match_pattern(pattern: str, texts: list[Text], limit: int) -> list[Found]:
    """Return the lines that match the pattern; raise a `ToolError` if it is invalid or takes too long."""
    request = msgspec.json.encode({"pattern": pattern, "texts": texts, "limit": limit})
    try:
        async with asyncio.timeout(MATCHING_SECONDS):
            done = await run_process(
                [sys.executable, "-I", "-S", line_search.__file__], env={}, stdin=request
            )
    except TimeoutError as error:
        raise ToolError(f"The pattern took longer than {MATCHING_SECONDS:g} s: use a simpler one.") from error
    if done.returncode != 0 or done.truncated:
        raise ToolError("The pattern could not be searched for: use a simpler one.")
    answer = msgspec.json.decode(done.stdout.encode(), type=_Answer)
    if answer.error:
        raise ToolError(f"The pattern is not a regular expression: {answer.error}.")
    return answer.found


MAX_LISTED = 1_000
MAX_SEARCHED_BYTES = 20_000_000
MAX_READING_SECONDS = 5.0
PAGE = MAX_TEXT - ROOM - 500
"""Characters of a file in one result; the rest is reserved for notes such as the next offset."""

PathBelow = Annotated[str, Meta(description="Relative to the folder, with / between names")]


class ListArguments(Arguments, frozen=True):
    """Arguments of `list_files`."""

    path: PathBelow = ""
    pattern: Annotated[str, Meta(description="Only names like this one, such as *.md")] = "*"
    recursive: Annotated[bool, Meta(description="Also what lies in folders below")] = False


class ReadArguments(Arguments, frozen=True):
    """Arguments of `read_file`."""

    path: PathBelow
    offset: Annotated[int, Meta(ge=0, description="Characters to skip")] = 0
    limit: Annotated[int, Meta(ge=1, description="Characters to read")] = PAGE


class SearchArguments(Arguments, frozen=True):
    """Arguments of `search_files`."""

    text: Annotated[str, Meta(min_length=1, max_length=500, description="What to look for")]
    path: PathBelow = ""
    pattern: Annotated[str, Meta(description="Only in files with names like this one, such as *.md")] = "*"
    regex: Annotated[bool, Meta(description="`text` is a regular expression")] = False
    limit: Annotated[int, Meta(ge=1, le=200, description="Lines to find")] = 50


class WriteArguments(Arguments, frozen=True):
    """Arguments of `write_file`."""

    path: PathBelow
    text: Annotated[str, Meta(description="The whole new content")]


class ListFiles:
    """The `list_files` tool."""

    def __init__(self, folder: Folder) -> None:
        self.spec = spec_of("list_files", "List the files of the folder, with their sizes.", ListArguments)
        self._folder = folder

    async def call(self, args: dict[str, Any]) -> ToolResult:
        return await offload(self._list, read_arguments(args, ListArguments))

    def _list(self, arguments: ListArguments) -> ToolResult:
        lines = list[str]()
        for entry in self._folder.walk(arguments.path, deep=arguments.recursive):
            if not fnmatch.fnmatchcase(entry.path.rpartition("/")[2], arguments.pattern):
                continue
            if len(lines) == MAX_LISTED:
                lines.append(f"[more than {MAX_LISTED:,}: name a folder or a pattern]")
                break
            lines.append(f"{entry.path}/" if entry.is_folder else f"{entry.path} ({entry.size:,} bytes)")
        return succeeded("\n".join(lines) or "No files.")


class ReadFile:
    """The `read_file` tool."""

    def __init__(self, folder: Folder) -> None:
        self.spec = spec_of("read_file", "Read a text file of the folder.", ReadArguments)
        self._folder = folder

    async def call(self, args: dict[str, Any]) -> ToolResult:
        return await offload(self._read, read_arguments(args, ReadArguments))

    def _read(self, arguments: ReadArguments) -> ToolResult:
        text = text_of(self._folder.read(arguments.path), arguments.path)
        if arguments.offset and arguments.offset >= len(text):
            raise ToolError(f"{arguments.path} has only {len(text):,} characters.")
        end = arguments.offset + min(arguments.limit, PAGE)
        more = f"\n[{len(text) - end:,} characters follow: offset {end}]" if end < len(text) else ""
        return succeeded((text[arguments.offset : end] or "[the file is empty]") + more)


class SearchFiles:
    """The `search_files` tool."""

    def __init__(self, folder: Folder) -> None:
        self.spec = spec_of(
            "search_files", "Find the lines that hold a text, in files of the folder.", SearchArguments
        )
        self._folder = folder

    async def call(self, args: dict[str, Any]) -> ToolResult:
        arguments = read_arguments(args, SearchArguments)
        texts, skipped = await offload(self._texts, arguments)
        if arguments.regex:
            matches = await match_pattern(arguments.text, texts, arguments.limit)
        else:
            matches = await offload(match_plainly, arguments.text, texts, arguments.limit)
        return succeeded(listing(matches, arguments.limit, skipped))

    def _texts(self, arguments: SearchArguments) -> tuple[list[Text], str]:
        """Return the texts to search, within limits of size and time, and a note about skipped files."""
        texts, size, ends = list[Text](), 0, time.monotonic() + MAX_READING_SECONDS
        for entry in self._folder.walk(arguments.path):
            if entry.is_folder or not fnmatch.fnmatchcase(entry.path.rpartition("/")[2], arguments.pattern):
                continue
            size += entry.size
            if size > MAX_SEARCHED_BYTES or time.monotonic() > ends:
                return texts, f"only the first {len(texts):,} files were searched: name a folder or a pattern"
            try:
                texts.append((entry.path, text_of(self._folder.read(entry.path), entry.path)))
            except ToolError:  # binary, too large or deleted meanwhile: nothing to search
                continue
        return texts, ""


class WriteFile:
    """The `write_file` tool."""

    def __init__(self, folder: Folder) -> None:
        self.spec = spec_of("write_file", "Create or replace a text file of the folder.", WriteArguments)
        self._folder = folder

    async def call(self, args: dict[str, Any]) -> ToolResult:
        arguments = read_arguments(args, WriteArguments)
        data = arguments.text.encode("utf-8", "replace")
        new = await offload(self._folder.write, arguments.path, data)
        return succeeded(f"{'Created' if new else 'Replaced'} {arguments.path} ({len(data):,} bytes).")


def file_tools(folder: Path) -> list[Tool]:
    """Return the tools that read this folder."""
    inside = Folder(folder)
    return [ListFiles(inside), ReadFile(inside), SearchFiles(inside)]


def write_tools(folder: Path) -> list[Tool]:
    """Return the tools that change this folder."""
    return [WriteFile(Folder(folder))]


def text_of(data: bytes, path: str) -> str:
    """Decode the text of a file, or raise a `ToolError` if it is binary."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:8192]:
        raise ToolError(f"{path} is a binary file of {len(data):,} bytes.")
    return data.decode("utf-8-sig", "replace")


def listing(matches: list[Found], limit: int, note: str) -> str:
    """Return the matches as `path:line: text`, with a note about files that were not searched."""
    lines = [f"{path}:{number}: {line}" for path, number, line in matches]
    if len(matches) >= limit:
        lines.append(f"[the first {limit}]")
    if note:
        lines.append(f"[{note}]")
    return "\n".join(lines) or "Nothing found."


def readable_folder(path: str) -> str:
    """Return the absolute path of a folder that a user named, so that a later process finds it too."""
    folder = named(path).absolute()
    if not folder.is_dir():
        raise UsageError(f"There is no folder {path} to read.", hint="Give --files a folder.")
    return str(folder)
