"""Redaction of secrets in logged data."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import quote, quote_plus

import msgspec

from podium.engine.codec import encode
from podium.engine.key_formats import BODY, BODY_BYTES, FORMATS, HEAD, Format


def forms_of(secret: str) -> set[bytes]:
    """Return all forms of a secret that are searched for."""
    plain = secret.encode("utf-8", "replace")
    text = plain.decode()
    forms = {plain, plain.hex().encode(), plain.hex().upper().encode()}
    forms.update(form.encode() for form in _escaped(text))
    forms.update(_base64(plain))
    return forms


def _escaped(text: str) -> Iterator[str]:
    """Yield the text as escaped in JSON, HTML and URLs."""
    in_json = encode(text)[1:-1].decode()
    yield in_json
    yield encode(in_json)[1:-1].decode()  # JSON in JSON
    yield in_json.replace("/", r"\/")
    yield json.dumps(text)[1:-1]
    yield html.escape(text)
    yield html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    for in_url in (quote(text, safe=""), quote(text), quote_plus(text), _percents(text)):
        yield in_url
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), in_url)


def _percents(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _base64(plain: bytes) -> Iterator[bytes]:
    """Yield the base64 characters that depend only on the secret, for each of the three byte alignments."""
    for before in range(3):
        core = b64encode(bytes(before) + plain)[(0, 2, 3)[before] : (before + len(plain)) * 8 // 6]
        yield core
        yield core.translate(_URL_SAFE)


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


Redact = Callable[[bytes], bytes]

MARK = b"[redacted]"
SHORTEST = 8
"""Shorter values are not treated as secrets: too many ordinary words would be replaced."""

_ROUNDS = 4
"""Maximum passes. A replacement can make another secret visible; the result must not change when it is
redacted again."""


def redactor(secrets: Iterable[str] = ()) -> Redact:
    """Return a function that replaces known secrets, in all their forms, and keys of well-known formats.

    It runs on every event. Bytes that are rare in text decide which searches are made at all: searching 2 kB
    for a byte takes 30 ns, for a longer needle a microsecond.
    """
    known = _Known(secrets)
    needles = known.needles
    triggers = [(trigger.byte, trigger.search, trigger) for trigger in _triggers()]

    def redact(data: bytes) -> bytes:
        for rarest, group in needles:
            if rarest in data:
                for second, third, needle in group:
                    if second in data and third in data and needle in data and known.is_in(data):
                        return _redacted(data, known)
        for byte, search, trigger in triggers:
            if byte in data and search(data) is not None and _without_keys(data, trigger) is not data:
                return _redacted(data, known)
        return data

    return redact


def _redacted(data: bytes, known: _Known) -> bytes:
    """Return the data redacted. Valid JSON stays valid JSON."""
    clean = _replaced(data, known)
    if _is_json(data) and not _is_json(clean):  # a match began in an escape, or spanned several values
        clean = encode(_walked(msgspec.json.decode(data), known))
    return clean


def _replaced(data: bytes, known: _Known) -> bytes:
    """Redact until nothing changes, in at most `_ROUNDS` passes."""
    for _ in range(_ROUNDS):
        clean = known.replace(data)
        for trigger in _triggers():
            if trigger.byte in clean:
                clean = _without_keys(clean, trigger)
        if clean == data:
            break
        data = clean
    return data


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True


def _walked(value: Any, known: _Known) -> Any:
    """Return JSON data with each string and number redacted separately."""
    if isinstance(value, str):
        return _replaced(value.encode("utf-8", "replace"), known).decode("utf-8", "replace")
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {_walked(key, known): _walked(item, known) for key, item in items}
    if isinstance(value, list):
        return [_walked(item, known) for item in cast("list[Any]", value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = encode(value)
        return value if known.replace(shown) == shown else MARK.decode()
    return value


class _Known:
    """The secrets whose values are known."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[bytes] = set()
        for secret in secrets:
            if len(secret) >= SHORTEST and secret.encode("utf-8", "replace") not in MARK:
                forms |= forms_of(secret)
        self._forms = [(form, _mark(form)) for form in sorted(forms, key=len, reverse=True)]
        self.needles = _needles(forms)
        """Needles by the rarest byte that all needles of the group contain."""

    def is_in(self, data: bytes) -> bool:
        return self.replace(data) is not data

    def replace(self, data: bytes) -> bytes:
        """Return the data without any form of a secret, also where line breaks split it."""
        for form, mark in self._forms:
            if form in data:
                data = data.replace(form, mark)
            if any(part in data for part in _parts(form)):
                clean = _split(form).sub(mark, data)
                data = data if clean == data else clean
        return data


def _mark(form: bytes) -> bytes:
    """Return the replacement for a secret. One that looks like a number may be a JSON number, so its digits
    become 9."""
    number = re.fullmatch(rb"[-+.eE]*\d[-+.eE\d]*", form)
    return re.sub(rb"\d", b"9", form) if number else MARK


_PART = 24
"""Maximum length of a needle in bytes: a longer one takes more time to prepare than it saves."""


