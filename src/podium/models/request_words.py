"""Keywords of a request, and choices that depend on nothing but a seed."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[-’'][^\W_]+)*")
_SUBJECT = re.compile(
    r"^[ \t#*>-]*(?:the |your |user'?s? |original )*"
    r"(?:request|topic|objective|goal|question|subject|brief|idea|story|assignment)\b[^\n:]{0,40}(?::|\n)",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a prompt says what it is about: a heading or a label such as `Request:`."""
_NEXT_HEADING = re.compile(r"^[ \t]*(?:#|\*\*)", re.MULTILINE)
_LOOKED_AT = 20_000
_LONGEST_WORD = 40
_ESCAPES = re.compile(
    r"\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
    r"|\[\d{1,3}(?:;\d{1,3})*m(?!\])",
    re.MULTILINE,
)
"""Terminal escape sequences, also colour codes that have lost their escape character: `[31m`."""
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "œ": "oe"})
_COMMON_TEXT = """
    a about above after again all also although always an and another any answer are around as ask asked at
    back be because been before being below best better between both but by call can come could create did do
    does doing done down during each either else enough even every everything few find first following for
    from further gave get give given gives go good great had has have having he help her here him his how
    however if in instead into is it its itself just keep know last least less let like list long look made
    make makes many may me might more most much must my need needs never new next no nor not nothing now of
    off on once one only or other our out over own part people please point produce put rather rehearsal reply
    request say sentence sentences she should show since so some something still such take than that the
    their them then there these they thing things this those three through to too topic two under until up
    upon us use used using very want was way we well were what when where whether which while who whole whom
    whose why will with within without word words work would write writes writing yes yet you your yours
    belongs model needs place real stands table written
    aber als auch auf aus bei beim bitte das dass dem den der des die diese dieser ein eine einem einen einer
    eines für gerne haben ich ihr ihre ist kann keine können man mein mir mit nach nicht noch nur oder ohne
    schreibe sein sich sie sind soll und uns unser unsere vom von was welche wenn werden wer wie wir wird zum
    zur über
"""
_COMMON = frozenset(_COMMON_TEXT.split())
"""Words of English and German that say nothing about what a request is about."""


def keywords(prompt: str, limit: int = 12) -> list[str]:
    """Return the content words of a prompt in order of appearance; never empty. A section that is labelled
    as the request or topic comes first, because templates have many words of their own."""
    text = without_codes(prompt[:_LOOKED_AT])
    section = _subject(text)
    found = _content_words(section)
    if len(found) < 3:
        found += [word for word in _content_words(text) if word.lower() not in {w.lower() for w in found}]
    return found[:limit] or ["request", "answer"]


def without_codes(text: str) -> str:
    """Remove terminal escape sequences."""
    return _ESCAPES.sub("", text)


def slug(text: str, most: int) -> str:
    """Return a name of ASCII letters, digits and hyphens: as many whole words as fit, or an empty string."""
    spelt = unicodedata.normalize("NFC", text.lower()).translate(_SPELT_OUT)
    plain = "".join(char for char in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(char))
    words = re.findall(r"[a-z0-9]+", plain)
    while len(words) > 1 and len("-".join(words)) > most:
        words.pop()
    return "-".join(words)[:most]


def pick(options: Sequence[T], *seed: object) -> T:
    """One of the options, always the same for the same seed."""
    return options[number(*seed) % len(options)]


def number(*seed: object) -> int:
    """A large number that depends on nothing but the seed."""
    text = "\x1f".join(str(part) for part in seed)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _subject(text: str) -> str:
    label = _SUBJECT.search(text)
    if label is None:
        return text
    heading = _NEXT_HEADING.search(text, label.end())
    section = text[label.end() : heading.start() if heading else len(text)]
    return section if section.strip() else text


def _content_words(text: str) -> list[str]:
    """The words of a text without the common ones; those that occur most, in order of appearance."""
    words = [word[:_LONGEST_WORD] for word in _WORD.findall(text)]
    telling = [word for word in words if len(word) > 2 and word.lower() not in _COMMON]
    counts = Counter(word.lower() for word in telling)
    chosen = {word for word, _ in counts.most_common(24)}
    return list({word.lower(): word for word in reversed(telling) if word.lower() in chosen}.values())[::-1]
