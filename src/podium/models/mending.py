"""JSON as models sometimes write it: trailing commas, single quotes, comments, bare keys, Python's words,
line breaks in strings, brackets that nobody closed. Mended when that takes no guess; what it says is checked
afterwards like any other reply."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    """The objects and lists of a text, mended; `close` also closes the brackets that its end left open."""
    position = 0
    for _ in range(_MOST_OPENINGS):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        mender = _Mender(text, opening.start(), close)
        found = mender.run()
        if found:
            yield found
        elif mender.ran_out and not close:
            return  # what lies inside a reply that was cut off is a part, not the answer
        position = mender.end if found else opening.start() + 1


def close_brackets(text: str, start: int) -> str:
    """The object or list that begins at `start` and is never closed; empty where only a guess would help."""
    return _Mender(text, start, close=True).run()


class _Mender:
    """One pass over a text, from an opening bracket to the one that closes it."""

    def __init__(self, text: str, start: int, close: bool) -> None:
        self._text = text
        self._close = close
        self._written: list[str] = []
        self._open: list[str] = []
        self._comma = False
        """A comma was read and not yet written: it is only wanted if something follows."""
        self.end = start
        self.ran_out = False
        """The text ended before the brackets were closed."""

    def run(self) -> str:
        """The mended JSON, or nothing where only a guess would help."""
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
        """The end of the text was reached with brackets open. After a colon a value is missing."""
        if not self._close or self._written[-1] == ":":
            return ""
        return "".join(self._written) + "".join(reversed(self._open))


def _word(text: str, *, key: bool) -> str:
    """A bare key; a number or a word of JSON as it is; a word of Python in JSON; nothing for other words."""
    if key:
        return f'"{text}"'
    if text in ("true", "false", "null") or _NUMBER.fullmatch(text):
        return text
    return _WORDS.get(text, "")


def _double_quoted(text: str) -> str:
    inner = text[1:-1].replace("\\'", "'")
    inner = re.sub(r'\\.|"', lambda found: '\\"' if found[0] == '"' else found[0], inner, flags=re.DOTALL)
    return f'"{_CONTROL.sub(_escaped, inner)}"'


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
