"""Citation styles and author names.

The result is Markdown. Metadata of sources is escaped, so it cannot add markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from podium.brain.vocabulary import word_set
from podium.report.markdown import cell
from podium.report.words import one_line, site_of, web_address
from podium.workflows.research.measures.markup import CITATION, ids_of

if TYPE_CHECKING:
    from podium.workflows.research.contracts import Source


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
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
LONGEST = 80
"""Maximum characters of a name."""


class Name(NamedTuple):
    """A person, or an organisation, which has only a `family`."""

    family: str
    given: str = ""

    @property
    def initials(self) -> str:
        """`J.-L. M.` for `Jean-Luc Marie`."""
        words = [re.sub(r"(\w)[\w'’.]*", r"\1.", word) for word in self.given.split()]
        return " ".join(words)


class Date(NamedTuple):
    """A date, as far as it is known."""

    year: int
    month: int = 0
    day: int = 0


def name_of(author: str) -> Name | None:
    """Parse an author's name. `Jane van der Berg` and `van der Berg, Jane` give the same; an organisation
    keeps its name."""
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
    """Parse an ISO date or its beginning. None if there is none."""
    match = _DATE.match(text.strip())
    if match is None or not 1000 <= int(match[1]) <= 2999:
        return None
    month, day = int(match[2] or 0), int(match[3] or 0)
    if not 1 <= month <= 12:
        return Date(int(match[1]))
    return Date(int(match[1]), month, day if 1 <= day <= 31 else 0)


def listed(names: list[str], word: str) -> str:
    """Join names: `A, and B`, `A, B, and C`, or with `&`. A name may contain a comma, so there is one before
    the last too."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, {word} {names[-1]}" if names else ""


STYLES = ("apa", "mla", "chicago", "numeric")
_MLA_MONTHS = (
    "Jan.",
    "Feb.",
    "Mar.",
    "Apr.",
    "May",
    "June",
    "July",
    "Aug.",
    "Sept.",
    "Oct.",
    "Nov.",
    "Dec.",
)
SHORT = 4
"""Words of a title that replaces a missing author."""


class Reference(NamedTuple):
    """One entry of the references."""

    source_id: str
    mark: str
    """Citation text: `Smith, 2020`, or `3`."""
    text: str
    """Markdown."""


class Rendered(NamedTuple):
    """An article with rendered citations, and its bibliography as Markdown."""

    markdown: str
    bibliography: str


class _Cited(NamedTuple):
    """A source with the data that the styles need."""

    source: Source
    names: list[Name]
    date: Date | None
    suffix: str
    """`a`, `b` if author and year are the same for several sources."""
    number: int
    ambiguous: bool
    """Another cited source has the same author."""


def render(markdown: str, sources: Sequence[Source], style: str = "numeric") -> Rendered:
    """Replace every `[@s3; @s7]` with the style's citation. Unknown ids are removed."""
    style = style if style in STYLES else "numeric"
    entries = {entry.source_id: entry for entry in references(markdown, sources, style)}

    def put(match: re.Match[str]) -> str:
        marks = [entries[source_id].mark for source_id in ids_of(match[0]) if source_id in entries]
        if not marks:
            return "" if ids_of(match[0]) else match[0]
        if style == "numeric":
            numbers = ", ".join(sorted(marks, key=int))
            after = match.string[match.end() : match.end() + 1]
            starts = not match.string[: match.start()].rpartition("\n")[2].strip()
            plain = after not in ("(", "[") and not (after == ":" and starts)
            return f"{match[1]}[{numbers}]" if plain else f"{match[1]}\\[{numbers}\\]"
        return f"{match[1]}({'; '.join(marks)})"

    text = re.sub(r"([ \t]?)" + CITATION.pattern, put, markdown)
    return Rendered(text, bibliography(list(entries.values()), style))


