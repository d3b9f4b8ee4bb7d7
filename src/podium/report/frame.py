"""The frame of every page that Podium makes, and the templates that stand in it.

`frame.html` forbids scripts and everything remote, and holds the tokens and classes of all pages; a template
of any room extends it. Nothing is markup unless it went through `prose`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from podium.report.costs import price_word
from podium.report.prose import kept_html, prose
from podium.report.words import amount, ceilings, count, duration, money, one_line, safe, size


@cache
def templates_of(package: str) -> Environment:
    """The templates of a package and, behind them, those of all pages; compiled once in a process."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("podium.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "money": money, "duration": duration, "size": size, "amount": amount, "count": count,
        "safe_text": safe, "one_line": one_line, "foldable": foldable, "price_word": price_word,
        "prose": prose, "kept_html": kept_html, "ceilings": ceilings,
    }  # fmt: skip
    environment.filters.update(filters)
    return environment


def foldable(path: str) -> Markup:
    """A step's path that a narrow screen may break after each slash."""
    return Markup("/<wbr>").join(escape(part) for part in path.split("/"))
