"""HTML report, its templates, and sanitizing.

`frame.html` forbids scripts and remote content, and contains the design tokens and classes of all pages;
every page template extends it. Text is escaped unless it went through `prose`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import nh3
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from podium.report.data import ReportData, StepFacts, price_word
from podium.report.messages import ShownConversation, notes_of
from podium.report.presentation import Section
from podium.report.words import (
    SCORES_MADE_UP,
    amount,
    ceilings,
    count,
    duration,
    money,
    one_line,
    pretty,
    safe,
    scored,
    shorten,
    size,
    without_title,
)

_TAGS = {
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
}
_ATTRIBUTES = {"a": {"href", "title"}, "td": {"align"}, "th": {"align"}, "ol": {"start"}}


def prose(text: str, *extensions: Callable[[MarkdownIt], None]) -> Markup:
    """Return Markdown as sanitized HTML. An image becomes a link: opening a report must not cause requests.

    An extension may add syntax to the parser; its output is sanitized like everything else.
    """
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
    parser.disable("image")
    for extend in extensions:
        extend(parser)
    rendered = parser.render(safe(text))
    clean = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)


# ── what a log kept ──────────────────────────────────────────────────────────────────────────────

_KEPT_TAGS = (_TAGS - {"h1"}) | {"cite", "mark", "section"}
_KEPT_ATTRIBUTES = {
    **_ATTRIBUTES,
    "*": {"class", "id", "aria-label", "tabindex"},
    "span": {"aria-hidden"},
}
_NAME = re.compile(r"[a-z]{1,20}-?\d{0,6}")


def kept_html(html: str) -> Markup:
    """Sanitize HTML that one of our workflows made and a log contains, because a log can be edited.

    Unlike rendered text, it may have classes, and ids as targets of its own links. Nothing in it may overlay
    the page.
    """
    clean = nh3.clean(
        safe(html),
        tags=_KEPT_TAGS,
        attributes=_KEPT_ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)


def _kept(tag: str, name: str, value: str) -> str | None:
    if name == "class":
        return " ".join(word for word in value.split() if _NAME.fullmatch(word)) or None
    if name == "id":
        return value if _NAME.fullmatch(value) else None
    if name == "href" and not value.startswith(("http://", "https://")):
        return value if value.startswith("#") and _NAME.fullmatch(value[1:]) else None
    return "-1" if name == "tabindex" else value


@cache
def templates_of(package: str) -> Environment:
    """Return the template environment of a package, with the shared templates as fallback. Cached per
    process."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("podium.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "money": money,
        "duration": duration,
        "size": size,
        "amount": amount,
        "count": count,
        "safe_text": safe,
        "one_line": one_line,
        "foldable": foldable,
        "price_word": price_word,
        "prose": prose,
        "kept_html": kept_html,
        "ceilings": ceilings,
        "scored": scored,
    }
    environment.filters.update(filters)
    return environment


def foldable(path: str) -> Markup:
    """Return a step's path that a narrow screen may break after each slash."""
    return Markup("/<wbr>").join(escape(part) for part in path.split("/"))


BARS = 80
"""Maximum number of steps in the timeline; the table contains more."""

MOST_STEPS = 300
MOST_ARTIFACTS = 40
"""Maximum number of table rows. A run may have thousands, and the page has to open."""

MOST_MESSAGES = 200
LONGEST_MESSAGE = 10_000
"""Messages of a conversation, and characters of one; the JSON report contains everything."""

LONGEST_REQUEST = 10_000
"""Characters of the request that the footer repeats; some requests are whole books."""

SIGNS = {
    "completed": "✓",
    "partial": "◐",
    "failed": "✗",
    "waiting": "?",
    "paused": "■",
    "cancelled": "■",
    "running": "●",
    "queued": "○",
    "interrupted": "■",
    "stale": "↻",
}