def _parts(form: bytes) -> tuple[bytes, ...]:
    """Return two parts of a form; line breaks leave one of them whole unless lines are very short. Short
    secrets and hexadecimal digits have none."""
    if len(form) < _PART or _HEX.fullmatch(form):
        return ()
    half = min(len(form) // 2, _PART)
    return form[:half], form[half : 2 * half]


_HEX = re.compile(rb"[0-9a-f]*|[0-9A-F]*")


@lru_cache(maxsize=64)
def _split(form: bytes) -> re.Pattern[bytes]:
    """Return an expression for a secret that contains line breaks, real or JSON-escaped."""
    line_break = rb"(?:=?[ \t]{0,9}(?:\\+[nr]|[\r\n])(?:\\+[nrt]|\s){0,99})?"
    return re.compile(line_break.join(re.escape(form[place : place + 1]) for place in range(len(form))))


_RARE = b"^~|%`$#&;!?*+@<>=QZXJVKYUWHGLBOFDMRNPECSIATqzxjvkwy8569704321bgfpmhdculnsoraite-_/., "
"""Bytes of secrets, the rarest in text, code and events first. All other bytes are rarer still."""
_RANKS = [_RARE.find(byte) for byte in range(256)]


def _needles(forms: Iterable[bytes]) -> list[tuple[int, list[tuple[int, int, bytes]]]]:
    """Return the needles with the three rarest bytes of each, grouped by the rarest."""
    groups: dict[int, list[tuple[int, int, bytes]]] = {}
    for form in forms:
        for part in _parts(form) or (form,):
            needle = part[-_PART:]
            first, second, third = (sorted(set(needle), key=_RANKS.__getitem__) * 3)[:3]
            groups.setdefault(first, []).append((second, third, needle))
    return list(groups.items())


class _Trigger(NamedTuple):
    byte: int
    """Byte that must be present before the search is made."""
    search: Callable[[bytes], re.Match[bytes] | None]
    """Fast search for a place that may hold a key."""
    find_all: Callable[[bytes], Iterator[re.Match[bytes]]]
    """Finds all places where a format starts; the group number is the format's number."""
    formats: list[Format]


@lru_cache(maxsize=1)
def _triggers() -> list[_Trigger]:
    """Return the searches for the formats of keys, compiled once."""
    groups: dict[tuple[bytes, bytes], list[Format]] = {}
    for form in FORMATS:
        groups.setdefault((form.gate or form.trigger, form.trigger), []).append(form)
    return [_trigger(gate, trigger, formats) for (gate, trigger), formats in groups.items()]


def _trigger(gate: bytes, trigger: bytes, formats: list[Format]) -> _Trigger:
    literal = re.escape(trigger)
    behind = [rb"(?<=%s%s)" % (form.behind, literal) if form.behind else b"" for form in formats]
    quick = dict.fromkeys(form.ahead for form in formats if not form.prefix)
    if prefixes := [form.prefix[:-1] for form in formats if form.prefix]:
        near, far = (re.escape(bytes({prefix[-place] for prefix in prefixes})) for place in (1, 2))
        filtered = rb"(?<=[%s][%s]%s)%s" % (far, near, literal, BODY)
        quick[filtered + rb"(?:%s)" % b"|".join(_preceded_by(prefixes, literal))] = None
    exact = [rb"%s(?=%s)()" % (before, form.ahead) for before, form in zip(behind, formats, strict=True)]
    if all(part.startswith(HEAD) for part in quick):
        quick = {HEAD + rb"(?:%s)" % b"|".join(part[len(HEAD) :] for part in quick): None}
    search, find_all = (re.compile(rb"%s(?:%s)" % (literal, b"|".join(parts))) for parts in (quick, exact))
    return _Trigger(gate[0], search.search, find_all.finditer, formats)


_SUFFIX = 5
"""Length of the end of a prefix that the fast search checks."""


def _preceded_by(prefixes: list[bytes], literal: bytes) -> Iterator[bytes]:
    """Yield one lookbehind for all prefixes of the same length; of long ones only the end is checked."""
    widths: dict[int, set[bytes]] = {}
    for prefix in prefixes:
        suffix = prefix[-_SUFFIX:]
        widths.setdefault(len(suffix), set()).add(re.escape(suffix))
    for suffixes in widths.values():
        yield rb"(?<=(?:%s)%s.{%d})" % (b"|".join(sorted(suffixes)), literal, BODY_BYTES)


def _without_keys(data: bytes, trigger: _Trigger) -> bytes:
    """Replace the keys of one trigger's formats."""
    parts: list[bytes] = []
    done = 0
    for place in trigger.find_all(data):
        form = trigger.formats[(place.lastindex or 1) - 1]
        start = place.start() + 1 - form.back
        key = _compiled(form.pattern).match(data, start) if start >= done else None
        if key is None:
            continue
        group = key.lastindex or 0
        if form.accept is None or form.accept(key[group]):
            parts += (data[done : key.start(group)], MARK)
            done = key.end(group)
    return b"".join((*parts, data[done:])) if parts else data


@cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    """Compile a pattern on first use, because most formats are never needed."""
    return re.compile(pattern)


def redact_text(text: str, redact: Redact) -> str:
    """Return a text without secrets. If the text changes, its lone surrogates become question marks."""
    data = text.encode("utf-8", "replace")
    clean = redact(data)
    return text if clean is data or clean == data else clean.decode("utf-8", "replace")


@lru_cache(maxsize=4096)
def clean_name(name: str, redact: Redact) -> str:
    """Return a name for use in a path: without secrets and without lone surrogates."""
    return redact(name.encode("utf-8", "backslashreplace")).decode("utf-8", "replace")
