"""Translations of one document among the sources."""

from __future__ import annotations

import pytest

from podium.workflows.research.measures.quotes import translations_in

HISTORY = {
    "s1": "corpus:docs/history.en.pdf",
    "s2": "corpus:docs/history.de.pdf",
    "s3": "corpus:docs/history.pt_BR.pdf",
    "s4": "corpus:docs/manual.pdf",
    "s5": "corpus:docs/notes.txt",
    "s6": "corpus:docs/notes.fr.txt",
}


@pytest.mark.parametrize(
    ("language", "left"),
    [
        ("en", {"s2", "s3", "s6"}),
        ("de", {"s1", "s3", "s6"}),
        ("fr", {"s2", "s3", "s5"}),
        ("", {"s2", "s3", "s6"}),
    ],
)
def test_one_translation_of_a_document_stays_in_the_language_that_is_wanted(
    language: str, left: set[str]
) -> None:
    assert translations_in(HISTORY, language) == left


def test_names_that_only_look_like_translations_are_all_kept() -> None:
    files = {"s1": "corpus:a/chapter.01.html", "s2": "corpus:a/chapter.qq.html", "s3": "corpus:b/x.en.html"}
    assert translations_in(files, "en") == set()
