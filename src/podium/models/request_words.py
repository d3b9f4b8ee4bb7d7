"""Keywords of a request.

Some German stop words are English words with a meaning of their own (`war`, `hat`, `die`), so they count only
in a German text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

_WORD = re.compile(r"[^\W\d_]+")
_UMLAUT = re.compile("[äöüß]", re.IGNORECASE)
_NOUN = re.compile(r"\b(?:die|der|das|dem)\s+[A-ZÄÖÜ]")
"""An article followed by a capitalized noun."""
_ENDINGS = ("", "e", "t", "et", "en", "n")
"""Imperative endings: singular, plural and polite."""


def orders(stems: str) -> frozenset[str]:
    """Return the imperative forms of verbs: `plan` is `plane`, `plant` and `planen (Sie)`."""
    return frozenset(stem + ending for stem in stems.split() for ending in _ENDINGS if len(stem + ending) > 3)


_ORDERS = orders(
    "schreib erstell mach find such zeig nenn list erzähl denk schaff erschaff entwickl entwickel lies lest"
    " plan organisier bereit erklär beschreib vergleich bewert prüf verbesser bau gestalt entwerf untersuch"
    " fass stell schlag überleg besprech diskutier recherchier sammel sammle bring lass"
) | {"gib", "gebt", "geben", "hilf", "helft", "helfen", "entwirf", "bitte", "besprich", "lass", "lasst"}
_SMALL_TEXT = """
    aber als am an auch auf aus bei beim bin bis bist da dabei dadurch dafür damit danach dann daran darauf
    daraus darf darin darüber das dass dasselbe davon dazu dein deine deinem deinen deiner dem den denen denn
    der deren derer des deshalb dessen die dies diese diesem diesen dieser dieses doch dort drei du durch
    dürfen eher ein eine einem einen einer eines einige einigen einmal er erst es etwa etwas euch euer eure
    eurem euren eurer fast für ganz gegen gerne gern gibt habe haben hat hatte hatten hier hin hinter ich ihm
    ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann
    kannst kein keine keinem keinen keiner können könnte könnten lassen man manche mehr mein meine meinem
    meinen meiner meines mich mir mit muss müssen nach neben nein nicht nichts noch nun nur ob oder ohne schon
    sehr sei sein seine seinem seinen seiner seit selbst sich sie sind so sogar soll sollen sollte sollten
    sondern sowie statt trotz über um und uns unser unsere unserem unseren unserer unter viel viele vielen vom
    von vor wann war waren warum was weil welche welchem welchen welcher welches wem wen wenig weniger wenn
    wer werde werden weshalb wessen wie wieder wieso will wir wird wirst wo wohl wollen womit worüber worum
    wurde wurden würde würden zu zum zur zwar zwei zwischen
"""
SMALL = frozenset(_SMALL_TEXT.split()) | _ORDERS
"""German stop words."""
_ELSEWHERE_TEXT = """
    also am an as bin bis da dann den der des die du er es fast hat hier hin in ins ja list listen man mit
    nun ob plan plant so um uns vor war was wen wer will wo wie zu find such bring lies
"""
_SIGNS = SMALL - frozenset(_ELSEWHERE_TEXT.split())
"""German stop words that do not occur in English and hardly in other languages."""


@lru_cache(maxsize=256)
def is_german(text: str) -> bool:
    """Detect German by its stop words: two of them, one and an umlaut, or an article with its noun."""
    signs = {word for word in _WORD.findall(text.lower()) if word in _SIGNS}
    return len(signs) > 1 or bool(signs and _UMLAUT.search(text)) or _NOUN.search(text) is not None


T = TypeVar("T")

_REQUEST_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[-’'][^\W_]+)*")
_SUBJECT = re.compile(
    r"^[ \t#*>-]*(?:the |your |user'?s? |original )*"
    r"(?:request|topic|objective|goal|question|subject|brief|idea|story|assignment)\b[^\n:]{0,40}(?::|\n)",
    re.IGNORECASE | re.MULTILINE,
)
"""The place where a prompt names its subject: a heading or a label such as `Request:`."""
_NEXT_HEADING = re.compile(r"^[ \t]*(?:#|\*\*)", re.MULTILINE)
_LOOKED_AT = 20_000
_LONGEST_WORD = 40
_STEERING = re.compile(
    r"\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?", re.MULTILINE
)
"""Terminal escape sequences."""
_BEHEADED = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m(?!\])")
"""The same without the escape character, if that was already removed: `[31m`."""
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
"""
_COMMON = frozenset(_COMMON_TEXT.split())
"""English stop words."""


def keywords(prompt: str, limit: int = 12) -> list[str]:
    """Return the keywords of a prompt, in the order in which they appear; never empty.

    A section labelled as the request or the topic takes precedence, because templates contain many words of
    their own.
    """
    text = without_codes(prompt[:_LOOKED_AT])
    section = _subject(text)
    found = _telling(section)
    if len(found) < 3:
        found += [word for word in _telling(text) if word.lower() not in {w.lower() for w in found}]
    return found[:limit] or ["request", "answer"]


def without_codes(text: str) -> str:
    """Return a text without terminal escape sequences, whose letters are not words."""
    if "\x1b" in text or "\x9b" in text:
        text = _STEERING.sub("", text)
    return _BEHEADED.sub("", text)


def slug(text: str, most: int) -> str:
    """Return a short name of lower-case letters, digits and hyphens, with umlauts transliterated: as many
    whole words as fit; empty if the text has no such characters."""
    spelt = unicodedata.normalize("NFC", text.lower()).translate(_SPELT_OUT)
    plain = unicodedata.normalize("NFKD", spelt)
    words = re.findall(r"[a-z0-9]+", "".join(one for one in plain if not unicodedata.combining(one)))
    found = ""
    for word in words:
        if found and len(found) + 1 + len(word) > most:
            break
        found = f"{found}-{word}" if found else word[:most]
    return found


def pick(options: Sequence[T], *seed: object) -> T:
    """Return one of the options, always the same for the same seed."""
    return options[number(*seed) % len(options)]


def number(*seed: object) -> int:
    """Return a large number that depends only on the seed."""
    text = "\x1f".join(str(part) for part in seed)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _subject(text: str) -> str:
    label = _SUBJECT.search(text)
    if label is None:
        return text
    heading = _NEXT_HEADING.search(text, label.end())
    section = text[label.end() : heading.start() if heading else len(text)]
    return section if section.strip() else text


def _telling(text: str) -> list[str]:
    """Return the most frequent words of a text without stop words, in order of appearance."""
    words = [word[:_LONGEST_WORD] for word in _REQUEST_WORD.findall(text)]
    small = _COMMON | SMALL if is_german(text) else _COMMON
    telling = [word for word in words if len(word) > 2 and word.lower() not in small]
    counts = Counter(word.lower() for word in telling)
    chosen = {word for word, _ in counts.most_common(24)}
    return list({word.lower(): word for word in reversed(telling) if word.lower() in chosen}.values())[::-1]
