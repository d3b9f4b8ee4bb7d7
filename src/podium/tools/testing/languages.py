"""Which files hold tests and which hold code, by their names."""

from __future__ import annotations

import fnmatch
from typing import Literal

Language = Literal["python", "javascript", "go", "rust", ""]

_SUFFIXES: dict[str, Language] = {
    ".py": "python", ".js": "javascript", ".jsx": "javascript", ".ts": "javascript", ".tsx": "javascript",
    ".mjs": "javascript", ".cjs": "javascript", ".mts": "javascript", ".cts": "javascript", ".go": "go",
    ".rs": "rust",
}  # fmt: skip

_OTHER_CODE = frozenset({
    ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".kts", ".scala", ".rb", ".php", ".swift", ".m",
    ".lua", ".pl", ".r", ".jl", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".dart", ".zig", ".nim", ".vue",
    ".svelte", ".sh", ".sql", ".pyx",
})  # fmt: skip

_TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "*.test.*",
    "*.spec.*",
    "*_test.go",
    "*_test.rs",
    "*Test.java",
    "*_spec.rb",
)
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing_data", "testdata"})


def language_of(path: str) -> Language:
    """The language whose tests can be read; empty for all others."""
    return _SUFFIXES.get(_suffix(path), "")


def is_code(path: str) -> bool:
    """Whether the file holds a program rather than words, data or settings."""
    return bool(language_of(path)) or _suffix(path) in _OTHER_CODE


def is_test_file(path: str) -> bool:
    """Whether the file is there for tests: by its own name, or by a folder's."""
    *folders, name = path.split("/")
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _TEST_NAMES) or name == "conftest.py":
        return True
    return any(folder in _TEST_FOLDERS for folder in folders)


def is_source(path: str) -> bool:
    """Whether the file is part of the program that tests are for."""
    return is_code(path) and not is_test_file(path)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name else ""