def references(markdown: str, sources: Sequence[Source], style: str = "numeric") -> list[Reference]:
    """Return the cited sources in the order of the style: by number or by name."""
    known = {source.id: source for source in sources}
    source_ids = dict.fromkeys(
        source_id for group in CITATION.findall(markdown) for source_id in ids_of(group) if source_id in known
    )
    gathered = _gathered([known[source_id] for source_id in source_ids])
    entries = [(cited, Reference(cited.source.id, *_WRITERS[style](cited))) for cited in gathered]
    if style != "numeric":
        entries.sort(key=lambda pair: (_sorting(pair[0]), pair[0].suffix, pair[0].number))
    return [entry for _, entry in entries]


def bibliography(entries: Sequence[Reference], style: str = "numeric") -> str:
    """Return references as a Markdown list."""
    sign = "{0}. " if style == "numeric" else "- "
    return "\n".join(sign.format(entry.mark) + entry.text for entry in entries)


def _gathered(sources: list[Source]) -> list[_Cited]:
    """Collect everything that is needed to distinguish the sources."""
    names = [names_of(source.authors) for source in sources]
    dates = [date_of(source.published) for source in sources]
    keys = [
        (_who(source, name), date and date.year)
        for source, name, date in zip(sources, names, dates, strict=True)
    ]
    who = [key[0] for key in keys]
    return [
        _Cited(
            source,
            names[nth],
            dates[nth],
            _letter(keys[:nth].count(keys[nth])) if keys.count(keys[nth]) > 1 else "",
            nth + 1,
            who.count(who[nth]) > 1,
        )
        for nth, source in enumerate(sources)
    ]


