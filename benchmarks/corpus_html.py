"""Indexing HTML: documents and megabytes a second, beside a plain loop over the same files.

`python -m benchmarks.corpus_html [FOLDER | DOCUMENTS]`; without a folder it makes pages of 5 to 20 kB, three
of four like documentation, the others like a web site. The goal is 300 documents a second on two cores. The
plain loop parses each file with lxml, takes all of its text and puts it into an FTS5 table, in one process.
Processor time is that of all processes; other work on the machine does not change it much.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sqlite3
import sys
import time
from collections.abc import Awaitable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.corpus import vocabulary
from podium.settings import Settings
from podium.tools.corpus.corpus import open_corpus
from podium.tools.documents import word_vectors as meaning

GOAL_PER_SECOND = 300.0


class Taken(NamedTuple):
    """Seconds on the clock and of the processors."""

    clock: float
    busy: float


class Costs(NamedTuple):
    """What a folder of HTML costs."""

    documents: int
    megabytes: float
    plain: Taken
    podium: Taken
    semantic: Taken | None
    """With vectors, where the extra is installed."""


def write_pages(folder: Path, count: int) -> None:
    """The same pages every time."""
    chance = random.Random(12)
    words = vocabulary(chance)
    for number in range(count):
        size = chance.randrange(5_000, 20_000)
        page = (_web_page if number % 4 == 3 else _manual_page)(number, size, words, chance)
        (folder / f"{number}.html").write_text(page, encoding="utf-8")


def _sentences(words: list[str], chance: random.Random, count: int) -> str:
    lines = (" ".join(chance.choices(words, k=14)).capitalize() for _ in range(count))
    return ". ".join(lines) + "."


def _section(number: int, words: list[str], chance: random.Random) -> str:
    items = "".join(f"<li><p>{_sentences(words, chance, 1)}</p></li>" for _ in range(4))
    terms = " ".join(
        f'<a class="reference" href="#{word}"><code>{word}</code></a>' for word in chance.sample(words, 4)
    )
    return (
        f'<section id="s{number}"><h2>{number}. {chance.choice(words)}'
        f'<a class="headerlink" href="#s{number}">¶</a>'
        f"</h2><p>{_sentences(words, chance, 4)} {terms}</p><ul>{items}</ul>"
        f"<pre>{chance.choice(words)} --{chance.choice(words)}\n    {chance.choice(words)}</pre></section>"
    )


def _manual_page(number: int, size: int, words: list[str], chance: random.Random) -> str:
    links = "".join(f'<li><a href="{n}.html">{chance.choice(words)}</a></li>' for n in range(20))
    parts, length = list[str](), 0
    while length < size - 2_500:
        parts.append(_section(len(parts) + 1, words, chance))
        length += len(parts[-1])
    return (
        f"<!DOCTYPE html><html><head><meta charset=utf-8><title>Manual {number}</title></head><body>"
        f'<div class="related" role="navigation"><ul>{links}</ul></div>'
        f'<div class="body" role="main"><h1>Manual {number}</h1>'
        f'{"".join(parts)}</div><div class="sphinxsidebar"><ul>{links}</ul></div></body></html>'
    )


def _web_page(number: int, size: int, words: list[str], chance: random.Random) -> str:
    teasers = "".join(
        f'<div class="card c{n}"><div><a href="/{n}"><span>{_sentences(words, chance, 1)}</span></a>'
        "</div></div>"
        for n in range(12)
    )
    scripts = "<script>window.q=window.q||[];q.push(['track',1]);</script>" * 15
    text = "".join(f"<p>{_sentences(words, chance, 5)}</p>" for _ in range(max((size - 4_000) // 500, 3)))
    return (
        f"<!DOCTYPE html><html><head><meta charset=utf-8><title>Story {number}</title>{scripts}</head><body>"
        f'<div class="top">{teasers}</div><div class="story"><h1>Story {number}</h1>{text}</div>'
        "</body></html>"
    )


def plainly(files: list[Path], database: Path) -> int:
    """What one would write: all text of each page into a table, in one process."""
    html: Any = import_module("lxml.html")
    db = sqlite3.connect(database)
    db.execute("CREATE VIRTUAL TABLE words USING fts5 (path, body, tokenize = 'porter unicode61')")
    with db:
        for file in files:
            text = html.fromstring(file.read_bytes()).text_content()
            db.execute("INSERT INTO words VALUES (?, ?)", (file.name, text))
    (count,) = db.execute("SELECT count(*) FROM words").fetchone()
    db.close()
    return count


async def measure(docs: Path, folder: Path) -> Costs:
    """Index a folder plainly, with Podium, and with vectors."""
    files = await asyncio.to_thread(lambda: [file for file in docs.rglob("*.htm*") if file.is_file()])
    with_vectors = meaning.is_installed()
    return Costs(
        documents=len(files),
        megabytes=sum(file.stat().st_size for file in files) / 1e6,
        plain=await _taken(asyncio.to_thread(plainly, files, folder / "plain.sqlite")),
        podium=await _taken(_index(docs, folder / "words.sqlite", semantic=False)),
        semantic=await _taken(_index(docs, folder / "both.sqlite", semantic=True)) if with_vectors else None,
    )


async def _index(docs: Path, store: Path, *, semantic: bool) -> None:
    await open_corpus(docs, Settings(store=f"sqlite:///{store}"), semantic=semantic)


async def _taken(work: Awaitable[object]) -> Taken:
    clock, busy = time.perf_counter(), _busy()
    await work
    return Taken(time.perf_counter() - clock, _busy() - busy)


def _busy() -> float:
    """Processor time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def render(costs: Costs) -> str:
    """A line for each way, the plain loop first, with the time and the processor time against it."""
    lines = [f"{costs.documents:,} pages, {costs.megabytes:.1f} MB"]
    for name, taken in (("plain", costs.plain), ("podium", costs.podium), ("vectors", costs.semantic)):
        if taken is None:
            continue
        rate = costs.documents / taken.clock
        goal = "" if name == "plain" else "  met" if rate >= GOAL_PER_SECOND else "  missed"
        each, against = taken.busy / costs.documents * 1000, taken.busy / costs.plain.busy
        lines.append(
            f"{name:<8} {rate:>8,.0f}/s {costs.megabytes / taken.clock:>7.2f} MB/s "
            f"{taken.clock / costs.plain.clock:>6.2f}×   "
            f"processor {each:>6.2f} ms a page {against:>6.2f}×{goal}"
        )
    return "\n".join(lines)


async def main(given: str) -> None:
    with TemporaryDirectory(prefix="podium-html-") as name:
        folder = Path(name)
        docs = Path(given) if given and not given.isdecimal() else folder / "docs"
        if docs.parent == folder:
            docs.mkdir()
            write_pages(docs, int(given or 2_000))
        print(render(await measure(docs, folder)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
