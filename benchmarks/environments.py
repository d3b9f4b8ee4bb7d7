"""The virtual environments that are measured: made by pip as it is configured here, once, and kept."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from benchmarks.common import OUT, ROOT

LANGGRAPH = (
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
    "aiosqlite==0.22.1",
    "langchain-openai==1.7.3",
)


LANGCHAIN = (
    "langchain==1.4.7",
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
    "aiosqlite==0.22.1",
)


POSTGRES_PEERS = (
    *LANGGRAPH,
    "langgraph-checkpoint-postgres==3.2.0",
    "psycopg[binary,pool]==3.3.8",
    "dbos==3.3.0",
)


class PeerError(Exception):
    """Something that is measured beside Podium could not be set up or failed; the report says so."""


def python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def pip(venv: Path, *arguments: str) -> None:
    command = [str(python_of(venv)), "-m", "pip", "install", "-qq", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise PeerError(f"pip install {' '.join(arguments)}: {done.stderr.strip()[-400:]}")


def environment(name: str, *arguments: str, key: str = "") -> Path:
    """A virtual environment with what `pip install *arguments` puts into it. It is made again only
    when these, or `key`, have changed."""
    venv = OUT / name
    wanted = hashlib.sha256(repr((sys.version, arguments, key)).encode()).hexdigest()
    stamp = venv / ".installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        if arguments:
            pip(venv, *arguments)
        stamp.write_text(wanted)
    return venv


def langgraph_environment() -> Path:
    return environment("venv-langgraph", *LANGGRAPH)


def postgres_peers_environment() -> Path:
    return environment("venv-postgres-peers", *POSTGRES_PEERS)


def build_wheel() -> Path:
    """The wheel of this tree, for a fresh install as a user would have it."""
    folder = OUT / "wheel"
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)


def core_install_mb() -> float:
    """What an install of Podium with its locked dependencies adds to an empty virtual environment."""
    lock = ROOT / "requirements.lock"
    core = environment("venv-core", "--no-deps", "--require-hashes", "-r", str(lock), key=lock.read_text())
    pip(core, "--no-deps", "--force-reinstall", str(build_wheel()))
    return disk_mb(core) - disk_mb(environment("venv-empty"))


def disk_mb(folder: Path) -> float:
    """Disk space that a folder takes, as `du` counts it."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 2**20
