"""What a user installs: the wheel holds everything it needs, and the locks fit what is declared."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all files in a wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_file_of_the_package(wheel: set[str]) -> None:
    sources = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "podium").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel if name.startswith("podium/")} == sources
    assert "podium/py.typed" in sources
    assert any(name.endswith(".sql") for name in sources)


def test_the_wheel_has_the_licence_and_the_command(wheel: set[str]) -> None:
    endings = {name.partition(".dist-info/")[2] for name in wheel}
    assert {"licenses/LICENSE", "entry_points.txt"} <= endings


def pins(lock: str) -> dict[str, str]:
    """Package name to pinned version."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==([^\s;]+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("lock", "declared"),
    [
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["openai"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["anthropic"]),
    ],
)
def test_a_lock_pins_what_is_declared(lock: str, declared: list[str]) -> None:
    pinned = pins(lock)
    wrong = [
        text
        for text in declared
        if (requirement := Requirement(text))
        and not requirement.specifier.contains(pinned.get(canonicalize_name(requirement.name), "0"))
    ]
    assert wrong == [], "run `make lock`"


def test_both_locks_agree() -> None:
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_every_pin_has_hashes_and_none_names_an_index(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", text.partition("make lock\n")[2])
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in text


# ── the repository ──

MOST_BYTES = 500_000
"""The largest file that belongs into a repository."""
LOCKS = frozenset({"package-lock.json", "requirements.lock", "requirements-dev.lock"})
DATABASES = (".db", ".sqlite", ".sqlite3")


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files that git tracks; outside of a checkout there are none to look at."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git cannot list the files: {error}")
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    return [file for file in files if file.is_file() and not file.is_symlink()]


def test_no_database_is_tracked(tracked: list[Path]) -> None:
    assert tracked
    databases = [
        file
        for file in tracked
        if file.suffix.removesuffix("-wal").removesuffix("-shm").removesuffix("-journal") in DATABASES
        or _is_database(file)
    ]
    assert databases == []


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(16) == b"SQLite format 3\0"


def test_no_large_file_is_tracked(tracked: list[Path]) -> None:
    large = [file for file in tracked if file.stat().st_size > MOST_BYTES and file.name not in LOCKS]
    assert large == []


@pytest.mark.parametrize("suffix", DATABASES)
@pytest.mark.parametrize("more", ["", "-wal", "-shm", "-journal"])
def test_databases_are_ignored(suffix: str, more: str, tracked: list[Path]) -> None:
    name = f"some/folder/podium{suffix}{more}"
    ignored = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False)
    assert (ignored.returncode, bool(tracked)) == (0, True)
