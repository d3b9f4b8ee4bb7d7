"""Names that a model chose become names of files that any file system takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.report.words import FileNames, file_name

LONG = "é" * 300


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("text.md", "text.md"),
        ("../../escape.md", "escape.md"),
        ("C:\\temp\\x.md", "x.md"),
        ("..", "artifact"),
        (".hidden", "hidden"),
        ("", "artifact"),
        ("a/b/", "artifact"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("what?.md", "what_.md"),
        ("line\nbreak.md", "line break.md"),
        ("trailing. ", "trailing"),
        ("x:stream", "x_stream"),
    ],
)
def test_a_name_is_made_safe(name: str, safe: str) -> None:
    assert file_name(name) == safe


@pytest.mark.parametrize(
    "name", [f"{LONG}.md", "x" * 300 + ".html", "x" * 400, f"a.{'y' * 300}", "🎬" * 100 + ".svg", "." * 400]
)
def test_a_long_name_is_shortened_keeps_its_extension_and_can_be_written(name: str, tmp_path: Path) -> None:
    safe = file_name(name)
    assert len(safe.encode()) <= 255
    (tmp_path / safe).write_text("x")
    suffix = Path(name).suffix
    if 1 < len(suffix) < 10:
        assert safe.endswith(suffix)


def test_names_of_one_folder_are_unique() -> None:
    """Also long ones that differ at their end only, and where the file system ignores case."""
    given = ["a.md", "a.md", "A.md", "2-a.md", "x" * 300 + "1.md", "x" * 300 + "2.md", LONG, LONG, "../a.md"]
    names = FileNames()
    taken = [names.take(name) for name in given]
    assert len({name.casefold() for name in taken}) == len(given)
    assert taken[:2] == ["a.md", "2-a.md"]
    assert all(len(name.encode()) <= 255 for name in taken)
