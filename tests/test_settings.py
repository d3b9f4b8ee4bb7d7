"""Where settings come from, which source wins, and what a wrong one says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.api.context import open_context
from podium.errors import SettingsError, UsageError
from podium.settings import (
    McpServer,
    OwnPrice,
    Settings,
    parse_duration,
    parse_size,
    store_url,
    variable,
)
from podium.settings.places import at_home, named
from podium.stores import open_store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "deep" / "er").mkdir(parents=True)
    return tmp_path / "repo"


def env(tmp_path: Path, **variables: str) -> dict[str, str]:
    """An environment whose user file lies in `tmp_path`; it is there, and empty unless a test writes it."""
    (tmp_path / "user.toml").touch()
    return {"PODIUM_CONFIG": str(tmp_path / "user.toml"), **variables}


def test_defaults_name_a_store_in_the_data_folder_and_no_ceiling(tmp_path: Path) -> None:
    settings = Settings.load(tmp_path, env(tmp_path))
    assert settings.store.startswith("sqlite:////")
    assert settings.store.endswith("podium.sqlite")
    assert (settings.model, settings.max_usd, settings.time_limit, settings.cache) == ("", None, None, False)


def test_each_source_beats_the_one_below_it(project: Path, tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text('model = "user"\nmax_calls = 1\nmax_tokens = 1\nconcurrency = 1\n')
    (project / "podium.toml").write_text('model = "project"\nmax_calls = 2\nmax_tokens = 2\n')
    variables = env(tmp_path, PODIUM_MODEL="variable", PODIUM_MAX_CALLS="3")
    settings = Settings.load(project / "deep" / "er", variables, model="flag", max_calls=None)
    assert settings.model == "flag"
    assert settings.max_calls == 3
    assert settings.max_tokens == 2
    assert settings.concurrency == 1
    assert settings.files == (str(project / "podium.toml"), str(tmp_path / "user.toml"))
    assert settings.sources["max_calls"] == "PODIUM_MAX_CALLS"
    assert settings.sources["concurrency"] == str(tmp_path / "user.toml")


def test_a_user_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"PODIUM_CONFIG names .*nowhere\.toml, which is not a file"):
        Settings.load(tmp_path, {"PODIUM_CONFIG": str(tmp_path / "nowhere.toml")})
    assert Settings.load(tmp_path, {"PODIUM_CONFIG": "/dev/null"}).model == ""


def test_a_file_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    endless = tmp_path / ("x" * 300) / "podium.toml"
    with pytest.raises(SettingsError, match="cannot be accessed: File name too long"):
        Settings.load(tmp_path, {"PODIUM_CONFIG": str(endless)})


def test_what_is_allowed_is_reported_whole(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"--concurrency must be a whole number from 1 to 10,000, not 99999"
    ):
        Settings.load(tmp_path, env(tmp_path), concurrency=99_999)


def test_the_search_for_the_project_file_ends_at_the_git_root(project: Path, tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text('model = "outside"\n')
    assert Settings.load(project / "deep", env(tmp_path)).model == ""
    (project / ".git").rmdir()
    assert Settings.load(project / "deep", env(tmp_path)).model == "outside"


def test_profiles_merge_key_by_key(project: Path, tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text('[profiles]\nfast = "a"\nbalanced = "b"\n')
    (project / "podium.toml").write_text('[profiles]\nbalanced = "c"\n')
    settings = Settings.load(project, env(tmp_path, PODIUM_PROFILE_POWERFUL="d"))
    assert settings.profiles == {"fast": "a", "balanced": "c", "powerful": "d"}


def test_a_misspelt_key_names_the_file_and_the_nearest_key(project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text("max_uds = 3\n")
    with pytest.raises(SettingsError) as caught:
        Settings.load(project, env(tmp_path))
    assert "max_uds" in str(caught.value)
    assert str(project / "podium.toml") in str(caught.value)
    assert "`max_usd`" in caught.value.hint


def test_a_misspelt_variable_is_refused_and_a_foreign_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(tmp_path, env(tmp_path, PODIUM_MAX_UDS="3"))
    assert "PODIUM_MAX_USD" in caught.value.hint
    assert Settings.load(tmp_path, env(tmp_path, PODIUM_PORT_8080_TCP_ADDR="10.0.0.1")).max_usd is None


@pytest.mark.parametrize(
    "line",
    [
        'max_usd = "3"',
        "max_usd = -1",
        "max_usd = nan",
        "max_usd = inf",
        "max_calls = 1.5",
        "concurrency = 0",
        'cache = "maybe"',
        'cache_size = "much"',
        "cache_size = -1",
        "cache_size = [1]",
        "cache_size = true",
        "store = 3",
        'profiles = "fast"',
        'time_limit = "soon"',
        "time_limit = 0",
    ],
)
def test_a_wrong_value_is_refused_with_its_key_and_file(line: str, project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text(line + "\n")
    with pytest.raises(SettingsError) as caught:
        Settings.load(project, env(tmp_path))
    assert f"`{line.split()[0]}`" in str(caught.value)
    assert str(project / "podium.toml") in str(caught.value)


def test_a_wrong_variable_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="PODIUM_MAX_CALLS must be a whole number"):
        Settings.load(tmp_path, env(tmp_path, PODIUM_MAX_CALLS="many"))


def test_a_wrong_flag_is_refused_as_a_flag(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--max-usd must be an amount"):
        Settings.load(tmp_path, env(tmp_path), max_usd=-2.0)


def test_broken_toml_names_the_file(project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text("model = \n")
    with pytest.raises(SettingsError, match=r"podium\.toml is not valid TOML"):
        Settings.load(project, env(tmp_path))


def test_variables_are_read_as_their_types(tmp_path: Path) -> None:
    settings = Settings.load(
        tmp_path,
        env(
            tmp_path,
            PODIUM_CACHE="yes",
            PODIUM_MAX_USD="1.50",
            PODIUM_TIME_LIMIT="1h30m",
            PODIUM_CONCURRENCY="",
            PODIUM_CACHE_SIZE="64 kB",
        ),
    )
    assert settings.cache_size == 64_000
    assert (settings.cache, settings.max_usd, settings.time_limit, settings.concurrency) == (
        True,
        1.5,
        5400,
        8,
    )


def test_a_relative_store_counts_from_the_file_that_names_it(project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text('store = "runs/podium.sqlite"\n')
    assert Settings.load(project / "deep", env(tmp_path)).store == f"sqlite:///{project}/runs/podium.sqlite"


def test_a_relative_model_file_counts_from_the_file_that_names_it(project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text(
        'model = "python:m.py:f"\n[profiles]\nfast = "python:/abs/n.py:g"\nbalanced = "rehearsal"\n'
    )
    settings = Settings.load(project / "deep", env(tmp_path))
    assert settings.model == f"python:{project}/m.py:f"
    assert settings.profiles == {"fast": "python:/abs/n.py:g", "balanced": "rehearsal"}


def test_store_urls() -> None:
    assert store_url("a.sqlite", Path("/base")) == "sqlite:////base/a.sqlite"
    assert store_url("sqlite:///a.sqlite", Path("/base")) == "sqlite:////base/a.sqlite"
    assert store_url("sqlite:////abs/a.sqlite", Path("/base")) == "sqlite:////abs/a.sqlite"
    assert store_url("postgresql://host/db", Path("/base")) == "postgresql://host/db"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1h30m", 5400),
        ("45", 45),
        ("1.5m", 90),
        ("500ms", 0.5),
        (30, 30),
    ],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "2 hours", "-5s", "0", "1x", "1h30", "nan", "inf", "١x"])
def test_wrong_durations(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_secrets_are_the_long_values_of_secret_names_longest_first() -> None:
    variables = {
        "OPENAI_API_KEY": "sk-0123456789",
        "GITHUB_TOKEN": "ghp_0123456789abcdef",
        "DB_PASSWORD": "short",
        "AWS_SECRET_ACCESS_KEY": "aws-secret-value",
        "PATH": "/usr/bin:/usr/local/bin",
        "TOKENIZERS_PARALLELISM": "false-is-not-a-secret",
    }
    assert Settings().secrets(variables) == ["ghp_0123456789abcdef", "aws-secret-value", "sk-0123456789"]


def test_a_profile_may_name_the_models_that_take_over(project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text('[profiles]\nfast = ["openai:a", "python:m.py:f"]\n')
    settings = Settings.load(project, env(tmp_path, PODIUM_PROFILE_POWERFUL="anthropic:b, groq:c"))
    assert settings.profiles == {
        "fast": ["openai:a", f"python:{project}/m.py:f"],
        "powerful": ["anthropic:b", "groq:c"],
    }


def test_own_prices_and_the_limits_of_providers(project: Path, tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text(
        '[prices."openai:gpt-x"]\ninput = 2.5\noutput = 10\n[providers.openai]\nrequests_per_minute = 60\n'
    )
    (project / "podium.toml").write_text(
        'retry_wait = "200ms"\npause_grace = "1m"\nlock_timeout = "5s"\n'
        '[providers.ollama]\nbase_url = "http://127.0.0.1:9/v1"\noutput = "tool"\n'
    )
    settings = Settings.load(project, env(tmp_path))
    assert settings.prices["openai:gpt-x"] == OwnPrice(input=2.5, output=10)
    assert settings.providers["openai"].requests_per_minute == 60
    assert settings.providers["ollama"].output == "tool"
    assert (settings.retry_wait, settings.pause_grace, settings.lock_timeout) == (0.2, 60, 5)


@pytest.mark.parametrize("text", ["[profiles]\nfast = [1]\n", "prices = 3\n", 'providers = "ollama"\n'])
def test_a_wrong_table_is_refused_with_what_would_be_right(text: str, project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        Settings.load(project, env(tmp_path))
    assert "must be a table of" in str(caught.value)
    assert caught.value.hint.startswith("For example: [")


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("2tb", 2 * 10**12), ("12b", 12), ("7", 7), (9, 9)],
)
def test_sizes_are_written_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "1 MiB", "-1", "1e9", "5 m", float("inf"), True])
def test_what_is_no_size_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


def test_mcp_servers_merge_over_the_sources_and_paths_count_from_their_file(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "user.toml").write_text('[mcp.far]\nurl = "https://a.example/mcp"\ntimeout = "2m"\n')
    (project / "podium.toml").write_text(
        '[mcp.near]\ncommand = "bin/server"\ncwd = "data"\nargs = ["-v"]\n'
        'env = { KEY = "${MY_KEY}" }\ntools = ["read"]\n'
    )
    servers = Settings.load(project / "deep", env(tmp_path)).mcp
    assert servers["far"] == McpServer(url="https://a.example/mcp", timeout=120)
    assert servers["near"] == McpServer(
        command=f"{project}/bin/server",
        cwd=f"{project}/data",
        args=["-v"],
        env={"KEY": "${MY_KEY}"},
        tools=["read"],
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[mcp.a]\ncomand = "x"\n', "`comand` is not a setting", "Did you mean `command`?"),
        ('[mcp.a]\ncommand = "x"\nzzz = 1\n', "`zzz` is not a setting", "Valid keys: command, args"),
        ("[mcp.a]\nargs = []\n", "either a `command` or a `url`", "For example: [mcp.files]"),
        ('[mcp.a]\ncommand = "x"\nurl = "y"\n', "either a `command` or a `url`", "For example"),
        ('[mcp.a]\ncommand = "x"\nargs = "y"\n', "`args` must be a list, not text", "For example"),
        ('[mcp.a]\ncommand = "x"\ntimeout = "soon"\n', "'soon' is not a duration", "For example"),
        ('[mcp.a]\nurl = "x"\ntransport = "smoke"\n', "`transport` must be one of", "For example"),
        ('[mcp."a.b"]\ncommand = "x"\n', "letters, digits, - and _", ""),
        ("mcp = 3\n", "`mcp` in", "For example: [mcp.files]"),
        ("[mcp]\na = 3\n", "either a `command` or a `url`", "For example"),
    ],
)
def test_a_wrong_mcp_server_is_refused(
    text: str, message: str, hint: str, project: Path, tmp_path: Path
) -> None:
    (project / "podium.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        Settings.load(project, env(tmp_path))
    assert message in str(caught.value)
    assert str(project / "podium.toml") in str(caught.value)
    assert hint in caught.value.hint


def test_no_error_about_an_mcp_server_repeats_its_values(project: Path, tmp_path: Path) -> None:
    text = '[mcp.a]\nurl = "x"\nheaders = { Authorization = "Bearer abc-very-secret" }\nargs = 3\n'
    (project / "podium.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        Settings.load(project, env(tmp_path))
    assert "abc-very-secret" not in str(caught.value) + caught.value.hint


def test_secrets_of_mcp_servers_are_known() -> None:
    server = McpServer(
        url="x",
        headers={
            "Authorization": "Bearer ${FAR_PAT}",
            "X-Api-Key": "literal-key",
            "Accept": "application/json",
        },
        env={"GITHUB_TOKEN": "literal-token", "TOKEN": "${FAR_PAT}", "MODE": "production", "DIR": "${HOME}"},
    )
    secrets = Settings(mcp={"far": server}).secrets(
        {"FAR_PAT": "value-of-pat", "HOME": "/some/where/at/home"}
    )
    assert set(secrets) == {"value-of-pat", "literal-key", "literal-token"}


def test_keys_are_looked_for_under_their_own_names() -> None:
    variables = {"B": " two ", "C": "three"}
    assert variable("A", "B", "C", env=variables) == "two"
    assert variable("A", env=variables) == ""


def test_the_file_of_an_embedding_function_counts_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text('[brain]\nembedding = "python:own.py:embed"\n')
    below = tmp_path / "below"
    below.mkdir()
    settings = Settings.load(below, {"PODIUM_CONFIG": os.devnull})
    assert settings.brain.embedding == f"python:{tmp_path / 'own.py'}:embed"


def test_an_embedding_model_of_a_provider_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text('[brain]\nembedding = "ollama:nomic-embed-text"\n')
    assert Settings.load(tmp_path, {"PODIUM_CONFIG": os.devnull}).brain.embedding == "ollama:nomic-embed-text"


def test_news_feeds_and_the_news_search_are_settings(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text(
        '[news]\nfeeds = ["https://a.example/feed"]\nsearch = "https://s.example/?q={query}"\n'
    )
    news = Settings.load(tmp_path, {"PODIUM_CONFIG": os.devnull}).news
    assert (news.feeds, news.search) == (["https://a.example/feed"], "https://s.example/?q={query}")
    assert Settings().news.search is None


@pytest.mark.parametrize(
    "table", ['feeds = ["file:///etc/passwd"]', 'feeds = "x"', 'search = "ftp://x"', 'other = "x"']
)
def test_wrong_news_settings_are_refused(tmp_path: Path, table: str) -> None:
    (tmp_path / "podium.toml").write_text(f"[news]\n{table}\n")
    with pytest.raises(SettingsError, match=r"`news` in .* must be a table with `feeds`"):
        Settings.load(tmp_path, {"PODIUM_CONFIG": os.devnull})


def test_a_home_is_put_in_and_an_unknown_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert at_home("~/notes") == tmp_path / "notes"
    assert at_home(Path("~nobody-of-that-name/notes")) == Path("~nobody-of-that-name/notes")
    assert named("~nobody-of-that-name/notes") == Path("~nobody-of-that-name/notes")
    with pytest.raises(SettingsError, match="there is no user nobody-of-that-name"):
        store_url("~nobody-of-that-name/a.sqlite", Path("/base"))


@pytest.mark.parametrize(
    ("name", "why"),
    [("x" * 300, "File name too long"), ("a\0b", "null byte"), ("loop/file", "symbolic links")],
)
def test_a_path_of_which_nothing_can_be_reported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with pytest.raises(UsageError, match=why) as refused:
        named(name)
    assert len(str(refused.value)) < 200
    assert named("missing/file") == Path("missing/file")
    Path("file").touch()
    assert named("file/below") == Path("file/below"), "it is not there, and that is all there is to tell"


def test_a_file_with_the_mark_that_some_editors_write_is_read(project: Path, tmp_path: Path) -> None:
    (project / "podium.toml").write_bytes(b'\xef\xbb\xbfmodel = "rehearsal"\r\nmax_calls = 3\r\n')
    settings = Settings.load(project, env(tmp_path))
    assert (settings.model, settings.max_calls) == ("rehearsal", 3)


async def test_a_run_reads_settings_again_only_when_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PODIUM_MODEL", raising=False)
    file = tmp_path / "podium.toml"
    file.write_text('model = "rehearsal"\n')
    async with open_store(f"sqlite:///{tmp_path}/x.sqlite") as store:
        first = (await open_context(store, None)).settings
        assert (await open_context(store, None)).settings is first
        file.write_text('model = "replay:abcdefghjkmn"\n')
        assert (await open_context(store, None)).settings.model == "replay:abcdefghjkmn"
        monkeypatch.setenv("PODIUM_MODEL", "rehearsal")
        assert (await open_context(store, None)).settings.model == "rehearsal"
        monkeypatch.setenv("MY_API_KEY", "kN8vQ2xT5yR7wZ1b")
        redact = (await open_context(store, None)).redact
        assert b"kN8vQ2xT5yR7wZ1b" not in redact(b"a kN8vQ2xT5yR7wZ1b")
        elsewhere = tmp_path / "elsewhere" / ".git"
        elsewhere.mkdir(parents=True)
        monkeypatch.delenv("PODIUM_MODEL")
        monkeypatch.chdir(elsewhere.parent)
        assert (await open_context(store, None)).settings.model == ""
