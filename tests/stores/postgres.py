"""A real PostgreSQL for the tests: one server for each worker, one schema or database for each test.

A server writes down whose it is. What the next run finds of workers that were killed, it stops and removes.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

PROGRAMS = ("initdb", "pg_ctl")
PREFIX = "podium-pg-"


def missing() -> str:
    """Why there can be no server here; empty if there can."""
    lacking = [program for program in PROGRAMS if not _find(program)]
    return f"not installed: {', '.join(lacking)}" if lacking else ""


def _find(program: str) -> str:
    """Debian keeps the programs of the server out of the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(program) or shutil.which(program, path=os.pathsep.join(map(str, folders))) or ""


class Server:
    """A running PostgreSQL on a port of its own."""

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._made = 0
        self._fsync = fsync
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder} "
            f"-c fsync={'on' if self._fsync else 'off'} -c max_connections=200"
        )
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def prepare(self) -> None:
        """Make the server's files and start it."""
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "podium", "-E", "UTF8", "--no-sync")
        self.start()

    def new_database(self, more: str = "") -> str:
        """The URL of a new, empty database."""
        self._made += 1
        name = f"test_{os.getpid()}_{self._made}"
        self.ask(f"CREATE DATABASE {name} STRATEGY = file_copy {more}")
        return self.url(name)

    def new_place(self) -> str:
        """The URL of a new, empty schema: as good as a database, and made in a moment."""
        self._made += 1
        name = f"test_{os.getpid()}_{self._made}"
        self.ask(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def ask(self, sql: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(sql.encode())

    def url(self, database: str, password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://podium{secret}@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *words: object) -> None:
        command = [_find(program), *(str(word) for word in words)]
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        completed = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert completed.returncode == 0, f"{command}: {completed.stdout}{completed.stderr}"


def look(url: str, sql: str) -> list[tuple[Any, ...]]:
    """What the database says, on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as db:
        return db.execute(sql.encode()).fetchall()


@contextmanager
def server(*, fsync: bool = False) -> Generator[Server]:
    """A server that does not outlive the block."""
    remove_orphans()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / "owner").write_text(f"{os.getpid()} {_began(os.getpid())}", encoding="ascii")
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    running = Server(folder, fsync=fsync)
    try:
        running.prepare()
        yield running
    finally:
        _end(folder)


def remove_orphans() -> None:
    """Stop the servers of processes that are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError):  # another worker is at it, or it is only just being made
            pid, began = (folder / "owner").read_text(encoding="ascii").split()
            if _began(int(pid)) != began:
                _end(folder)


def _end(folder: Path) -> None:
    """Stop a server at once, by the number of its process, and remove its files."""
    with suppress(OSError, ValueError):  # it is not running
        first, second, *_ = (folder / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        if Path(second) == folder / "data" and "postgres" in _name(int(first)):
            os.kill(int(first), signal.SIGQUIT)  # what `pg_ctl stop -m immediate` does
            _wait_gone(int(first))
    shutil.rmtree(folder, ignore_errors=True)


def _wait_gone(pid: int) -> None:
    """A process that is not a child of this one."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            select.select([handle], [], [], 10)
        finally:
            os.close(handle)


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8")


def _began(pid: int) -> str:
    """When a process began, by which it is told from a later one with the same number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return "gone"
