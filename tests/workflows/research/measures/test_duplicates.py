"""Several forms of one text are one work."""

from __future__ import annotations

import hashlib
import random

import msgspec

from podium.engine.log import Store
from podium.tools.sources.providers import Found, Retrieved
from podium.workflows.research.measures.quotes import is_contained, works_of
from tests.workflows.research.crew import Crew, Shelves, study

WORDS = (
    "upload", "keyring", "sponsor", "server", "question", "letter", "northern", "station", "several",
    "winter", "person", "contest",
)  # fmt: skip


def chapter(seed: int, words: int = 400) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(words))


ONE, TWO, OTHER = chapter(1), chapter(2), chapter(3)


def test_a_book_its_chapter_its_source_and_its_pdf_are_one_work() -> None:
    pdf = f"{ONE.replace(' ', '')}\n{TWO}"
    rst = ".. _one:\n\n" + ONE.replace("keyring", "``keyring``")
    works = works_of({"s1": ONE, "s2": rst, "s3": f"{ONE}\n\n{TWO}", "s4": pdf, "s5": OTHER})
    assert sorted(sorted(one) for one in works) == [["s1", "s2", "s3", "s4"], ["s5"]]


def test_a_part_that_two_works_include_does_not_join_them() -> None:
    shared = chapter(4, 100)
    works = works_of({"s1": f"{ONE} {shared}", "s2": f"{TWO} {shared}", "s3": shared})
    assert sorted(map(len, works)) == [1, 2]


def test_short_texts_are_not_compared() -> None:
    assert not is_contained("It is the same.", "It is the same.")


def test_writing_without_these_letters_is_compared_too() -> None:
    text = "".join(chr(0x4E00 + random.Random(5).randrange(2_000)) + chr(0x4E00 + nth) for nth in range(200))
    assert is_contained(text, f"前{text}後")


class Books(Shelves):
    """The second page of the web holds the first one, and more."""

    async def read(self, hit: Found, at: str) -> Retrieved:
        read = await super().read(hit, at)
        pages = {"https://web.example.org/1": ONE, "https://web.example.org/2": f"{ONE} {TWO}"}
        text = f"{read.text}\n\n{pages.get(hit.url, hit.title)}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        return msgspec.structs.replace(read, text=text, sha256=digest)


async def test_a_run_keeps_one_source_of_each_work(store: Store) -> None:
    logged = await study(store, Crew(complexity=0.69), shelves=Books())
    kept = [one["url"] for one in logged.output["sources"]]
    assert "https://web.example.org/2" in kept
    assert "https://web.example.org/1" not in kept
    assert logged.result.status == "completed"