def _letter(nth: int) -> str:
    """Return `a` to `z`, then `aa`."""
    return (_letter(nth // 26 - 1) if nth >= 26 else "") + chr(ord("a") + nth % 26)


def _sorting(cited: _Cited) -> str:
    first = cited.names[0] if cited.names else None
    key = (
        f"{first.family} {first.given}"
        if first
        else re.sub(r"^(?:the|an?)\s+", "", _title(cited.source).lower())
    )
    return f"{key} {cited.date.year if cited.date else ''}".casefold()


# ── parts of a citation ──────────────────────────────────────────────────────────────────────────


def _title(source: Source) -> str:
    return one_line(source.title, 300) or "Untitled"


def _short(source: Source) -> str:
    words = _title(source).split()
    return " ".join(words[:SHORT]).rstrip(".,;:") + (" …" if len(words) > SHORT else "")


def _who(source: Source, names: list[Name], word: str = "and") -> str:
    """Return the authors for the text: one, two, or the first of many; without any, the title."""
    if not names:
        return f"“{cell(_short(source), 120)}”"
    if len(names) > 2:
        return f"{cell(names[0].family, 120)} et al."
    return f" {word} ".join(cell(name.family, 120) for name in names)


def _marked(who: str, rest: str) -> str:
    """Join author and rest. A comma goes inside the quotation marks of a title."""
    return f"{who[:-1]},”{rest[1:]}" if who.endswith("”") and rest.startswith(",") else who + rest


def _ended(text: str) -> str:
    """End a text with one full stop."""
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def _where(source: Source, *, retrieved: str = "") -> str:
    """Return the link to a page, or the name of a corpus document."""
    link = web_address(source.url)
    if link:
        return f"{retrieved}<{link}>"
    if source.url.startswith("corpus:"):
        return f"Document {cell(source.url.removeprefix('corpus:'), 200)}."
    return ""


def _long_date(date: Date, *, months: Sequence[str] = MONTHS, day_first: bool = False) -> str:
    if not date.month:
        return str(date.year)
    month = months[date.month - 1]
    if not date.day:
        return f"{month} {date.year}"
    return f"{date.day} {month} {date.year}" if day_first else f"{month} {date.day}, {date.year}"


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


# ── styles ───────────────────────────────────────────────────────────────────────────────────────


def _apa(cited: _Cited) -> tuple[str, str]:
    source, date = cited.source, cited.date
    year = (
        f"{date.year if date else 'n.d.'}{('-' if not date else '') + cited.suffix if cited.suffix else ''}"
    )
    when = year
    if date and date.month:
        when += f", {MONTHS[date.month - 1]}{f' {date.day}' if date.day else ''}"
    names = [
        cell(f"{name.family}, {name.initials}" if name.given else name.family, 160) for name in cited.names
    ]
    names = [*names[:19], "…", names[-1]] if len(names) > 20 else names
    title = f"*{_ended(cell(_title(source), 300))}*"
    read = date_of(source.retrieved_at)
    where = _where(source, retrieved=f"Retrieved {_long_date(read)}, from " if read and not date else "")
    site = site_of(source.url)
    head = [f"{_ended(listed(names, '&'))} ({when}).", title] if names else [title, f"({when})."]
    return _marked(_who(source, cited.names, "&"), f", {year}"), _joined(
        *head, site and f"{cell(site, 80)}.", where
    )


def _mla(cited: _Cited) -> tuple[str, str]:
    source, date, names = cited.source, cited.date, cited.names
    first = [cell(f"{name.family}, {name.given}" if name.given else name.family, 160) for name in names[:1]]
    second = [cell(f"{name.given} {name.family}".strip(), 160) for name in names[1:2]]
    who = f"{first[0]}, et al." if len(names) > 2 else ", and ".join(first + second)
    site = site_of(source.url)
    parts = [
        f"*{cell(site, 80)}*" if site else "",
        _long_date(date, months=_MLA_MONTHS, day_first=True) if date else "",
        _where(source),
    ]
    read = date_of(source.retrieved_at)
    seen = f"Accessed {_long_date(read, months=_MLA_MONTHS, day_first=True)}." if read and not date else ""
    mark = _who(source, names)
    mark += f", “{cell(_short(source), 120)}”" if cited.ambiguous and names else ""
    text = _joined(who and _ended(who), f"“{_ended(cell(_title(source), 300))}”")
    return mark, _joined(text, _ended(", ".join(part for part in parts if part)) if any(parts) else "", seen)


def _chicago(cited: _Cited) -> tuple[str, str]:
    source, date, names = cited.source, cited.date, cited.names
    year = f"{date.year if date else 'n.d.'}{cited.suffix}"
    first = [cell(f"{name.family}, {name.given}" if name.given else name.family, 160) for name in names[:1]]
    others = [cell(f"{name.given} {name.family}".strip(), 160) for name in names[1:]]
    shown = [*first, *others] if len(names) <= 10 else [*first, *others[:6], "et al."]
    who = listed(shown, "and") if len(names) <= 10 else ", ".join(shown)
    read = date_of(source.retrieved_at)
    site = site_of(source.url)
    when = f"{_long_date(date)}." if date and date.month else ""
    seen = f"Accessed {_long_date(read)}." if read and not date else ""
    title = f"“{_ended(cell(_title(source), 300))}”"
    head = [_ended(who), f"{_ended(year)}", title] if who else [title, _ended(year)]
    tail = [site and f"{cell(site, 80)}.", when, seen, _where(source)]
    return _marked(_who(source, names), f"{'' if date else ','} {year}"), _joined(*head, *tail)


def _numeric(cited: _Cited) -> tuple[str, str]:
    source = cited.source
    names = [cell(f"{name.given} {name.family}".strip(), 160) for name in cited.names]
    who = f"{', '.join(names[:3])} et al." if len(names) > 3 else ", ".join(names)
    site = site_of(source.url)
    when = _long_date(cited.date) if cited.date else "no date" if site else ""
    parts = [
        who and _ended(who),
        f"*{_ended(cell(_title(source), 300))}*",
        site and f"{cell(site, 80)},",
        when and f"{when}.",
    ]
    return str(cited.number), _joined(*parts, _where(source))


_WRITERS: dict[str, Callable[[_Cited], tuple[str, str]]] = {
    "apa": _apa,
    "mla": _mla,
    "chicago": _chicago,
    "numeric": _numeric,
}
