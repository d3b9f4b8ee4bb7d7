"""Tables of named entries in the settings: prices, providers, and the limits of replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import SettingsError
from podium.settings import OwnPrice, ReplyLimits, Settings, parse_duration, parse_size
from podium.settings.options import for_model


def load(folder: Path, text: str, **variables: str) -> Settings:
    """Settings of a project whose file holds `text`."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "podium.toml").write_text(text)
    return Settings.load(folder, {"PODIUM_CONFIG": "/dev/null", **variables})


def refused(folder: Path, text: str, **variables: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(folder, text, **variables)
    return caught.value


PRICE = '[prices."openai:x"]\n'
AMOUNT = "an amount in US dollars per million tokens, from 0 to 1,000,000"


@pytest.mark.parametrize("price", ["inf", "-inf", "nan", "-1", "1e7", '"3"', "true", "[1]", "1" + "0" * 400])
@pytest.mark.parametrize("key", ["input", "output", "cache_read", "cache_write"])
def test_a_price_that_no_sum_can_hold_is_refused(tmp_path: Path, key: str, price: str) -> None:
    others = "".join(f"{name} = 1\n" for name in ("input", "output") if name != key)
    error = refused(tmp_path, f"{PRICE}{others}{key} = {price}\n")
    assert str(error).startswith(
        f'[prices."openai:x"] in {tmp_path}/podium.toml: `{key}` must be {AMOUNT}, not '
    )


@pytest.mark.parametrize("price", [float("inf"), float("nan"), -1.0, 1e9])
def test_a_price_that_a_program_gives_is_checked_too(price: float) -> None:
    with pytest.raises(ValueError, match="the price `input` must be from 0 to 1,000,000"):
        OwnPrice(input=price, output=1)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (f"{PRICE}input = 1\n", "lacks `output`", "Add output = …"),
        (f"{PRICE}input = 1\noutput = 1\ncached = 1\n", "`cached` is not a setting", "`cache_read`"),
        ("[prices]\nfast = 3\n", "[prices.fast] in", "Its keys: input, output"),
        ("[providers.openai]\nrequests_per_minute = 0\n", "`requests_per_minute` must be a whole", ""),
        ("[providers.openai]\ntokens_per_minute = 1" + "0" * 30, "`tokens_per_minute` must be a whole", ""),
        ("[providers.openai]\nrpm = 5\n", "`rpm` is not a setting", "Valid keys: base_url"),
        ('[providers.openai]\nprompt_cache = "no"\n', "`prompt_cache` must be true or false", ""),
        ('[providers.openai]\noutput = "json"\n', "`output` must be native, tool or prompted", ""),
        ("[agents.writer]\nreply_time = 3\n", "`reply_time` is not a setting", "`reply_timeout`"),
        ("agents = 3\n", "`agents` in", "[agents.writer]"),
        ("models = 3\n", "`models` in", '[models."ollama:qwen3"]'),
    ],
)
def test_a_wrong_entry_is_named_with_its_key(tmp_path: Path, text: str, message: str, hint: str) -> None:
    error = refused(tmp_path, text)
    assert message in str(error)
    assert "podium.toml" in str(error)
    assert hint in error.hint


TABLES = ("", "[agents.writer]\n", '[models."openai:gpt-x"]\n', "[providers.ollama]\n")


@pytest.mark.parametrize("value", ["0", "-5", "inf", "nan", '"soon"', "true", '"8d"', "[1]", "1" + "0" * 400])
@pytest.mark.parametrize("table", TABLES)
def test_a_time_out_must_be_positive_and_finite(tmp_path: Path, table: str, value: str) -> None:
    error = refused(tmp_path, f"{table}reply_timeout = {value}\n")
    assert "`reply_timeout`" in str(error)
    assert f"{tmp_path}/podium.toml" in str(error)
    assert "must be a duration such as 90s or 20m, more than 0 and at most 7 days, not " in str(error)


@pytest.mark.parametrize("value", ["0", "-5", "1.5", "inf", '"many"', "true", "1" + "0" * 30])
@pytest.mark.parametrize("table", TABLES)
def test_a_replys_length_must_be_positive_and_whole(tmp_path: Path, table: str, value: str) -> None:
    error = refused(tmp_path, f"{table}reply_tokens = {value}\n")
    assert "`reply_tokens`" in str(error)
    assert f"{tmp_path}/podium.toml" in str(error)
    assert "must be a whole number from 1 to 10,000,000, not " in str(error)


def test_limits_of_replies_are_read_from_every_table(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        'reply_timeout = "6m"\n[agents.writer]\nreply_timeout = "2h"\n[models."python:m.py:f"]\n'
        'reply_tokens = 900\n[providers.ollama]\nreply_timeout = "20m"\nreply_tokens = 2048\n',
        PODIUM_REPLY_TOKENS="8192",
    )
    assert (settings.reply_timeout, settings.reply_tokens) == (360.0, 8192)
    assert settings.sources["reply_tokens"] == "PODIUM_REPLY_TOKENS"
    assert settings.agents == {"writer": ReplyLimits(reply_timeout=7200.0)}
    assert settings.models == {f"python:{tmp_path}/m.py:f": ReplyLimits(reply_tokens=900)}
    ollama = settings.providers["ollama"]
    assert (ollama.reply_timeout, ollama.reply_tokens) == (1200.0, 2048)


@pytest.mark.parametrize(("name", "value"), [("TIMEOUT", "never"), ("TOKENS", "1.5"), ("TOKENS", "0")])
def test_a_wrong_variable_is_named(tmp_path: Path, name: str, value: str) -> None:
    error = refused(tmp_path, "", **{f"PODIUM_REPLY_{name}": value})
    assert str(error).startswith(f"PODIUM_REPLY_{name} must be a ")


def test_the_most_specific_entry_for_a_model_comes_first() -> None:
    def limits(tokens: int) -> ReplyLimits:
        return ReplyLimits(reply_tokens=tokens)

    models = {
        "openai:gpt*": limits(1),
        "openai:gpt-6*": limits(2),
        "openai:gpt-6-luna": limits(3),
        "openai-compatible:*@http://10.0.0.7:8000/v1": limits(4),
    }

    def found(name: str) -> list[int | None]:
        return [entry.reply_tokens for entry in for_model(name, models)]

    assert found("openai:gpt-6-luna") == [3, 2, 1]
    assert found("openai:gpt-6") == [2, 1]
    assert found("openai-compatible:qwen3@http://10.0.0.7:8000/v1/") == [4]
    assert found("openai-compatible:qwen3@http://10x0x0x7:8000/v1") == []
    assert found("rehearsal") == []


@pytest.mark.parametrize("key", ["max_usd", "max_tokens", "max_calls", "time_limit", "cache_size"])
def test_a_number_that_no_machine_can_hold_is_refused(tmp_path: Path, key: str) -> None:
    assert f"`{key}` in {tmp_path}/podium.toml must be " in str(refused(tmp_path, f"{key} = 1{'0' * 400}\n"))


@pytest.mark.parametrize("parse", [parse_duration, parse_size])
def test_a_number_longer_than_any_float_is_a_wrong_value(parse: type[float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse(10**400)
