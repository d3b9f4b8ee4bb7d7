"""The limit for wrong keys: who it reaches, and that a right key always gets in."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Generator
from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.server.auth import TRIES, KeyCheck, UserAuthenticator, WrongKey
from podium.server.http_server import Serving, check
from podium.server.rate_limits import client_network
from podium.server.users import Users, add_user, new_key
from podium.settings import Settings
from tests.server.conftest import Shared
from tests.server.serving import Served, served

WRONG = ("wrong", "podium-alice-wrong", "podium-nobody-wrong", "", "x" * 600, "é" * 60)


def spend_all_tries(server: Served) -> None:
    """Send wrong keys until the address is told to wait."""
    with server.client("wrong") as stranger:
        answers = [stranger.get("/api/runs").status_code for _ in range(TRIES + 5)]
    assert answers[:TRIES] == [401] * TRIES
    assert answers[-1] == 429


def test_wrong_keys_of_an_address_are_reported_to_wait(server: Served) -> None:
    spend_all_tries(server)
    with server.client("wrong") as stranger:
        answer = stranger.get("/api/runs")
        assert (answer.status_code, int(answer.headers["Retry-After"]) >= 1) == (429, True)
        assert answer.json()["error"] == "Too many wrong keys came from your address."


@pytest.mark.parametrize("way", ["header", "json", "form"])
def test_a_right_key_gets_in_although_its_address_sent_wrong_ones(shared: Shared, way: str) -> None:
    """A key that the server has never seen, by each way in."""
    spend_all_tries(shared.server)
    key = shared.keys["bob"]
    if way == "header":
        with shared.of("bob") as bob:
            assert bob.get("/api/me").json()["name"] == "bob"
        return
    with shared.server.client("", Origin=shared.server.base) as browser:
        given = {"json": {"key": key}} if way == "json" else {"data": {"key": key}}
        answer = browser.post("/api/session" if way == "json" else "/", **given)  # type: ignore[arg-type]
        assert answer.status_code == (200 if way == "json" else 303)
        assert browser.get("/api/me").json()["name"] == "bob"


def test_the_token_gets_in_although_its_address_sent_wrong_ones(server: Served) -> None:
    spend_all_tries(server)
    with server.client("") as browser:
        assert browser.get("/", params={"token": server.token}).status_code == 303
        assert browser.get("/api/me").status_code == 200


def test_right_keys_are_not_counted(shared: Shared) -> None:
    with shared.server.client("", Origin=shared.server.base) as browser:
        answers = {
            browser.post("/api/session", json={"key": shared.keys["bob"]}).status_code for _ in range(60)
        }
    assert answers == {200}


@pytest.mark.parametrize("key", WRONG)
@pytest.mark.parametrize("limited", [False, True])
async def test_an_answer_says_no_more_than_that_a_key_is_wrong(
    tmp_path: Path, key: str, limited: bool
) -> None:
    add_user(tmp_path / "users.toml", "alice", {})
    keys = KeyCheck(UserAuthenticator(Users(tmp_path / "users.toml")))
    for _ in range(TRIES if limited else 0):
        assert await keys.check("wrong", "192.0.2.1") == WrongKey()
    checked = await keys.check(key, "192.0.2.1")
    assert isinstance(checked, WrongKey)
    assert bool(checked.retry_after_s) is limited
    assert await keys.check(key, "192.0.2.2") == WrongKey(), "another address has tries of its own"


# ── addresses ────────────────────────────────────────────────────────────────────────────────────


def test_a_header_does_not_change_the_address_that_wrong_keys_count_for(server: Served) -> None:
    spend_all_tries(server)
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        with server.client("wrong", **{name: "192.0.2.77"}) as stranger:
            assert stranger.get("/api/runs").status_code == 429, name


@pytest.fixture
def behind_proxy(tmp_path: Path) -> Generator[Served]:
    with served(tmp_path, trusted_proxies=("127.0.0.0/8", "10.0.0.0/8")) as running:
        yield running


def test_a_trusted_proxy_shows_whose_keys_are_wrong(behind_proxy: Served) -> None:
    def status(forwarded: str) -> int:
        with behind_proxy.client("wrong", **{"X-Forwarded-For": forwarded}) as stranger:
            return stranger.get("/api/runs").status_code

    assert [status("192.0.2.1") for _ in range(TRIES + 1)][-1] == 429
    assert status("192.0.2.2") == 401
    assert status("192.0.2.9, 192.0.2.1") == 429, "the first entry was written by the client itself"
    assert status("192.0.2.1, 10.1.2.3") == 429, "a second trusted proxy"


def test_a_cookie_is_secure_where_the_browser_talks_tls(server: Served, behind_proxy: Served) -> None:
    host = {"Host": "localhost"}
    for house, headers, secure in (
        (behind_proxy, {"X-Forwarded-Proto": "https"}, True),
        (server, {"X-Forwarded-Proto": "https"}, False),
        (server, {"Origin": "https://localhost"}, True),
        (server, {"Origin": "http://localhost"}, False),
        (server, {}, False),
    ):
        with house.client("", **host, **headers) as browser:
            answer = browser.post("/api/session", json={"key": house.token})
            assert answer.status_code == 200
            assert ("secure" in answer.headers["set-cookie"].lower()) is secure, headers


def test_over_tls_a_page_without_tls_is_foreign(behind_proxy: Served) -> None:
    for origin, status in (("https://localhost", 200), ("http://localhost", 403)):
        headers = {"Host": "localhost", "Origin": origin, "X-Forwarded-Proto": "https"}
        with behind_proxy.client(**headers) as client:
            assert client.get("/api/me").status_code == status


@pytest.mark.parametrize("given", ["*", "proxy.example", "", "10.0.0.0/40", "10.0.0.1/8", "10.0.0.1:80"])
def test_a_proxy_is_named_by_address(tmp_path: Path, given: str) -> None:
    serving = Serving(settings=Settings.load(cwd=tmp_path, env={}), trusted_proxies=(given,))
    with pytest.raises(UsageError, match="not the address of a proxy"):
        check(serving)


def test_an_ipv6_subscriber_counts_as_one_address() -> None:
    assert client_network("2001:db8:1:2:3::4") == client_network("2001:db8:1:2:ffff::") == "2001:db8:1:2::/64"
    assert client_network("2001:db8:1:3::4") != client_network("2001:db8:1:2::4")
    assert client_network("::ffff:192.0.2.1") == client_network("192.0.2.1") == "192.0.2.1"
    assert client_network("fe80::1%eth0") == "fe80::/64"
    assert client_network("") == ""


# ── hashes of an earlier version ─────────────────────────────────────────────────────────────────


def add_scrypt_user(file: Path, name: str) -> str:
    """Write a user as earlier versions did."""
    key, salt = new_key(name), b"0123456789abcdef"
    digest = hashlib.scrypt(key.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
    stored = f"scrypt${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"
    with file.open("a") as opened:
        opened.write(f'\n[users.{name}]\nkey = "{stored}"\n')
    return key


async def test_a_key_with_a_hash_of_an_earlier_version_still_gets_in(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    new, old = add_user(file, "alice", {}), add_scrypt_user(file, "carol")
    authenticator = UserAuthenticator(Users(file))
    keys = KeyCheck(authenticator)
    for key, name in ((new, "alice"), (old, "carol")):
        checked = await keys.check(key, "192.0.2.1")
        assert getattr(checked, "name", None) == name
    assert await keys.check(old + "x", "192.0.2.1") == WrongKey()
    assert await keys.check(old.replace("carol", "alice"), "192.0.2.1") == WrongKey()
    for _ in range(TRIES):
        await keys.check("wrong", "192.0.2.1")
    assert getattr(await keys.check(old, "192.0.2.1"), "name", None) == "carol", "it was seen before"
    assert getattr(await keys.check(new, "192.0.2.1"), "name", None) == "alice"
    file.write_text(file.read_text().partition("[users.carol]")[0])
    assert isinstance(await keys.check(old, "192.0.2.2"), WrongKey)
