"""A user's repository, made with the real git, and what is known of it before and after a run."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

CLEAN = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Somebody", "GIT_AUTHOR_EMAIL": "somebody@localhost", "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@localhost", "LC_ALL": "C",
}  # fmt: skip

FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "README.md": "A calculator.\n",
    ".gitignore": "build/\n*.log\n",
}


class UserRepository:
    """The folder that a user would name."""

    def __init__(self, folder: Path, files: dict[str, str] | None = None, *, commit: bool = True) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        for path, text in (FILES if files is None else files).items():
            self.write(path, text)
        if commit:
            self.commit("First")

    def git(self, *args: str, folder: Path | None = None) -> str:
        completed = subprocess.run(
            ["git", *args],
            cwd=folder or self.folder,
            env=CLEAN,
            capture_output=True,
            text=True,
            errors="replace",
        )
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, newline="")
        return file

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def fingerprint(self) -> dict[str, str]:
        """Every file of checkout and repository but objects and the run's own branches."""
        hashes = dict[str, str]()
        for file in sorted(self.folder.rglob("*")):
            path = file.relative_to(self.folder).as_posix()
            if path.startswith(".git/objects/") or "/podium" in path:
                continue
            if file.is_symlink():
                hashes[path] = f"-> {os.readlink(file)}"
            elif file.is_file():
                hashes[path] = hashlib.sha256(file.read_bytes()).hexdigest()
        return hashes
