"""Secrets in the environment and in settings: secret names, and secrets within values."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote, unquote_plus

SHORTEST = 8
"""Shorter values are ignored: too many ordinary words would be redacted."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_STRONG = frozenset(
    """
    apikey apikeys bearer credential credentials creds jwt passphrase passwd password passwords psk
    secret secrets sshpass token tokens
    """.split()
)
"""Words that mark a name as secret anywhere in it."""
_ENDINGS = ("accesskey", "apikey", "passwd", "password", "privatekey", "secret", "secretkey", "token")
"""The same for the end of a name that is written in one word: `PGPASSWORD`."""
_AT_THE_END = frozenset({"auth", "cookie", "dsn", "key", "keys", "pass", "pat", "pw", "pwd", "sas", "sig"})
"""Words that mark a name as secret if they are its last word."""
_ABOUT_IT = frozenset(
    """
    age algorithm arn cmd command count dir directory enabled endpoint expires expiry file folder format
    header host id ids issuer length limit manager max method min mode name names path policy port
    prefix provider region service size store timeout ttl type uri url user username version
    """.split()
)
"""Last words of names that describe a secret without containing it: `TOKEN_LIMIT`, `PASSWORD_FILE`."""
_PUBLIC = frozenset(
    {"public", "pub", "publishable", "primary", "foreign", "partition", "sort", "cache", "max"}
)
"""Words before `KEY` or `TOKENS` that mark it as not secret."""
_COMMON = frozenset(
    """
    12345678 123456789 1234567890 anonymous change-me changeme database disabled localhost minioadmin
    optional password passwort postgres rabbitmq required undefined username
    """.split()
)
"""Values that protect nothing; redacting them would only garble texts."""
_NO_SECRETS = frozenset({"PWD", "OLDPWD", "TOKENIZERS_PARALLELISM"})

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://([^\s/?#\"'<>]{1,2000})@")
_ASSIGNED = re.compile(r"(?:^|[?&;,\s])([A-Za-z][\w .-]{0,40}?)\s*=\s*('[^']*'|\"[^\"]*\"|[^\s&;,]+)")
_PLAIN_WORD = re.compile(r"[a-z]+(?:[-_ ][a-z]+)*|[0-9.,]+")


def is_secret_name(name: str) -> bool:
    """Return whether a variable, header, parameter or field of this name contains a secret."""
    return _strength(name) != ""


def _strength(name: str) -> str:
    """Return "strong" if every value of this name is secret, "weak" if only unusual ones are."""
    words = [word.lower() for word in _PART.findall(name)]
    if not words or name in _NO_SECRETS or words[-1] in _ABOUT_IT:
        return ""
    if len(words) > 1 and words[-2] in _PUBLIC:
        return ""
    if _STRONG.intersection(words) or words[-1].endswith(_ENDINGS) or words[-2:] == ["api", "key"]:
        return "strong"
    return "weak" if words[-1] in _AT_THE_END or words[0] in ("authorization", "cookie") else ""


def secrets_of_variables(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets of the environment: values of secret names, and secrets in other values."""
    for name, value in env.items():
        yield from secrets_of(name, value.strip())


def worth_redacting(secrets: Iterable[str]) -> list[str]:
    """Return the secrets that are long and unusual enough, the longest first."""
    long = {value for value in secrets if len(value) >= SHORTEST and value.lower() not in _COMMON}
    return sorted(long, key=len, reverse=True)


def secrets_of(name: str, value: str) -> Iterator[str]:
    """Yield the secrets of one named value."""
    if "://" in value or "=" in value:
        yield from secrets_within(value)
    if value.startswith(("{", "[")):
        yield from _of_json(value)
    strength = _strength(name)
    if not strength or len(value) < SHORTEST or _is_address(value) or _is_file(value):
        return
    if strength == "strong" or not _PLAIN_WORD.fullmatch(value):
        yield from _without_scheme(value)


def _without_scheme(value: str) -> Iterator[str]:
    """Yield a value, or for `Bearer TOKEN` what follows the scheme."""
    scheme, space, rest = value.partition(" ")
    if space and scheme.lower() in ("bearer", "basic", "token", "bot"):
        yield rest.strip()
    else:
        yield value


def secrets_within(value: str) -> Iterator[str]:
    """Yield passwords of URLs, and values of secret names, in a text such as a URL or a list of headers."""
    for match in _URL.finditer(value):
        user, colon, password = match[1].partition(":")
        if colon and password != user:
            yield password
            yield unquote(password)
        elif not colon and _is_token(user):
            yield user
    for match in _ASSIGNED.finditer(value):
        if is_secret_name(match[1]):
            text = match[2].strip("'\"")
            for secret in (text, unquote_plus(text)):
                if not _PLAIN_WORD.fullmatch(secret) and not secret.startswith("$"):
                    yield from _without_scheme(secret)


def _is_token(user: str) -> bool:
    """Return whether the user of a URL without a password is a token, as in `https://TOKEN@host`."""
    return len(user) >= 16 and any(character.isdigit() for character in user)


def _of_json(value: str) -> Iterator[str]:
    """Yield secrets of a document such as the credentials of a service account."""
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return
    yield from _of_document(document)


def _of_document(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield from _of_document(item, key)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _of_document(item, name)
    elif isinstance(value, str):
        yield from secrets_of(name, value)


def secrets_of_settings(values: Any) -> Iterator[str]:
    """Yield the secrets in settings as plain data: passwords in addresses, and values of secret names."""
    yield from _of_document(values)


def secrets_of_arguments(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the values of options such as `--api-key=VALUE` or `--token VALUE`."""
    name = ""
    for argument in arguments:
        if name and not argument.startswith("-"):
            yield argument
        option, equals, value = argument.partition("=")
        name = option if option.startswith("-") and is_secret_name(option) else ""
        if name and equals:
            yield value
            name = ""


def _is_address(value: str) -> bool:
    """Return whether the value is a URL, whose secrets are found within it."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://", value) is not None


def _is_file(value: str) -> bool:
    """Return whether the value is the path of a file or folder: many variables name the file with the key."""
    if not value.startswith(("/", "~", "./", "../")) and value[1:3] != ":\\":
        return False
    try:
        return os.path.exists(os.path.expanduser(value))
    except (OSError, ValueError):
        return False
