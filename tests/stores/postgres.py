"""A real PostgreSQL for the tests: one server for each worker, one database for each test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import psycopg

PROGRAMS = ("initdb", "pg_ctl")


def missing() -> str:
    """Why there can be no server here; empty if there can."""
    lacking = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed: {', '.join(lacking)}" if lacking else ""


class Server:
    """A running PostgreSQL on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._made = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def prepare(self) -> None:
        """Make the server's files, and a database that those of the tests are copied from."""
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "podium", "--no-sync")
        self.start()

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        self._made += 1
        name = f"test_{os.getpid()}_{self._made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name} STRATEGY = file_copy".encode())
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://podium@127.0.0.1:{self.port}/{database}"

    def _run(self, *words: object) -> None:
        command = [str(word) for word in words]
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


@contextmanager
def server() -> Generator[Server]:
    """A server that does not outlive the block."""
    folder = Path(mkdtemp(prefix="podium-pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    running = Server(folder)
    running.prepare()
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)
