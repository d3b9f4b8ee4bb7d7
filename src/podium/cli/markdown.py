"""Markdown on a terminal: headings, lists, tables, emphasis and code, folded to the width."""

from __future__ import annotations

import re
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, ListItem, Markdown, MarkdownElement
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from podium.cli.layout import fit
from podium.report.words import MARKUP, safe

WIDEST = 100
"""Columns of text; longer lines are hard to read."""
NARROWEST = 40
"""On a narrower screen the terminal folds lines itself: nested lists need room."""
MOST_INDENT = 30
"""Columns that nested lists and quotations may take; a text that needs more is shown as it is."""
_INDENTS = {"list_item": 4, "blockquote": 4}
_MOST_NESTING = 100

_THEME = Theme(
    {
        **{f"markdown.h{level}": "none" for level in range(1, 7)},
        "markdown.code": "cyan",
        "markdown.code_block": "cyan",
        "markdown.block_quote": "italic",
        "markdown.hr": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)
_HEADINGS = {"h1": "bold cyan", "h2": "bold cyan", "h3": "bold"}
_LINES = {"h1": "═", "h2": "─"}
"""What a heading is underlined with, so that a title, its parts and their parts differ without colour too."""
_SIGNS = re.compile(
    r"^ {0,3}(#{1,6} |[-*+] |\d{1,9}[.)] |>|```|~~~|\|)|\*\*\S|`[^`\n]+`|\[[^\]\n]+\]\(" + rf"|\\{MARKUP}",
    re.MULTILINE,
)


def is_markdown(text: str) -> bool:
    """Return whether a text uses Markdown; one that does not is shown as it is."""
    return _SIGNS.search(text) is not None


def print_markdown(console: Console, text: str) -> None:
    """Print all of a Markdown text. It cannot steer the terminal, and nothing of it is left out."""
    document = _Document(safe(text))
    if document.indent > MOST_INDENT:
        console.print(Text(document.markup), soft_wrap=True)
        return
    width = max(min(console.width, WIDEST), NARROWEST)
    with console.use_theme(_THEME):
        lines = console.render_lines(document, console.options.update(width=width), pad=False)
        begun = False
        for line in lines:
            parts = [(fit(part.text, console), part.style or "") for part in line if not part.control]
            styled = Text.assemble(*parts)
            styled.rstrip()
            begun = begun or bool(styled.plain)
            if begun:
                console.print(styled, soft_wrap=True)


class _Heading(Heading):
    """A heading at the left. A title is underlined twice over the whole width, a part once."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize(_HEADINGS.get(self.tag, "italic"))
        yield text
        if sign := _LINES.get(self.tag):
            width = options.max_width if self.tag == "h1" else min(cell_len(text.plain), options.max_width)
            yield Text(sign * width, style="dim")


class _Code(CodeBlock):
    """Code, indented and otherwise as it is."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Text(str(self.text).rstrip(), style="markdown.code_block", overflow="fold")
        yield Padding(code, (0, 0, 0, 4))


class _Item(ListItem):
    """An item of a list; a number is followed by a full stop."""

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        width = len(str(last_number)) + 3
        lines = console.render_lines(
            self.elements, options.update(width=options.max_width - width), style=self.style
        )
        style = console.get_style("markdown.item.number", default="none")
        for place, line in enumerate(lines):
            yield Segment((f"{number}. " if place == 0 else "").rjust(width), style)
            yield from line
            yield Segment("\n")


class _Document(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "list_item_open": _Item,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str) -> None:
        """HTML is shown as text, an image as a link, and line ends stay."""
        super().__init__("", hyperlinks=False)
        options = {"html": False, "maxNesting": _MOST_NESTING}
        parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
        self.markup = text
        self.parsed = parser.disable("image").parse(text)
        for block in self.parsed:
            for token in block.children or ():
                if token.type == "softbreak":
                    token.type = "hardbreak"

    @property
    def indent(self) -> int:
        """Columns that the deepest part is indented. Far deeper, the parser would leave text out."""
        now = most = 0
        for token in self.parsed:
            now += token.nesting * _INDENTS.get(token.type.removesuffix("_open").removesuffix("_close"), 0)
            most = max(most, now)
        return most
