"""Folders of documents for tests, and settings whose indexes lie apart from them."""

from __future__ import annotations

from pathlib import Path

from podium.settings import Settings

TIDES = "---\ntitle: Tides\ndate: 2024-05-17\nauthors: [Harbour Office]\n---\nLow water comes twice a day.\n"
WINDS = "# Winds\n\nThe wind from the west brings rain to the harbour.\n"


def settings_in(folder: Path) -> Settings:
    return Settings(store=f"sqlite:///{folder / 'kept' / 'podium.sqlite'}")


def folder_with(place: Path, **files: str | bytes) -> Path:
    """Files by name, with `__` for `/` and `_dot_` for the dot."""
    for name, content in files.items():
        file = place / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place
