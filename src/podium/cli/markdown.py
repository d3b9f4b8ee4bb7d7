"""Markdown on a terminal: headings, lists, tables, emphasis and code, wrapped to the width."""

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
"""Maximum text width in columns; longer lines are hard to read."""
NARROWEST = 40
"""Minimum width in columns, because nested lists need space. On a narrower screen the terminal wraps lines
itself."""
MOST_INDENT = 30
"""Maximum indentation of nested lists and quotations, in columns. A text that needs more is printed
as it is."""
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
"""Underline characters of headings, so that heading levels also differ without colour."""
_SIGNS = re.compile(
    r"^ {0,3}(#{1,6} |[-*+] |\d{1,9}[.)] |>|```|~~~|\|)|\*\*\S|`[^`\n]+`|\[[^\]\n]+\]\(" + rf"|\\{MARKUP}",
    re.MULTILINE,
)


def is_markdown(text: str) -> bool:
    """Return whether a text uses Markdown. A text that does not is printed as it is."""
    return _SIGNS.search(text) is not None


def print_markdown(console: Console, text: str) -> None:
    """Print a Markdown text in full. Terminal control sequences in it have no effect."""
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
    """A left-aligned heading. Level 1 has a double underline over the whole width, level 2 a single one below
    its text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize(_HEADINGS.get(self.tag, "italic"))
        yield text
        if sign := _LINES.get(self.tag):
            width = options.max_width if self.tag == "h1" else min(cell_len(text.plain), options.max_width)
            yield Text(sign * width, style="dim")


class _Code(CodeBlock):
    """A code block, indented and otherwise unchanged."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Text(str(self.text).rstrip(), style="markdown.code_block", overflow="fold")
        yield Padding(code, (0, 0, 0, 4))


class _Item(ListItem):
    """A list item; a number is followed by a full stop."""

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
        """Parse the text. HTML is shown as text, an image as a link, and line breaks are kept."""
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
        """Return the maximum indentation in columns. With far deeper nesting, the parser would drop text."""
        now = most = 0
        for token in self.parsed:
            now += token.nesting * _INDENTS.get(token.type.removesuffix("_open").removesuffix("_close"), 0)
            most = max(most, now)
        return most
