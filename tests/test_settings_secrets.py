"""Secrets are found by the names of variables and settings, and within addresses and documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.engine.redaction import redactor
from podium.settings import McpServer, NewsOptions, ProviderOptions, Settings, is_secret_name

VALUE = "Zk39-value-of-a-secret"


@pytest.mark.parametrize(
    "name",
    [
        "AZURE_OPENAI_KEY",
        "AZURE_OPENAI_API_KEY",
        "GITHUB_PAT",
        "NPM_AUTH",
        "NPM_CONFIG__AUTH",
        "npm_config__authToken",
        "API_KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "MYSQL_PWD",
        "PGPASSWORD",
        "REDISCLI_AUTH",
        "SSHPASS",
        "DB_PASS",
        "SECRET_KEY_BASE",
        "DJANGO_SECRET_KEY",
        "JWT_SECRET",
        "VAULT_TOKEN",
        "AWS_SESSION_TOKEN",
        "CLIENTSECRET",
        "AWS_BEARER_TOKEN_BEDROCK",
        "GCP_CREDENTIALS",
        "DOCKER_CREDS",
        "SIGNING_KEY",
        "KEY_PASSPHRASE",
        "DEPLOY_TOKENS",
        "SESSION_COOKIE",
        "STORAGE_SAS",
        "MISTRAL_KEY",
        "apiKey",
        "x-api-key",
        "Authorization",
    ],
)
def test_values_of_secret_names_are_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert Settings(store="x").secrets({name: VALUE}) == [VALUE]


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "KEYBOARD_LAYOUT",
        "TOKENIZERS_PARALLELISM",
        "TOKEN_LIMIT",
        "MAX_TOKENS",
        "PASSWORD_FILE",
        "SECRET_NAME",
        "AWS_ACCESS_KEY_ID",
        "SSH_AUTH_SOCK",
        "XAUTHORITY",
        "AUTHOR",
        "MONKEY",
        "STRIPE_PUBLISHABLE_KEY",
        "SSH_PUBLIC_KEY",
        "COMPAT",
        "KEYCLOAK_URL",
        "PASSWORD_STORE_DIR",
        "AUTH_METHOD",
    ],
)
def test_values_of_other_names_are_none(name: str) -> None:
    assert not is_secret_name(name)
    assert Settings(store="x").secrets({name: VALUE}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", f"postgresql://app:{VALUE}@db:5432/app"),
        ("SQLALCHEMY_DATABASE_URI", f"mysql+pymysql://app:{VALUE}@db/app?charset=utf8"),
        ("REDIS_URL", f"redis://:{VALUE}@cache/0"),
        ("PIP_EXTRA_INDEX_URL", f"https://a.example/simple https://me:{VALUE}@b.example/simple"),
        ("https_proxy", f"http://me:{VALUE}@proxy:3128"),
        ("GIT_REMOTE", f"https://{VALUE}@github.com/a/b"),
        ("APP_DSN", f"host=db user=app password={VALUE} dbname=app"),
        ("APP_DSN", f"host=db user=app password='{VALUE}' dbname=app"),
        ("SQL_CONNECTION", f"Server=db;User Id=app;Password={VALUE};Encrypt=yes"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={VALUE},x-team=a"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"Authorization=Bearer%20{VALUE}"),
        ("FEED", f"https://example.com/feed?lang=de&access_token={VALUE}"),
        ("SERVICE_ACCOUNT", json.dumps({"type": "service_account", "client_secret": VALUE})),
        ("DOCKER_AUTH_CONFIG", json.dumps({"auths": {"registry.example": {"auth": VALUE}}})),
    ],
)
def test_secrets_within_values(name: str, value: str) -> None:
    secrets = Settings(store="x").secrets({name: value})
    assert VALUE in secrets
    assert VALUE.encode() not in redactor(secrets)(f"it is {VALUE}".encode())


def test_a_password_is_known_as_it_is_written_and_as_it_is_meant() -> None:
    secrets = Settings(store="x").secrets({"DATABASE_URL": "postgresql://me:p%40ss%2Fw0rd%21@db/app"})
    assert set(secrets) == {"p%40ss%2Fw0rd%21", "p@ss/w0rd!"}


def test_values_that_protect_nothing_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text("{}")
    variables = {
        "DATABASE_URL": "postgresql://postgres:postgres@localhost/postgres",
        "OTHER_URL": "postgresql://app:password@localhost/app",
        "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "key.json"),
        "TOKEN_URL_KEY": "https://login.example.com/",
        "HTTP_AUTH": "kerberos",
        "SORT_BY_KEY": "published-at",
    }
    assert Settings(store="x").secrets(variables) == []


def test_secrets_in_settings_are_known() -> None:
    settings = Settings(
        store="postgresql://podium:Store-pw-1@db/podium",
        model="openai-compatible:m@https://me:Model-pw-2@host/v1",
        providers={"openai": ProviderOptions(base_url="https://me:Base-pw-3@host/v1")},
        news=NewsOptions(feeds=["https://example.com/feed?api_key=Feed-key-4"]),
        mcp={
            "far": McpServer(url="https://host/mcp?token=${FAR}"),
            "near": McpServer(command="x", args=["--api-key=Args-key-5", "--token", "Args-key-6", "--mode"]),
            "base": McpServer(command="x", env={"DATABASE_URL": "postgresql://me:Mcp-pw-77@db/x"}),
        },
    )
    assert set(settings.secrets({"FAR": "Value-of-far-8"})) == {
        "Store-pw-1",
        "Model-pw-2",
        "Base-pw-3",
        "Feed-key-4",
        "Value-of-far-8",
        "Args-key-5",
        "Args-key-6",
        "Mcp-pw-77",
    }


def test_secrets_of_a_settings_file_are_known(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text(
        'store = "postgresql://podium:Store-pw-1@db/podium"\n[mcp.a]\nurl = "https://h/"\n'
        '[mcp.a.headers]\nAuthorization = "Bearer Header-token-2"\n'
    )
    settings = Settings.load(tmp_path, {"HOME": str(tmp_path)})
    assert {"Store-pw-1", "Header-token-2"} <= set(settings.secrets({}))
