"""Files of one folder: what can be read, and everything that cannot."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from podium.tools.folder import MAX_FILE_BYTES, Folder
from podium.tools.tool import MAX_TEXT, ToolError, ToolResult, unfenced
from podium.tools.toolbox import Toolbox

SECRET = "the secret of the house"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a house around it, in which a secret lies."""
    (tmp_path / "secret.txt").write_text(SECRET)
    root = tmp_path / "notes"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "a.md").write_text("First line\nQuiet harbour\nlast line")
    (root / "deep" / "b.txt").write_text("A harbour, and a bay.")
    (root / "deep" / "er" / "c.md").write_text("Nothing of the kind.")
    (root / ".env").write_text(f"KEY={SECRET}")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text(SECRET)
    for name in (
        "id_rsa",
        "server.pem",
        "Key.PEM",
        "prod.env",
        "credentials",
        "credentials.json",
        "secrets.yaml",
    ):
        (root / name).write_text(SECRET)
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "inside.md").symlink_to("a.md")
    (root / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\0\0\0")
    return root


async def use(folder: Path, name: str, **args: object) -> ToolResult:
    """What a tool gives inside the fence that the toolbox puts around it."""
    async with Toolbox(folder=folder) as tools:
        result = await tools.call(name, args)
    assert not result.ok or unfenced(result.text) != result.text, "what a file says is fenced"
    return ToolResult(ok=result.ok, text=unfenced(result.text), error=result.error)


async def test_the_tools_are_three(folder: Path) -> None:
    async with Toolbox(folder=folder) as tools:
        assert [spec.name for spec in await tools.specs()] == ["list_files", "read_file", "search_files"]


async def test_files_are_listed_without_the_hidden_the_secret_and_the_linked(folder: Path) -> None:
    assert (await use(folder, "list_files")).text.splitlines() == [
        "a.md (34 bytes)",
        "deep/",
        "picture.png (9 bytes)",
    ]
    assert (await use(folder, "list_files", recursive=True, pattern="*.md")).text.splitlines() == [
        "a.md (34 bytes)",
        "deep/er/c.md (20 bytes)",
    ]
    assert (await use(folder, "list_files", path="deep")).text.splitlines() == [
        "deep/b.txt (21 bytes)",
        "deep/er/",
    ]


@pytest.mark.parametrize("path", ["a.md", "./a.md", "deep/../a.md"])
async def test_a_file_is_read_by_a_path_inside(folder: Path, path: str) -> None:
    result = await use(folder, "read_file", path=path)
    assert result.ok == (".." not in path)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "deep/../../secret.txt",
        "/etc/passwd",
        "~/secret.txt",
        "up/secret.txt",
        "out.txt",
        "passwd",
        "inside.md",
        ".env",
        "./.env",
        ".git/config",
        "id_rsa",
        "server.pem",
        "Key.PEM",
        "prod.env",
        "credentials",
        "credentials.json",
        "secrets.yaml",
        "deep\\..\\..\\secret.txt",
        "a.md\0.txt",
        "",
        ".",
        "deep",
        "pipe",
        "nowhere.txt",
        "a.md/x",
        "x" * 5_000,
        "/dev/zero",
        "/proc/self/environ",
        "deep/",
        "up",
    ],
)
async def test_no_path_leads_out_or_to_a_secret(folder: Path, path: str) -> None:
    result = await use(folder, "read_file", path=path)
    assert not result.ok
    assert SECRET not in result.error
    assert result.error.endswith(".")


@pytest.mark.parametrize("path", ["..", "/", "up", ".git", "../notes", "pipe", "a.md", "nowhere"])
async def test_no_folder_outside_is_listed_or_searched(folder: Path, path: str) -> None:
    assert not (await use(folder, "list_files", path=path)).ok
    assert not (await use(folder, "search_files", path=path, text="secret")).ok


