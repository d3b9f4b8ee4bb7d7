"""A browser stays signed in when the server on its own machine is started again."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from podium.server.auth import LONGEST_S, session_secret
from tests.server.serving import Served, served


def cookie_of(server: Served) -> str:
    with server.client("") as browser:
        answer = browser.get("/", params={"token": server.token}, follow_redirects=False)
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return cookie.value


def status_with(server: Served, cookie: str) -> int:
    name = f"podium-{server.base.rpartition(':')[2]}"
    with server.client("", Cookie=f"{name}={cookie}") as browser:
        return browser.get("/api/me").status_code


def test_a_cookie_outlives_a_restart_and_the_token_does_not(tmp_path: Path) -> None:
    with served(tmp_path) as first:
        cookie = cookie_of(first)
    with served(tmp_path) as second:
        assert status_with(second, cookie) == 200
        with second.client(first.token) as client:
            assert client.get("/api/me").status_code == 401


def test_another_store_knows_nothing_of_it(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with served(tmp_path / "one") as first:
        cookie = cookie_of(first)
    with served(tmp_path / "other") as other:
        assert status_with(other, cookie) == 401


def test_the_secret_does_not_lie_where_the_store_does(tmp_path: Path) -> None:
    """A store is copied, shared and backed up; whoever knows the secret may start programs."""
    with served(tmp_path) as server:
        secret = session_secret(f"sqlite:///{tmp_path / 'podium.sqlite'}")
        cookie_of(server)
    texts = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert texts
    assert not [text for text in texts if secret.encode() in text]


URL = "sqlite:////somewhere/podium.sqlite"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sessions"


def kept_in(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_the_secret_is_kept_for_the_user_alone(folder: Path) -> None:
    secret = session_secret(URL, folder)
    assert (len(secret), session_secret(URL, folder)) == (43, secret)
    assert stat.S_IMODE(kept_in(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert session_secret(URL + "x", folder) != secret


@pytest.mark.parametrize(
    "flaw", ["readable", "second name", "link", "short", "long", "empty", "bytes", "old"]
)
def test_a_secret_that_somebody_else_may_know_is_made_anew(folder: Path, tmp_path: Path, flaw: str) -> None:
    secret = session_secret(URL, folder)
    file, planted = kept_in(folder), tmp_path / "planted"
    planted.write_text("x" * 43)
    planted.chmod(0o600)
    match flaw:
        case "readable":
            file.chmod(0o640)
        case "second name":
            (tmp_path / "other").hardlink_to(file)
        case "link":
            file.unlink()
            file.symlink_to(planted)
        case "old":
            long_ago = time.time() - LONGEST_S - 60
            os.utime(file, (long_ago, long_ago))
        case _:
            file.write_bytes({"short": b"x", "long": b"x" * 44, "empty": b"", "bytes": b"\xff" * 43}[flaw])
    new = session_secret(URL, folder)
    assert (len(new), new in (secret, "x" * 43)) == (43, False)
    assert session_secret(URL, folder) == new
    assert planted.read_text() == "x" * 43, "nothing is written through a link"


def test_a_folder_that_others_could_write_is_closed_to_them(folder: Path) -> None:
    session_secret(URL, folder)
    folder.chmod(0o777)
    session_secret(URL, folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give things away")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_belongs_to_somebody_else_is_not_believed(folder: Path, what: str) -> None:
    secret = session_secret(URL, folder)
    os.chown(folder if what == "folder" else kept_in(folder), 12345, 12345)
    assert session_secret(URL, folder) != secret


def test_two_servers_that_start_at_once_agree(folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(session_secret, [URL] * 40, [folder] * 40))
    assert len(secrets) == 1


def test_without_a_place_for_it_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert session_secret(URL, tmp_path / "file" / "sessions") == ""
    (tmp_path / "link").symlink_to(tmp_path)
    assert session_secret(URL, tmp_path / "link") == ""
