"""A corpus: how fast a folder is indexed, and how fast it answers, beside reading every file each time.

`python -m benchmarks.corpus [DOCUMENTS …]`; the goals are 300 documents a second and, with 10,000 documents,
50 ms a search.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import accumulate
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from podium.settings import Settings
from podium.tools.corpus.corpus import Corpus, open_corpus

GOAL_MS = 50.0
GOAL_PER_SECOND = 300.0
GOAL_AT = 10_000
ROUNDS = 5
QUESTIONS = (
    "how does water temperature change the extraction of coffee",
    "storage of green beans",
    "grinder burr alignment",
    "which minerals make water hard",
    '"cold brew" and caffeine',
    "harvest",
)
_TERMS = (
    "coffee", "water", "brew", "beans", "temperature", "filter", "roast", "extraction", "storage", "harvest",
    "green", "cold", "acid", "grinder", "caffeine", "minerals", "aroma", "pressure", "sugar", "farm", "hard",
    "altitude", "burr", "change", "moisture", "crema", "alignment", "auction", "defect", "density",
)  # fmt: skip
"""From the most frequent to the rarest."""


class Costs(NamedTuple):
    """What one size of folder costs."""

    documents: int
    per_second: float
    """Documents indexed a second, from an empty index."""
    again_ms: float
    """Looking whether anything changed, when nothing did."""
    search_ms: float
    """Each question asked several times: the median of the medians, and the largest of them."""
    worst_ms: float
    cpu_ms: float
    """Processor time of the slowest question: what the search itself takes, also on a busy machine."""
    scan_ms: float
    """The same questions by reading every file and ranking with BM25 in Python."""


def write_documents(folder: Path, count: int) -> None:
    """Notes of some 300 words, every tenth of them a page of HTML; the same every time. Words are as
    frequent as in a language: the second half as often as the first, the third a third as often."""
    chance = random.Random(11)
    words = vocabulary(chance)
    weights = list(accumulate(1 / rank for rank in range(3, len(words) + 3)))
    for number in range(count):
        said = chance.choices(words, cum_weights=weights, k=300)
        text = ". ".join(" ".join(said[start : start + 15]).capitalize() for start in range(0, 300, 15))
        place = folder / f"part-{number % 50:02d}"
        place.mkdir(exist_ok=True)
        if number % 10:
            head = f"---\ntitle: Note {number} on {said[0]}\ndate: 2024-03-{number % 28 + 1:02d}\n---\n"
            (place / f"{number}.md").write_text(f"{head}\n# Note\n\n{text}.\n")
        else:
            page = f"<html><head><title>Page {number}</title></head><body><article><p>{text}.</p></article>"
            (place / f"{number}.html").write_text(page)


def vocabulary(chance: random.Random) -> list[str]:
    """Three thousand words of no language, with those of the questions strewn among the frequent ones."""
    parts = ["".join(chance.choice(part) for part in ("bdfgklmnprstv", "aeiou", "lmnrst")) for _ in range(60)]
    words = list(dict.fromkeys(first + second for first in parts for second in parts))[:3_000]
    for place, term in enumerate(_TERMS):
        words.insert(2 + place * 5, term)
    return words


async def measure(count: int, folder: Path) -> Costs:
    """Index, look again, search; then the plain way over the same files."""
    documents = folder / f"documents-{count}"
    documents.mkdir()
    write_documents(documents, count)
    settings = Settings(store=f"sqlite:///{folder}/store-{count}.sqlite")
    begin = time.perf_counter()
    corpus = await open_corpus(documents, settings)
    indexed = time.perf_counter() - begin
    again = await _timed(lambda: open_corpus(documents, settings))
    times, busy = zip(*[await _search(corpus, question) for question in QUESTIONS], strict=True)
    scans = [
        await _timed(lambda question=question: _plainly(documents, question)) for question in QUESTIONS[:2]
    ]
    return Costs(
        documents=count,
        per_second=corpus.documents / indexed,
        again_ms=again,
        search_ms=statistics.median(times),
        worst_ms=max(times),
        cpu_ms=max(busy),
        scan_ms=statistics.median(scans),
    )


async def _search(corpus: Corpus, question: str) -> tuple[float, float]:
    """Medians of what passed on the clock, and of what the processor did."""
    clock, busy = list[float](), list[float]()
    for _ in range(ROUNDS):
        begin = time.process_time()
        clock.append(await _timed(lambda: corpus.search(question, 10)))
        busy.append((time.process_time() - begin) * 1000)
    return statistics.median(clock), statistics.median(busy)


async def _timed(call: Callable[[], Awaitable[Any]]) -> float:
    begin = time.perf_counter()
    await call()
    return (time.perf_counter() - begin) * 1000


async def _plainly(folder: Path, question: str) -> list[Path]:
    """What one would write without an index: read all, count words, rank by BM25."""
    return await asyncio.to_thread(_scan, folder, question)


def _scan(folder: Path, question: str) -> list[Path]:
    asked = re.findall(r"\w+", question.lower())
    found: list[tuple[Path, Counter[str]]] = []
    for file in folder.rglob("*.*"):
        found.append((file, Counter(re.findall(r"\w+", file.read_text().lower()))))
    mean = sum(counts.total() for _, counts in found) / len(found)
    weights = {word: log(len(found) / (1 + sum(word in counts for _, counts in found))) for word in asked}

    def score(counts: Counter[str]) -> float:
        long = 1.2 * (0.25 + 0.75 * counts.total() / mean)
        return sum(weights[word] * counts[word] * 2.2 / (counts[word] + long) for word in asked)

    return [file for file, _ in sorted(found, key=lambda pair: -score(pair[1]))[:10]]


def goals(cost: Costs) -> str:
    """What is to be held against the goals, at the size that they are set for."""
    if cost.documents != GOAL_AT:
        return ""
    met = cost.worst_ms < GOAL_MS and cost.per_second >= GOAL_PER_SECOND
    return "met" if met else "missed"


async def main(counts: list[int]) -> None:
    titles = ("documents", "indexed/s", "again ms", "search ms", "worst ms", "worst cpu ms", "plain scan ms")
    print(" ".join(f"{title:>13}" for title in titles))
    with TemporaryDirectory(prefix="podium-corpus-") as folder:
        for count in counts:
            cost = await measure(count, Path(folder))
            figures = " ".join(f"{figure:>13,.1f}" for figure in cost[1:])
            print(f"{count:>13,} {figures}  {goals(cost)}")


if __name__ == "__main__":
    asyncio.run(main([int(word) for word in sys.argv[1:] if word.isdecimal()] or [1_000, 10_000]))