def to_html(facts: ReportData, sections: Sequence[Section] = (), answer: Section | None = None) -> str:
    """Return the report as a self-contained page. `answer` shows the deliverable if plain Markdown cannot."""
    page = templates_of("podium.report").get_template("report.html")
    document = without_title(facts.deliverable, facts.request) if facts.deliverable else ""
    has_data = facts.deliverable is None and facts.output is not None
    return page.render(
        facts=facts,
        rehearsal=facts.rehearsal,
        title=shorten(one_line(facts.request), 120),
        request=shorten(safe(facts.request), LONGEST_REQUEST),
        answer=prose(document) if document and answer is None else None,
        shown=_rendered(answer) if answer is not None else None,
        data=safe(pretty(facts.output)) if has_data else "",
        sections=[
            (section.title, made_up_note(facts.rehearsal and section.scored) + _rendered(section))
            for section in sections
        ],
        styles=[Markup(style) for style in dict.fromkeys(_styles(sections, answer))],
        bars=bars(facts.steps),
        steps=telling_steps(facts.steps),
        artifacts=facts.artifacts[:MOST_ARTIFACTS],
        costs=any(step.usage.usd for step in facts.steps),
        retries=any(step.retries for step in facts.steps),
        signs=SIGNS,
        talks=[(talk.title, _messages(talk)) for talk in facts.conversations],
    )


def _messages(talk: ShownConversation) -> list[dict[str, Any]]:
    """Return the last messages of a conversation for the page."""
    return [
        {
            "who": message.who,
            "role": message.role,
            "answer": prose(shorten(message.text, LONGEST_MESSAGE)) if message.final else None,
            "text": shorten(safe(message.text), LONGEST_MESSAGE),
            "files": message.files,
            "cost": message.cost_usd,
            "calls": [
                {
                    "words": call.words,
                    "state": call.state,
                    "notes": notes_of(call)[1:],
                    "arguments": shorten(safe(pretty(call.arguments)), LONGEST_MESSAGE),
                    "result": shorten(safe(call.result), LONGEST_MESSAGE),
                    "id": call.call_id,
                }
                for call in message.calls
            ],
        }
        for message in talk.messages[-MOST_MESSAGES:]
    ]


def made_up_note(made_up: bool) -> Markup:
    return Markup('<p class="warn">{}</p>\n').format(SCORES_MADE_UP) if made_up else Markup("")


def _rendered(section: Section) -> Markup:
    page = templates_of(section.package).get_template(section.template)
    return Markup(page.render(data=section.data, **section.context))


def _styles(sections: Sequence[Section], answer: Section | None) -> list[str]:
    """Return the source of each CSS file that is needed."""
    needed = [answer, *sections] if answer is not None else sections
    return [_source(section) for section in needed if section.style]


def _source(section: Section) -> str:
    loader = PackageLoader(section.package)
    return loader.get_source(templates_of(section.package), section.style)[0]


def telling_steps(steps: list[StepFacts]) -> list[StepFacts]:
    """Return the steps for the table, in order. If there are too many, completed ones are dropped first."""
    if len(steps) <= MOST_STEPS:
        return steps
    by_interest = sorted(range(len(steps)), key=lambda nth: (steps[nth].status == "completed", nth))
    return [steps[nth] for nth in sorted(by_interest[:MOST_STEPS])]


def bars(steps: list[StepFacts]) -> list[dict[str, Any]]:
    """Return the timeline: position and width of each step between the first start and the last end, in
    percent."""
    timed = [step for step in steps if step.duration_s is not None and not step.inherited]
    if len(timed) < 2:
        return []
    begin = min(step.offset_s for step in timed)
    whole = max(step.offset_s + (step.duration_s or 0) for step in timed) - begin
    if whole <= 0:
        return []
    return [
        {
            "left": round(100 * (step.offset_s - begin) / whole, 2),
            "width": max(round(100 * (step.duration_s or 0) / whole, 2), 0.4),
            "step": step,
        }
        for step in timed[:BARS]
    ]
