"""Reading what a program left behind: plain files, and nothing that it planted."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from podium.errors import ResultRefusedError
from podium.tools.sandbox.sandbox import Sandbox, read_result


def test_a_plain_file_is_read(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "file.xml").write_bytes(b"<a/>\xff")
    assert read_result(workspace, "sub/file.xml") == b"<a/>\xff"


def test_a_file_that_is_not_there_is_reported_as_usual(workspace: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_result(workspace, "none")


@pytest.mark.parametrize("path", ["", "..", "../x", "a/../../x", "/etc/passwd", "a\0b"])
def test_paths_stay_below_the_workspace(workspace: Path, path: str) -> None:
    with pytest.raises(ResultRefusedError, match="not a path below"):
        read_result(workspace, path)


async def test_what_a_program_planted_is_refused(sandbox: Sandbox, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    command = (
        f"ln -s {tmp_path}/secret link; ln -s {tmp_path} folder; mkfifo pipe; mkdir plain; mkfifo plain/pipe"
    )
    result = await sandbox.run(["sh", "-c", command], folder=workspace)
    assert result.ok, result.stderr
    for path in ("pipe", "plain/pipe"):  # removed when the program ended
        with pytest.raises(FileNotFoundError):
            read_result(workspace, path)
        os.mkfifo(workspace / path)
    for path in ("link", "folder/secret", "pipe", "plain", "plain/pipe"):
        with pytest.raises(ResultRefusedError):
            read_result(workspace, path)


def test_sockets_and_large_files_are_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(ResultRefusedError):
            read_result(workspace, "socket")
    os.truncate(os.open("large", os.O_CREAT | os.O_WRONLY), 1001)
    with pytest.raises(ResultRefusedError, match="larger than 1,000 bytes"):
        read_result(workspace, "large", max_bytes=1000)
