"""A browser stays signed in when the server on its own machine is started again."""

from __future__ import annotations

import stat
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from podium.server.sessions import session_secret
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
    with served(tmp_path / "one") as one:
        cookie = cookie_of(one)
    with served(tmp_path / "other") as other:
        assert status_with(other, cookie) == 401


def test_the_secret_is_for_the_owner_of_the_store_only(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'podium.sqlite'}"
    secret = session_secret(url)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(secret) > 40
    assert session_secret(url) == secret


@pytest.mark.parametrize("url", ["postgresql://somewhere/podium", "sqlite:////no/such/folder/podium.sqlite"])
def test_without_a_place_for_it_there_is_none(url: str) -> None:
    assert session_secret(url) == ""
