"""Parser for an article's Markdown: its blocks and the citations `[@s3; @s7]` in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, cast

import msgspec
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from podium.report.words import safe

CITATION = re.compile(r"\[\s?@[^\[\]]{1,300}\]")
"""One citation of one or more sources, as the writer may write it."""
_ID = re.compile(r"@([A-Za-z][\w-]{0,39})")
OPEN, CLOSE = "\ue000", "\ue001"
"""Delimiters of the ids of a citation in a block's text. Articles may not contain these characters."""
CITED = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}")
BETWEEN_CELLS = " · "
"""Separator of the cells of a table row."""
MOST_BRACKETS = 5_000
"""Far more than the citations and links of an article. Parsing time grows with the square of their number, so
a text with more is parsed without them."""
_MARKS = re.compile(f"[{OPEN}{CLOSE}]")
_LEADING = re.compile(r"^(```|~~~)[^\n]*\n(?:(?!\1)[^\n]*\n)*|(?<=\n\n) (?=[^\s\d*+>|#-])", re.MULTILINE)
"""A block of code, or the space before a paragraph."""

Kind = Literal["heading", "paragraph", "item", "row", "quote", "code"]
_KINDS: dict[str, Kind] = {"heading_open": "heading", "list_item_open": "item", "blockquote_open": "quote"}


class Block(msgspec.Struct, frozen=True):
    """A heading, a paragraph, an item of a list, a row of a table or a piece of code."""

    kind: Kind
    text: str
    """One line without markup. A citation is represented by its ids between `OPEN` and `CLOSE`."""
    level: int = 0
    """Heading level, 1 to 6."""
    quoted: bool = False
    """The block is part of a block quotation."""
    links: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    """Column heading of each cell of a table row. Empty for the heading row itself."""


def ids_of(citation: str) -> list[str]:
    """Return the source ids of one citation, without duplicates, in order."""
    return list(dict.fromkeys(source_id.lower() for source_id in _ID.findall(citation)))


def cleaned(markdown: str) -> str:
    """Clean a text for all measures and pages: remove control characters, our own delimiters, and a space
    before a paragraph, which a removed sentence may leave."""
    text = _LEADING.sub(lambda match: match[0] if match[1] else "", _MARKS.sub("", safe(markdown)))
    return text if text.count("[") <= MOST_BRACKETS else text.replace("[", "(")


def understands_citations(parser: MarkdownIt) -> None:
    """Add citations to a Markdown parser. Link definitions are disabled, so `[@s3]: x` is text."""
    parser.disable(["image", "reference"])
    parser.inline.ruler.before("link", "citation", _citation)


def _citation(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith(("[@", "[ @"), state.pos):
        return False
    match = CITATION.match(state.src, state.pos, state.posMax)
    ids = ids_of(match[0]) if match else []
    if match is None or not ids:
        return False
    if not silent:
        state.push("citation", "", 0).meta = {"ids": ids}
    state.pos = match.end()
    return True


@lru_cache(maxsize=4)
def blocks_of(markdown: str) -> tuple[Block, ...]:
    """Return all blocks in order."""
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
    understands_citations(parser)
    return tuple(_blocks(parser.parse(cleaned(markdown))))


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    inside: list[str] = []
    cells: list[str] = []
    headings: list[str] = []
    level = 0
    for token in tokens:
        if token.nesting == 1:
            inside.append(token.type)
            level = int(token.tag[1:]) if token.type == "heading_open" else 0
        elif token.nesting == -1:
            inside.pop()
            if token.type == "tr_close" and any(cells):
                filled = [nth for nth, cell in enumerate(cells) if cell]
                text, own = (
                    BETWEEN_CELLS.join(filter(None, cells)),
                    [headings[nth] for nth in filled if headings],
                )
                yield Block("row", text, headings=tuple(own))
            if token.type == "tr_close":
                headings = cells if "thead_open" in inside else headings
                cells = []
            elif token.type == "table_close":
                headings = []
        elif token.type in ("fence", "code_block"):
            yield Block("code", token.content)
        elif token.type == "inline" and "tr_open" in inside:
            cells.append(_text(token))
        elif token.type == "inline" and (text := _text(token)):
            links = tuple(
                str(child.attrs["href"]) for child in token.children or () if child.type == "link_open"
            )
            yield Block(_kind(inside), text, level, "blockquote_open" in inside, links)


def _kind(inside: list[str]) -> Kind:
    """Return the kind of the innermost known container."""
    for container in reversed(inside):
        if container in _KINDS:
            return _KINDS[container]
    return "paragraph"


def _text(token: Token) -> str:
    """Return the visible text of a block."""
    parts: list[str] = []
    for child in token.children or ():
        if child.type == "citation":
            parts.append(OPEN + ";".join(cast("list[str]", child.meta["ids"])) + CLOSE)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        else:
            parts.append(child.content)
    return " ".join("".join(parts).split())


def without_citations(text: str) -> str:
    """Return the text of a block or a sentence without citations."""
    return " ".join(re.sub(r"\s*" + CITED.pattern, "", text).split())


def prose_of(markdown: str) -> list[str]:
    """Return the texts of paragraphs, list items and quotations, without citations."""
    kinds = ("paragraph", "item", "quote")
    texts = (without_citations(block.text) for block in blocks_of(markdown) if block.kind in kinds)
    return [text for text in texts if text]