async def test_a_search_finds_lines_and_never_looks_into_secrets(folder: Path) -> None:
    assert (await use(folder, "search_files", text="HARBOUR")).text.splitlines() == [
        "a.md:2: Quiet harbour",
        "deep/b.txt:1: A harbour, and a bay.",
    ]
    assert (await use(folder, "search_files", text=r"^Q\w+ h", regex=True)).text == "a.md:2: Quiet harbour"
    assert (await use(folder, "search_files", text="harbour", pattern="*.txt")).text.startswith("deep/b.txt")
    assert (await use(folder, "search_files", text="harbour", limit=1)).text.endswith("[the first 1]")
    for regex in (True, False):
        assert (await use(folder, "search_files", text="secret", regex=regex)).text == "Nothing found."


async def test_a_pattern_that_never_ends_is_ended(folder: Path) -> None:
    (folder / "bad.txt").write_text("a" * 60 + "!")
    result = await use(folder, "search_files", text="(a+)+$", regex=True)
    assert not result.ok
    assert "took longer than 5 s" in result.error


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<x", "a{99999999999}"])
async def test_a_wrong_pattern_is_reported(folder: Path, pattern: str) -> None:
    result = await use(folder, "search_files", text=pattern, regex=True)
    assert not result.ok
    assert "pattern" in result.error


async def test_binary_large_and_empty_files_are_reported(folder: Path) -> None:
    assert "is a binary file of 9 bytes" in (await use(folder, "read_file", path="picture.png")).error
    (folder / "large.txt").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert "too large" in (await use(folder, "read_file", path="large.txt")).error
    (folder / "empty.txt").touch()
    assert (await use(folder, "read_file", path="empty.txt")).text == "[the file is empty]"


async def test_a_long_file_is_read_part_by_part_without_a_gap(folder: Path) -> None:
    text = " ".join(f"w{n}" for n in range(9_000))
    (folder / "long.txt").write_text(text)
    read, offset = "", 0
    while True:
        part = (await use(folder, "read_file", path="long.txt", offset=offset)).text
        assert len(part) <= MAX_TEXT
        body, _, more = part.partition("\n[")
        read += body
        if not more:
            break
        offset = int(more.rpartition("offset ")[2].rstrip("]"))
    assert read == text
    assert "only" in (await use(folder, "read_file", path="long.txt", offset=10**9)).error


async def test_other_encodings_are_read(folder: Path) -> None:
    (folder / "wide.txt").write_text("Käse", encoding="utf-16")
    (folder / "old.txt").write_bytes("Käse".encode("latin-1"))
    assert (await use(folder, "read_file", path="wide.txt")).text == "Käse"
    assert (await use(folder, "read_file", path="old.txt")).text == "K\ufffdse"


async def test_sockets_and_devices_are_refused(folder: Path) -> None:
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(folder)  # the path of a socket may not be long
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        assert not (await use(folder, "read_file", path="sock")).ok


def test_a_link_that_is_swapped_in_between_is_never_followed(folder: Path) -> None:
    """A path turns again and again from a folder into a link that leads out: no read ever gets the secret."""
    inside, outside = folder / "swap", folder.parent / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text(SECRET)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            inside.mkdir()
            (inside / "x.txt").write_text("harmless")
            (inside / "x.txt").unlink()
            inside.rmdir()
            inside.symlink_to(outside)
            inside.unlink()

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[bytes] = set()
    try:
        for _ in range(3_000):
            try:
                seen.add(Folder(folder).read("swap/x.txt"))
            except ToolError:
                continue
    finally:
        stop.set()
        swapping.join()
    assert SECRET.encode() not in seen


async def test_the_named_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert (await use(tmp_path / "link", "read_file", path="a.md")).ok


async def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    assert (await use(tmp_path / "nowhere", "list_files")).error == (
        "The folder cannot be opened: No such file or directory."
    )


@pytest.mark.parametrize(
    "args", [{}, {"path": 1.5}, {"path": None}, {"path": "a.md", "offset": -1}, {"path": "a.md", "wrong": 1}]
)
async def test_wrong_arguments_are_reported_with_the_right_ones(
    folder: Path, args: dict[str, object]
) -> None:
    result = await use(folder, "read_file", **args)
    assert "It takes: path, offset, limit." in result.error
