"""Enough German to read a request: its small words, and the verbs that order something.

Some of its small words are English words with a meaning of their own (`war`, `hat`, `die`), so they count
only in a text that is German.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+")
_UMLAUT = re.compile("[äöüß]", re.IGNORECASE)
_NOUN = re.compile(r"\b(?:die|der|das|dem)\s+[A-ZÄÖÜ]")
"""An article and a noun with its capital."""
_ENDINGS = ("", "e", "t", "et", "en", "n")
"""Of an order: to one person, to several, to somebody polite."""


def orders(stems: str) -> frozenset[str]:
    """The forms of verbs that order something: `plan` is `plane`, `plant` and `planen (Sie)`."""
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
"""Words that say nothing about what a German request is about."""
_ELSEWHERE_TEXT = """
    also am an as bin bis da dann den der des die du er es fast hat hier hin in ins ja list listen man mit
    nun ob plan plant so um uns vor war was wen wer will wo wie zu find such bring lies
"""
_SIGNS = SMALL - frozenset(_ELSEWHERE_TEXT.split())
"""Those that no English text has, and hardly one in another language."""


@lru_cache(maxsize=256)
def is_german(text: str) -> bool:
    """By its small words: two of them, one and an umlaut, or an article with its noun."""
    signs = {word for word in _WORD.findall(text.lower()) if word in _SIGNS}
    return len(signs) > 1 or bool(signs and _UMLAUT.search(text)) or _NOUN.search(text) is not None
