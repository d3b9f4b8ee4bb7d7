"""The file of users: what is in it, and what is told of a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import SettingsError, UsageError
from podium.server.auth import TokenAuthenticator, UserAuthenticator
from podium.server.rate_limits import Rates
from podium.server.users import Users, add_user, hashed, name_in, new_key, read_users

KEY = hashed("podium-alice-x")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x", "not valid TOML"),
        ("[user.alice]", "every table must be"),
        ("users = 1", "every table must be"),
        ("[users.Alice]\nkey = 'x'", "a name has small letters"),
        ("[users.a-b]\nkey = 'x'", "a name has small letters"),
        ("[users.alice]", "`key` is missing"),
        ("[users.alice]\nkey = 'secret'", "not the hash of a key"),
        (f"[users.alice]\nkey = '{KEY}'\nbudget = 3", "`budget` is not a known field"),
        (f"[users.alice]\nkey = '{KEY}'\nbudget_usd = -3", ">= 0"),
        (f"[users.alice]\nkey = '{KEY}'\nmax_runs = 0", ">= 1"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, text: str, shown: str) -> None:
    file = tmp_path / "users.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"users\.toml") as caught:
        read_users(file)
    assert shown in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_misspelt_limit_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "users.toml").write_text(f"[users.alice]\nkey = '{KEY}'\nbudget_us = 3")
    with pytest.raises(SettingsError) as caught:
        read_users(tmp_path / "users.toml")
    assert caught.value.hint == "Did you mean `budget_usd`?"


def test_a_user_is_appended_and_everything_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    file.write_text("# our team\n")
    keys = {name: add_user(file, name, {"max_runs": 3}) for name in ("alice", "bob_2")}
    assert file.read_text().startswith("# our team\n")
    users = Users(file)
    assert {name: users.matching(key) is not None for name, key in keys.items()} == {
        "alice": True,
        "bob_2": True,
    }
    assert users.matching(keys["alice"] + "x") is None
    assert users.matching(keys["alice"].replace("alice", "bob_2")) is None
    with pytest.raises(UsageError, match="already"):
        add_user(file, "alice", {})


def test_whose_a_key_is_stands_in_it_also_if_the_rest_holds_hyphens() -> None:
    assert {name_in(new_key("alice")) for _ in range(50)} == {"alice"}
    assert name_in("podium-alice-a-b-c") == "alice"
    assert [name_in(key) for key in ("", "x", "podium-", "other-alice-x")] == ["", "", "", ""]


@pytest.mark.parametrize(
    "cookie", ["", ".", "..", "a.b.c", ".9999999999.", ".9999999999.é", ".1.x", ".٣.x", "." * 9]
)
def test_a_cookie_that_was_made_up_is_nobody_s(tmp_path: Path, cookie: str) -> None:
    add_user(tmp_path / "users.toml", "alice", {})
    assert TokenAuthenticator().by_cookie(cookie) is None
    assert UserAuthenticator(Users(tmp_path / "users.toml")).by_cookie(cookie) is None


def test_a_cookie_of_one_server_or_user_is_none_of_another(tmp_path: Path) -> None:
    first, second = TokenAuthenticator(), TokenAuthenticator()
    caller = first.remembered(first.token)
    assert caller is not None
    assert first.by_cookie(first.cookie_for(caller)) is not None
    assert second.by_cookie(first.cookie_for(caller)) is None
    _, _, nonce, mac = first.cookie_for(caller).split(".")
    expired = f".1.{nonce}.{mac}"
    assert first.by_cookie(expired) is None


def test_a_bucket_is_refilled_evenly_and_each_name_has_its_own() -> None:
    rates = Rates()
    assert [rates.take("a", 60, 2, now=0.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert rates.take("b", 60, 2, now=0.0) == 0.0
    assert rates.take("a", 60, 2, now=0.5) == 0.5
    assert rates.take("a", 60, 2, now=1.0) == 0.0
    rates.give_back("a", 2)
    assert rates.take("a", 60, 2, now=1.0) == 0.0
