"""Who is let in, and from where: every route, every way in."""

from __future__ import annotations

import json
import socket
from http.cookies import SimpleCookie
from pathlib import Path

import httpx2
import pytest

from podium.server.security import LOGINS, MOST_BODY, PROBES
from podium.server.users import add_user
from tests.server.conftest import Shared
from tests.server.routes import all_routes, filled
from tests.server.serving import Served, done, flow, served, started

GUARDED = [
    route
    for route in all_routes()
    if route[1] not in PROBES and (route[1] not in LOGINS or route[0] != "POST")
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One server for all tests here that change nothing."""
    with served(tmp_path_factory.mktemp("house")) as running:
        yield running


def test_all_routes_are_looked_at() -> None:
    assert len(GUARDED) > 40
    assert ("GET", "/") in GUARDED


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_nothing_is_reported_without_a_key(house: Served, method: str, path: str) -> None:
    with house.client("") as stranger:
        answer = stranger.request(method, filled(path), json={})
        assert answer.status_code == 401
        assert answer.json()["error"] == "You are not signed in."
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    with house.client(house.token[:-1] + "_") as stranger:
        assert stranger.request(method, filled(path), json={}).status_code in (401, 429)


@pytest.mark.parametrize("key", ["", "nothing", "podium-alice-x", "é", "x" * 400])
@pytest.mark.parametrize("path", LOGINS)
def test_a_wrong_key_gets_no_cookie(tmp_path: Path, path: str, key: str) -> None:
    with served(tmp_path) as server, server.client("") as stranger:
        sent = {"data": {"key": key}} if path == "/session" else {"json": {"key": key}}
        answer = stranger.post(path, **sent)  # type: ignore[arg-type]
        assert answer.status_code in (401, 422)
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://", "http://["]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_page_is_refused_even_with_a_key(house: Served, origin: str, method: str) -> None:
    with house.client(Origin=origin) as client:
        answer = client.request(method, "/api/runs", json={})
        assert (answer.status_code, answer.json()["error"]) == (
            403,
            "This request comes from a foreign page.",
        )


@pytest.mark.parametrize(
    "host", ["evil.example", "podium.evil.example:80", "8.8.8.8", "127.0.0.1@evil", "", "localhost.x"]
)
def test_a_foreign_name_is_refused(house: Served, host: str) -> None:
    """A page can give its own name our address; it cannot give itself ours."""
    with house.client(Host=host) as client:
        assert client.get("/api/runs").status_code in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.2:9", "[::1]:7"])
def test_every_name_of_this_machine_is_known(house: Served, host: str) -> None:
    with house.client(Host=host) as client:
        assert client.get("/api/health").status_code == 200


def test_the_printed_address_gives_a_cookie_that_scripts_cannot_read(house: Served) -> None:
    with house.client("") as browser:
        page = browser.get("/", headers={"Accept": "text/html"})
        assert (page.status_code, "<form" in page.text) == (401, True)
        answer = browser.get("/", params={"token": house.token})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
        assert (bool(cookie["httponly"]), cookie["samesite"], cookie["path"]) == (True, "lax", "/")
        assert house.token not in cookie.value
        assert house.base.rpartition(":")[2] in cookie.key, (
            "servers on other ports have cookies of other names"
        )
        assert browser.get("/").status_code == 200
        assert browser.get("/api/runs").status_code == 200
        forged = cookie.value[:-1] + ("0" if cookie.value[-1] != "0" else "1")
    with house.client("", Cookie=f"{cookie.key}={forged}") as browser:
        assert browser.get("/api/runs").status_code == 401


def test_a_cookie_alone_changes_nothing(house: Served) -> None:
    """A form of another site could make a browser send it along."""
    with house.client("") as browser:
        browser.get("/", params={"token": house.token})
        start = {"workflow": flow("quick"), "request": "x"}
        own = {"Origin": house.base}
        assert browser.post("/api/runs", json=start).status_code == 403, "no Origin"
        assert (
            browser.post("/api/runs", json=start, headers={"Origin": "http://evil.example"}).status_code
            == 403
        )
        form = {**own, "Content-Type": "text/plain"}
        assert browser.post("/api/runs", content=json.dumps(start), headers=form).status_code == 403
        beside = {"Sec-Fetch-Site": "same-site"}
        assert browser.get("/api/runs", headers=beside).status_code == 403, "a page of another port"
        answer = browser.post("/api/runs", json=start, headers=own)
        assert answer.status_code == 202
        pause = browser.post(f"/api/runs/{answer.json()['run_id']}/pause", headers={**own, "X-Podium": "1"})
        assert pause.status_code in (202, 409)


def test_signing_in_by_json_and_out_again(house: Served) -> None:
    with house.client("") as browser:
        own = {"Origin": house.base}
        assert browser.post("/api/session", json={"key": house.token}, headers=own).status_code == 200
        assert browser.get("/api/me").json()["local"] is True
        assert browser.delete("/api/session", headers={**own, "X-Podium": "1"}).status_code == 200
        assert browser.get("/api/me").status_code == 401


def test_every_answer_has_the_headers_that_protect_a_browser(house: Served) -> None:
    with house.client() as client:
        for path in ("/", "/api/runs", "/api/nothing", "/api/runs/zzzzzzzzzz"):
            headers = client.get(path).headers
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "same-origin"
            assert "default-src 'self'" in headers["Content-Security-Policy"]
            assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]


def test_a_request_that_is_too_large_is_refused_before_it_is_read(house: Served) -> None:
    with house.client() as client:
        answer = client.post("/api/runs", content=b"x" * (MOST_BODY + 1))
        assert (answer.status_code, answer.json()["error"]) == (413, "The request is too large.")

        def pieces() -> object:
            for _ in range(MOST_BODY // 100_000 + 2):
                yield b"x" * 100_000

        answer = client.post("/api/runs", content=pieces())  # type: ignore[arg-type]
        assert answer.status_code == 413, "also if it does not say how large it is"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a": 1}', b'"x"', b"[" * 50_000])
def test_bad_json_is_reported(house: Served, body: bytes) -> None:
    with house.client(**{"Content-Type": "application/json"}) as client:
        answer = client.post("/api/runs", content=body)
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]


def test_a_request_that_is_no_http_does_not_disturb_the_server(house: Served) -> None:
    host, _, port = house.base.removeprefix("http://").partition(":")
    for noise in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"X" * 100_000):
        with socket.create_connection((host, int(port)), timeout=10) as line:
            line.sendall(noise)
            line.shutdown(socket.SHUT_WR)
            try:
                while line.recv(65_536):
                    pass
            except ConnectionResetError:
                pass  # that is an answer, too
    with house.client() as client:
        assert client.get("/api/health").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../../pyproject.toml",
        "/%2e%2e/app.py",
        "/..%2f..%2fapp.py",
        "/assets/..%2f..%2fapp.py",
        "//etc/passwd",
        "/%00",
        "/assets/%00.js",
        "/app.py",
        "/.env",
        "/assets\\..\\app.py",
        "/" + "a" * 5000 + ".js",
    ],
)
def test_no_file_outside_the_built_ui_is_served(house: Served, path: str) -> None:
    with house.client() as client:
        answer = client.get(httpx2.URL(house.base).copy_with(raw_path=path.encode()))
        assert "import" not in answer.text
        assert "root:" not in answer.text
        assert answer.status_code in (200, 404)


def test_a_user_who_asks_too_often_is_slowed_down(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"requests_per_minute": 60})
    other = add_user(file, "bob", {})
    with served(tmp_path, users=file) as server, server.client(key) as client, server.client(other) as bob:
        answers = [client.get("/api/health").status_code for _ in range(40)]
        assert 429 in answers
        assert bob.get("/api/health").status_code == 200


def test_a_change_of_the_users_file_counts_at_once(shared: Shared, tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    with shared.of("bob") as bob, shared.server.client("") as browser:
        assert bob.get("/api/me").json()["name"] == "bob"
        own = {"Origin": shared.server.base}
        assert browser.post("/api/session", json={"key": shared.keys["bob"]}, headers=own).status_code == 200
        assert browser.get("/api/me").status_code == 200
        file.write_text(file.read_text().partition("[users.bob]")[0])
        assert bob.get("/api/me").status_code == 401
        assert browser.get("/api/me").status_code == 401, "a cookie ends with the user"
        file.write_text("not toml")
        with shared.of("alice") as alice:
            assert alice.get("/api/me").status_code == 200, "a mistake in the file locks nobody out"


def test_a_key_in_an_address_is_no_way_in_for_users(shared: Shared) -> None:
    with shared.server.client("") as browser:
        assert browser.get("/", params={"token": shared.keys["alice"]}).status_code == 401


def test_a_form_without_script_signs_a_user_in(shared: Shared) -> None:
    with shared.server.client("") as browser:
        answer = browser.post(
            "/session", data={"key": shared.keys["alice"]}, headers={"Origin": shared.server.base}
        )
        assert answer.status_code == 303
        assert browser.get("/api/me").json()["name"] == "alice"


def test_neither_keys_nor_tokens_are_in_the_store_or_the_users_file(shared: Shared, tmp_path: Path) -> None:
    with shared.of("alice") as alice:
        done(alice, started(alice, "tree", "a garden"))
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        for key in shared.keys.values():
            assert key.rpartition("-")[2].encode() not in file.read_bytes()
