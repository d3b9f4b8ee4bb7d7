"""Paths that a coder may not name, in every spelling; and that ordinary ones are taken."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from podium.tools.workspace.change import MAX_DEPTH, is_git, path_trouble

GOOD = [
    "a.py",
    "src/podium/a.py",
    ".gitignore",
    ".gitattributes",
    ".github/workflows/ci.yml",
    "a b.txt",
    "käse.md",
    "文件.py",
    "a-b_c+d@e,f.txt",
    "digit~1.txt",
    "x.git",
    "git",
    "gitx",
    ".gitx",
    "...hidden",
    "..a",
    "con_x.py",
    "a/" * 23 + "b",
    "/".join(["x" * 166] * 3),
]

BAD = [
    "",
    "/",
    "/etc/passwd",
    "//a",
    "~",
    "~/x",
    "..",
    "../x",
    "a/..",
    "a/../b",
    "a/./b",
    ".",
    "./a",
    "a//b",
    "a/",
    "a\\b",
    "..\\x",
    "\\x",
    "C:/x",
    "c:x",
    "a\0b",
    "a\nb",
    "a\tb",
    "a\x7fb",
    "a\u202eb",
    "a\u200bb",
    "a\ud800b",
    ".git",
    ".git/config",
    "a/.git/hooks/x",
    ".GIT/x",
    ".Git",
    ".git ",
    ".git.",
    ".git. .",
    " .git",
    ".git:x",
    ".git::$INDEX_ALLOCATION/config",
    "git~1",
    "GIT~1/config",
    "a/Git~2",
    ".g\u200cit/x",
    ".ｇｉｔ/config",
    ".gitmodules",
    ".GitModules",
    "a ",
    "a.",
    "a/b./c",
    " a",
    "a:b",
    "nul",
    "NUL.txt",
    "a/con.py",
    "aux",
    "lpt1.c",
    "/".join(["x" * 167] * 3),
    "x" * 201,
    "a/" * MAX_DEPTH + "b",
]


def test_an_ordinary_path_is_taken() -> None:
    for path in GOOD:
        assert path_trouble(path) == ""


def test_a_path_that_leads_elsewhere_is_refused_with_a_sentence() -> None:
    for path in BAD:
        assert path_trouble(path).endswith(".")


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
ODD = st.sampled_from(
    [".", "..", ".git", ".GIT", "git~1", "", "a", "b.py", " ", "\\", "/", "\0", "~", "C:", ".git "]
)
PATHS = st.lists(NAMES | ODD, min_size=1, max_size=6).map("/".join)


@given(PATHS)
def test_a_path_that_is_taken_stays_below_and_out_of_git_on_every_system(path: str) -> None:
    if path_trouble(path):
        return
    root = Path("/base/tree")
    for separators in (path, path.replace("\\", "/")):
        inside = os.path.normpath(root / separators)
        assert inside.startswith("/base/tree/")
        assert os.path.relpath(inside, root) == path, "the path is written in one way only"
    for name in path.split("/"):
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            folded = unicodedata.normalize(form, name).casefold()
            assert folded.rstrip(" .") != ".git"
    assert all(letter.isprintable() for letter in path)


@given(st.text("gGiItT\u200c\u200d\ufeff", max_size=8), st.sampled_from(["", ".", " ", "::$DATA", ". . "]))
def test_every_spelling_of_git_is_known(middle: str, end: str) -> None:
    bare = "".join(letter for letter in middle if letter in "gGiItT")
    assert is_git(f".{middle}{end}") == (bare.casefold() == "git")
