"""Keys of well-known services are recognised wherever they stand in a text."""

from __future__ import annotations

import json
import random
import string
from urllib.parse import quote

import pytest

from podium.engine.codec import encode
from podium.engine.redaction import redactor

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
RANDOM = random.Random(7)


def some(length: int, alphabet: str = ALNUM) -> str:
    return "".join(RANDOM.choices(alphabet, k=length))


KEYS = {
    "openai": f"sk-{some(20)}T3BlbkFJ{some(20)}",
    "openai-project": f"sk-proj-{some(74, ALNUM + '-_')}T3BlbkFJ{some(74, ALNUM + '-_')}",
    "openai-session": f"sess-{some(40)}",
    "anthropic": f"sk-ant-api03-{some(93, ALNUM + '-_')}AA",
    "openrouter": f"sk-or-v1-{some(64, HEX)}",
    "xai": f"xai-{some(80)}",
    "perplexity": f"pplx-{some(48)}",
    "groq": f"gsk_{some(52)}",
    "hugging-face": f"hf_{some(34, string.ascii_letters)}",
    "replicate": f"r8_{some(37)}",
    "together": f"tgp_v1_{some(43)}",
    "nvidia": f"nvapi-{some(64)}",
    "jina": f"jina_{some(60)}",
    "tavily": f"tvly-dev-{some(32)}",
    "langsmith": f"lsv2_pt_{some(32, HEX)}_{some(10, HEX)}",
    "google": f"AIza{some(35)}",
    "google-oauth": f"ya29.a0{some(150, ALNUM + '-_')}",
    "google-client": f"GOCSPX-{some(28)}",
    "aws": f"AKIA{some(16, string.ascii_uppercase + '234567')}",
    "aws-temporary": f"ASIA7{some(15, string.ascii_uppercase + '234567')}",
    "aws-bearer": f"ABIA7{some(15, string.ascii_uppercase + '234567')}",
    "azure-openai": f"{some(52)}JQQJ99{some(26)}",
    "entra": f"{some(3)}8Q~{some(34)}",
    "digitalocean": f"dop_v1_{some(64, HEX)}",
    "databricks": f"dapi{some(32, HEX)}-2",
    "planetscale": f"pscale_tkn_{some(43)}",
    "supabase": f"sbp_{some(40, HEX)}",
    "github": f"ghp_{some(36)}",
    "github-oauth": f"gho_{some(36)}",
    "github-user": f"ghu_{some(36)}",
    "github-server": f"ghs_{some(36)}",
    "github-refresh": f"ghr_{some(76)}",
    "github-fine": f"github_pat_{some(22)}_{some(59)}",
    "gitlab": f"glpat-{some(20)}",
    "gitlab-routable": f"glpat-{some(27)}.01.{some(9, HEX)}",
    "npm": f"npm_{some(36)}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{some(80)}",
    "docker": f"dckr_pat_{some(27)}",
    "rubygems": f"rubygems_{some(48, HEX)}",
    "atlassian": f"ATATT3{some(186)}",
    "sentry": f"sntryu_{some(64, HEX)}",
    "grafana": f"glsa_{some(32)}_{some(8, HEX)}",
    "postman": f"PMAK-{some(24, HEX)}-{some(34, HEX)}",
    "new-relic": f"NRAK-{some(27, string.ascii_uppercase + string.digits)}",
    "linear": f"lin_api_{some(40)}",
    "notion": f"ntn_{some(11, string.digits)}{some(35)}",
    "notion-older": f"secret_{some(43)}",
    "figma": f"figd_{some(40)}",
    "slack": f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
    "slack-user": f"xoxp-{some(12, string.digits)}-{some(12, string.digits)}-{some(32, HEX)}",
    "slack-app": f"xapp-1-A{some(10, string.digits)}-{some(13, string.digits)}-{some(64, HEX)}",
    "discord": f"MTE4{some(20)}.G{some(5)}.{some(38)}",
    "telegram": f"{some(10, '123456789')}:AA{some(33)}",
    "sendgrid": f"SG.{some(22)}.{some(43)}",
    "mailgun": f"key-{some(32, HEX)}",
    "twilio": f"SK{some(32, HEX)}",
    "stripe": f"sk_live_{some(24)}",
    "stripe-restricted": f"rk_live_{some(24)}",
    "stripe-test": f"sk_test_{some(99)}",
    "stripe-webhook": f"whsec_{some(32)}",
    "shopify": f"shpat_{some(32, HEX)}",
    "square": f"sq0atp-{some(22)}",
    "square-secret": f"sq0csp-{some(43)}",
    "square-access": f"EAAA{some(60)}",
    "podium": f"podium-anna-{some(43, ALNUM + '-_')}",
    "age": f"AGE-SECRET-KEY-1{some(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJ{some(40)}.{some(43, ALNUM + '-_')}",
    "jwt-encrypted": f"eyJhbGciOiJkaXIifQ..{some(16)}.{some(60)}.{some(22)}",
}
NEEDS_A_BOUNDARY = {"mailgun", "twilio", "square-access", "azure-openai", "entra", "discord", "telegram"}
"""In the middle of a word, these are indistinguishable from hashes and encoded data, or only end there."""


