"""Words and sentences of a text in any language, without ever looking at a character twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podium.brain.words import word_set
from podium.workflows.research.measures.markup import CITED, prose_of

ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words: there a letter counts as a word."""
_WORD = re.compile(rf"[{ALONE}]|[^\W_{ALONE}]+(?:['’.,-][^\W_{ALONE}]+)*")
_STOP = re.compile(
    rf"(?:[.!?…]+[\"'”’»)\]]*(?P<cited>(?:\s*{CITED.pattern})*)(?=\s|$))|[。！？]+[」』”]*(?:{CITED.pattern})*"
)
_INITIAL = re.compile(r"(?:^|[\s(“\"])[A-Z]\.$")
_ABBREVIATIONS = word_set(
    "al approx art ca cf ch chap co corp dept dr e.g ed eds eq esp est etc fig figs gen gov hon i.e inc jr"
    " ltd messrs mr mrs ms no nos op p pp prof pt ref rep rev sen sec st u.k u.s u.n vol vs viz jan feb"
    " mar apr jun jul aug sep sept oct nov dec ph.d m.d b.a d.c"
)
_LAST = re.compile(r"([\w.]+)\.$")
SHORT = 5
"""Letters; a longer word before a full stop is no abbreviation."""
_GOES_ON = re.compile(r"\s*[a-z]")


def words_in(text: str) -> list[str]:
    """The words of a text; `co-operate`, `1,000` and `don't` are one each."""
    return _WORD.findall(text)


def count_words(markdown: str) -> int:
    """How many words a reader reads: code, headings, tables and citations are not counted."""
    return sum(len(words_in(text)) for text in prose_of(markdown))


def sentences_in(text: str) -> list[str]:
    """A block's sentences; a citation that follows the full stop belongs to the sentence before it, and so
    does whatever else holds no word (`... ” [@s5].`). Nothing is left out: a page counts every citation."""
    found: list[str] = []
    before = ""
    for one in _sentences(text):
        if any(map(str.isalnum, CITED.sub("", one))):
            found.append(f"{before}{one}")
            before = ""
        elif found:
            found[-1] = f"{found[-1]} {one}".strip()
        elif one:
            before += f"{one} "
    return found


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for stop in _STOP.finditer(text):
        if stop[0][0] == "." and _is_abbreviation(text, stop):
            continue
        if stop[0][0] in ".…" and text[stop.start() - 1 : stop.start()].isspace():  # `SELECT ... FOR UPDATE`
            continue
        yield text[begin : stop.end()].strip()
        begin = stop.end()
    yield text[begin:].strip()


def _is_abbreviation(text: str, stop: re.Match[str]) -> bool:
    """Whether a full stop ends a word and not a sentence: `Dr. Who`, `J. Smith`, `et al. found`."""
    if stop["cited"]:
        return False
    before = text[max(stop.start() - 20, 0) : stop.start() + 1]
    if _INITIAL.search(before):
        return True
    last = _LAST.search(before)
    if last is not None and last[1].lower() in _ABBREVIATIONS:
        return last[1].lower() != "etc" or bool(_GOES_ON.match(text, stop.end()))
    short = last is not None and len(last[1]) <= SHORT
    return short and bool(_GOES_ON.match(text, stop.end()))
