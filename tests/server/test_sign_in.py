"""The sign-in form and the session cookie over HTTP; in a browser they are tested in `tests/ui`."""

from __future__ import annotations

from http.cookies import SimpleCookie

import httpx2
import pytest

from podium.server.auth import target_after_sign_in
from tests.server.conftest import Shared
from tests.server.serving import Served


@pytest.mark.parametrize(
    ("raw", "query", "target"),
    [
        ("/", "", "/"),
        ("/runs/abc", "tab=transcript&step=story%2Fbrief", "/runs/abc?tab=transcript&step=story%2Fbrief"),
        ("/brain/harbour%2F2026", "", "/brain/harbour%2F2026"),
        ("/runs/", "q=a+b&x=", "/runs/?q=a+b&x="),
        ("/", "token=secret&needs=you", "/?needs=you"),
        ("/", "tok%65n=secret", "/"),
        ("/session", "next=//evil", "/"),
        ("//evil.example", "", "/"),
        ("//evil.example/%2e%2e", "", "/"),
        ("///evil.example", "", "/"),
        ("/\\evil.example", "", "/"),
        ("/\t/evil.example", "", "/"),
        ("/\r\nLocation: http://evil.example", "", "/"),
        ("http://evil.example/", "", "/"),
        ("evil.example", "", "/"),
        ("*", "", "/"),
        ("", "", "/"),
        ("/a\\b", "", "/"),
        ("/é", "", "/"),
        ("/%2f%2fevil.example", "", "/%2f%2fevil.example"),
        ("/%5cevil.example", "", "/%5cevil.example"),
        ("/x", "a=%0d%0aSet-Cookie:b", "/x?a=%0D%0ASet-Cookie%3Ab"),
    ],
)
def test_after_signing_in_the_browser_stays_on_this_server(raw: str, query: str, target: str) -> None:
    scope = {"raw_path": raw.encode(), "path": raw, "query_string": query.encode()}
    after = target_after_sign_in(scope)
    assert after == target
    assert httpx2.URL("http://podium.test/deep/page").join(after).host == "podium.test"


@pytest.mark.parametrize("path", ["//evil.example/", "/%2f%2fevil.example/", "/.%2f/evil.example"])
def test_over_http_no_path_redirects_elsewhere(shared: Shared, path: str) -> None:
    with shared.server.client("", Origin=shared.server.base) as browser:
        url = httpx2.URL(shared.server.base).copy_with(raw_path=path.encode())
        answer = browser.post(url, data={"key": shared.keys["alice"]}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["Location"][:1] == "/"
    assert answer.headers["Location"][1:2] not in ("/", "\\")


def test_a_wrong_key_in_the_form_is_reported_in_a_page(shared: Shared) -> None:
    with shared.server.client("", Origin=shared.server.base) as browser:
        answer = browser.post("/runs/abc?tab=graph", data={"key": "<b>wrong</b>"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (401, "text/html; charset=utf-8")
    assert "That key is not valid." in answer.text
    assert "<b>wrong" not in answer.text
    assert "set-cookie" not in answer.headers
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_form_is_a_sign_in_only_outside_of_the_interface(shared: Shared) -> None:
    with shared.of("alice") as alice:
        answer = alice.post("/api/runs", data={"key": shared.keys["alice"]})
        assert answer.status_code == 422
        assert "set-cookie" not in answer.headers
    with shared.server.client("") as stranger:
        assert stranger.post("/api/runs", data={"key": shared.keys["alice"]}).status_code == 401


def test_a_large_sign_in_is_refused_before_it_is_read(server: Served) -> None:
    with server.client("") as stranger:
        for path in ("/", "/api/session"):
            answer = stranger.post(path, data={"key": "x" * 20_000})
            assert answer.status_code == 413


def sessions(server: Served, number: int) -> list[str]:
    cookies: list[str] = []
    for _ in range(number):
        with server.client("") as browser:
            answer = browser.post("/api/session", json={"key": server.token})
            ((name, cookie),) = SimpleCookie(answer.headers["set-cookie"]).items()
            cookies.append(f"{name}={cookie.value}")
    return cookies


def test_every_sign_in_is_a_session_of_its_own_and_ends_alone(server: Served) -> None:
    first, second = sessions(server, 2)
    assert first != second
    with server.client("", Cookie=first, Origin=server.base) as browser:
        answer = browser.delete("/api/session", headers={"X-Podium": "1"})
        assert answer.status_code == 200
        assert answer.headers["Clear-Site-Data"] == '"cache"'
    with server.client("", Cookie=first) as browser:
        assert browser.get("/api/me").status_code == 401
    with server.client("", Cookie=second) as browser:
        assert browser.get("/api/me").status_code == 200


def test_a_cookie_that_the_browser_already_had_is_replaced(server: Served) -> None:
    """Session fixation: a cookie from before signing in is never adopted."""
    (planted,) = sessions(server, 1)
    name, _, value = planted.partition("=")
    with server.client("", Cookie=f"{name}=x.{value}") as browser:
        answer = browser.post("/api/session", json={"key": server.token})
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert cookie.value not in (value, f"x.{value}")


def test_a_link_of_another_site_may_be_followed_but_not_framed_or_fetched(server: Served) -> None:
    (cookie,) = sessions(server, 1)
    foreign = {"Sec-Fetch-Site": "cross-site"}
    link = {**foreign, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with server.client("", Cookie=cookie) as browser:
        assert browser.get("/api/runs", headers=link).status_code == 200
        assert browser.get("/", headers=link).status_code == 200
        for other in (
            foreign,
            {**link, "Sec-Fetch-Dest": "iframe"},
            {**link, "Sec-Fetch-Mode": "no-cors"},
            {**link, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "embed"},
        ):
            assert browser.get("/api/runs", headers=other).status_code == 403
        assert browser.post("/api/runs", json={}, headers=link).status_code == 403
