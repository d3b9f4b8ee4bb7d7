"""Sources of every kind, with what is usually missing."""

from __future__ import annotations

from typing import Any

from podium.workflows.research.contracts import Source


def source(number: int, **given: Any) -> Source:
    known: dict[str, Any] = {
        "id": f"s{number}",
        "title": f"Title {number}",
        "url": f"https://example.org/{number}",
        "kind": "web",
    }
    return Source(**(known | given))


AGENCY = source(
    1,
    title="Solar power in 2024: what changed?",
    url="https://www.iea.example/solar(2024)",
    authors=["International Energy Agency"],
    published="2024-03-05",
)
STUDY = source(
    2,
    title="A study of grids",
    url="https://arxiv.example/abs/2401.1",
    kind="academic",
    authors=["Jane van der Berg", "Smith, John Q.", "Ana Ruiz"],
    published="2023",
)
CORPUS = source(3, title="Notes on storage", url="corpus:notes/storage.md", kind="corpus")
SECOND_STUDY = source(
    4,
    title="Grids again",
    url="https://arxiv.example/abs/2402.2",
    kind="academic",
    authors=["Jane van der Berg", "Smith, John Q.", "Ana Ruiz"],
    published="2023-11",
)
PAIR = source(5, title="Two people", authors=["Li Wei", "Mary O'Brien"], published="2020-01-02")
UNDATED = source(
    6,
    title="Undated page",
    url="https://blog.example/x",
    authors=["Jo Park"],
    retrieved_at="2026-11-15T10:00:00Z",
)
EVERY = [AGENCY, STUDY, CORPUS, SECOND_STUDY, PAIR, UNDATED]