def visible_part(name: str, key: str, text: str) -> bool:
    """Whether the secret half of a key is left."""
    return key[len(key) // 2 :] in text


AROUND = (("", ""), ("use ", "!"), ("(", ")"), ("key=", "\n"), ("line\n", "\tx"), ('"', '"'))


def test_a_key_is_cut_out_of_plain_text_and_of_json() -> None:
    for name in KEYS:
        key, redact = KEYS[name], redactor()
        for before, after in AROUND:
            text = f"{before}{key}{after}"
            redacted = redact(text.encode()).decode()
            assert "[redacted]" in redacted
            assert not visible_part(name, key, redacted)
            assert redacted.startswith(before)
            assert redacted.endswith(after)
            logged = redact(encode({"text": text, "after": [1, "x"]}))
            assert not visible_part(name, key, logged.decode())
            assert json.loads(logged)["after"] == [1, "x"]
            assert redact(logged) == logged


def test_a_key_directly_after_a_letter_or_digit_is_cut_out() -> None:
    for name in sorted(KEYS.keys() - NEEDS_A_BOUNDARY):
        for before in ["x", "7", "token"]:
            key = KEYS[name]
            assert not visible_part(name, key, redactor()(f"{before}{key}".encode()).decode())


def test_a_key_in_an_encoded_query_is_cut_out() -> None:
    for name in KEYS:
        key = KEYS[name]
        address = f"https://example.com/?next={quote(f'/login?key={key}', safe='')}"
        assert not visible_part(name, quote(key, safe=""), redactor()(address.encode()).decode())


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer 3f9Kx02LmQz81", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "authorization: Basic [redacted]"),
        ('{"Authorization": "Bearer abcdefghijklmnopqrst"}', '{"Authorization": "Bearer [redacted]"}'),
        ("'Authorization': 'Basic QWxhZGRpbjpvcGVuU2VzYW1l'", "'Authorization': 'Basic [redacted]'"),
        ("Bearer 8Zk3-xyz.abc_0123456789", "Bearer [redacted]"),
        ("x-api-key: 0123456789abcdef0123", "x-api-key: [redacted]"),
        ("postgresql://me:s3cr3t-pw@db/app", "postgresql://me:[redacted]@db/app"),
        ("redis://:hunter22@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
        ("https://me:p%40ss@w0rd@host/x", "https://me:[redacted]@host/x"),
        (
            f"DefaultEndpointsProtocol=https;AccountKey={'aB3+' * 21}aA==;",
            "DefaultEndpointsProtocol=https;AccountKey=[redacted];",
        ),
        (
            f"https://hooks.slack.com/services/T{'0A' * 4}/B{'1B' * 4}/{'aB3' * 8}",
            f"https://hooks.slack.com/services/T{'0A' * 4}/B{'1B' * 4}/[redacted]",
        ),
    ],
)
def test_headers_and_addresses_keep_everything_but_the_secret(text: str, clean: str) -> None:
    redact = redactor()
    assert redact(text.encode()).decode() == clean
    assert redact(clean.encode()).decode() == clean
    assert json.loads(redact(encode({"text": text}))) == {"text": clean}


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
@pytest.mark.parametrize("whole", [True, False])
def test_a_private_key_is_cut_out_as_a_whole(kind: str, whole: bool) -> None:
    lines = "\n".join(some(64, ALNUM + "+/") for _ in range(6))
    end = f"-----END {kind}PRIVATE KEY-----\n" if whole else ""
    text = f"before\n-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n{end}"
    redact = redactor()
    plain, logged = redact(text.encode()), redact(encode({"text": text, "n": 1}))
    assert plain.startswith(b"before\n[redacted]")
    assert not any(line.encode() in plain + logged for line in lines.split("\n"))
    assert json.loads(logged)["n"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented-programming-in-practice",
        "disk-01ARZ3NDEKTSV4RRFFQ69G5FAV and task-550e8400-e29b-41d4-a716-446655440000",
        "sk-estimator-doc-link sk-toggleable__label-arrow sk-folding-cube-animation",
        "pypi-simple-index-mirror-for-everybody-in-the-house-of-packages",
        "def test_secret_values_of_the_environment_are_never_in_the_report() -> None:",
        "MKTAYIAKIAQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVK",
        "ASIAN PACIFIC; ASIAPACIFICREGIONALOFFICE",
        "Authorization: Bearer YOUR_API_KEY, Authorization: Basic authentication, bearer of bad news",
        "postgresql://user:password@host/db https://user:pass@example.com redis://:$PASSWORD@host",
        "https://host:8080/path?mail=me@example.com and ssh://git@example.com:22/x",
        "-----BEGIN PRIVATE KEY----- is how such a file starts, and then a long text may follow here.",
        "-----BEGIN CERTIFICATE-----\nMIIB" + "A" * 60 + "\n-----END CERTIFICATE-----",
        "d41d8cd98f00b204e9800998ecf8427e e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "cache-key-d41d8cd98f00b204e9800998ecf8427e",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA",
        "eyJust a name, and object.attribute_of_another.method_name_is_long",
        "MessageHandlerRegistration.factory.create_message_handler_for_everything",
    ],
)
def test_what_only_looks_similar_stays(text: str) -> None:
    assert redactor()(text.encode()) == text.encode()
    assert redactor()(encode(text)) == encode(text)


UNITS = (
    "sk-",
    "eyJ",
    "eyJhbGci",
    "AKIA",
    "-----BEGIN PRIVATE KEY-----",
    "://a:",
    "Bearer ",
    "npm_",
    "a.",
    "_-",
)


def test_a_text_of_nothing_but_prefixes_is_no_trouble() -> None:
    for unit in UNITS:
        redact = redactor(["a-secret-of-some-length"])
        once = redact((unit * 20_000).encode())
        assert redact(once) == once
