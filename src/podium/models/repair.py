"""JSON extraction, repair and validation of replies.

Models wrap JSON in Markdown fences, introduce it and comment on it. Every place where JSON may be is tried in
order; the first that fits the wanted type is the answer. Slightly broken JSON is fixed locally before a
repair call is paid for. Nothing is ever executed, and the work is bounded for any reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from podium.engine import codec
from podium.errors import NotEncodableError
from podium.settings.parsing import plain

_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)"
    r'|(?P<double>"(?:[^"\\]|\\.)*+")'
    r"|(?P<single>'(?:[^'\\]|\\.)*+')"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:)"
    r"|(?P<word>[\w.+-]++)",
    re.DOTALL,
)
_OPENING = re.compile(r"[\[{]")
_PAIRS = {"{": "}", "[": "]"}
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_COLON = re.compile(r"\s*:")
_CONTROL = re.compile(r"[\x00-\x1f]")

_MOST_OPENINGS = 8
_MOST_TOKENS = 200_000
_DEEPEST = 500


def mended(text: str, *, close: bool) -> Iterator[str]:
    """Yield the objects and lists of a text as valid JSON; `close` also closes brackets left open at its
    end."""
    position = 0
    for _ in range(_MOST_OPENINGS):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        mender = _Mender(text, opening.start(), close)
        repaired = mender.run()
        if repaired:
            yield repaired
        elif mender.ran_out and not close:
            return  # the content of a reply that was cut off is a part, not the answer
        position = mender.end if repaired else opening.start() + 1


def close_brackets(text: str, start: int) -> str:
    """Return the unclosed object or list that begins at `start`, closed; empty if that would need a guess."""
    return _Mender(text, start, close=True).run()


class _Mender:
    """One pass over a text, from an opening bracket to the one that closes it."""

    def __init__(self, text: str, start: int, close: bool) -> None:
        self._text = text
        self._close = close
        self._written: list[str] = []
        self._open: list[str] = []
        self._comma = False
        """A comma was read and not yet written: it is only written if something follows."""
        self.end = start
        self.ran_out = False
        """The text ended before the brackets were closed."""

    def run(self) -> str:
        """Return the fixed JSON; empty if that would need a guess."""
        for _ in range(_MOST_TOKENS):
            token = _TOKEN.match(self._text, self.end)
            if token is None:
                self.ran_out = self.end >= len(self._text) or self._text[self.end] in "\"'"
                return self._closed() if self.end >= len(self._text) else ""
            self.end = token.end()
            if not self._take(str(token.lastgroup), token.group()):
                return ""
            if not self._open:
                return "".join(self._written)
        return ""

    def _take(self, kind: str, text: str) -> bool:
        match kind:
            case "skip":
                return True
            case "comma":
                first = not self._written or self._written[-1] in ("{", "[", ":")
                again, self._comma = self._comma, True
                return not (first or again)
            case "close":
                self._comma = False
                self._written.append(text)
                return text == self._open.pop()
            case "open":
                self._open.append(_PAIRS[text])
            case "double":
                text = _CONTROL.sub(_escaped, text)
            case "single":
                text = _double_quoted(text)
            case "word":
                text = _word(text, key=bool(_COLON.match(self._text, self.end)))
            case _:
                pass
        self._write(text)
        return bool(text) and len(self._open) <= _DEEPEST

    def _write(self, text: str) -> None:
        if self._comma:
            self._written.append(",")
            self._comma = False
        self._written.append(text)

    def _closed(self) -> str:
        """Return the JSON with its open brackets closed; empty if a value is missing after a colon."""
        if not self._close or self._written[-1] == ":":
            return ""
        return "".join(self._written) + "".join(reversed(self._open))


def _word(text: str, *, key: bool) -> str:
    """Return a quoted key; a JSON number or word unchanged; a Python word as JSON; empty for any other
    word."""
    if key:
        return f'"{text}"'
    if text in ("true", "false", "null") or _NUMBER.fullmatch(text):
        return text
    return _WORDS.get(text, "")


def _double_quoted(text: str) -> str:
    inner = text[1:-1].replace("\\'", "'")
    inner = re.sub(r'\\.|"', lambda match: '\\"' if match[0] == '"' else match[0], inner, flags=re.DOTALL)
    return f'"{_CONTROL.sub(_escaped, inner)}"'


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


MAX_REPAIRS = 2
"""Maximum number of repair calls for a reply that does not fit."""

_LONGEST = 4_000_000
"""Maximum characters of a reply that are searched; real replies are a thousandth of it."""
_MENDED = 250_000
"""Longer replies are not fixed locally, because that blocks the event loop."""
_MOST_MARKS = 400_000
"""Maximum number of brackets and strings that are scanned in one reply."""
_MOST_CANDIDATES = 32
_MAX_REPAIR_DEPTH = 1_000
_SHOWN_REPLY = 8_000
_LONGEST_SEAM = 2_000
_SHORTEST_SEAM = 10
"""Range of characters of the original text that a continuation may repeat; fewer may match by chance."""

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_MARK = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A bracket, or a whole string; one that is never closed extends to the end."""
_ESCAPE = re.compile(
    r"\\\\"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""An escaped backslash, a surrogate pair, or half of one."""

_CLOSES = {"}": "{", "]": "["}


class Mismatch(msgspec.Struct, frozen=True):
    """A reply that does not fit its type."""

    error: str
    """The reason: one paragraph that a person can read and a model can act on."""


class ParsedReply(NamedTuple):
    """The answer found in a reply."""

    data: bytes
    """Its JSON, without decoration."""
    value: Any
    """The decoded value, of the wanted type."""


def find(
    text: str, returns: Any, *, whole: bool = True, check: Callable[[Any], str] | None = None
) -> ParsedReply | Mismatch:
    """Return the JSON in a reply that fits the type `returns`, validated and without decoration. Unclosed
    JSON of a reply that was cut off (not `whole`) is not completed. `check` may reject a value that fits."""
    read = codec.reader(returns)
    parsed = _at_once(text, read)
    if parsed is not None:
        return _judged(parsed.value, parsed.data, check)
    problems: list[tuple[bool, int, str]] = []
    for candidate in chain(_very_long(text), _candidates(text[:_LONGEST], whole)):
        try:
            value = read(candidate)
            data = codec.encode(codec.decode(candidate))
        except (ValueError, RecursionError, NotEncodableError) as error:
            problems.append((_is_json(candidate), len(candidate), explain(error)))
        else:
            return _judged(value, data, check)
    for candidate in _slightly_broken(text, close=whole) if len(text) <= _MENDED else ():
        try:
            value = read(candidate)
            data = codec.encode(codec.decode(candidate))
        except (ValueError, RecursionError, NotEncodableError):
            continue  # the error of the original reply is the better explanation
        return _judged(value, data, check)
    if problems:
        # The largest piece of valid JSON is the intended one; a `[1]` in the prose before it is not.
        return Mismatch(max(problems)[2])
    return _bare_word(text.strip()[:_LONGEST], returns, check)


def _at_once(text: str, read: Callable[[bytes], Any]) -> ParsedReply | None:
    """Fast path for a reply that is nothing but JSON, as most are; None if it does not fit."""
    if not text.startswith(("{", "[")) or len(text) > _LONGEST or "\\u" in text:
        return None
    try:
        data = text.encode()
        value = read(data)
        return ParsedReply(codec.encode(codec.decode(data)), value)
    except (ValueError, RecursionError, NotEncodableError):
        return None


def _very_long(text: str) -> Iterator[bytes]:
    """Yield a reply that is longer than the search limit and seems to be nothing but JSON."""
    if len(text) > _LONGEST and _looks_like_json(text[:100].lstrip()):
        yield text.strip().encode("utf-8", "replace")


def _judged(value: Any, data: bytes, check: Callable[[Any], str] | None) -> ParsedReply | Mismatch:
    wrong = check(value) if check is not None else ""
    return Mismatch(wrong) if wrong else ParsedReply(data, value)


def _bare_word(text: str, returns: Any, check: Callable[[Any], str] | None) -> ParsedReply | Mismatch:
    """Try a reply without any JSON as a bare string, for types of choices."""
    if not text:
        return Mismatch("The reply is empty.")
    if returns is None or returns is Any:
        return Mismatch("The reply holds no JSON.")
    word = codec.encode(text)
    try:
        value = codec.reader(returns)(word)
    except ValueError as error:
        return Mismatch(f"The reply holds no JSON. {explain(error)}")
    return _judged(value, word, check)


def explain(error: Exception) -> str:
    """Return one readable paragraph about why a value did not fit, for any validator."""
    if isinstance(error, RecursionError):
        return "The JSON is nested too deeply."
    return plain(error)


def with_correction(prompt: str, correction: str) -> str:
    """Return the original prompt with a correction below it."""
    return f"{prompt}\n\n---\n\n{correction}"


def repair_note(raw: str, error: str) -> str:
    """Return the correction after a reply that did not fit: the reply, and what is wrong with it."""
    shown = raw if len(raw) <= _SHOWN_REPLY else f"{raw[:_SHOWN_REPLY]}\n[… cut]"
    return (
        f"You have answered this before, but the answer could not be used.\n\n"
        f"Your answer was:\n\n{shown}\n\n"
        f"What is wrong with it: {error}\n\n"
        f"Answer again. Reply with JSON that fits the schema and with nothing else."
    )


def cut_note(limit: int, larger: int) -> str:
    """Return the correction after a reply that was cut off at its limit."""
    return (
        f"You have answered this before, but your reply was cut off at its limit of {limit:,} tokens before "
        f"it was complete. The limit is {larger:,} tokens now. Answer again, completely, and no longer than "
        f"needed."
    )


def shorter_note(tokens: int) -> str:
    """Return the correction after a reply that the server cut off before its limit."""
    return (
        f"You have answered this before, but your reply was cut off after {tokens:,} tokens before it was "
        f"complete. Answer again, completely, in fewer than {tokens:,} tokens."
    )


def continue_note(text: str) -> str:
    """Return the request to continue an answer, with its beginning."""
    return (
        f"You have begun to answer this, but your reply was cut off at its limit. So far you wrote:\n\n{text}"
        f"\n\n---\n\n"
        f"Continue where it stops. Begin by repeating its last few words exactly, so that the two parts can "
        f"be joined. Repeat nothing else, and add no introduction and no comment."
    )


def join(first: str, second: str) -> str:
    """Join a text and its continuation, without the words that the continuation repeats."""
    if not first:
        return second
    begun = second.lstrip()
    for length in range(min(len(first), len(begun), _LONGEST_SEAM), _SHORTEST_SEAM - 1, -1):
        if first.endswith(begun[:length]):
            return first + begun[length:]
    words = first[-1:].isalnum() and second[:1].isalnum()
    return f"{first} {second}" if words else first + second


def _candidates(text: str, complete: bool) -> Iterator[bytes]:
    """Yield the places where JSON may be, the most likely first, none twice."""
    seen: set[bytes] = set()
    for candidate in islice(_places(text, complete), _MOST_CANDIDATES):
        data = _without_lone_surrogates(candidate).encode("utf-8", "replace")
        if data and data not in seen:
            seen.add(data)
            yield data


def _places(text: str, complete: bool) -> Iterator[str]:
    whole = text.strip()
    if _looks_like_json(whole):
        yield whole
    for fence in _FENCE.finditer(text):
        yield fence.group(1).strip()
    yield from _balanced(text, complete)


def _without_lone_surrogates(text: str) -> str:
    """Replace escaped lone surrogates, which would invalidate the whole reply."""
    if "\\u" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if len(match[0]) == 6 else match[0], text)


def _slightly_broken(text: str, *, close: bool) -> Iterator[bytes]:
    """Yield JSON that can be fixed without a guess."""
    bodies = [fence.group(1) for fence in _FENCE.finditer(text)]
    candidates = (repaired for body in (*bodies, text) for repaired in mended(body, close=close))
    for candidate in islice(candidates, _MOST_CANDIDATES):
        yield _without_lone_surrogates(candidate).encode("utf-8", "replace")


def _is_json(data: bytes) -> bool:
    try:
        codec.decode(data)
    except (ValueError, RecursionError):
        return False
    return True


def _looks_like_json(text: str) -> bool:
    """Return whether a whole reply could be JSON: saves an exception for each reply in prose."""
    return text.startswith(tuple('{["-0123456789')) or text in ("true", "false", "null")


def _balanced(text: str, complete: bool) -> Iterator[str]:
    """Yield each outermost `{…}` or `[…]` of a text. One that is never closed is closed here; in a reply that
    was cut off it ends the search, because its content is a part, not the answer."""
    marks = _MOST_MARKS
    position = 0
    while marks > 0 and (opening := _OPENING.search(text, position)):
        end, used = _end_of(text, opening.start(), marks)
        marks -= used
        position = opening.start() + 1
        if end:
            yield text[opening.start() : end]
            position = end
        elif not complete:
            return
        elif closed := close_brackets(text, opening.start()):
            yield closed


def _end_of(text: str, start: int, most_marks: int) -> tuple[int, int]:
    """Return where the bracket at `start` is closed (0 if it is not), and the number of marks scanned."""
    open_brackets: list[str] = []
    used = 0
    for mark in islice(_MARK.finditer(text, start), most_marks):
        used += 1
        sign = text[mark.start()]
        if sign in "[{":
            open_brackets.append(sign)
            if len(open_brackets) > _MAX_REPAIR_DEPTH:
                return 0, used
        elif sign in "]}":
            if open_brackets.pop() != _CLOSES[sign]:
                return 0, used
            if not open_brackets:
                return mark.end(), used
    return 0, used
