"""Authors and dates as the styles of citation write them; both may be missing, or be anything."""

from __future__ import annotations

import re
from typing import NamedTuple

from podium.brain.words import word_set
from podium.report.words import one_line

_PARTICLES = word_set("van von der den de del della di da dos du la le bin ibn al ter ten zu")
_BODIES = re.compile(
    r"\b(?:"
    r"academ\w*|administration|agenc\w*|alliance|archives?|associat\w*|authority|bank|blog"
    r"|board|bulletin|bureau|centers?|centres?|chronicle|circle|club|collective|college"
    r"|commission|committee|community|company|consortium|corp\w*|council|daily|database"
    r"|department|desk|digest|editors?|encyclop\w*|federal|federation|forum|foundation|fund"
    r"|gazette|group|guide|guild|handbook|herald|inc|initiative|institut\w*|international"
    r"|journal|laborator\w*|labs?|league|library|ltd|magazine|ministry|monitor|monthly"
    r"|museum|national|network|news|newsletter|notes|observatory|office|online|org\w*|panel"
    r"|partnership|post|press|programme|project|quarterly|register|report\w*|research|review"
    r"|roasters|service|society|staff|standards|studio|survey|team|times|today|tribune"
    r"|trust|union|united|universit\w*|watch|weekly|wiki\w*|world|the"
    r")\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?!\d)")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
LONGEST = 80
"""Characters of one name."""


class Name(NamedTuple):
    """A person, or an organisation, which has only a `family`."""

    family: str
    given: str = ""

    @property
    def initials(self) -> str:
        """`Jean-Luc Marie` is `J.-L. M.`"""
        words = [re.sub(r"(\w)[\w'’.]*", r"\1.", word) for word in self.given.split()]
        return " ".join(words)


class Date(NamedTuple):
    """As much of a date as is known."""

    year: int
    month: int = 0
    day: int = 0


def name_of(author: str) -> Name | None:
    """`Jane van der Berg` and `van der Berg, Jane` are one; a body keeps its name as it is."""
    text = one_line(author, LONGEST).strip(" ,;")
    if not any(map(str.isalnum, text)):
        return None
    family, comma, given = (part.strip() for part in text.partition(","))
    if comma and family and given and not _BODIES.search(text):
        return Name(family, given)
    words = text.split()
    if comma or not 2 <= len(words) <= 5 or _BODIES.search(text) or not words[-1][0].isalpha():
        return Name(text)
    if not all(word[0].isupper() or word.lower() in _PARTICLES for word in words):
        return Name(text)
    last = len(words) - 1
    while last > 1 and words[last - 1].lower() in _PARTICLES:
        last -= 1
    return Name(" ".join(words[last:]), " ".join(words[:last]))


def names_of(authors: list[str] | tuple[str, ...]) -> list[Name]:
    return [name for name in map(name_of, authors) if name is not None]


def date_of(text: str) -> Date | None:
    """An ISO date, its beginning, or nothing."""
    found = _DATE.match(text.strip())
    if found is None or not 1000 <= int(found[1]) <= 2999:
        return None
    month, day = int(found[2] or 0), int(found[3] or 0)
    if not 1 <= month <= 12:
        return Date(int(found[1]))
    return Date(int(found[1]), month, day if 1 <= day <= 31 else 0)


def listed(names: list[str], word: str) -> str:
    """`A, and B`, `A, B, and C`, or with `&`: a name may hold a comma, so one stands before the last too."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, {word} {names[-1]}" if names else ""
